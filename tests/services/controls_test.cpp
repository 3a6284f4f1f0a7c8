// SPDX-License-Identifier: BSL-1.0
//
// What the control door does with a host: how often a value goes in, what becomes of what was refused, and what the
// answers say.
#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leat/csp/task_group.hpp>
#include <leat/leat.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/report.hpp>
#include <leat/services/controls.hpp>
#include <leat/services/observer.hpp>

#include "fixture.hpp"

namespace leat::services::test {
namespace {

struct reading {
  std::string sensor;
  int n = 0;
};
LEAT_MESSAGE(reading, sensor, n);

class readings : public process {
  out<reading> to{this, "to"};
  void run() override {
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};
LEAT_PROCESS_AS("readings", readings, "sends nothing");

class reads : public process {
  in<reading> from{this, "from"};
  setting<int> size{this, "size", 1, "not live"};
  void run() override {
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};
LEAT_PROCESS_AS("reads", reads, "receives nothing");

class quits : public process {
  setting<int> size{this, "size", 1, "not live"};
  void run() override {}
};
LEAT_PROCESS_AS("quits", quits, "ends at once");

// One channel, `c`, from a process that sends nothing to `a` and `b`, which receive nothing.
std::string text_with(const std::string& channel) {
  return R"(
[service]
name = "s"
drain = "20ms"
[process.from]
use = "readings"
out = { to = "c" }
[process.a]
use = "reads"
in = { from = "c" }
[process.b]
use = "reads"
in = { from = "c" }
[channel.c]
)" + channel;
}

// A host that does not run, and the door's hands.
struct scene {
  explicit scene(const std::string& text) : plan(plan_of(text)) {}

  config::plan plan;
  host h{plan};
  observer looks{plan, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names()};
  controls door{h, looks};

  control::outcome inject(double wait) { return door.inject("s/c", R"({"sensor":"x","n":1})", wait); }
};

bool says(const control::outcome& o, const std::string& what) {
  return o.json.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("a value goes once into each part of a channel that copies by key, whoever has no room") {
  (void)leat::run(with_procs(1), [] {
    scene s(text_with("capacity = 2\nkey = \"sensor\"\nfanout = \"copy\"\n"));
    const any_channel &a = s.h.wires().shares(0)[0], &b = s.h.wires().shares(0)[1];
    for (int i = 0; i < 2; ++i) CHECK(s.inject(0).status == "200 OK");
    std::string text;
    while (b.recv_json(text, 0ns) == recv_status::received) {
    }
    const control::outcome o = s.inject(0.05);
    CAPTURE(o.json);
    CHECK(o.status == "409 Conflict");
    CHECK(says(o, "channel 's/c' had no room within 50ms for each of its readers (full: 'a')"));
    CHECK(a.stats().sent == 2);
    CHECK(b.stats().sent == 3);
    // It has reached one of them.
    CHECK(s.looks.injected() == std::vector<std::uint64_t>{3});
  });
}

TEST_CASE("a value that is injected waits for room, in its turn") {
  for (const char* const policy : {"block", "fail"}) {
    CAPTURE(policy);
    (void)leat::run(with_procs(1), [&] {
      scene s(text_with("capacity = 1\nfull = \"" + std::string(policy) + "\"\n"));
      const any_channel& c = s.h.wires().whole(0);
      CHECK(s.inject(0).status == "200 OK");
      CHECK(says(s.inject(0), "channel 's/c' is full (1 of 1 values) and had no room now"));
      auto takes = spawn([&] {
        (void)sleep_for(20ms);
        std::string text;
        CHECK(c.recv_json(text) == recv_status::received);
      });
      CHECK(s.inject(30).status == "200 OK");
      takes.join();
      CHECK(c.stats().sent == 2);
      CHECK(s.looks.injected() == std::vector<std::uint64_t>{2});
    });
  }
}

TEST_CASE("what a policy drops is counted as injected, as it is counted as sent") {
  (void)leat::run(with_procs(1), [] {
    scene s(text_with("capacity = 1\nfull = \"drop-newest\"\n"));
    CHECK(s.inject(0).status == "200 OK");
    const control::outcome o = s.inject(0);
    CHECK(o.status == "409 Conflict");
    CHECK(says(o, "had no room, and its policy dropped the value"));
    const channel_stats c = s.h.wires().whole(0).stats();
    CHECK(c.sent == 2);
    CHECK(c.dropped == 1);
    CHECK(s.looks.injected() == std::vector<std::uint64_t>{2});
  });
}

TEST_CASE("a name that several have is not told as one that nobody has") {
  const std::string one = text_with("capacity = 1\n");
  std::string other = one;
  other.replace(other.find("\"s\""), 3, "\"t\"");
  const config::plan p = plan_of_files({{"one.toml", one}, {"other.toml", other}});
  (void)leat::run(with_procs(1), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    controls door(h, looks);
    CHECK(says(door.restart("nobody"), "there is no process 'nobody'"));
    const control::outcome process = door.restart("a");
    CAPTURE(process.json);
    CHECK(process.status == "404 Not Found");
    CHECK(says(process, "which process 'a' is meant is not clear: name its service, too: 's/a', 't/a'"));
    CHECK(says(door.inject("c", "{}", 0), "which channel 'c' is meant is not clear"));
  });
}

TEST_CASE("a channel without room says so in its own way") {
  (void)leat::run(with_procs(1), [] {
    scene s(text_with("capacity = 0\n"));
    CHECK(says(s.inject(0.01), "channel 's/c' keeps no values, and nobody received the value within 10ms"));
    s.h.wires().whole(0).close();
    CHECK(says(s.inject(0), "channel 's/c' is closed"));
    CHECK(s.looks.injected() == std::vector<std::uint64_t>{0});
  });
}

namespace {

control::outcome set_size(controls& door, const char* process) {
  const control::json_result r = control::read_json(R"({"size":5})");
  return door.set(process, *r.value, true);
}

}  // namespace

TEST_CASE("what the host did not come to in time does not happen later, and is not told as done") {
  const config::plan p =
      plan_of(text_with("capacity = 1\n[process.two]\nuse = \"reads\"\nin = { from = \"c\" }\n"
                        "replicas = 2\n[supervisor]\nhost_hang = \"1h\"\n"));
  std::atomic<bool> held{false}, go_on{false};
  bool waited = false;
  ledger l;
  (void)leat::run(with_procs(2), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    controls door(h, looks);
    channel<int> stop(4);
    task_group beside;
    beside.go([&] {
      while (!held) (void)sleep_for(1ms);
      const control::outcome restart = door.restart("two");
      CHECK_MESSAGE(restart.status == "503 Service Unavailable", restart.json);
      CHECK_MESSAGE(says(restart, "'s/two/0', 's/two/1' were not restarted, and will not be"), restart.json);
      const control::outcome set = set_size(door, "a");
      CHECK_MESSAGE(set.status == "503 Service Unavailable", set.json);
      CHECK(
          says(set, "'s/a' was not restarted, and will not be; what was set counts from its next start on"));
      CHECK_MESSAGE(says(set, R"("set":["size"],"restarted":[])"), set.json);
      const control::outcome end = door.stop(false);
      CHECK_MESSAGE(end.status == "503 Service Unavailable", end.json);
      go_on = true;
      // It is there again, and would have come to those first.
      CHECK(eventually([&] { return door.restart("b").status == "200 OK"; }));
      CHECK(eventually([&] {
        for (const control::process_view& x : looks.look().processes)
          if (x.name == "s/b") return x.restarts > 0;
        return false;
      }));
      (void)stop.try_send(15);
    });
    l = h.run(stop, [&](const host&) {
      if (std::exchange(waited, true)) return;
      held = true;
      while (!go_on) std::this_thread::sleep_for(1ms);
    });
    beside.wait();
  });
  CHECK(process_of(l, p, "two").restarts == 0);
  CHECK(process_of(l, p, "a").restarts == 0);
}

TEST_CASE("a process that has ended is not told as restarted") {
  const config::plan p = plan_of(text_with("capacity = 1\n[process.over]\nuse = \"quits\"\n"));
  (void)leat::run(with_procs(2), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    controls door(h, looks);
    channel<int> stop(4);
    task_group beside;
    beside.go([&] {
      CHECK(eventually([&] { return says(door.restart("over"), "'s/over' has ended for good"); }));
      const control::outcome set = set_size(door, "over");
      CHECK_MESSAGE(set.status == "409 Conflict", set.json);
      CHECK_MESSAGE(says(set, "'s/over' has ended for good; what was set counts from its next start on"),
                    set.json);
      const control::outcome good = set_size(door, "a");
      CHECK_MESSAGE(good.status == "200 OK", good.json);
      CHECK_MESSAGE(says(good, R"({"set":["size"],"restarted":["s/a"]})"), good.json);
      (void)stop.try_send(15);
    });
    (void)h.run(stop);
    beside.wait();
  });
}

namespace {
std::atomic<std::uint64_t> dumped_on{0}, noted{0};
}

TEST_CASE("a dump is written outside of the runtime, and others run meanwhile") {
  (void)leat::run(with_procs(1), [] {
    scene s(text_with("capacity = 1\n"));
    task_group beside;
    beside.go([] { (void)sleep_for(1h); });
    noted = 0;
    sched::set_g_note([](const sched::dumped_g&, bool, text_buffer&, text_buffer&) noexcept {
      dumped_on = self().id;
      ++noted;
    });
    const std::string text = s.door.dump();
    sched::set_g_note(nullptr);
    CHECK(text.find("1 Ps") != std::string::npos);
    CHECK(noted > 0);
    CHECK(dumped_on == 0);
    beside.stop();
    beside.wait();
  });
}

TEST_CASE("a dump is bound in size, and says where it ends") {
  (void)leat::run(with_procs(2), [] {
    task_group many;
    for (int i = 0; i < 300; ++i) many.go([] { (void)sleep_for(1h); });
    std::string whole;
    REQUIRE(eventually([&] {
      whole = blocking([] { return dump_text(16 << 20); });
      return whole.size() > 20'000;
    }));
    CHECK(whole.find("it ends here") == std::string::npos);
    const std::string cut = blocking([] { return dump_text(16'384); });
    CHECK(cut.size() < 16'384 + 200);
    CHECK(cut.ends_with("it ends here, for its size; SIGQUIT writes all of it to standard error\n"));
    CHECK(cut.find('\0') == std::string::npos);
    many.stop();
    many.wait();
  });
}

}  // namespace leat::services::test
