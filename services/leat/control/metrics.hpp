// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include <leat/control/view.hpp>

namespace leat::control {

// The two dialects that Prometheus scrapes: the old text, for whoever asks for nothing in particular, and
// OpenMetrics 1.0. They differ in the names of counters in comments, in units, and in the end.
enum class metrics_format : std::uint8_t { text, openmetrics };
std::string metrics_text(const deployment_view& v, metrics_format f);
std::string_view content_type(metrics_format f) noexcept;
// What an `Accept` of a request asks for.
metrics_format wanted_format(std::string_view accept) noexcept;

}  // namespace leat::control
