// SPDX-License-Identifier: BSL-1.0
//
// Asking Gs to stop. A G that was asked gets `stopped` from its blocking calls at once. One that goes on
// past its grace is insisted on: its next entry into the runtime throws leat::stopped.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include <leat/base/clock.hpp>

namespace leat {

// Not a std::exception: `catch (const std::exception&)` in user code must not swallow it.
struct stopped {
  const char* what() const noexcept { return "stopped"; }
};

// Has the current G been asked to stop? False on threads that run no G.
bool stop_requested() noexcept;

// A place where a long computation lets others run and can be stopped: throws leat::stopped if it was asked.
void checkpoint();

namespace sched {
class stop_state;
struct G;
void leave_stop_source(G& g) noexcept;
}  // namespace sched

enum class stop_reason : std::uint8_t {
  none,       // nobody has asked
  requested,  // by request_stop, insist, or context::cancel
  deadline,   // of a context (context.hpp)
};
const char* to_string(stop_reason r) noexcept;

// Sees the stop of a stop_source, and cannot ask for it. For leat::stop_callback, task groups and contexts.
// Made from nothing, it never sees one.
class stop_token {
 public:
  stop_token() = default;
  explicit stop_token(std::shared_ptr<sched::stop_state> of) noexcept : state_(std::move(of)) {}

  bool stop_requested() const noexcept { return why() != stop_reason::none; }
  stop_reason why() const noexcept;
  // When it will be asked for at the latest, because of contexts.
  deadline until() const noexcept;

  const std::shared_ptr<sched::stop_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<sched::stop_state> state_;
};

// Stops all Gs that were spawned with it (spawn_options::stop), and those spawned later. Copies share.
class stop_source {
 public:
  stop_source();
  void request_stop() noexcept;
  // The next entry of each into the runtime throws.
  void insist() noexcept;
  bool stop_requested() const noexcept;
  stop_token token() const noexcept { return stop_token(state_); }

  const std::shared_ptr<sched::stop_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<sched::stop_state> state_;
};

}  // namespace leat
