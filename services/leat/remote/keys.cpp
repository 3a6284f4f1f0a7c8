// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/keys.hpp>

#include <algorithm>

namespace leat::remote {
namespace {

struct key_sequence {
  std::string_view bytes;
  key what;
};
// After the escape; as xterm, the Linux console, screen and tmux send them.
constexpr key_sequence key_sequences[] = {
    {"[A", key::up},    {"OA", key::up},   {"[B", key::down},  {"OB", key::down},     {"[C", key::right},
    {"OC", key::right}, {"[D", key::left}, {"OD", key::left},  {"[5~", key::page_up}, {"[6~", key::page_down},
    {"[H", key::home},  {"OH", key::home}, {"[1~", key::home}, {"[7~", key::home},    {"[F", key::end},
    {"OF", key::end},   {"[4~", key::end}, {"[8~", key::end},  {"OM", key::enter},
};

// How many bytes of a sequence that begins with ESC belong together; 0: it is not whole yet.
std::size_t sequence_size(std::string_view s) {
  if (s.size() < 2) return 0;
  if (s[1] == 'O') return s.size() < 3 ? 0 : 3;
  if (s[1] != '[') return 1;  // Esc, and then another key
  for (std::size_t i = 2; i < s.size(); ++i) {
    if (s[i] < 0x20 || i > 16) return i;  // not what a terminal sends
    if (s[i] >= 0x40 && s[i] <= 0x7e) return i + 1;
  }
  return 0;
}

}  // namespace

std::vector<key_press> key_reader::feed(std::string_view bytes) {
  held_ += bytes;
  std::vector<key_press> all;
  std::string_view rest = held_;
  while (!rest.empty()) {
    const char c = rest.front();
    if (c == '\033') {
      const std::size_t n = sequence_size(rest);
      if (n == 0) break;
      if (n == 1) {
        all.push_back({key::escape});
      } else {
        const std::string_view s = rest.substr(1, n - 1);
        const auto* const found = std::find_if(std::begin(key_sequences), std::end(key_sequences),
                                               [&](const key_sequence& k) { return k.bytes == s; });
        if (found != std::end(key_sequences)) all.push_back({found->what});
      }
      rest.remove_prefix(n);
      continue;
    }
    rest.remove_prefix(1);
    if (c == '\r' || c == '\n') {
      all.push_back({key::enter});
    } else if (c == '\t') {
      all.push_back({key::tab});
    } else if (c == '\b' || c == 0x7f) {
      all.push_back({key::backspace});
    } else if (c >= 0x20 && c < 0x7f) {
      all.push_back({key::character, c});
    }
  }
  held_.erase(0, held_.size() - rest.size());
  return all;
}

std::vector<key_press> key_reader::flush() {
  const bool escape = held_ == "\033";
  held_.clear();
  return escape ? std::vector<key_press>{{key::escape}} : std::vector<key_press>{};
}

}  // namespace leat::remote
