// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/mutex.hpp>

#include <cstdlib>

#include <leat/base/cpu.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat {

using csp::stops;
using sched::entered;

const void* csp::caller_id() noexcept {
  if (const sched::G* const g = sched::current_g()) return g;
  thread_local const char here = 0;
  return &here;
}

// --- The table --------------------------------------------------------------------------------------

// What stands in the slot of a waiter.
struct mutex::record {
  const mutex* of;
  std::int64_t since;  // when it first parked
};

struct alignas(64) mutex::bucket {
  ranked_spinlock lock{lock_rank::channel, "mutex"};
  csp::wait_queue queue LEAT_GUARDED_BY(lock);
  std::uint8_t looks_for_calm LEAT_GUARDED_BY(lock) = 0;

  // Made by the first who must wait, so that mutexes work before main.
  static bucket& of(const void* address) noexcept {
    static std::array<bucket, csp::mutex_buckets> table;
    return table[csp::mutex_bucket(address)];
  }
};

namespace {

using csp::needy_count;

std::atomic<std::uint32_t>& needy_of(const void* address) noexcept {
  return csp::mutex_needy[csp::mutex_bucket(address)].n;
}

// Under the bucket's lock, so no read-modify-write is needed.
void add_needy(const void* address, std::uint32_t by) noexcept {
  std::atomic<std::uint32_t>& n = needy_of(address);
  n.store(n.load(std::memory_order_relaxed) + by * needy_count::one, std::memory_order_relaxed);
}

// Of the looks for it (one in 256 careful unlocks of a mutex); so that fetching it back, which takes some
// microseconds on all cores, is a small part of what was saved.
constexpr std::uint8_t looks_before_calm = 64;

}  // namespace

// Takes the first that waits for this address out of the bucket, or null. The mutex is touched only when
// somebody is found, who is inside lock.
csp::waiter* mutex::claim_for(mutex* address, bucket& b,
                              bool& wake_it) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  for (auto i = b.queue.list.begin(); i != b.queue.list.end();) {
    csp::waiter& w = *i++;
    if (static_cast<const record*>(w.slot)->of != address) continue;
    if (address->woken_) return nullptr;
    csp::prefetch_frames(w);
    b.queue.unlink(w);
    const csp::wait::claimed c = w.who->try_claim(w.index);
    if (c == csp::wait::claimed::lost) continue;  // it counts itself off when it leaves
    wake_it = c == csp::wait::claimed::wake_it;
    return &w;
  }
  return nullptr;
}

// Under the bucket's lock.
void mutex::become_careful(const mutex* address) noexcept {
  std::atomic<std::uint32_t>& n = needy_of(address);
  const std::uint32_t now = n.load(std::memory_order_relaxed);
  if (now & needy_count::careful) return;
  n.store(now | needy_count::careful, std::memory_order_relaxed);
  sched::heavy_barrier();  // pairs with unlock
}

// --- Locking ----------------------------------------------------------------------------------------

// A while, in the hope that the holder runs on another core and is about to unlock.
bool mutex::spin() noexcept {
  const sched::M* const m = sched::current_m();
  if (m && m->sched.procs() == 1) return false;
  for (int i = 0; i < 30; ++i) {
    cpu_pause();
    if (locked_.load(std::memory_order_relaxed) == 0 && try_once()) return true;
  }
  return false;
}

// Steps 2 to 5. Zero: the lock is the caller's; else how the wait ended without it.
csp::ending mutex::lock_or_wait(entered& in, std::int64_t until,
                                stops on_stop) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  bucket& b = bucket::of(this);
  record mine{this, 0};
  bool was_woken = false;
  for (;;) {
    b.lock.lock();
    become_careful(this);
    if (was_woken) {
      woken_ = false;
      add_needy(this, waiters_);
    }
    ++waiters_;
    if (!woken_) add_needy(this, 1);
    sched::full_barrier();  // pairs with look_for_waiters
    csp::ending how = csp::ending::done;
    const bool got_it = try_once();
    std::int64_t now = 0;
    if (!got_it) now = now_ns();
    if (got_it || (was_woken && now >= until)) {
      if (!got_it) how = csp::ending::timeout;
    } else {
      if (mine.since == 0) mine.since = now;
      if (now - mine.since >= patience.count()) starving_.store(true, std::memory_order_relaxed);
      how = csp::wait_and_unlock(in, b.lock, b.queue, &mine, sched::wait_reason::mutex, until, on_stop,
                                 was_woken ? csp::queue_end::front : csp::queue_end::back);
      if (how == csp::ending::done) return how;  // handed over
      if (how == csp::ending::look) {
        was_woken = true;
        continue;
      }
      b.lock.lock();
    }
    --waiters_;
    if (!woken_) add_needy(this, static_cast<std::uint32_t>(-1));
    b.lock.unlock();
    return how;
  }
}

void mutex::lock_slow() noexcept {
  if (spin()) return;
  entered in;
  (void)lock_or_wait(in, csp::forever, stops::are_ignored);
}

bool mutex::try_lock_slow(deadline until) {
  const std::int64_t at = csp::until_ns(until);
  const sched::G* g = nullptr;
  csp::ending how = csp::ending::timeout;
  {
    entered in;
    if (in.m) g = &in.g();
    if (now_ns() < at) how = lock_or_wait(in, at, stops::end_it);
  }
  if (how == csp::ending::done) {
    if (detail::lock_order_checked) note_mine();
    return true;
  }
  if (g) sched::throw_if_insisted(*g);
  return false;
}

// --- Unlocking --------------------------------------------------------------------------------------
// Both begin outside the runtime, where a G may have to give way at its entry: nobody shall wait for that.

// Steps e to h.
void mutex::look_for_waiters(mutex* address, bool time_for_calm) noexcept {
  sched::full_barrier();  // pairs with lock_or_wait
  if (needy_of(address).load(std::memory_order_relaxed) >= needy_count::one) return wake_next(address);
  if (!time_for_calm || !sched::detail::membarrier_works.load(std::memory_order_relaxed)) return;
  bucket& b = bucket::of(address);
  lock_guard hold(b.lock);
  if (needy_of(address).load(std::memory_order_relaxed) != needy_count::careful) return;
  if (++b.looks_for_calm < looks_before_calm) return;
  b.looks_for_calm = 0;
  needy_of(address).store(0, std::memory_order_relaxed);
}

// Step g.
void mutex::wake_next(mutex* address) noexcept {
  bucket& b = bucket::of(address);
  csp::wait* who = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(b.lock);
    if (csp::waiter* const w = claim_for(address, b, wake_it)) {
      who = w->who;
      w->said = csp::ending::look;
      add_needy(address, 0u - address->waiters_);
      --address->waiters_;
      address->woken_ = true;
    }
  }
  if (!who || !wake_it) return;
  const entered in;
  who->wake(in.m);
}

// Step a. False: nobody is there, or one is on its way who must be let try first.
bool mutex::hand_over() noexcept {
  bucket& b = bucket::of(this);
  csp::wait* who = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(b.lock);
    starving_.store(false, std::memory_order_relaxed);
    if (csp::waiter* const w = claim_for(this, b, wake_it)) {
      who = w->who;
      --waiters_;
      add_needy(this, static_cast<std::uint32_t>(-1));
    }
  }
  if (!who) return false;
  if (wake_it) {
    const entered in;
    who->wake(in.m);
  }
  return true;
}

void mutex::was_not_locked() const noexcept {
  LEAT_CHECK(false, "a mutex was unlocked that nobody had locked", "mutex", static_cast<const void*>(this));
  std::abort();
}

// --- Debug builds -----------------------------------------------------------------------------------

void mutex::may_give_way() noexcept {
  if (detail::world_time.load(std::memory_order_relaxed) == 0) return;
  const sched::entered in;
}
void mutex::before_lock() const noexcept {
  may_give_way();
  if (!detail::lock_order_checked) return;
  LEAT_CHECK(owner_.load(std::memory_order_relaxed) != csp::caller_id(),
             "a mutex was locked by the one who holds it", "mutex", static_cast<const void*>(this));
}
void mutex::note_mine() noexcept { owner_.store(csp::caller_id(), std::memory_order_relaxed); }
void mutex::check_mine_and_forget() noexcept {
  LEAT_CHECK(owner_.load(std::memory_order_relaxed) == csp::caller_id(),
             "a mutex was unlocked by one who does not hold it", "mutex", static_cast<const void*>(this));
  owner_.store(nullptr, std::memory_order_relaxed);
}

}  // namespace leat
