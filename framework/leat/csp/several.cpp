// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/several.hpp>

#include <algorithm>

#include <leat/base/check.hpp>

namespace leat::csp {
namespace {

channel_options named_after(const several::parts& all) {
  channel_options o;
  for (const auto& p : all) o.name.append(o.name.empty() ? "" : "+").append(p->name());
  return o;
}
std::size_t total_capacity(const several::parts& all) noexcept {
  std::size_t sum = 0;
  for (const auto& p : all) sum += p->capacity();
  return std::min(sum, most_capacity);
}

}  // namespace

several::several(parts all, recv_fn receives)
    : channel_base(flavour::merged, total_capacity(all), named_after(all)),
      recv(receives),
      parts_(std::move(all)) {}

several::several(parts all, send_fn sends, copy_fn copies)
    : channel_base(flavour::fan, total_capacity(all), named_after(all)),
      send(sends),
      copy(copies),
      parts_(std::move(all)) {}

std::size_t several::first_open() const noexcept {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i]->is_closed()) return i;
  return 0;
}

std::size_t several::size() const noexcept {
  std::size_t sum = 0;
  for (const auto& p : parts_) sum += p->size();
  return sum;
}

bool several::is_closed() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->is_closed(); });
}

channel_stats several::stats() const noexcept {
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
  }
  return sum;
}

void several::close() noexcept {
  for (const auto& p : parts_)
    if (!p->is_closed()) p->close();
}

attempt several::try_case(entered&, op_case&) noexcept {
  LEAT_UNREACHABLE("a select met several channels as one", "name", name());
}
attempt several::enroll(entered&, op_case&, party&) noexcept {
  LEAT_UNREACHABLE("a select met several channels as one", "name", name());
}
void several::withdraw(op_case&) noexcept {
  LEAT_UNREACHABLE("a select met several channels as one", "name", name());
}

}  // namespace leat::csp
