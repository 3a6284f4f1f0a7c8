// SPDX-License-Identifier: BSL-1.0
//
// The page of http-json: values of each sensor with a trend, from /events. Not installed.
#pragma once
#include <string>
#include <string_view>

namespace leat::stock {

// `key` and `field` tell the script whose value is shown under which name.
std::string live_page(std::string_view title, std::string_view key, std::string_view field);
extern const std::string_view live_page_style;
extern const std::string_view live_page_script;

}  // namespace leat::stock
