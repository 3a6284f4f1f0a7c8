// SPDX-License-Identifier: BSL-1.0
//
// Keeps children running, without TOML:
//
//   leat::supervisor s("gateway");
//   s.add("reader", {.restart = {.burst = 3}}, [&] { ... });
//   s.add<smooth>("filter", {}, options);                        // a new object for each incarnation
//   s.run();                                                     // until all have ended for good
//
// A child that throws, or runs too long without entering the runtime, is started again by its policy. When
// one has failed too often, run() stops the others and throws supervisor_failed. So supervisors nest: a child
// whose body calls run() of another one fails when that gives up.
//
// The others of a nested supervisor are stopped with it: a stop of the G that is in run() stops all children,
// the last started first, each with its grace.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/process/incarnation.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/state.hpp>
#include <leat/process/supervision.hpp>

namespace leat {

// A child has failed more often than its policy allows.
class supervisor_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct child_options {
  restart_policy restart = {};
  nanoseconds hang = std::chrono::seconds(2);  // longest run without entering the runtime
  nanoseconds grace = std::chrono::milliseconds(200);
  // Longest time without a value through one of its ports; of a process that is added by its class.
  std::optional<nanoseconds> watchdog = {};
  std::size_t stack = 0;
  std::optional<own_thread> thread = {};
};

struct child_report {
  std::string name;
  unsigned runs = 0, failures = 0, overruns = 0, quarantined = 0;
  bool lingers = false;  // it was asked to stop and has not ended
};

class supervisor {
 public:
  // What each incarnation is made by; what it throws is a failure of the child.
  using factory = std::function<std::unique_ptr<process>()>;

  explicit supervisor(std::string name = "supervisor");
  ~supervisor();
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  // Before run(); children are started in this order. `records` are those of its ports, for its watchdog.
  void add(std::string name, const child_options& o, factory make,
           std::vector<std::shared_ptr<csp::gate_record>> records = {});
  void add(std::string name, const child_options& o, std::function<void()> body) {
    add(std::move(name), o, factory([body = std::move(body)] { return make_process(body); }));
  }
  template <class F>
  requires std::invocable<F&> && std::is_void_v<std::invoke_result_t<F&>>
  void add(std::string name, const child_options& o, F body) {
    add(std::move(name), o, std::function<void()>(std::move(body)));
  }
  // Its leat::state members are handed from one incarnation to the next.
  template <class P>
  void add(const std::string& name, const child_options& o, process_options with = {}) {
    if (!with.states) with.states = std::make_shared<state_store>();
    if (with.name.empty()) with.name = name;
    std::vector<std::shared_ptr<csp::gate_record>> records;
    if (o.watchdog) {
      for (port_binding& b : with.ports) {
        if (!b.record) b.record = std::make_shared<csp::gate_record>();
        records.push_back(b.record);
      }
    }
    add(name, o, factory([with = std::move(with)] { return std::unique_ptr<process>(leat::make<P>(with)); }),
        std::move(records));
  }

  // On a G, once. Returns when all have ended for good, or when it was asked to stop and they are stopped.
  void run();

  const std::vector<child_report>& report() const noexcept { return reports_; }

 private:
  struct child {
    child_options o;
    factory make;
    std::vector<std::shared_ptr<csp::gate_record>> records;
    std::shared_ptr<incarnation> in = {};  // the last one
    unsigned number = 0;
    bool runs = false;
    std::string fault = {};      // why it was asked to stop
    std::uint64_t progress = 0;  // as last seen
    time_point progress_at = {};

    std::uint64_t passed() const noexcept;
  };
  time_point look_at_watchdogs(time_point now);
  void drive(const channel<int>& ask);
  void stop_now();
  void perform(const supervision::step& s);
  void start(std::size_t c);
  void hear(const incarnation_news& n);
  void out(std::size_t c, process_end how, std::string why);

  const std::string name_;
  supervision machine_;
  std::vector<child> children_;
  std::vector<child_report> reports_;
  channel<incarnation_news> news_;
  std::string failed_;
};

}  // namespace leat
