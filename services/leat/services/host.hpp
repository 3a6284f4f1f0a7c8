// SPDX-License-Identifier: BSL-1.0
//
// Runs a checked plan: makes its channels and objects, starts a G per replica from sinks to sources, restarts
// what fails by its policy, and sees it through to the end.
//
// Everything that happens comes to one G, the host's, as events: news of incarnations (their end, steps of an
// overrun), a signal, a deadline. So nothing here is shared but what the incarnations tell.
//
// The life of a service: running (its supervision driver restarts what ends) -> draining (its sources are
// stopped; the others end when their channels are closed and empty) -> stopping (its drain time is over, or a
// process failed too often: all are asked to stop) -> insisting (they went on past their grace) -> fencing
// (still: they are put out where they stand) -> ended (no replica is left), or left behind. Only a running
// service restarts anything.
//
// The host is watched as well: sysmon sees when it makes no step (host_watch.hpp). What could keep it waiting
// for others is done elsewhere: constructors run on the Gs of their processes, names of functions are looked
// up by a G of their own (trace_names.hpp). And from the hang of a process to the start of its successor it
// leaves the heap alone, which the one that hangs may have locked (next_incarnation.hpp). Only to give
// up a value it needs it. Values run their own code elsewhere: a G of its own passes on what is given up (aside.hpp).
//
// host.cpp has the life of services and the loop; host_supervise.cpp what the driver of their supervision
// (process/supervision_driver.hpp) asks for: how incarnations are made, what is counted and said of them.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/format.hpp>
#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/incarnation.hpp>
#include <leat/process/process.hpp>
#include <leat/process/setting_store.hpp>
#include <leat/process/state_store.hpp>
#include <leat/process/supervision_driver.hpp>
#include <leat/sched/options.hpp>
#include <leat/services/board.hpp>
#include <leat/services/crash_account.hpp>
#include <leat/services/deadlock_watch.hpp>
#include <leat/services/host_watch.hpp>
#include <leat/services/next_incarnation.hpp>
#include <leat/services/port_records.hpp>
#include <leat/services/state_folders.hpp>
#include <leat/services/trace_names.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

runtime_options runtime_options_of(const config::plan& plan);

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
  unsigned left_in_hand = 0;   // values that these had in hand: nobody knows how far they came, or will come
  nanoseconds longest_run{0};  // without entering the runtime, as overrun_guard::longest_run tells it
};

struct ledger {
  std::vector<channel_account> channels;
  std::vector<process_account> processes;
  std::vector<std::uint64_t> injected = {};  // by channel of the plan, if there is a control door
  bool failed = false;                       // a process failed for good, or had to be left behind
  bool promise = true;                       // no value was left in a channel that blocks
  // What has become of the threads of those that were quarantined (runtime_stats).
  unsigned fenced = 0, frozen = 0, back = 0;
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
  // What was set of a process, for all its replicas (set_settings.hpp). Any G.
  setting_store& settings(config::index process) const noexcept { return *settings_[process]; }
  const config::plan& plan() const noexcept { return plan_; }

  // For those who look from outside, on other Gs, while it runs.
  const services::board& seen() const noexcept { return *board_; }
  std::vector<std::string> replica_names() const;  // "climate/filter/1", in the board's order
  std::vector<config::index> processes_of_replicas() const;
  // What they want. An answer comes unless it ends first.
  const channel<wish>& wishes() const noexcept { return wishes_; }

 private:
  enum class phase : std::uint8_t { running, draining, stopping, insisting, fencing, ended };
  struct replica {
    config::index process = 0;
    unsigned number = 0;  // among those of the process
    std::string name = {};
    std::string who = {};                 // "process 'filter/1' (smooth, climate.toml:12)"
    supervision_driver::child child = 0;  // of its service
    bool alive = true;                    // it has not ended for good
    std::shared_ptr<const recipe> by = {};
    std::shared_ptr<next_incarnation> next = {};
    bool failed = false;  // and stays ended
    bool down = false;    // it has failed and not been started again yet
    std::shared_ptr<state_store> states = std::make_shared<state_store>();
    std::unique_ptr<port_records> ports = {};
  };
  // host_supervise.cpp
  class service final : public supervision_driver::owner {
   public:
    using child = supervision_driver::child;
    service(host& h, config::index n);

    phase at = phase::running;
    std::size_t alive = 0;
    time_point until = never;
    std::vector<std::size_t> replicas = {};  // by child
    supervision_driver driver;

   private:
    std::shared_ptr<incarnation> launch(child c, unsigned number,
                                        std::shared_ptr<incarnation>& before) override;
    std::uint64_t progress(child c) const noexcept override { return replica_of(c).ports->progress(); }
    bool finished(child c) const override;
    void overran(child c, const incarnation_news& n, bool went_on) override;
    void lingers(child c) override;
    void is_out(child c, const supervision_driver::ending& e) override;
    void limit_reached(child c, supervision_driver::limit which) override;

    void report(const replica& r, const supervision_driver::ending& e) const;
    void append_limit(text_buffer& to) const noexcept;
    replica& replica_of(child c) const noexcept { return host_.replicas_[replicas[c]]; }

    host& host_;
    const config::index index_;
  };

  void make_replicas();
  void post(config::index service) noexcept;
  void grant(const wish& w);
  bool make_fault(const wish& w);
  std::size_t index_of(const replica& r) const noexcept {
    return static_cast<std::size_t>(&r - replicas_.data());
  }
  void gone(replica& r);
  void drain(config::index s);
  nanoseconds longest_drain() const;
  void stop(config::index s);
  void insist(config::index s);
  void end_restarts(config::index s);
  void append_names_alive(text_buffer& to, const service& s) const noexcept;
  static void leave_behind(const replica& r, process_account& a);
  void look_at_deadlines();
  void look_for_deadlocks(time_point now);
  time_point next_deadline() const;
  ledger account() const;

  // host_supervise.cpp
  void make_next(std::size_t n);
  void hear(const incarnation_news& news);
  bool all_make_progress() const noexcept;
  std::string name_and_place(const replica& r) const;
  service& service_of(const replica& r) noexcept { return services_[plan_.processes[r.process].service]; }
  const service& service_of(const replica& r) const noexcept {
    return services_[plan_.processes[r.process].service];
  }
  // The incarnation that is not out, or null.
  incarnation* running(const replica& r) const noexcept { return service_of(r).driver.in(r.child); }

  const config::plan& plan_;
  wiring wiring_;
  deadlock_watch deadlocks_{plan_, wiring_};
  state_folders states_{plan_};
  std::vector<replica> replicas_;
  std::vector<unsigned> alive_of_;  // replicas by process
  std::vector<process_account> processes_;
  std::vector<std::shared_ptr<setting_store>> settings_;  // by process; the list never changes
  std::deque<service> services_;
  std::size_t alive_ = 0;
  bool failed_ = false;
  trace_names names_;
  crash_account crash_account_;
  channel<incarnation_news> news_;
  std::shared_ptr<services::board> board_;
  channel<wish> wishes_{16};
  int asked_to_stop_ = 0;
  host_watch watch_{plan_.supervisor.host_hang, plan_.supervisor.on_host_hang, news_, board_};
};

}  // namespace leat::services
