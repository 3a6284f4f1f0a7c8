// SPDX-License-Identifier: BSL-1.0
#include <leat/process/restart_policy.hpp>

#include <algorithm>

namespace leat {

unsigned restart_history::recent(const restart_policy& p, time_point now) const noexcept {
  return static_cast<unsigned>(
      std::count_if(at_.begin(), at_.end(), [&](time_point t) { return saturating_sub(now, t) < p.window; }));
}

unsigned restart_history::doublings(const restart_policy& p, time_point now) const noexcept {
  return at_.empty() || saturating_sub(now, at_.back()) >= p.window ? 0 : streak_;
}

void restart_history::restarted(const restart_policy& p, time_point now) {
  streak_ = doublings(p, now) + 1;
  // One more than the burst is kept: the last tells of a quiet window also when the burst is 0.
  const auto is_over = [&](time_point t) { return saturating_sub(now, t) >= p.window; };
  auto keep = std::find_if_not(at_.begin(), at_.end(), is_over);
  if (const auto left = static_cast<std::size_t>(at_.end() - keep); left > p.burst)
    keep += static_cast<std::ptrdiff_t>(left - p.burst);
  at_.erase(at_.begin(), keep);
  at_.push_back(now);
}

namespace {

nanoseconds pause_of(const restart_policy& p, unsigned doublings, double random) noexcept {
  std::int64_t ns = p.backoff.count();
  const std::int64_t most = std::max(p.longest_backoff, p.backoff).count();
  for (unsigned i = 0; i < doublings && ns < most; ++i) ns = ns > most / 2 ? most : ns * 2;
  const double jittered = static_cast<double>(std::min(ns, most)) * (0.9 + 0.2 * random);
  // Compared before it is made whole: what is too large for that is anything, on x86 less than nothing.
  if (jittered >= static_cast<double>(most)) return nanoseconds(most);
  return nanoseconds(static_cast<std::int64_t>(jittered));
}

}  // namespace

restart_decision decide(const restart_policy& p, const restart_history& h, process_end how, time_point now,
                        double random) noexcept {
  using kind = restart_decision::kind;
  const bool wanted = how == process_end::failed     ? p.when != restart_when::not_at_all
                      : how == process_end::returned ? p.when == restart_when::always
                                                     : false;
  const unsigned recent = h.recent(p, now);
  if (!wanted) return {kind::stays_ended, {}, recent};
  if (recent >= p.burst) return {kind::limit_reached, {}, recent};
  return {kind::restarts, pause_of(p, h.doublings(p, now), random), recent + 1};
}

}  // namespace leat
