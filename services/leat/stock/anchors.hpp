// SPDX-License-Identifier: BSL-1.0
//
// The files with stock classes, one word for each; a file says LEAT_STOCK_ANCHOR(word) once. Not installed.
#pragma once

#define LEAT_STOCK_FILES(X) \
  X(batch)                  \
  X(deadband)               \
  X(exec)                   \
  X(http_json)              \
  X(http_post)              \
  X(line_reader)            \
  X(line_writer)            \
  X(log)                    \
  X(min_max)                \
  X(moving_average)         \
  X(recorder)               \
  X(sample)                 \
  X(select_fields)          \
  X(sensor_sim)             \
  X(tee)                    \
  X(throttle)               \
  X(ticker)

namespace leat::stock::anchors {
#define LEAT_STOCK_DECLARE(file) void file() noexcept;
LEAT_STOCK_FILES(LEAT_STOCK_DECLARE)
#undef LEAT_STOCK_DECLARE
}  // namespace leat::stock::anchors

#define LEAT_STOCK_ANCHOR(file) \
  void leat::stock::anchors::file() noexcept {}
