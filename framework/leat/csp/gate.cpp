// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/gate.hpp>

#include <utility>

#include <leat/sched/stop.hpp>

namespace leat::csp {
namespace {

channel_options named_after(const channel_base& c) {
  channel_options o;
  o.full = c.when_full();
  o.name = c.name();
  return o;
}

}  // namespace

gate::gate(ref<channel_base> inner, std::shared_ptr<gate_record> record, recv_fn receives, keep_fn keeps,
           hand_out_fn hands_out)
    : channel_base(flavour::gated, inner->capacity(), named_after(*inner.get())),
      recv(receives),
      inner_(std::move(inner)),
      record_(std::move(record)),
      keep_(keeps),
      hand_out_(hands_out) {}

gate::gate(ref<channel_base> inner, std::shared_ptr<gate_record> record, send_fn sends)
    : channel_base(flavour::gated, inner->capacity(), named_after(*inner.get())),
      send(sends),
      inner_(std::move(inner)),
      record_(std::move(record)) {}

channel_base* gate::aim() noexcept {
  if (!send && held()) {
    if (held()->at() == hold_base::state::again) return this;
    if (!stop_requested()) held()->acknowledge();
  }
  return inner_.get();
}

std::size_t gate::size() const noexcept {
  return inner_->size() + (held() && held()->at() == hold_base::state::again ? 1 : 0);
}

attempt gate::try_case(entered&, op_case&) noexcept { return attempt::done; }

attempt gate::enroll(entered&, op_case& c, party& me) noexcept {
  return me.try_claim(c.place.index) == party::claimed::lost ? attempt::lost : attempt::done;
}

}  // namespace leat::csp
