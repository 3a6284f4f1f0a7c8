// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <string_view>

#include <leat/base/clock.hpp>

namespace leat::services {

// Tells systemd, if it started us and asked for it (NOTIFY_SOCKET): "READY=1", "STOPPING=1". Does not block.
void notify_systemd(std::string_view state) noexcept;

// Whether it listens.
bool has_notify_socket() noexcept;

// How often systemd wants WATCHDOG=1 at the least, if it does; else zero.
nanoseconds watchdog_interval() noexcept;

}  // namespace leat::services
