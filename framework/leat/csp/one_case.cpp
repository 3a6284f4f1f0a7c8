// SPDX-License-Identifier: BSL-1.0
//
// A send or a receive as a select of one case: what kinds of channels have that do not have their own.
#include <span>
#include <type_traits>

#include <leat/csp/select.hpp>

namespace leat::csp {
namespace {

class only_case final : public case_base {
 public:
  only_case(channel_base& c, op kind, void* value) noexcept
      : case_base(sort::channel, &c, kind, true, true), value_(value) {
    op_at.slot = value;
    may_have_parts = kind == op::recv && !c.parts(op_at).empty();
  }
  void* value() noexcept override { return value_; }
  void run() override {}

 private:
  void* const value_;
};

// 0: see `only`. 1: it cannot be done now, or not in time. select_stopped.
int try_until(only_case& only, std::int64_t until) {
  constexpr auto nothing = [] {};
  using end_case = plain_case<std::remove_const_t<decltype(nothing)>>;
  end_case end(until == at_once ? case_base::sort::otherwise : case_base::sort::timeout, until, nothing);
  case_base* const cases[] = {&only, &end};
  const std::span<case_base* const> all(cases, until == forever ? 1 : 2);
  turns in_turn(all.size());
  return choose_inside_and_run(all, order::random, in_turn);
}

}  // namespace

send_status channel_base::send(void* value, std::int64_t until) {
  only_case c(*this, op::send, value);
  switch (try_until(c, until)) {
    case 0: break;
    case select_stopped: return send_status::stopped;
    default: return until == at_once ? send_status::full : send_status::timeout;
  }
  if (c.result == ending::closed) return send_status::closed;
  return c.result == ending::dropped ? send_status::dropped : send_status::sent;
}

recv_status channel_base::recv(void* value, std::int64_t until) {
  only_case c(*this, op::recv, value);
  switch (try_until(c, until)) {
    case 0: return c.result == ending::closed ? recv_status::closed : recv_status::received;
    case select_stopped: return recv_status::stopped;
    default: return until == at_once ? recv_status::empty : recv_status::timeout;
  }
}

}  // namespace leat::csp
