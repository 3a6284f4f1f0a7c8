// SPDX-License-Identifier: BSL-1.0
//
// The files with stock classes, one word for each; a file says LEAT_STOCK_ANCHOR(word) once. Not installed.
#pragma once

// Of those that need a library, where it is (services/CMakeLists.txt).
#ifdef LEAT_STOCK_SQLITE
#define LEAT_STOCK_SQLITE_FILES(X) X(sqlite_writer)
#else
#define LEAT_STOCK_SQLITE_FILES(X)
#endif

#define LEAT_STOCK_FILES(X) \
  X(batch)                  \
  X(compute)                \
  X(csv_reader)             \
  X(deadband)               \
  X(dedup)                  \
  X(exec)                   \
  X(http_json)              \
  X(http_post)              \
  X(join)                   \
  X(line_reader)            \
  X(line_writer)            \
  X(log)                    \
  X(min_max)                \
  X(moving_average)         \
  X(mqtt_publish)           \
  X(mqtt_subscribe)         \
  X(recorder)               \
  X(route)                  \
  X(rule)                   \
  X(sample)                 \
  X(select_fields)          \
  X(sensor_sim)             \
  X(tee)                    \
  X(throttle)               \
  X(ticker)                 \
  X(where)                  \
  LEAT_STOCK_SQLITE_FILES(X)

namespace leat::stock::anchors {
#define LEAT_STOCK_DECLARE(file) void file() noexcept;
LEAT_STOCK_FILES(LEAT_STOCK_DECLARE)
#undef LEAT_STOCK_DECLARE
}  // namespace leat::stock::anchors

#define LEAT_STOCK_ANCHOR(file) \
  void leat::stock::anchors::file() noexcept {}
