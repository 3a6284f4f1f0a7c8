// SPDX-License-Identifier: BSL-1.0
#include <leat/process/restart_text.hpp>

#include <leat/base/units.hpp>

namespace leat {

nanoseconds rounded(nanoseconds d) noexcept {
  std::int64_t unit = 1;
  while (d.count() / unit >= 1000) unit *= 10;
  return nanoseconds((d.count() + unit / 2) / unit * unit);
}

std::string what_follows(const restart_decision& d, const restart_policy& p, std::size_t together) {
  switch (d.what) {
    case restart_decision::kind::stays_ended:
      return p.when == restart_when::not_at_all ? "it stays ended (restart.when is never)" : "it stays ended";
    case restart_decision::kind::expected: return "it was being stopped";
    case restart_decision::kind::limit_reached:
      return std::to_string(p.burst) + (p.burst == 1 ? " restart in " : " restarts in ") +
             format_duration(p.window) + (p.burst == 1 ? " is the limit" : " are the limit");
    case restart_decision::kind::restarts: break;
  }
  std::string text;
  if (together > 1)
    text = "with " + std::to_string(together - 1) + (together > 2 ? " others it " : " other it ");
  return text + "restarts in " + format_duration(rounded(d.pause)) + " (" + std::to_string(d.recent) +
         " of " + std::to_string(p.burst) + " in " + format_duration(p.window) + ")";
}

}  // namespace leat
