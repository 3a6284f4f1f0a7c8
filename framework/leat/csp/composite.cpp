// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/composite.hpp>

#include <algorithm>

namespace leat::csp {
namespace {

channel_options named_after(const channel_list& all) {
  channel_options o;
  for (const auto& p : all) o.name.append(o.name.empty() ? "" : "+").append(p->name());
  return o;
}
std::size_t total_capacity(const channel_list& all) noexcept {
  std::size_t sum = 0;
  for (const auto& p : all) sum += p->capacity();
  return std::min(sum, most_capacity);
}

}  // namespace

composite::composite(channel_list all)
    : channel_base(total_capacity(all), named_after(all)), parts_(std::move(all)) {}

composite::composite(channel_list all, std::size_t capacity, const channel_options& o)
    : channel_base(capacity, o), parts_(std::move(all)) {}

composite::~composite() = default;

std::span<const ref<channel_base>> merged::parts(const op_case&) const noexcept { return parts_; }

std::size_t composite::size() const noexcept {
  std::size_t sum = 0;
  for (const auto& p : parts_) sum += p->size();
  return sum;
}

bool composite::is_closed() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->is_closed(); });
}

channel_stats composite::stats() const noexcept {
  channel_stats sum;
  for (const auto& p : parts_) {
    const channel_stats s = p->stats();
    sum.sent += s.sent;
    sum.received += s.received;
    sum.dropped += s.dropped;
    sum.left += s.left;
    sum.high_water += s.high_water;
    sum.send_blocked += s.send_blocked;
    sum.recv_blocked += s.recv_blocked;
    sum.refused += s.refused;
  }
  return sum;
}

void composite::close() noexcept {
  for (const auto& p : parts_)
    if (!p->is_closed()) p->close();
}

std::size_t fan::first_open() const noexcept {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i]->is_closed()) return i;
  return 0;
}

ending aiming::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return ending::closed;
  aim& at = *c.kept<kept_aim>();
  return parts_[at.part]->try_case(in, at.there);
}

ending aiming::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::recv) return ending::closed;
  aim& at = *c.kept<kept_aim>();
  waiter& place = *new (&at.there.entry) waiter;
  place.who = &me;
  place.slot = at.there.slot;
  place.index = c.entry.index;
  return parts_[at.part]->enroll(in, at.there, me);
}

void aiming::withdraw(op_case& c) noexcept {
  if (c.kind == op::recv) return;
  aim& at = *c.kept<kept_aim>();
  parts_[at.part]->withdraw(at.there);
  c.entry.said = at.there.entry.said;
}

}  // namespace leat::csp
