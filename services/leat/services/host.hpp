// SPDX-License-Identifier: BSL-1.0
//
// Runs a checked plan: makes its channels and objects, starts a G per replica from sinks to sources, and sees
// it through to the end.
//
// Everything that happens comes to one G, the host's, as events: a replica that ended or failed, a signal, a
// deadline. So nothing here is shared but what the replicas send.
//
// The life of a service: running -> draining (its sources are stopped; the others end when their channels are
// closed and empty) -> stopping (its drain time is over, or a process failed: all are asked to stop) ->
// insisting (they went on past their grace) -> ended (no replica is left), or left behind.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/process.hpp>
#include <leat/sched/options.hpp>
#include <leat/sched/stop.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

runtime_options runtime_options_of(const config::plan& plan);

struct process_account {
  config::index process = 0;
  unsigned runs = 0;
  unsigned failures = 0;
  unsigned left_behind = 0;  // replicas that never ended
};

struct ledger {
  std::vector<channel_account> channels;
  std::vector<process_account> processes;
  bool failed = false;  // a process failed, or had to be left behind
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
  // one whose run() does; none of its service is started.
  ledger run(const in<int>& stop, const std::function<void(const host&)>& tick = {});

  std::size_t replicas_alive() const noexcept { return alive_; }
  const wiring& wires() const noexcept { return wiring_; }
  const config::plan& plan() const noexcept { return plan_; }

 private:
  enum class phase : std::uint8_t { running, draining, stopping, insisting, ended };
  struct replica;
  class runner;
  struct event {
    std::size_t replica;
    std::string failure;  // empty: it returned
  };
  struct service {
    phase at = phase::running;
    std::size_t alive = 0;
    time_point until = never;
  };

  void make_objects();
  void start(std::size_t replica);
  void ended(const event& e);
  void gone(replica& r);
  void report_failure(const replica& r, const std::string& why);
  void drain(config::index s);
  void stop(config::index s);
  void insist(config::index s);
  void look_at_deadlines();
  time_point next_deadline() const;
  ledger account() const;

  const config::plan& plan_;
  wiring wiring_;
  std::vector<std::unique_ptr<replica>> replicas_;
  std::vector<unsigned> alive_of_;  // replicas by process
  std::vector<process_account> processes_;
  std::vector<service> services_;
  std::size_t alive_ = 0;
  bool failed_ = false;
  channel<event> events_;
};

}  // namespace leat::services
