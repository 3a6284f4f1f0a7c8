// SPDX-License-Identifier: BSL-1.0
//
// Asking Gs to stop. A G that was asked gets `stopped` from its blocking calls at once. One that goes on
// past its grace is insisted on: its next entry into the runtime throws leat::stopped.
#pragma once
#include <memory>

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

// Stops all Gs that were spawned with it (spawn_options::stop), and those spawned later. Copies share.
class stop_source {
 public:
  stop_source();
  void request_stop() noexcept;
  // The next entry of each into the runtime throws.
  void insist() noexcept;
  bool stop_requested() const noexcept;

  const std::shared_ptr<sched::stop_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<sched::stop_state> state_;
};

}  // namespace leat
