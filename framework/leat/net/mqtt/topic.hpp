// SPDX-License-Identifier: BSL-1.0
//
// Topic names and topic filters (4.7), shared subscriptions (4.8.2).
#pragma once
#include <string>
#include <string_view>

namespace leat::net::mqtt {

// "" or what is wrong with it: of a name to publish to, of a filter to subscribe to ("$share/GROUP/FILTER" too).
std::string check_topic(std::string_view name);
std::string check_filter(std::string_view filter);

bool is_shared(std::string_view filter) noexcept;
// Both are right. A shared filter matches what the filter in it does.
bool matches(std::string_view filter, std::string_view topic) noexcept;

}  // namespace leat::net::mqtt
