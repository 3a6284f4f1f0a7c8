// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/gate.hpp>

#include <utility>

namespace leat::csp {
namespace {

channel_options named_after(const channel_base& c) {
  channel_options o;
  o.full = c.when_full();
  o.name = c.name();
  return o;
}

}  // namespace

gate::gate(ref<channel_base> inner, std::shared_ptr<gate_record> record)
    : channel_base(inner->capacity(), named_after(*inner.get())),
      inner_(std::move(inner)),
      record_(std::move(record)) {}

std::size_t gate::size() const noexcept { return inner_->size() + (hands_out_again() ? 1 : 0); }

std::span<const ref<channel_base>> gate::parts(const op_case& c) const noexcept {
  if (!c.slot) return {};
  return inner_->parts(c);
}

ending gate::try_case(entered& in, op_case& c) noexcept {
  return c.slot ? inner_->try_case(in, c) : ending::done;
}

ending gate::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.slot) return inner_->enroll(in, c, me);
  return me.try_claim(c.entry.index) == wait::claimed::lost ? ending::lost : ending::done;
}

void gate::withdraw(op_case& c) noexcept {
  if (c.slot) inner_->withdraw(c);
}

void gate::unstage(op_case& c, void* value) noexcept {
  if (c.slot) inner_->unstage(c, value);
}

}  // namespace leat::csp
