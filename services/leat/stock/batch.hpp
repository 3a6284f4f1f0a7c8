// SPDX-License-Identifier: BSL-1.0
//
// What the stock class `batch` sends.
#pragma once
#include <vector>

#include <leat/process/message.hpp>
#include <leat/process/record.hpp>

namespace leat::stock {

struct record_batch {
  std::vector<record> records;
};
// NOLINTNEXTLINE(misc-definitions-in-headers): a link of its own in each file that includes it
LEAT_MESSAGE(record_batch, records);

}  // namespace leat::stock
