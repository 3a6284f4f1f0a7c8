// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/keyed.hpp>

#include <algorithm>
#include <utility>

namespace leat::csp {
namespace {

// The finaliser of splitmix64.
constexpr std::uint64_t mixed(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

}  // namespace

keyed::keyed(channel_list queues, std::shared_ptr<const key_of> key, const channel_options& o)
    : aiming(queues, queues.front()->capacity(), o), key_(std::move(key)), left_(queues.size()) {}

std::size_t keyed::size() const noexcept {
  std::size_t most = 0;
  for (const auto& q : parts_) most = std::max(most, q->size());
  return most;
}

channel_stats keyed::stats() const noexcept {
  channel_stats sum = composite::stats();
  sum.refused = refused_.load(std::memory_order_relaxed);
  return sum;
}

void keyed::close() noexcept {
  closing_.store(true, std::memory_order_relaxed);
  composite::close();
}

bool keyed::try_count(channel_stats& to) const noexcept {
  channel_stats sum;
  for (const auto& q : parts_) {
    channel_stats s;
    if (!q->try_count(s)) return false;
    sum.sent += s.sent;
    sum.received += s.received;
    sum.dropped += s.dropped;
    sum.left += s.left;
  }
  to = sum;
  return true;
}

std::size_t keyed::waiting(std::span<waiting_g> to) const noexcept {
  std::size_t n = 0;
  for (const auto& q : parts_) n += q->waiting(to.subspan(std::min(n, to.size())));
  return n;
}

std::size_t keyed::choose(const void* value) const noexcept {
  const std::uint64_t key = key_->hash(value);
  std::uint64_t greatest = 0;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (left_[i].load(std::memory_order_acquire)) [[unlikely]]
      continue;
    // Never 0: all may have been left, and one is chosen then, too.
    const std::uint64_t weight = mixed(key ^ (i + 1) * 0x9e3779b97f4a7c15u) | 1;
    if (weight <= greatest) continue;
    greatest = weight;
    chosen = i;
  }
  return chosen;
}

send_status keyed::send(void* value, std::int64_t until) {
  for (;;) {
    const std::size_t queue = choose(value);
    // One that has been left is chosen only when all have.
    const bool over =
        closing_.load(std::memory_order_relaxed) || left_[queue].load(std::memory_order_relaxed);
    const send_status s = parts_[queue]->send(value, until);
    if (s != send_status::closed) [[likely]]
      return s;
    // What was not sent is still there.
    if (choose(value) != queue) continue;
    // As in any channel, one that waited when it was closed is none that was refused.
    if (over) refused_.fetch_add(1, std::memory_order_relaxed);
    return s;
  }
}

void keyed::stage(op_case& c, void* value) {
  if (c.kind == op::recv) refuse_to_receive(*this);
  auto a = std::make_unique<aim>(choose(value));
  a->there.evicted = c.evicted;
  parts_[a->part]->stage(a->there, value);
  c.slot = a->there.slot;
  c.keep<kept_aim>(std::move(a));
}

bool keyed::would_go_elsewhere(const op_case& c) const noexcept {
  if (!left_[c.kept<kept_aim>()->part].load(std::memory_order_acquire)) return false;
  return std::any_of(left_.begin(), left_.end(),
                     [](const auto& left) { return !left.load(std::memory_order_acquire); });
}

void keyed::finish(op_case& c, void* value) {
  const last_use<kept_aim> kept(c);
  parts_[(*kept)->part]->finish((*kept)->there, value);
}

void keyed::unstage(op_case& c, void* value) noexcept {
  const last_use<kept_aim> kept(c);
  parts_[(*kept)->part]->unstage((*kept)->there, value);
}

}  // namespace leat::csp
