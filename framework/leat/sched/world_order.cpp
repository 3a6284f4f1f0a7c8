// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/world_order.hpp>

#include <algorithm>
#include <utility>

namespace leat::sched {
namespace {

// splitmix64: neighbouring seeds give unrelated sequences.
std::uint64_t mixed(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// Priorities of those that have fallen are below this, and of all others above: enough for falls without end.
constexpr std::uint64_t middle = std::uint64_t{1} << 63;
constexpr unsigned most_in_row = 1000;

std::uint64_t below(std::uint64_t& state, std::uint64_t n) noexcept { return n == 0 ? 0 : mixed(state) % n; }

}  // namespace

world_order::world_order(const order_options& o)
    : options_(o), scripted_(false), random_(o.seed), lowest_(middle) {
  if (o.strategy != order_strategy::pct) return;
  for (unsigned i = 1; i < o.depth; ++i)
    falls_at_.push_back(below(random_, std::max<std::uint64_t>(o.steps, 1)));
  std::sort(falls_at_.begin(), falls_at_.end(), std::greater<>());
}

world_order::world_order(const order_options& o, const std::vector<decision>& script)
    : options_(o), scripted_(true), random_(o.seed), lowest_(0) {
  for (const decision& d : script) script_[d.step] = d.choice;
}

std::uint32_t world_order::note(std::uint32_t choice) {
  if (choice != 0 && options_.keeps_decisions) made_.push_back({step_, choice});
  ++step_;
  drawn_ = 0;
  return choice;
}

std::uint64_t world_order::priority_of(std::uint64_t id) {
  const auto at = priority_.find(id);
  if (at != priority_.end()) return at->second;
  return priority_[id] = middle + 1 + (mixed(random_) >> 2);
}

std::size_t world_order::by_priority(std::span<const std::uint64_t> ready) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < ready.size(); ++i)
    if (priority_of(ready[i]) > priority_of(ready[best])) best = i;
  return best;
}

std::size_t world_order::by_pct(std::span<const std::uint64_t> ready) {
  std::size_t choice = by_priority(ready);
  bool falls = false;
  if (!falls_at_.empty() && step_ >= falls_at_.back()) {
    falls_at_.pop_back();
    falls = true;
  }
  if (ready[choice] != last_ || ready.size() == 1) times_in_row_ = 0;
  if (ready.size() > 1 && ++times_in_row_ > most_in_row) falls = true;
  if (falls) {
    priority_[ready[choice]] = --lowest_;
    choice = by_priority(ready);
    times_in_row_ = 1;
  }
  last_ = ready[choice];
  return choice;
}

std::size_t world_order::choose(std::span<const std::uint64_t> ready) {
  std::size_t choice = 0;
  if (scripted_) {
    const auto at = script_.find(step_);
    if (at != script_.end()) choice = std::min<std::size_t>(at->second, ready.size() - 1);
  } else if (options_.strategy == order_strategy::pct) {
    choice = by_pct(ready);
  } else if (ready.size() > 1) {
    choice = static_cast<std::size_t>(below(random_, ready.size()));
  }
  return note(static_cast<std::uint32_t>(choice));
}

bool world_order::gives_way(std::uint64_t running) {
  bool yes = false;
  if (scripted_) {
    yes = script_.contains(step_);
  } else if (options_.strategy == order_strategy::pct) {
    // Whoever has a higher priority and became ready meanwhile runs first: the next choice sees to it.
    yes = true;
    (void)priority_of(running);
  } else if (options_.gives_way_one_in > 0) {
    yes = below(random_, options_.gives_way_one_in) == 0;
  }
  return note(yes ? 1 : 0) != 0;
}

std::uint32_t world_order::draw() noexcept {
  std::uint64_t state = options_.seed * 0x2545f4914f6cdd1du + step_ * 0x9e3779b97f4a7c15u + ++drawn_;
  return static_cast<std::uint32_t>(mixed(state) >> 32);
}

std::vector<decision> shrink(std::vector<decision> from,
                             const std::function<bool(const std::vector<decision>&)>& fails) {
  for (std::size_t piece = std::max<std::size_t>(from.size() / 2, 1); !from.empty();) {
    bool shorter = false;
    for (std::size_t at = 0; at < from.size();) {
      std::vector<decision> without(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(at));
      const std::size_t end = std::min(at + piece, from.size());
      without.insert(without.end(), from.begin() + static_cast<std::ptrdiff_t>(end), from.end());
      if (fails(without)) {
        from = std::move(without);
        shorter = true;
      } else {
        at += piece;
      }
    }
    if (piece == 1 && !shorter) break;
    piece = std::max<std::size_t>(piece / 2, 1);
  }
  return from;
}

}  // namespace leat::sched
