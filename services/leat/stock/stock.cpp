// SPDX-License-Identifier: BSL-1.0
#include <leat/stock.hpp>

#include <leat/stock/anchors.hpp>

namespace leat::stock {

void use() noexcept {
#define LEAT_STOCK_CALL(file) anchors::file();
  LEAT_STOCK_FILES(LEAT_STOCK_CALL)
#undef LEAT_STOCK_CALL
}

}  // namespace leat::stock
