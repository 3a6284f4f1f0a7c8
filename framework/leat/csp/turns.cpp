// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/turns.hpp>

namespace leat::csp {

constexpr turns::table turns::make_table() noexcept {
  table t{};
  for (unsigned n = 0; n <= drawn_up_to; ++n) {
    std::size_t found = 0;
    while (found < orders_each) {
      for (unsigned code = 0; code < 256; ++code) {
        unsigned p[4] = {code & 3, (code >> 2) & 3, (code >> 4) & 3, (code >> 6) & 3};
        bool fits = true, odd = false;
        for (unsigned k = 0; k < 4; ++k) {
          if (k >= n && p[k] != k) fits = false;
          for (unsigned j = 0; j < k; ++j) {
            if (p[j] == p[k]) fits = false;
            if (p[j] > p[k]) odd = !odd;
          }
        }
        if (!fits || (n == 4 && odd)) continue;
        t[n][found++] = static_cast<std::uint16_t>(p[0] | p[1] << 4 | p[2] << 8 | p[3] << 12);
      }
    }
  }
  return t;
}

constinit const turns::table turns::orders = turns::make_table();

}  // namespace leat::csp
