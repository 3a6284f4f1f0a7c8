// SPDX-License-Identifier: BSL-1.0
//
// Time as a channel: leat::ticker ticks with a period, leat::after once.
//
//   leat::ticker beat(250ms);
//   for (leat::tick t : beat) ...
//
// No G and no thread stands behind a ticker: whether a tick is there follows from the clock (tick_schedule),
// at the moment when somebody looks. Who waits does so with the next tick's time as a deadline, in a loop, or
// in a select (channel_base::due). The time of the next tick never moves to an earlier one, so a waiter that
// armed its timer never oversleeps, and a take wakes nobody; only the end of a ticker does. Several Gs may
// share a ticker: each tick goes to one of them.
#pragma once
#include <cstdint>
#include <leat/base/chrono.hpp>
#include <optional>

#include <leat/base/clock.hpp>
#include <leat/csp/channel.hpp>

namespace leat {

// What becomes of ticks that nobody took in time.
enum class missed : std::uint8_t {
  skip,   // only the last of them is delivered; the phase is kept
  burst,  // all of them, at once
  delay,  // the next is due a period after this one was taken: all later ones are put off
};

struct tick {
  std::uint64_t number = 0;  // from 1; those that were skipped count
  time_point at{};           // when it was due
  std::uint64_t missed = 0;  // how many were skipped just before it
};

namespace csp {

// Which ticks are due. Knows no clock: the caller says what time it is, never less than before.
class tick_schedule {
 public:
  // The first tick is due at `first`. No further one comes if that would be past the end of time.
  tick_schedule(time_point first, nanoseconds period, missed policy) noexcept
      : due_(first), period_(period), policy_(policy) {}

  time_point due() const noexcept { return due_; }
  bool ready(time_point now) const noexcept { return due_ != never && due_ <= now; }
  // The tick that is due, if any.
  std::optional<tick> take(time_point now) noexcept;

 private:
  time_point due_;
  nanoseconds period_;
  missed policy_;
  std::uint64_t last_ = 0;
};

class ticker_channel final : public channel_base {
 public:
  enum class ends : std::uint8_t { never, after_one };
  ticker_channel(const tick_schedule& schedule, ends e);

  leat::flavour flavour() const noexcept override { return leat::flavour::ticker; }
  recv_status recv(void* value, std::int64_t until) override;
  recv_status recv_inside(entered& in, std::optional<tick>& out, std::int64_t until) noexcept;

  std::size_t size() const noexcept override;  // 1: a tick is due
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;  // dropped: the ticks that were skipped
  void close() noexcept override;
  // Ticks as this schedule says from now on, also when it was over. False: it was.
  bool begin_anew(const tick_schedule& schedule) noexcept;
  // As close. False: it was over already.
  bool cancel() noexcept;

  // Receives only.
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  std::int64_t due() noexcept override;

 private:
  bool take_locked(std::optional<tick>& out, waiter_list& woken) noexcept LEAT_REQUIRES(lock_);

  const ends ends_;
  mutable ranked_spinlock lock_{lock_rank::channel, "ticker"};
  tick_schedule schedule_ LEAT_GUARDED_BY(lock_);
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  wait_queue receivers_ LEAT_GUARDED_BY(lock_);  // claimed by the end of the ticker alone
  std::uint64_t received_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t skipped_ LEAT_GUARDED_BY(lock_) = 0;
};

ref<channel_base> make_ticker(nanoseconds period, missed policy);
ref<channel_base> make_after(nanoseconds d);
bool reset_after(channel_base& c, nanoseconds d) noexcept;
bool cancel_after(channel_base& c) noexcept;

}  // namespace csp

// Copies share one ticker. The first tick is due one period from now. Throws std::invalid_argument if the
// period is not above zero.
class ticker : public in<tick> {
 public:
  // Nil: never ticks.
  ticker() = default;
  template <class Rep, class Period>
  explicit ticker(std::chrono::duration<Rep, Period> period, missed policy = missed::skip)
      : in<tick>(csp::make_ticker(saturate_ns(period), policy)) {}

  // No more ticks, for any copy; who waits is told "closed". More than once does no harm.
  void cancel() const noexcept {
    if (base()) base()->close();
  }
};

// One tick, d from now, and then closed. Due at once if d is not above zero. Copies share it.
class after : public in<tick> {
 public:
  template <class Rep, class Period>
  explicit after(std::chrono::duration<Rep, Period> d) : in<tick>(csp::make_after(saturate_ns(d))) {}

  // No tick; who waits is told "closed". False: it was received, or cancelled, already.
  bool cancel() const noexcept { return csp::cancel_after(*base()); }
  // A tick d from now instead of what there was to come; also after one was received, or cancelled: then
  // false. Who waits, waits on.
  template <class Rep, class Period>
  bool reset(std::chrono::duration<Rep, Period> d) const noexcept {
    return csp::reset_after(*base(), saturate_ns(d));
  }
};

}  // namespace leat
