// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a terminal as keys. A key of several bytes may come in pieces over a slow line; an escape that nothing
// follows is the key Esc, which flush() tells.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat::remote {

enum class key : std::uint8_t {
  character,
  up,
  down,
  page_up,
  page_down,
  home,
  end,
  left,
  right,
  enter,
  tab,
  escape,
  backspace
};

struct key_press {
  key what = key::character;
  char letter = 0;  // of a character: printable ASCII

  friend bool operator==(const key_press&, const key_press&) = default;
};

class key_reader {
 public:
  std::vector<key_press> feed(std::string_view bytes);
  // Something began that may go on.
  bool pending() const noexcept { return !held_.empty(); }
  // It does not.
  std::vector<key_press> flush();

 private:
  std::string held_;
};

}  // namespace leat::remote
