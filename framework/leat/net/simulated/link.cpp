// SPDX-License-Identifier: BSL-1.0
#include <leat/net/simulated/link.hpp>

#include <algorithm>

namespace leat::net::simulated {
namespace {

// splitmix64
std::uint64_t next_of(std::uint64_t& state) noexcept {
  std::uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

// 0 to n.
std::int64_t up_to(std::uint64_t& state, std::int64_t n) noexcept {
  return static_cast<std::int64_t>(next_of(state) % (static_cast<std::uint64_t>(n) + 1));
}

std::int64_t plus(std::int64_t at, std::int64_t ns) noexcept {
  std::int64_t sum = 0;
  return at == never || __builtin_add_overflow(at, ns, &sum) ? never : sum;
}

// What takes longer than the link is ever up for would be sent again for ever: then it gets through in pieces.
constexpr int most_resends = 50;
constexpr std::int64_t kept_for = 2 * link::patience;  // of cuts that are over

}  // namespace

bool link::draw(double rate) noexcept { return static_cast<double>(next_of(random_) >> 11) * 0x1p-53 < rate; }

std::int64_t link::jitter_now() noexcept { return up_to(random_, jitter_); }

std::int64_t link::time_on_wire(std::size_t bytes) const noexcept {
  if (bandwidth_ == 0 || bytes == 0) return 0;
  // In two parts, or the product would not fit.
  constexpr std::uint64_t second = 1'000'000'000;
  return static_cast<std::int64_t>(bytes / bandwidth_ * second + bytes % bandwidth_ * second / bandwidth_);
}

void link::cut(std::int64_t from, std::int64_t until) {
  std::erase_if(cuts_, [&](const outage& o) { return o.until < from - kept_for; });
  cuts_.push_back({from, until});
  ++counts_.cuts;
  free_at_ = from;
}

void link::heal(std::int64_t now) {
  std::erase_if(cuts_, [&](const outage& o) { return o.from >= now; });
  for (outage& o : cuts_) o.until = std::min(o.until, now);
  drawn_until_ = never;
  free_at_ = now;
}

void link::cut_at_random(std::int64_t now, std::int64_t every, std::int64_t lasting) {
  every_ = std::max<std::int64_t>(every, 1);
  lasting_ = std::clamp<std::int64_t>(lasting, 1, longest_random_cut);
  drawn_until_ = now;
}

void link::draw_cuts_until(std::int64_t at) {
  while (drawn_until_ < at) {
    const std::int64_t from = plus(drawn_until_, every_ / 2 + up_to(cut_random_, every_));
    drawn_until_ = plus(from, lasting_ / 2 + up_to(cut_random_, lasting_));
    std::erase_if(cuts_, [&](const outage& o) { return o.until < from - kept_for; });
    cuts_.push_back({from, drawn_until_});
    ++counts_.cuts;
  }
}

std::int64_t link::up_from(std::int64_t at) {
  for (bool moved = true; moved && at != never;) {
    moved = false;
    draw_cuts_until(at);
    for (const outage& o : cuts_) {
      if (at < o.from || at >= o.until) continue;
      at = o.until;
      moved = true;
    }
  }
  return at;
}

std::int64_t link::first_cut_within(std::int64_t from, std::int64_t until) {
  draw_cuts_until(until);
  std::int64_t first = never;
  for (const outage& o : cuts_)
    if (o.from > from && o.from < until && o.until > o.from) first = std::min(first, o.from);
  return first;
}

std::int64_t link::gives_up_at(std::int64_t since) const noexcept {
  std::int64_t first = never;
  for (const outage& o : cuts_) {
    const std::int64_t at = plus(std::max(o.from, since), patience);
    if (at < o.until) first = std::min(first, at);
  }
  return first;
}

std::int64_t link::carry(std::int64_t now, std::size_t bytes) {
  const std::int64_t wire = time_on_wire(bytes), late = plus(latency_, jitter_now());
  std::int64_t at = bandwidth_ > 0 ? std::max(now, free_at_) : now;
  for (int resends = 0;; ++resends) {
    const std::int64_t from = up_from(at);
    if (from == never) return never;
    const std::int64_t arrives = plus(from, wire + late);
    const std::int64_t cut = arrives == never ? never : first_cut_within(from, arrives);
    if (cut == never || resends == most_resends) {
      free_at_ = from + wire;
      return arrives;
    }
    at = cut;  // sent again
  }
}

std::int64_t link::carry_control(std::int64_t now) {
  std::int64_t at = now;
  for (int resends = 0;; ++resends) {
    const std::int64_t from = up_from(at);
    if (from == never) return never;
    const std::int64_t arrives = plus(from, latency_);
    const std::int64_t cut = arrives == never ? never : first_cut_within(from, arrives);
    if (cut == never || resends == most_resends) return arrives;
    at = cut;
  }
}

link::arrivals link::carry_datagram(std::int64_t now, std::size_t bytes) {
  ++counts_.datagrams;
  // All are drawn, whatever becomes of it: a rate that is changed does not change the luck of others.
  const std::int64_t late = jitter_now();
  const bool loses = draw(rates_.loss), doubles = draw(rates_.duplicate), delays = draw(rates_.reorder);
  const std::int64_t from = bandwidth_ > 0 ? std::max(now, free_at_) : now;
  const std::int64_t sent = from + time_on_wire(bytes);
  free_at_ = std::max(free_at_, sent);
  const std::int64_t arrives = plus(sent, latency_ + late);
  if (loses || arrives == never || !is_up(from) || first_cut_within(from, arrives) != never) {
    ++counts_.lost;
    return {};
  }
  arrivals a{arrives, never};
  if (delays) {  // behind what is sent within the next moment
    ++counts_.reordered;
    a.first = plus(a.first, std::max<std::int64_t>(latency_, 1'000'000));
  }
  if (doubles) {
    ++counts_.duplicated;
    a.second = plus(a.first, std::max<std::int64_t>(latency_ / 2, 1'000));
  }
  return a;
}

}  // namespace leat::net::simulated
