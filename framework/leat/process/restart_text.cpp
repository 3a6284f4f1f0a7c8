// SPDX-License-Identifier: BSL-1.0
#include <leat/process/restart_text.hpp>

#include <leat/base/units.hpp>
#include <leat/process/failure_cause.hpp>

namespace leat {

void append_rounded(text_buffer& to, nanoseconds d) noexcept {
  struct unit {
    std::int64_t size;
    const char* name;
  };
  constexpr unit units[] = {{1'000'000'000, "s"}, {1'000'000, "ms"}, {1'000, "us"}};
  std::int64_t step = 1;
  while (d.count() / step >= 1000) step *= 10;
  const std::int64_t ns = (d.count() + step / 2) / step * step;
  for (const unit& u : units) {
    if (ns < u.size || ns >= 100 * units[0].size) continue;
    to.format("{}", ns / u.size);
    std::int64_t rest = ns % u.size;
    if (rest > 0) to.append(".");
    for (std::int64_t digit = u.size / 10; rest > 0; digit /= 10) {
      to.format("{}", rest / digit);
      rest %= digit;
    }
    to.append(u.name);
    return;
  }
  append_duration(to, nanoseconds(ns));
}

void append_what_follows(text_buffer& to, const restart_decision& d, const restart_policy& p,
                         std::size_t together) noexcept {
  switch (d.what) {
    case restart_decision::kind::stays_ended:
      to.append(p.when == restart_when::not_at_all ? "it stays ended (restart.when is never)"
                                                   : "it stays ended");
      return;
    case restart_decision::kind::expected: to.append("it was being stopped"); return;
    case restart_decision::kind::limit_reached:
      to.format("{} {} in ", p.burst, p.burst == 1 ? "restart" : "restarts");
      append_duration(to, p.window);
      to.append(p.burst == 1 ? " is the limit" : " are the limit");
      return;
    case restart_decision::kind::restarts: break;
  }
  if (together > 1) to.format("with {} {} it ", together - 1, together > 2 ? "others" : "other");
  to.append("restarts in ");
  append_rounded(to, d.pause);
  to.format(" ({} of {} in ", d.recent, p.burst);
  append_duration(to, p.window);
  to.append(")");
}

void failure_cause::append_to(text_buffer& to) const noexcept {
  switch (what) {
    case kind::none: break;
    case kind::overran:
      to.append("it ran for ");
      append_rounded(to, time);
      to.append(" without entering the runtime");
      break;
    case kind::went_on: to.append("it went on after it had been asked to stop"); break;
    case kind::silent:
      to.append("it has neither received nor sent for ");
      append_duration(to, time);
      break;
    case kind::deadlock: to.append("it waited for others that waited for it"); break;
    case kind::injected: to.append("a fault of the simulation"); break;
  }
}

}  // namespace leat
