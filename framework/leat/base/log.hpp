// SPDX-License-Identifier: BSL-1.0
//
// A small leveled log on stderr: one write(2) a line, no allocation, errno kept. Who
// logs never waits for who reads (log_output.hpp).
//
//   on a pipe or file   2026-11-15 10:00:00.123 warning sched: text      (UTC)
//   under systemd       <4>sched: text                                   (JOURNAL_STREAM names our stderr)
//   on a terminal       the first form, with colour unless NO_COLOR is set or TERM is dumb
//
// The level is info, or what LEAT_LOG says, or what set_log_level says. A line longer than 1 KiB is
// cut; control characters become blanks, so that a text cannot forge a second line.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <leat/base/format.hpp>

namespace leat {

enum class log_level : std::uint8_t { debug, info, notice, warning, error };

const char* to_string(log_level level) noexcept;

void set_log_level(log_level level) noexcept;
log_level get_log_level() noexcept;

// systemd's journal reads our stderr.
bool log_goes_to_journal() noexcept;

// Takes the place of stderr; null brings stderr back. Runs on the logging thread, perhaps on many at
// once, so who logs waits for it; only Leat's own watchers do not: their lines come on a thread of the log's
// (log_aside.hpp), a moment later. When set_log_sink returns, no thread is inside the former sink; so a sink
// must not call it.
using log_sink = void (*)(void* arg, log_level level, std::string_view component, std::string_view text);
void set_log_sink(log_sink sink, void* arg) noexcept;

namespace detail {

// 255 until the first use reads the environment.
extern std::atomic<std::uint8_t> log_threshold;
std::uint8_t init_log_threshold() noexcept;
void write_log(log_level level, std::string_view component, std::string_view text, const format_arg* args,
               std::size_t count) noexcept;

}  // namespace detail

inline bool log_enabled(log_level level) noexcept {
  std::uint8_t threshold = detail::log_threshold.load(std::memory_order_relaxed);
  if (threshold == 255) [[unlikely]]
    threshold = detail::init_log_threshold();
  return static_cast<std::uint8_t>(level) >= threshold;
}

template <class... Args>
void log(log_level level, std::string_view component, format_string<std::type_identity_t<Args>...> text,
         const Args&... args) noexcept {
  if (!log_enabled(level)) return;
  if constexpr (sizeof...(Args) == 0) {
    detail::write_log(level, component, text.get(), nullptr, 0);
  } else {
    const format_arg list[] = {format_arg(args)...};
    detail::write_log(level, component, text.get(), list, sizeof...(Args));
  }
}

template <class... Args>
void log_debug(std::string_view component, format_string<std::type_identity_t<Args>...> text,
               const Args&... args) noexcept {
  log(log_level::debug, component, text, args...);
}
template <class... Args>
void log_info(std::string_view component, format_string<std::type_identity_t<Args>...> text,
              const Args&... args) noexcept {
  log(log_level::info, component, text, args...);
}
template <class... Args>
void log_notice(std::string_view component, format_string<std::type_identity_t<Args>...> text,
                const Args&... args) noexcept {
  log(log_level::notice, component, text, args...);
}
template <class... Args>
void log_warning(std::string_view component, format_string<std::type_identity_t<Args>...> text,
                 const Args&... args) noexcept {
  log(log_level::warning, component, text, args...);
}
template <class... Args>
void log_error(std::string_view component, format_string<std::type_identity_t<Args>...> text,
               const Args&... args) noexcept {
  log(log_level::error, component, text, args...);
}

}  // namespace leat
