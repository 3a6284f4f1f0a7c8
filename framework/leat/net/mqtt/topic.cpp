// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/topic.hpp>

#include <algorithm>

#include <leat/base/utf8.hpp>

namespace leat::net::mqtt {
namespace {

constexpr std::string_view share = "$share/";
constexpr std::size_t most_bytes = 65535;

std::string check_text(std::string_view text, const char* what) {
  if (text.empty()) return std::string("a topic ") + what + " has at least one character";
  if (text.size() > most_bytes) return std::string("a topic ") + what + " has at most 65535 bytes";
  if (text.find('\0') != text.npos || !is_utf8(text))
    return std::string("a topic ") + what + " is UTF-8 without zero bytes";
  return {};
}

// The level at the front, which is taken off; `last`: nothing follows.
std::string_view take_level(std::string_view& text, bool& last) noexcept {
  const std::size_t slash = text.find('/');
  last = slash == text.npos;
  const std::string_view level = text.substr(0, slash);
  text.remove_prefix(last ? text.size() : slash + 1);
  return level;
}

}  // namespace

std::string check_topic(std::string_view name) {
  if (std::string why = check_text(name, "name"); !why.empty()) return why;
  if (name.find_first_of("+#") != name.npos) return "'+' and '#' are for filters, not for topic names";
  return {};
}

bool is_shared(std::string_view filter) noexcept { return filter.starts_with(share); }

std::string check_filter(std::string_view filter) {
  if (std::string why = check_text(filter, "filter"); !why.empty()) return why;
  if (is_shared(filter)) {
    const std::string_view rest = filter.substr(share.size());
    const std::size_t slash = rest.find('/');
    const std::string_view group = rest.substr(0, slash);
    if (slash == rest.npos || group.empty() || group.find_first_of("+#") != group.npos)
      return "a shared subscription is \"$share/GROUP/FILTER\", with a group without '+' and '#'";
    filter = rest.substr(slash + 1);
    if (filter.empty()) return "a shared subscription has a filter behind its group";
  }
  for (bool last = false; !last;) {
    const std::string_view level = take_level(filter, last);
    if (level.size() > 1 && level.find_first_of("+#") != level.npos)
      return "'+' and '#' stand for whole levels: nothing else is in theirs";
    if (level == "#" && !last) return "'#' is the last level of a filter";
  }
  return {};
}

bool matches(std::string_view filter, std::string_view topic) noexcept {
  if (is_shared(filter)) {
    filter.remove_prefix(share.size());
    filter.remove_prefix(std::min(filter.find('/'), filter.size() - 1) + 1);
  }
  // 4.7.2: those of the server are not among all.
  if (topic.starts_with('$') && (filter.starts_with('+') || filter.starts_with('#'))) return false;
  for (bool filter_ends = false, topic_ends = false;;) {
    const std::string_view want = take_level(filter, filter_ends);
    if (want == "#") return true;
    if (topic_ends) return false;
    const std::string_view have = take_level(topic, topic_ends);
    if (want != "+" && want != have) return false;
    if (filter_ends) return topic_ends;
    if (topic_ends && filter != "#") return false;  // "a/#" matches "a"
  }
}

}  // namespace leat::net::mqtt
