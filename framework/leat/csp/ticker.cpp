// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/ticker.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace leat::csp {

std::optional<tick> tick_schedule::take(time_point now) noexcept {
  if (!ready(now)) return std::nullopt;
  tick t;
  t.at = due_;
  switch (policy_) {
    case missed::skip: {
      const auto late = static_cast<std::uint64_t>(saturating_sub(now, due_) / period_);
      t.missed = late;
      // No overflow: late periods after due_ is not after now.
      t.at = due_ + static_cast<std::int64_t>(late) * period_;
      due_ = saturating_add(t.at, period_);
      break;
    }
    case missed::burst: due_ = saturating_add(due_, period_); break;
    case missed::delay: due_ = saturating_add(now, period_); break;
  }
  t.number = last_ += t.missed + 1;
  return t;
}

ticker_channel::ticker_channel(const tick_schedule& schedule, ends e)
    : channel_base(1, channel_options{}), ends_(e), schedule_(schedule) {}

bool ticker_channel::take_locked(std::optional<tick>& out, waiter_list& woken) noexcept {
  if (closed_) return false;
  out = schedule_.take(now());
  if (!out) return false;
  ++received_;
  skipped_ += out->missed;
  if (ends_ == ends::after_one) {
    closed_ = true;
    claim_all(receivers_, ending::closed, woken);
  }
  return true;
}

recv_status ticker_channel::recv(void* value, std::int64_t until) {
  entered in;
  return recv_inside(in, *static_cast<std::optional<tick>*>(value), until);
}

recv_status ticker_channel::recv_inside(entered& in, std::optional<tick>& out,
                                        std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  bool over = until == at_once;  // the caller's deadline has passed: one last look
  for (;;) {
    if (until != at_once && in.stop_asked()) [[unlikely]]
      return recv_status::stopped;
    lock_.lock();
    waiter_list woken;
    if (take_locked(out, woken)) {
      lock_.unlock();
      wake_all(in.m, woken);
      return recv_status::received;
    }
    if (closed_ || over) {
      const bool closed = closed_;
      lock_.unlock();
      if (closed) return recv_status::closed;
      return until == at_once ? recv_status::empty : recv_status::timeout;
    }
    const std::int64_t wake_up = std::min(until, to_ns(schedule_.due()));
    const ending how = wait_and_unlock(in, lock_, receivers_, nullptr, wait_reason::receive, wake_up);
    if (how == ending::stopped) return recv_status::stopped;
    if (how == ending::closed) return recv_status::closed;  // and it may be gone
    if (how == ending::timeout) over = until <= wake_up;
  }
}

std::size_t ticker_channel::size() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return !closed_ && schedule_.ready(now()) ? 1 : 0;
}

bool ticker_channel::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return closed_;
}

channel_stats ticker_channel::stats() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  channel_stats s;
  s.sent = received_ + skipped_;
  s.received = received_;
  s.dropped = skipped_;
  s.high_water = received_ > 0 ? 1 : 0;
  s.recv_blocked = nanoseconds(receivers_.blocked_ns);
  return s;
}

void ticker_channel::close() noexcept {
  const entered in;
  waiter_list woken;
  {
    lock_guard hold(lock_);
    closed_ = true;
    claim_all(receivers_, ending::closed, woken);
  }
  wake_all(in.m, woken);
}

bool ticker_channel::cancel() noexcept {
  const entered in;
  waiter_list woken;
  bool was_open = false;
  {
    lock_guard hold(lock_);
    was_open = !closed_;
    closed_ = true;
    claim_all(receivers_, ending::closed, woken);
  }
  wake_all(in.m, woken);
  return was_open;
}

bool ticker_channel::begin_anew(const tick_schedule& schedule) noexcept {
  const entered in;
  waiter_list woken;
  bool was_open = false;
  {
    lock_guard hold(lock_);
    was_open = !closed_;
    closed_ = false;
    schedule_ = schedule;
    claim_all(receivers_, ending::look, woken);  // they wait until another time now
  }
  wake_all(in.m, woken);
  return was_open;
}

ending ticker_channel::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::send) return ending::closed;
  return ending_of(recv_inside(in, *static_cast<std::optional<tick>*>(c.slot), at_once));
}

ending ticker_channel::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::send) return ending::closed;
  waiter_list woken;
  {
    lock_guard hold(lock_);
    if (closed_) return ending::closed;
    if (!schedule_.ready(now())) {
      receivers_.link(c.entry);
      return ending::pending;
    }
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    // Still ready: the clock does not go back.
    (void)take_locked(*static_cast<std::optional<tick>*>(c.slot), woken);
  }
  wake_all(in.m, woken);
  return ending::done;
}

void ticker_channel::withdraw(op_case& c) noexcept {
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.entry)) receivers_.unlink(c.entry);
}

std::int64_t ticker_channel::due() noexcept {
  lock_guard hold(lock_);
  return closed_ ? forever : to_ns(schedule_.due());
}

ref<channel_base> make_ticker(nanoseconds period, missed policy) {
  if (period <= nanoseconds::zero())
    throw std::invalid_argument("a ticker needs a period above zero, and this one is " +
                                std::to_string(period.count()) + " ns");
  const tick_schedule s(saturating_add(now(), period), period, policy);
  return ref<channel_base>(new ticker_channel(s, ticker_channel::ends::never));
}

namespace {
// The period is never used: it ends with the first tick.
tick_schedule once_after(nanoseconds d) noexcept {
  return tick_schedule(saturating_add(now(), d), nanoseconds(1), missed::burst);
}
}  // namespace

ref<channel_base> make_after(nanoseconds d) {
  return ref<channel_base>(new ticker_channel(once_after(d), ticker_channel::ends::after_one));
}
bool reset_after(channel_base& c, nanoseconds d) noexcept {
  return static_cast<ticker_channel&>(c).begin_anew(once_after(d));
}
bool cancel_after(channel_base& c) noexcept { return static_cast<ticker_channel&>(c).cancel(); }

}  // namespace leat::csp
