// SPDX-License-Identifier: BSL-1.0
//
// The page of http-json: values of each sensor with a trend, from /events. Its style and script are the files of
// services/leat/stock/page. Not installed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/process/shape.hpp>

namespace leat::stock {

// How a sensor is shown.
struct page_scale {
  std::optional<std::string> sensor;  // none: all that have no scale of their own
  std::string unit;
  std::optional<double> low, high;  // what is beyond stands out
};
LEAT_SETTINGS(page_scale, sensor, unit, low, high);

struct page_options {
  std::string_view title, key, field;
  nanoseconds window;  // of time, the same for all sensors
  const std::vector<page_scale>& scales;
};
std::string live_page(const page_options& o);
std::string_view live_page_style();
std::string_view live_page_script();

struct embedded_file {
  std::string_view name;  // in its folder
  std::string_view text;
};
const std::vector<embedded_file>& embedded_files();

}  // namespace leat::stock
