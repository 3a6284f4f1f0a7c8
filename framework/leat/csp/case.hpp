// SPDX-License-Identifier: BSL-1.0
//
// One case of a select, whatever its type, and how one of several is chosen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <leat/csp/single.hpp>

namespace leat {

inline constexpr int select_closed = -1;
inline constexpr int select_stopped = -2;

namespace csp {

class case_base {
 public:
  enum class sort : std::uint8_t { channel, timeout, otherwise };

  case_base(sort s, channel_base* c, op kind, bool told) noexcept
      : channel(c), what(s), wants_close(told), op_at(kind) {}
  virtual ~case_base() = default;
  case_base(case_base&& other) noexcept
      : channel(other.channel),
        what(other.what),
        wants_close(other.wants_close),
        aimed_anew(other.aimed_anew),
        several(other.several),
        until(other.until),
        op_at(other.op_at.kind) {}
  case_base& operator=(case_base&&) = delete;

  // Before a select, outside the runtime, unless the case is fresh: sets the slots, which point into it.
  virtual void prepare() {}
  // The handler; `result` says what happened.
  virtual void run() = 0;
  // For a case at whose one-to-one ring a value was seen, outside the runtime: takes it and runs the handler.
  // False: nothing has happened, it is to be got inside.
  virtual bool take_and_run() { return false; }
  // For cases that outlive the expression they were made in.
  virtual void keep_value() {}
  // Where a value from one of several channels goes.
  virtual void* slot_for(channel_base& from) noexcept {
    (void)from;
    return op_at.slot;
  }

  channel_base* channel;  // null: nil, or no channel's case
  sort what;
  bool wants_close;
  bool fresh = false;            // prepared, and neither moved nor run since
  bool aimed_anew = false;       // to be prepared before each select: what it is aimed at changes
  bool dead = false;             // closed, and the handler does not want to know
  bool several = false;          // `channel` stands for several: a merged end
  channel_base* part = nullptr;  // the one of them that the value came from
  attempt result = attempt::pending;
  std::int64_t until = forever;
  op_case op_at;
};

enum class order : std::uint8_t { random, as_written };

// Runs the case that is ready first and gives its index, or select_closed or select_stopped.
int choose_and_run(std::span<case_base* const> cases, order in);
// The same, when the quick way has led to nothing: from the case on that it began with, or any_start.
inline constexpr std::size_t any_start = static_cast<std::size_t>(-1);
int choose_inside_and_run(std::span<case_base* const> cases, order in, std::size_t start);

// The one-to-one ring that the case receives from, or null.
inline single_base* ring_of(const case_base& c) noexcept {
  if (!c.channel || c.channel->kind() != flavour::single || c.op_at.kind != op::recv || c.aimed_anew)
    return nullptr;
  return static_cast<single_base*>(c.channel);
}

// The quick way of a select, outside the runtime: as long as the cases in turn are one-to-one rings, their
// reader sees by itself whether there is a value. The first other case ends it, and the select goes on from
// the same start inside, so that each case has the same chance.
struct glance {
  std::size_t ready;  // its index, or the number of cases
  std::size_t start;
};
inline glance glance_at(std::span<case_base* const> cases, order in) noexcept {
  const std::size_t n = cases.size();
  single_base* any = nullptr;
  for (const case_base* const c : cases) {
    if (c->several) return {n, any_start};  // its parts have chances of their own
    if (!any) any = ring_of(*c);
  }
  if (!any || sched::must_come_in()) return {n, any_start};
  const std::size_t start = in == order::as_written ? 0 : any->random_below(n);
  for (std::size_t k = 0, i = start; k < n; ++k, i = i + 1 < n ? i + 1 : 0) {
    const case_base& c = *cases[i];
    if (!c.channel) continue;
    const single_base* const ring = ring_of(c);
    if (!ring) break;
    switch (ring->look()) {
      case single_base::sight::value: return {i, start};
      case single_base::sight::nothing: continue;
      case single_base::sight::closed:
        if (!c.wants_close) continue;
        break;
      case single_base::sight::unclear: break;
    }
    break;
  }
  return {n, start};
}

}  // namespace csp
}  // namespace leat
