// SPDX-License-Identifier: BSL-1.0
//
// Runs a checked plan: makes its channels and objects, starts a G per replica from sinks to sources, restarts
// what fails by its policy, and sees it through to the end.
//
// Everything that happens comes to one G, the host's, as events: news of incarnations (their end, steps of an
// overrun), a signal, a deadline. So nothing here is shared but what the incarnations tell.
//
// The life of a service: running (its supervision machine says what restarts) -> draining (its sources are
// stopped; the others end when their channels are closed and empty) -> stopping (its drain time is over, or a
// process failed too often: all are asked to stop) -> insisting (they went on past their grace) -> ended (no
// replica is left), or left behind. Only a running service restarts anything.
//
// host.cpp has the life of services and the loop, host_supervise.cpp that of incarnations.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/incarnation.hpp>
#include <leat/process/process.hpp>
#include <leat/process/state.hpp>
#include <leat/process/supervision.hpp>
#include <leat/sched/options.hpp>
#include <leat/services/crash_account.hpp>
#include <leat/services/deadlock_watch.hpp>
#include <leat/services/port_records.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

runtime_options runtime_options_of(const config::plan& plan);
restart_policy restart_policy_of(const config::restart_plan& plan) noexcept;

struct process_account {
  config::index process = 0;
  unsigned runs = 0;
  unsigned failures = 0;
  unsigned restarts = 0;
  unsigned overruns = 0;       // ran past `hang` without entering the runtime
  unsigned quarantined = 0;    // of those: had to be taken away
  unsigned redelivered = 0;    // values that were in hand at a failure and were handed out again
  unsigned dead_letters = 0;   // values that were given up
  unsigned left_behind = 0;    // replicas that never ended
  nanoseconds longest_run{0};  // without entering the runtime, as overrun_guard::longest_run tells it
};

struct ledger {
  std::vector<channel_account> channels;
  std::vector<process_account> processes;
  bool failed = false;  // a process failed for good, or had to be left behind
  bool promise = true;  // no value was left in a channel that blocks
};
// A line each, as `leat run` prints it at the end.
std::string to_text(const ledger& l, const config::plan& plan);
// 0: all is well; 1: failed, or a promise was broken.
int exit_code(const ledger& l) noexcept;

class host {
 public:
  explicit host(const config::plan& plan);
  ~host();
  host(const host&) = delete;
  host& operator=(const host&) = delete;

  // On a G, once. `stop`: each value received asks to stop; the second one ends the wait at once.
  // `tick`: called about once a second, for a status line. A process whose constructor throws has failed like
  // one whose run() does.
  ledger run(const in<int>& stop, const std::function<void(const host&)>& tick = {});

  std::size_t replicas_alive() const noexcept { return alive_; }
  const wiring& wires() const noexcept { return wiring_; }
  const config::plan& plan() const noexcept { return plan_; }

 private:
  enum class phase : std::uint8_t { running, draining, stopping, insisting, ended };
  struct replica {
    config::index process = 0;
    std::string name = {};
    supervision::child child = 0;  // in its service's machine
    bool alive = true;             // it has not ended for good
    bool in = false;               // an incarnation of it is not out
    std::shared_ptr<incarnation> last = {};
    unsigned number = 0;     // of the last incarnation
    std::string fault = {};  // why that one was asked to stop, if it was for a failure
    bool failed = false;     // and stays ended
    bool down = false;       // it has failed and not been started again yet
    std::shared_ptr<state_store> states = std::make_shared<state_store>();
    std::unique_ptr<port_records> ports = {};
    std::uint64_t progress = 0;  // as last seen
    time_point progress_at = never;
    time_point watch_at = never;  // its entry in watches_
  };
  struct service {
    phase at = phase::running;
    std::size_t alive = 0;
    time_point until = never;
    supervision machine;
    std::vector<std::size_t> replicas = {};  // by child
  };

  void make_replicas();
  void gone(replica& r);
  void drain(config::index s);
  nanoseconds longest_drain() const;
  void stop(config::index s);
  void insist(config::index s);
  void end_restarts(config::index s);
  void look_at_deadlines();
  void look_for_deadlocks(time_point now);
  time_point next_deadline() const;
  ledger account() const;

  // host_supervise.cpp
  void start(std::size_t n);
  void hear(const incarnation_news& news);
  void overran(replica& r, const incarnation_news& news);
  void out(std::size_t n, process_end how, std::string why);
  void report(const replica& r, process_end how, const std::string& why, const restart_decision& d);
  void perform(config::index s);
  void limit_reached(config::index s);
  std::string limit_text(config::index s) const;
  void look_at_watchdogs(time_point now);
  void watch(std::size_t n, time_point at);
  bool all_make_progress() const noexcept;
  std::string who(const replica& r) const;
  std::string places(std::span<void* const> trace);

  const config::plan& plan_;
  wiring wiring_;
  deadlock_watch deadlocks_{plan_, wiring_};
  std::vector<replica> replicas_;
  std::vector<unsigned> alive_of_;  // replicas by process
  std::vector<process_account> processes_;
  std::vector<service> services_;
  std::set<std::pair<time_point, std::size_t>> watches_;  // when to look at which replica
  std::size_t alive_ = 0;
  bool failed_ = false;
  std::unordered_map<void*, std::string> known_places_;
  crash_account crash_account_;
  channel<incarnation_news> news_;
};

}  // namespace leat::services
