// SPDX-License-Identifier: BSL-1.0
//
// What the host says of its replicas to those who look from outside (observer.hpp), and what they ask of it.
//
// The host writes a row when something happens to its replica; who looks copies all rows. Neither waits for
// the other but for these few stores, and none of it takes the heap: the host must be able to say that a
// process hangs that has the heap locked. Texts are cut to what a row has room for.
//
// Wishes go the other way, by a channel with room for a few; each brings the channel for its answer. Who asks waits for
// so long, and then takes the wish back, so that what was refused does not happen later:
//
//   who asks                                   the host
//    1 sends the wish                           a receives it
//    2 waits for the answer                     b begin: nobody has taken it back
//    3 time is over: take_back. Nobody has       c does it, and answers
//      begun: it is told that nothing happens
//    4 else the answer is on its way: waits
//      a little longer
//
// b and 3 change one word; the first of them decides.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>

namespace leat::services {

enum class replica_state : std::uint8_t { waits_for_start, runs, restarts, ended, failed };

struct replica_row {
  replica_state state = replica_state::waits_for_start;
  bool quarantined_now = false;  // the last incarnation was
  unsigned number = 0;           // of the incarnation
  unsigned restarts = 0, failures = 0, overruns = 0, quarantined = 0, redelivered = 0, dead_letters = 0;
  std::int64_t failed_at = 0;       // ns; 0: never
  std::array<char, 240> failure{};  // ends with 0
  std::uint64_t g = 0;              // of the incarnation; 0: it has not begun to run
};

enum class deployment_phase : std::uint8_t { starting, running, draining, stopping, ended };

class board {
 public:
  explicit board(std::size_t replicas, std::size_t services);

  // The host.
  template <class F>
  void change(std::size_t replica, F f) noexcept {
    const lock_guard held(lock_);
    f(rows_[replica]);
  }
  void set_phase(std::size_t service, deployment_phase p, std::size_t alive) noexcept;
  void set_live(bool makes_progress) noexcept {
    live_.store(makes_progress, std::memory_order_relaxed);
    if (host_late()) host_late_.store(false, std::memory_order_relaxed);
  }
  // sysmon: the host itself hangs, and says nothing here until its next step.
  void host_is_late() noexcept { host_late_.store(true, std::memory_order_relaxed); }
  // On the G of an incarnation, as the first thing.
  void begun(std::size_t replica, std::uint64_t g) noexcept {
    gs_[replica].store(g, std::memory_order_relaxed);
  }

  // Anybody.
  std::uint64_t g_of(std::size_t replica) const noexcept {
    return gs_[replica].load(std::memory_order_relaxed);
  }
  std::vector<replica_row> rows() const;
  struct service_row {
    deployment_phase phase = deployment_phase::starting;
    std::size_t alive = 0;
  };
  std::vector<service_row> services() const;
  bool live() const noexcept { return live_.load(std::memory_order_relaxed) && !host_late(); }
  bool host_late() const noexcept { return host_late_.load(std::memory_order_relaxed); }

 private:
  mutable ranked_mutex lock_{lock_rank::host, "board"};
  std::vector<replica_row> rows_ LEAT_GUARDED_BY(lock_);
  std::vector<service_row> services_ LEAT_GUARDED_BY(lock_);
  const std::size_t n_services_;
  std::vector<std::atomic<std::uint64_t>> gs_;
  std::atomic<bool> live_{true};
  std::atomic<bool> host_late_{false};
};

// Whether a wish is still one.
class wish_claim {
 public:
  // Step b. False: it has been taken back.
  bool begin() noexcept { return change(state::begun); }
  // Step 3. False: the host has begun.
  bool take_back() noexcept { return change(state::taken_back); }

 private:
  enum class state : std::uint8_t { open, begun, taken_back };
  bool change(state to) noexcept {
    state was = state::open;
    return at_.compare_exchange_strong(was, to, std::memory_order_relaxed);
  }
  std::atomic<state> at_{state::open};
};

// What somebody wants of the host.
struct wish {
  enum class kind : std::uint8_t {
    restart,
    stop,
    stop_now,
    // In a simulation.
    fail,     // it is thrown out of its next call, and has failed
    hang,     // it gets no turn any more, until it is thrown out by its limits
    overran,  // its `hang` is over
  };
  kind what = kind::restart;
  std::size_t replica = 0;
  out<bool> granted = {};                  // with room for one
  std::shared_ptr<wish_claim> claim = {};  // null: it is never taken back
};

}  // namespace leat::services
