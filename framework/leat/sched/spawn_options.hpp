// SPDX-License-Identifier: BSL-1.0
//
// How a G is started.
#pragma once
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include <leat/sched/g.hpp>
#include <leat/sched/stop.hpp>

namespace leat {

class overrun_guard;  // overrun.hpp

// Thrown by go and spawn when no runtime runs, or it has no room for another G; on a plain thread also when
// main has returned, since the G could only be stopped.
class spawn_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct spawn_options {
  std::string_view name = {};
  std::size_t stack = 0;                         // bytes; 0: the runtime's default
  std::optional<sched::own_thread> thread = {};  // 1:1: a thread of its own, pinned or real-time
  std::optional<stop_source> stop = {};
  std::shared_ptr<overrun_guard> guard = {};  // limits for a G that runs without entering the runtime
};

using sched::own_thread;

// What a G can run: called without arguments, as a copy of its own.
template <class F>
concept spawnable = std::invocable<std::decay_t<F>&>;

}  // namespace leat
