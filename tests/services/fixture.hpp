// SPDX-License-Identifier: BSL-1.0
//
// Runs texts as services, and the process classes that they use.
#pragma once
#include <stdlib.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/host.hpp>

#include "sched/fixture.hpp"

namespace leat::services::test {

using namespace leat::sched::test;

struct number {
  int n = 0;
};
LEAT_MESSAGE(number, n);

// What the sinks got, by the full names of the processes.
class notebook {
 public:
  void note(const std::string& who, int n) {
    std::lock_guard hold(lock_);
    got_[who].push_back(n);
    ++total;
  }
  std::vector<int> of(const std::string& who) {
    std::lock_guard hold(lock_);
    return got_[who];
  }
  void clear() {
    std::lock_guard hold(lock_);
    got_.clear();
    total = 0;
  }
  std::atomic<int> total{0};

 private:
  std::mutex lock_;
  std::map<std::string, std::vector<int>> got_;
};
inline notebook notes;

class counter : public process {
  out<number> values{this, "values"};
  setting<int> count{this, "count", 0, "0: until it is stopped"};
  setting<int> first{this, "first", 1, "the first number"};
  void run() override {
    for (int i = 0; count == 0 || i < count; ++i) {
      const send_status s = values.send({first + i});
      if (s == send_status::stopped || s == send_status::closed) return;
    }
  }
};

class noting : public process {
  in<number> values{this, "values"};
  void run() override {
    for (const number& v : values) notes.note(name(), v.n);
  }
};

class relay : public process {
  in<number> from{this, "from"};
  out<number> to{this, "to"};
  void run() override {
    for (number v : from)
      if (to.send(v) != send_status::sent) return;
  }
};

class waits : public process {
  in<number> values{this, "values", optional_port};
  setting<int> takes{this, "takes", 0, "values it takes before"};
  void run() override {
    for (int i = 0; i < takes; ++i) (void)values.recv();
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};

inline config::plan plan_of(config::checked c) {
  if (!c.plan) throw std::runtime_error("the test's own text is wrong:\n" + render(c.found, c.sources));
  return std::move(*c.plan);
}
inline config::plan plan_of(const std::string& text) {
  return plan_of(config::check_text("t.toml", "leat = 1\n" + text, program_catalog()));
}

// A file each, in a folder that is there while they are read.
inline config::plan plan_of_files(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string folder = (std::filesystem::temp_directory_path() / "leat-services-XXXXXX").string();
  if (!::mkdtemp(folder.data())) throw std::runtime_error("no folder");
  std::vector<std::string> paths;
  for (const auto& [name, text] : files) {
    paths.push_back(folder + '/' + name);
    std::ofstream(paths.back()) << "leat = 1\n" << text;
  }
  config::checked c = config::check(paths, program_catalog());
  std::filesystem::remove_all(folder);
  return plan_of(std::move(c));
}

inline const channel_account& account_of(const ledger& l, const config::plan& p, const std::string& channel,
                                         const std::string& reader = {}) {
  for (const channel_account& a : l.channels)
    if (p.channels[a.channel].name == channel && a.reader == reader) return a;
  throw std::runtime_error("no channel " + channel);
}

inline const process_account& process_of(const ledger& l, const config::plan& p, std::string_view name) {
  for (const process_account& a : l.processes)
    if (p.processes[a.process].name == name) return a;
  throw std::runtime_error("no process " + std::string(name));
}

inline std::vector<int> sorted(std::vector<int> v) {
  std::sort(v.begin(), v.end());
  return v;
}
inline std::vector<int> from_one(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1);
  return v;
}

// Runs it on a runtime of its own. `meanwhile` runs on a G beside it and may send to `stop`.
template <class F>
ledger run_plan(const config::plan& p, F meanwhile, nanoseconds* took = nullptr) {
  notes.clear();
  ledger l;
  runtime_options o = runtime_options_of(p);
  if (!o.procs) o.procs = 2;
  leat::run(o, [&] {
    channel<int> stop(4);
    auto beside = spawn("beside", [&] { meanwhile(stop); });
    host h(p);
    const time_point begin = now();
    l = h.run(stop);
    if (took) *took = now() - begin;
  });
  for (const channel_account& a : l.channels)
    CHECK(a.stats.sent == a.stats.received + a.stats.dropped + a.stats.left);
  return l;
}
inline ledger run_plan(const config::plan& p) {
  return run_plan(p, [](const channel<int>&) {});
}

}  // namespace leat::services::test

LEAT_PROCESS_AS("counter", leat::services::test::counter, "counts");
LEAT_PROCESS_AS("noting", leat::services::test::noting, "notes what it gets");
LEAT_PROCESS_AS("relay", leat::services::test::relay, "hands on");
LEAT_PROCESS_AS("waits", leat::services::test::waits, "takes some, then waits");
