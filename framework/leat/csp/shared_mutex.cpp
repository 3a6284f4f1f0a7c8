// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/shared_mutex.hpp>

#include <leat/csp/mutex.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat {

using csp::stops;
using sched::entered;

namespace {

void wake(csp::waiter_list& woken) noexcept {
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace

shared_mutex::~shared_mutex() {
  LEAT_DCHECK(state_.load(std::memory_order_relaxed) == 0, "a shared_mutex died while it was held",
              "shared_mutex", static_cast<const void*>(this));
}

void shared_mutex::check_not_mine() const noexcept {
  LEAT_CHECK(owner_.load(std::memory_order_relaxed) != csp::caller_id(),
             "a shared_mutex was locked by the writer that holds it", "shared_mutex",
             static_cast<const void*>(this));
}
void shared_mutex::note_mine() noexcept { owner_.store(csp::caller_id(), std::memory_order_relaxed); }
void shared_mutex::check_mine_and_forget() noexcept {
  LEAT_CHECK(owner_.load(std::memory_order_relaxed) == csp::caller_id(),
             "a shared_mutex was unlocked by one who is not its writer", "shared_mutex",
             static_cast<const void*>(this));
  owner_.store(nullptr, std::memory_order_relaxed);
}

// --- Taking -----------------------------------------------------------------------------------------

// Steps 2 and 3. Zero: the caller holds the lock; else how the wait ended without it.
csp::ending shared_mutex::enter_or_wait(as role, std::int64_t until,
                                        stops on_stop) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  entered in;
  lock_.lock();
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  bool free = false;
  std::uint32_t next = 0;
  do {
    free = role == as::writer ? s == 0 : !(s & writer) && queue_.empty();
    next = !free ? s | waiting : role == as::writer ? writer : s + one;
    // Acquire pairs with the release in unlock and unlock_shared.
  } while (!state_.compare_exchange_weak(s, next, std::memory_order_acquire, std::memory_order_relaxed));
  if (!free) {
    return csp::wait_and_unlock(in, lock_, queue_, &role, sched::wait_reason::mutex, until, on_stop);
  }
  lock_.unlock();
  return csp::ending::done;
}

// Step 4.
void shared_mutex::let_readers_join() noexcept {
  const sched::no_quarantine unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    // Acquire pairs with the release in unlock; those who join get it from here.
    const std::uint32_t s = state_.load(std::memory_order_acquire);
    // With waiting set, readers can only leave meanwhile, and the last one needs lock_ for that.
    if (s >= one && (s & waiting))
      (void)state_.fetch_add(claim_readers_locked(woken), std::memory_order_relaxed);
  }
  wake(woken);
}

void shared_mutex::lock() noexcept {
  if (detail::lock_order_checked) check_not_mine();
  std::uint32_t none = 0;
  // Acquire pairs with the release in unlock and unlock_shared.
  if (!state_.compare_exchange_strong(none, writer, std::memory_order_acquire, std::memory_order_relaxed))
    (void)enter_or_wait(as::writer, csp::forever, stops::are_ignored);
  if (detail::lock_order_checked) note_mine();
}

bool shared_mutex::try_lock() noexcept {
  std::uint32_t none = 0;
  if (!state_.compare_exchange_strong(none, writer, std::memory_order_acquire, std::memory_order_relaxed))
    return false;
  if (detail::lock_order_checked) note_mine();
  return true;
}

bool shared_mutex::try_lock_shared() noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (!(s & (writer | waiting))) {
    // Acquire pairs with the release in unlock.
    if (state_.compare_exchange_weak(s, s + one, std::memory_order_acquire, std::memory_order_relaxed))
      return true;
  }
  return false;
}

void shared_mutex::lock_shared() noexcept {
  if (try_lock_shared()) return;
  if (detail::lock_order_checked) check_not_mine();
  (void)enter_or_wait(as::reader, csp::forever, stops::are_ignored);
}

bool shared_mutex::try_until(as role, deadline until) {
  const std::int64_t at = csp::until_ns(until);
  if (at != csp::forever && now_ns() >= at) return false;
  if (enter_or_wait(role, at, stops::end_it) == csp::ending::done) return true;
  if (role == as::writer) let_readers_join();
  if (const sched::M* const m = sched::current_m())
    if (const sched::G* const g = m->cur.load(std::memory_order_relaxed)) sched::throw_if_insisted(*g);
  return false;
}

bool shared_mutex::try_lock_until(deadline until) {
  if (try_lock()) return true;
  if (!try_until(as::writer, until)) return false;
  if (detail::lock_order_checked) note_mine();
  return true;
}

bool shared_mutex::try_lock_shared_until(deadline until) {
  return try_lock_shared() || try_until(as::reader, until);
}

// --- Handing over -----------------------------------------------------------------------------------

// The front waiter leaves the queue. True: it has the lock.
bool shared_mutex::claim_front_locked(csp::waiter_list& woken) noexcept {
  csp::waiter* const w = queue_.list.front();
  csp::prefetch_frames(*w);
  queue_.unlink(*w);
  const csp::wait::claimed c = w->who->try_claim(w->index);
  if (c == csp::wait::claimed::wake_it) woken.push_back(w);
  return c != csp::wait::claimed::lost;
}

std::uint32_t shared_mutex::claim_readers_locked(csp::waiter_list& woken) noexcept {
  std::uint32_t holds = 0;
  while (!queue_.empty() && role_of(*queue_.list.front()) == as::reader)
    if (claim_front_locked(woken)) holds += one;
  return holds;
}

// Whoever is next: the hold to write into the state, or 0 if nobody is there.
std::uint32_t shared_mutex::claim_next_locked(csp::waiter_list& woken) noexcept {
  while (!queue_.empty()) {
    if (role_of(*queue_.list.front()) == as::writer) {
      if (claim_front_locked(woken)) return writer;
    } else if (const std::uint32_t holds = claim_readers_locked(woken)) {
      return holds;
    }
  }
  return 0;
}

void shared_mutex::unlock() noexcept {
  const sched::no_quarantine unbroken;
  LEAT_CHECK((state_.load(std::memory_order_relaxed) & writer) != 0,
             "a shared_mutex was unlocked that no writer had locked", "shared_mutex",
             static_cast<const void*>(this));
  if (detail::lock_order_checked) check_mine_and_forget();
  std::uint32_t s = writer;
  // Release pairs with the acquire in the taking functions.
  while (!state_.compare_exchange_strong(s, 0, std::memory_order_release, std::memory_order_relaxed)) {
    csp::waiter_list woken;
    std::uint32_t holds = 0;
    {
      // With waiting set and one holder, the state changes under lock_ only.
      lock_guard hold(lock_);
      holds = claim_next_locked(woken);
      // Release: readers who join later by themselves see what this writer did.
      state_.store(holds ? holds | waiting_bit_locked() : writer, std::memory_order_release);
    }
    wake(woken);
    if (holds) return;
    s = writer;
  }
}

void shared_mutex::unlock_shared() noexcept {
  const sched::no_quarantine unbroken;
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  for (;;) {
    LEAT_CHECK(s >= one, "a shared_mutex was unlocked that no reader had locked", "shared_mutex",
               static_cast<const void*>(this));
    if (s != (one | waiting)) {
      // Release: what readers read comes before what the next writer writes. Acquire: the last reader passes
      // that on when it hands over.
      if (state_.compare_exchange_weak(s, s - one, std::memory_order_acq_rel, std::memory_order_relaxed))
        return;
      continue;
    }
    csp::waiter_list woken;
    std::uint32_t holds = 0;
    {
      lock_guard hold(lock_);
      s = state_.load(std::memory_order_acquire);  // pairs with the release above
      if (s != (one | waiting)) continue;
      holds = claim_next_locked(woken);
      state_.store(holds ? holds | waiting_bit_locked() : one, std::memory_order_release);  // as in unlock
    }
    wake(woken);
    if (holds) return;
    s = one;
  }
}

}  // namespace leat
