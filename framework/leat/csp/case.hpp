// SPDX-License-Identifier: BSL-1.0
//
// One case of a select, whatever its type, and how one of several is chosen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <leat/csp/single.hpp>
#include <leat/csp/turns.hpp>

namespace leat {

inline constexpr int select_closed = -1;
inline constexpr int select_stopped = -2;

namespace csp {

class case_base {
 public:
  enum class sort : std::uint8_t { channel, timeout, otherwise };

  // by_kind: the case goes all the way of channel_base.hpp. Those of inlined kinds need no staging.
  case_base(sort s, channel_base* c, op kind, bool told, bool by_kind = false) noexcept
      : channel(c), what(s), wants_close(told), aimed_anew(by_kind), staged_by_kind(by_kind), op_at(kind) {}
  virtual ~case_base() = default;
  case_base(case_base&& other) noexcept
      : channel(other.channel),
        what(other.what),
        wants_close(other.wants_close),
        aimed_anew(other.aimed_anew),
        staged_by_kind(other.staged_by_kind),
        may_have_parts(other.may_have_parts),
        until(other.until),
        op_at(other.op_at.kind) {}
  case_base& operator=(case_base&&) = delete;

  // Before a select, outside the runtime, unless the case is fresh: sets the slots, which point into it.
  virtual void prepare() {}
  // Of a channel's case: the T* that it sends, or the std::optional<T>* that it receives into.
  virtual void* value() noexcept { return nullptr; }
  // The handler; `result` says what happened.
  virtual void run() = 0;
  // For a case at whose one-to-one ring a value was seen, outside the runtime: takes it and runs the handler.
  // False: nothing has happened, it is to be got inside.
  virtual bool take_and_run() { return false; }
  // For cases that outlive the expression they were made in.
  virtual void keep_value() {}

  channel_base* channel;  // null: nil, or no channel's case
  sort what;
  bool wants_close;
  bool fresh = false;       // prepared, and neither moved nor run since
  bool aimed_anew = false;  // to be prepared before each select
  bool dead = false;        // closed, and the handler does not want to know
  bool orphaned = false;    // `channel` went while the select waited: the case holds it
  const bool staged_by_kind = false;
  bool may_have_parts = false;  // `channel`
  bool staged = false;          // now; the select holds the channel
  ending result = ending::pending;
  std::int64_t until = forever;
  op_case op_at;
};

enum class order : std::uint8_t { random, as_written };

// Runs a case that is ready and gives its index, or select_closed or select_stopped. `in_turn` is for as many
// as there are cases.
int choose_and_run(std::span<case_base* const> cases, order in, turns& in_turn);
// The same, when the quick way has led to nothing: in the order that it has begun with, if it has.
int choose_inside_and_run(std::span<case_base* const> cases, order in, turns& in_turn);

// The one-to-one ring that the case receives from, or null.
inline single_base* ring_of(const case_base& c) noexcept {
  if (!c.channel || !c.channel->inlined_as(inlined::one_to_one) || c.op_at.kind != op::recv) return nullptr;
  return static_cast<single_base*>(c.channel);
}

// What a case's reader sees at its one-to-one ring, outside the runtime.
enum class glimpse : std::uint8_t { ready, not_ready, unclear };
[[gnu::always_inline]] inline glimpse glimpse_of(const case_base& c) noexcept {
  if (!c.channel) return glimpse::not_ready;
  const single_base* const ring = ring_of(c);
  if (!ring) return glimpse::unclear;
  switch (ring->look()) {
    case single_base::sight::value: return glimpse::ready;
    case single_base::sight::nothing: return glimpse::not_ready;
    case single_base::sight::closed: return c.wants_close ? glimpse::unclear : glimpse::not_ready;
    case single_base::sight::unclear: break;
  }
  return glimpse::unclear;
}

// The quick way of a select: as long as the cases in turn are one-to-one rings, their reader sees by itself
// whether there is a value. The first other case ends it, and the select goes through the same order inside,
// so that each case has the same chance. The index of one that is ready, or the number of cases.
inline std::size_t glance_at(std::span<case_base* const> cases, order in, turns& in_turn) noexcept {
  const std::size_t n = cases.size();
  single_base* any = nullptr;
  for (const case_base* const c : cases) {
    if (c->may_have_parts) return n;  // its parts have chances of their own
    if (!any) any = ring_of(*c);
  }
  if (!any || sched::must_come_in()) return n;
  if (in == order::as_written)
    in_turn.in_order();
  else
    in_turn.shuffle(any->random());
  if (n <= turns::drawn_up_to) {
    std::uint64_t order_of = in_turn.packed();
    for (std::size_t k = 0; k < n; ++k, order_of >>= 4) {
      const std::size_t i = order_of & 15;
      const glimpse seen = glimpse_of(*cases[i]);
      if (seen == glimpse::ready) return i;
      if (seen == glimpse::unclear) return n;
    }
    return n;
  }
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = in_turn.at(k);
    const glimpse seen = glimpse_of(*cases[i]);
    if (seen == glimpse::ready) return i;
    if (seen == glimpse::unclear) return n;
  }
  return n;
}

}  // namespace csp
}  // namespace leat
