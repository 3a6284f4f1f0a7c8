// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/single.hpp>

#include <algorithm>

#include <leat/sched/barrier.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::csp {
namespace {

// Operations of a side between two visits to the runtime: few enough that a stop is seen within microseconds, and
// enough that a visit, which costs a few of them, is lost among them.
constexpr std::uint64_t visit_every = 64;

// 0: a plain thread.
std::uint32_t procs_of(const entered& in) noexcept { return in.m ? in.m->sched.procs() : 0; }

// The looks are far apart, so that the other side gets ahead and the lines of the ring move between the cores once per
// batch; for the same reason a writer waits for half the ring as long as it spins (ready is told which look is the
// last), but never parks while there is any room.
template <class Ready>
bool spin_until(const entered& in, ring_spin_policy& policy, Ready ready) noexcept {
  constexpr int looks = 3, pauses = 80;  // some microseconds in all, as a park and its wake-up take
  if (procs_of(in) == 1 || !policy.spins()) return false;
  for (int i = 0; i < looks; ++i) {
    for (int k = 0; k < pauses; ++k) cpu_pause();
    if (ready(i + 1 == looks)) {
      policy.helped();
      return true;
    }
  }
  policy.was_in_vain();
  return false;
}

void raise(std::atomic<std::uint64_t>& most, std::uint64_t to) noexcept {
  if (safety::counters && to > most.load(std::memory_order_relaxed))
    most.store(to, std::memory_order_relaxed);
}

}  // namespace

bool let_others_run_first(entered& in) noexcept {
  // A G with a thread of its own goes through the global queue to yield: it may as well park.
  if (!in.m || whole(in.m)->locked_g) return false;
  sched::P* const p = in.m->p.load(std::memory_order_relaxed);
  if (!p || (!p->run_next.load(std::memory_order_relaxed) && p->ring.empty())) return false;
  in.m = in.m->sched.yield(whole(in.m), false);
  return true;
}

single_base::single_base(std::size_t capacity, const channel_options& o, cell_layout cell)
    : channel_base(inlined::one_to_one, capacity, o),
      mask_(ring_size(capacity, cell.size) - 1),
      ring_(allocate_ring(mask_ + 1, cell.size, cell.align, capacity)),
      cell_align_(cell.align),
      moves_plainly_(cell.moves_plainly) {}

single_base::~single_base() { free_ring(ring_, cell_align_); }

std::size_t single_base::size() const noexcept {
  const std::uint64_t h = head_.load(std::memory_order_acquire);
  const std::uint64_t n = tail_.load(std::memory_order_relaxed) - h;
  return n < capacity_ ? n : capacity_;  // both may have moved in between
}

bool single_base::try_count(channel_stats& to) const noexcept {
  to.received = head_.load(std::memory_order_acquire);
  const std::uint64_t put = tail_.load(std::memory_order_relaxed);
  to.dropped = dropped_.load(std::memory_order_relaxed);
  to.sent = put + to.dropped;
  to.left = put - to.received;
  return true;
}

channel_stats single_base::stats() const noexcept {
  channel_stats s;
  (void)try_count(s);
  s.high_water =
      std::max(reading_.most.load(std::memory_order_relaxed), writing_.most.load(std::memory_order_relaxed));
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  s.send_blocked = nanoseconds(writers_.blocked_ns);
  s.recv_blocked = nanoseconds(readers_.blocked_ns);
  s.refused = refused_.load(std::memory_order_relaxed);
  return s;
}

void single_base::close() noexcept {
  bool twice = false;
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(lock_);
      // Release: the values that the closer has put come first; pairs with find_value.
      twice = closed_.exchange(1, std::memory_order_acq_rel) != 0;
      for (const side s : {side::reader, side::writer}) {
        if (!queue_of(s).empty()) word_of(s).fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
        // Told "closed", it does not look at the ring again, which may be gone. A value that a writer has
        // just put in is looked for.
        claim_all(queue_of(s), s == side::reader && !empty() ? ending::look : ending::closed, woken);
      }
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();  // outside the runtime: the log's sink is user code
}

// --- Waking: steps c, d and e -----------------------------------------------------------------------

void single_base::wake_side(m_front* m, side other) noexcept {
  bool wake_it = false;
  waiter* first = nullptr;
  {
    lock_guard hold(lock_);
    first = claim_first(queue_of(other), wake_it);
    if (first) {
      first->said = ending::look;
      word_of(other).fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
    }
  }
  if (first && wake_it) first->who->wake(m);
}

void single_base::attend(m_front* m, side other) noexcept {
  sched::full_barrier();  // pairs with announce
  if (word_of(other).load(std::memory_order_relaxed) & waits) wake_side(m, other);
}

void single_base::attend_from_outside(side other) noexcept {
  sched::full_barrier();  // pairs with announce
  if ((word_of(other).load(std::memory_order_relaxed) & waits) == 0) return;
  const entered in;
  wake_side(in.m, other);
}

void single_base::visit(entered& in, visits& v, std::uint64_t index, side other, const char* does) noexcept {
  if (leat::detail::lock_order_checked) check_user(in, v.user, does);
  if (index < v.next) return;
  // Debug builds look who it is: each time at first; then often and as seldom as other builds by turns, so
  // that the quick way is what their sanitizers see, too.
  const bool often = leat::detail::lock_order_checked && index / visit_every % 2 == 0;
  v.next = index + (!often ? visit_every : index < visit_every ? 1 : 3);
  v.calm.visit(parks_of(other).load(std::memory_order_relaxed));
  // Without membarrier there is no heavy barrier, and the cheap one stays.
  if (!sched::detail::membarrier_works.load(std::memory_order_relaxed)) return;
  word& mine = word_of(other);
  if ((mine.load(std::memory_order_relaxed) & cautious) == 0 || !v.calm.is_calm(procs_of(in))) return;
  // Step e. Acquire and release: whoever parks next finds the bit gone, after what this side has done.
  const std::uint32_t before = mine.fetch_and(~std::uint32_t{cautious}, std::memory_order_acq_rel);
  if (before & waits) wake_side(in.m, other);
}

// --- Waiting: steps 2 to 4 --------------------------------------------------------------------------

void single_base::announce(side me) noexcept {
  count& parks = parks_of(me);
  parks.store(parks.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const std::uint32_t before = word_of(me).fetch_or(waits | cautious, std::memory_order_seq_cst);
  if (before & cautious) {
    sched::full_barrier();  // pairs with attend
  } else {
    sched::heavy_barrier();  // pairs with the order of put_here and take_here
  }
}

// look, closed, timeout or stopped. The lock is dropped by the wait.
ending single_base::wait_side(entered& in, side me,
                              std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  announce(me);
  word& w = word_of(me);
  lock_.lock();
  if (closed_.load(std::memory_order_relaxed) != 0 || !must_wait(me)) {
    w.fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
    lock_.unlock();
    return ending::look;
  }
  const ending how = wait_and_unlock(in, lock_, queue_of(me), nullptr,
                                     me == side::reader ? wait_reason::receive : wait_reason::send, until,
                                     stops::end_it, queue_end::back, c_name());
  // Else its claimer has done so.
  if (how == ending::timeout || how == ending::stopped)
    w.fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
  return how;
}

recv_status single_base::find_value(entered& in, std::int64_t until) noexcept {
  const std::uint64_t h = head_.load(std::memory_order_relaxed);
  visit(in, reading_, h, side::writer, "receives from");
  for (bool first = true;; first = false) {
    if (until != at_once && in.stop_asked()) return recv_status::stopped;
    // Before the tail: a close comes after the closer's values; pairs with close.
    const bool closed = closed_.load(std::memory_order_acquire) != 0;
    const std::uint64_t t = tail_.load(std::memory_order_acquire);  // pairs with put_here
    raise(reading_.most, t - h);
    if (t != h) {
      take_until_ = std::min(t, reading_.next);
      return recv_status::received;
    }
    if (closed) return recv_status::closed;
    if (until == at_once) return recv_status::empty;
    if (first && let_others_run_first(in)) continue;
    if (spin_until(in, reading_.spin, [this](bool) { return !empty(); })) continue;
    const ending how = wait_side(in, side::reader, until);
    if (how == ending::look) continue;
    if (how == ending::closed) return recv_status::closed;
    return how == ending::stopped ? recv_status::stopped : recv_status::timeout;
  }
}

send_status single_base::make_room(entered& in, std::int64_t until) noexcept {
  const std::uint64_t t = tail_.load(std::memory_order_relaxed);
  visit(in, writing_, t, side::reader, "sends on");
  for (bool first = true;; first = false) {
    if (until != at_once && in.stop_asked()) return send_status::stopped;
    if (closed_.load(std::memory_order_acquire) != 0) {
      // One that waited when it was closed has not been sent after that.
      if (first) refused_.store(refused_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return send_status::closed;
    }
    const std::uint64_t h = head_.load(std::memory_order_acquire);  // pairs with taken_up_to
    raise(writing_.most, t - h);
    if (t - h < capacity_) {
      put_until_ = std::min(h + capacity_, writing_.next);
      return send_status::sent;
    }
    if (full_ == leat::full::drop_newest) {
      dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return send_status::dropped;
    }
    if (full_ == leat::full::fail || until == at_once) return send_status::full;
    if (first && let_others_run_first(in)) continue;
    const auto has_room = [this](bool last) { return used() <= (last ? capacity_ - 1 : capacity_ / 2); };
    if (spin_until(in, writing_.spin, has_room)) continue;
    const ending how = wait_side(in, side::writer, until);
    if (how == ending::look) continue;
    if (how == ending::closed) return send_status::closed;
    return how == ending::stopped ? send_status::stopped : send_status::timeout;
  }
}

// --- Through the interface --------------------------------------------------------------------------

bool single_base::put_untyped(void* cell) noexcept { return put_from_outside(*this, cell); }
bool single_base::take_untyped(void* to) noexcept { return take_from_outside(*this, to); }

[[gnu::always_inline]] inline send_status single_base::send_inside(entered& in, void* cell,
                                                                   std::int64_t until) noexcept {
  while (!put_here(*this, cell)) {
    const send_status s = make_room(in, until);
    if (s != send_status::sent) return s;
  }
  if (to_writer_.load(std::memory_order_relaxed) != 0) attend(in.m, side::reader);
  return send_status::sent;
}

[[gnu::always_inline]] inline recv_status single_base::recv_inside(entered& in, void* to,
                                                                   std::int64_t until) noexcept {
  while (!take_here(*this, to)) {
    const recv_status s = find_value(in, until);
    if (s != recv_status::received) return s;
  }
  if (to_reader_.load(std::memory_order_relaxed) != 0) attend(in.m, side::writer);
  return recv_status::received;
}

send_status single_base::send(void* value, std::int64_t until) {
  entered in;
  return send_inside(in, value, until);
}

recv_status single_base::recv(void* value, std::int64_t until) {
  entered in;
  return recv_inside(in, value, until);
}

// --- select -----------------------------------------------------------------------------------------

ending single_base::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return ending_of(recv_inside(in, c.slot, at_once));
  return ending_of(send_inside(in, c.slot, at_once));
}

ending single_base::enroll(entered& in, op_case& c, wait& me) noexcept {
  const ending linked = enroll_side(c);
  if (linked != ending::look) return linked;
  // It is ready now; this side alone can take it, so nobody else can spoil it.
  if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
  const ending now = try_case(in, c);
  return now == ending::done ? ending::done : ending::look;
}

ending single_base::enroll_side(op_case& c) noexcept {
  const side me = c.kind == op::recv ? side::reader : side::writer;
  announce(me);
  lock_guard hold(lock_);
  const bool ready = !must_wait(me);
  const bool closed = closed_.load(std::memory_order_relaxed) != 0;
  if (!ready && !closed) {
    queue_of(me).link(c.entry);
    return ending::pending;
  }
  word_of(me).fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
  return closed && !(me == side::reader && ready) ? ending::closed : ending::look;
}

void single_base::withdraw(op_case& c) noexcept {
  const side me = c.kind == op::recv ? side::reader : side::writer;
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.entry)) queue_of(me).unlink(c.entry);
  word_of(me).fetch_and(~std::uint32_t{waits}, std::memory_order_relaxed);
}

std::size_t single_base::waiting(std::span<waiting_g> to) const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return note_waiting(writers_, true, to, note_waiting(readers_, false, to, 0));
}

// Whoever uses a side is noted by the id of its G. Plain threads are not followed: whether one is still there
// cannot be told from a thread that has just ended.
void single_base::check_user(const entered& in, count& user, const char* does) const noexcept {
  const std::uint64_t me = in.m ? in.g().id : 0;
  const std::uint64_t before = user.load(std::memory_order_relaxed);
  if (before == me) return;
  user.store(me, std::memory_order_relaxed);
  if (before == 0 || me == 0) return;
  bool alive = false;
  if (const sched::scheduler* const s = sched::scheduler::current()) {
    const G* const g = s->find_g(before);
    alive = g && g->status.load(std::memory_order_relaxed) != sched::g_status::dead;
  }
  LEAT_CHECK(!alive,
             "a second G uses a side of a channel that was declared to have one writer and one reader",
             "channel", name(), "it", does, "first", before, "second", me);
}

}  // namespace leat::csp
