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
#include <leat/process/setting_store.hpp>
#include <leat/process/state_store.hpp>
#include <leat/process/supervision_driver.hpp>

namespace leat {

// A child has failed more often than its policy allows.
class supervisor_failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct child_options {
  restart_policy restart = {};
  timespan hang = std::chrono::seconds(2);  // longest run without entering the runtime
  timespan grace = std::chrono::milliseconds(200);
  // Longest time without a value through one of its ports; of a process that is added by its class.
  std::optional<timespan> watchdog = {};
  std::size_t stack = 0;
  std::optional<own_thread> thread = {};
};

struct child_report {
  std::string name;
  unsigned runs = 0, failures = 0, overruns = 0, quarantined = 0;
  bool lingers = false;  // it was asked to stop and has not ended
};

class supervisor : private supervision_driver::owner {
 public:
  // What each incarnation is made by; what it throws is a failure of the child.
  using factory = std::function<std::unique_ptr<process>()>;

  explicit supervisor(std::string name = "supervisor");
  ~supervisor() override;
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
  // Its leat::state members are handed from one incarnation to the next, and what was set of it stays.
  template <class P>
  void add(const std::string& name, const child_options& o, process_options with = {}) {
    if (!with.states) with.states = std::make_shared<state_store>();
    if (!with.live) with.live = std::make_shared<setting_store>();
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
  using child = supervision_driver::child;
  struct entry {
    child_options o;
    factory make;
    std::vector<std::shared_ptr<csp::gate_record>> records;
  };
  std::shared_ptr<incarnation> launch(child c, unsigned number,
                                      std::shared_ptr<incarnation>& before) override;
  std::uint64_t progress(child c) const noexcept override;
  bool finished(child) const override { return false; }
  void overran(child c, const incarnation_news& n, bool went_on) override;
  void lingers(child c) override;
  void is_out(child c, const supervision_driver::ending& e) override;
  void limit_reached(child c, supervision_driver::limit which) override;
  void drive(const channel<int>& ask);

  const std::string name_;
  supervision_driver driver_;
  std::vector<entry> children_;
  std::vector<child_report> reports_;
  channel<incarnation_news> news_;
  std::string failed_;
};

}  // namespace leat
