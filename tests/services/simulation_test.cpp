// SPDX-License-Identifier: BSL-1.0
//
// Whole deployments under virtual time and a seed.
#include <leat/services/simulation.hpp>

#include <doctest/doctest.h>
#include <chrono>
#include <stdexcept>
#include <string>

#include <leat/base/log.hpp>
#include <leat/base/system_time.hpp>
#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/leat.hpp>
#include <leat/sched/random.hpp>
#include <leat/testing.hpp>

using namespace leat;
using namespace leat::services;
using namespace std::chrono_literals;

namespace {

struct beat {
  std::int64_t n = 0;
  std::chrono::system_clock::time_point at = {};
};
LEAT_MESSAGE(beat, n, at);

// A value each `period`, more or less.
class heart : public process {
  out<beat> beats{this, "beats"};
  setting<nanoseconds> period{this, "period", 100ms, "between two"};
  void run() override {
    for (std::int64_t n = 1;; ++n) {
      const auto more = static_cast<std::int64_t>(leat::random() % 1000);
      if (sleep_for(*period + std::chrono::microseconds(more)) == sleep_result::stopped) return;
      if (beats.send({n, std::chrono::time_point_cast<std::chrono::system_clock::duration>(moment_now())}) !=
          send_status::sent)
        return;
    }
  }
};
LEAT_PROCESS(heart, "beats");

// Says so of each hundredth.
class ear : public process {
  in<beat> beats{this, "beats"};
  void run() override {
    for (const beat& b : beats)
      if (b.n % 100 == 0) log_info("ear", "{} at {}", b.n, b.at.time_since_epoch().count());
  }
};
LEAT_PROCESS(ear, "listens");

const char* const hearts =
    "leat = 1\n"
    "[service]\nname = \"body\"\n"
    "[supervisor]\nhang = \"2s\"\nrestart = { burst = 1000 }\n"
    "[process.left]\nuse = \"heart\"\nout = { beats = \"all\" }\n"
    "[process.right]\nuse = \"heart\"\nconfig = { period = \"70ms\" }\nout = { beats = \"all\" }\n"
    "[process.ears]\nuse = \"ear\"\nreplicas = 2\nin = { beats = \"all\" }\n"
    "[channel.all]\ncapacity = 8\n";

config::plan plan_of_text(const std::string& text) {
  const config::checked c = config::check_text("t.toml", text, program_catalog());
  if (!c.plan) throw std::runtime_error(render(c.found, c.sources));
  return simulated_plan(*c.plan);
}

fault_script script_of(const config::plan& p, const std::string& text) {
  config::source_set sources;
  config::diagnostics found;
  fault_script s = read_faults("faults.toml", text, p, sources, found);
  if (!found.all().empty()) throw std::runtime_error(render(found, sources));
  return s;
}

std::string wrong_faults(const std::string& text) {
  const config::plan p = plan_of_text(hearts);
  config::source_set sources;
  config::diagnostics found;
  (void)read_faults("faults.toml", text, p, sources, found);
  return render(found, sources);
}

// All that a run says.
std::string story_of(const config::plan& p, const simulation_options& o) {
  std::string told;
  set_log_sink(
      [](void* to, log_level level, std::string_view component, std::string_view text) {
        static_cast<std::string*>(to)
            ->append(std::to_string(system_now_ns()))
            .append(to_string(level))
            .append(component)
            .append(text)
            .append("\n");
      },
      &told);
  const simulation_outcome out = simulate(p, o);
  set_log_sink(nullptr, nullptr);
  return told + to_text(out.ledger, p) + to_text(out, p) + std::to_string(out.switches);
}

const char* const some_faults =
    "[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = [\"10s\", \"25s\"]\n"
    "[[fault]]\nprocess = \"body/ears\"\nwhat = \"hang\"\nevery = \"15s\"\n"
    "[[fault]]\nprocess = \"*\"\nwhat = \"throw\"\nevery = \"7s\"\n";

}  // namespace

TEST_CASE("an hour of a deployment takes no hour, and loses nothing") {
  const config::plan p = plan_of_text(hearts);
  const auto begin = std::chrono::steady_clock::now();
  set_log_sink([](void*, log_level, std::string_view, std::string_view) {}, nullptr);
  const simulation_outcome o = simulate(p, {.seed = 3, .time = 1h});
  set_log_sink(nullptr, nullptr);
  CHECK(std::chrono::steady_clock::now() - begin < 45s);
  CHECK(o.elapsed >= 1h);
  CHECK(o.elapsed < 1h + 1min);
  CHECK(exit_code(o.ledger) == 0);
  REQUIRE(o.ledger.channels.size() == 1);
  const channel_stats& s = o.ledger.channels[0].stats;
  CHECK(s.sent > 80'000);
  CHECK(s.sent == s.received);
  CHECK(s.recv_blocked > 1h);  // two readers
}

TEST_CASE("the same seed gives the same log, ledger and faults; another seed gives others") {
  const config::plan p = plan_of_text(hearts);
  const fault_script faults = script_of(p, some_faults);
  const simulation_options o{.seed = 11, .time = 40s, .faults = &faults};
  const std::string first = story_of(p, o);
  CHECK(first.find("a fault of the simulation") != std::string::npos);
  CHECK(first.find("without entering the runtime") != std::string::npos);
  const auto begin = std::chrono::steady_clock::now();
  int times = 0;
  for (; times < 1000 && std::chrono::steady_clock::now() - begin < 4s; ++times)
    REQUIRE(story_of(p, o) == first);
  MESSAGE(times << " times the same");
  CHECK(story_of(p, {.seed = 12, .time = 40s, .faults = &faults}) != first);
}

TEST_CASE("a process that a fault throws out is restarted, and one that hangs is thrown out by its limits") {
  const config::plan p = plan_of_text(hearts);
  const fault_script faults = script_of(p,
                                        "[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = \"10s\"\n"
                                        "[[fault]]\nprocess = \"right\"\nwhat = \"hang\"\nat = \"20s\"\n");
  const simulation_outcome o = simulate(p, {.seed = 5, .time = 1min, .faults = &faults});
  REQUIRE(o.faults.size() == 2);
  CHECK(o.faults[0].made == 1);
  CHECK(o.faults[1].made == 1);
  for (const process_account& a : o.ledger.processes) {
    const std::string& name = p.processes[a.process].name;
    CAPTURE(name);
    CHECK(a.restarts == (name == "ears" ? 0 : 1));
    CHECK(a.failures == (name == "ears" ? 0 : 1));
    CHECK(a.overruns == (name == "right" ? 1 : 0));
    CHECK(a.left_behind == 0);
  }
  CHECK(exit_code(o.ledger) == 0);
}

TEST_CASE("a fault that comes after the end is never made, and that is told") {
  const config::plan p = plan_of_text(hearts);
  const fault_script faults = script_of(p, "[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = \"10m\"\n");
  const simulation_outcome o = simulate(p, {.time = 1min, .faults = &faults});
  REQUIRE(o.faults.size() == 1);
  CHECK(o.faults[0].made == 0);
  CHECK(to_text(o, p).find("made 0 of 0") != std::string::npos);
}

TEST_CASE("it ends when a condition is true, and when somebody interrupts it") {
  const config::plan p = plan_of_text(hearts);
  simulation_options o{.time = 1h};
  o.until = [](const record& r) {
    const record* const channels = r.find("channel")->table();
    return channels->find("body/all")->table()->number("sent").value_or(0) >= 100;
  };
  const simulation_outcome found = simulate(p, o);
  REQUIRE(found.true_at);
  CHECK(*found.true_at >= 4s);
  CHECK(*found.true_at <= 6s);
  o.until = [](const record&) -> bool { throw std::invalid_argument("no such thing"); };
  CHECK_THROWS_AS(simulate(p, o), std::invalid_argument);
  const std::atomic<bool> now{true};
  const simulation_outcome cut = simulate(p, {.time = 1h, .interrupted = &now});
  CHECK(cut.interrupted);
  CHECK(cut.elapsed < 1min);
}

TEST_CASE("what is wrong with a file of faults is told at its place") {
  CHECK(wrong_faults(some_faults) == "");
  CHECK(wrong_faults("").find("there is no fault here") != std::string::npos);
  CHECK(wrong_faults("[[fault]\n").find("faults.toml:1:") != std::string::npos);
  CHECK(wrong_faults("fault = 3\n").find("faults.toml:1:1: error: 'fault' must be a list of tables") !=
        std::string::npos);
  CHECK(wrong_faults("fault = [3]\n")
            .find("faults.toml:1:10: error: a fault must be a table, not an integer") != std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"lefd\"\nwhat = \"throw\"\nat = \"1s\"\n")
            .find("faults.toml:2:11: error: there is no process 'lefd'; did you mean 'left'?") !=
        std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"left\"\nwhat = \"trow\"\nat = \"1s\"\n")
            .find("faults.toml:3:8: error: ") != std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\n").find("when? write at = ") !=
        std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = \"1s\"\nevery = \"1s\"\n")
            .find("faults.toml:5:9: error: a fault has 'at' or 'every', not both") != std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = 3\n")
            .find("faults.toml:4:6: error: ") != std::string::npos);
  CHECK(wrong_faults("[[fault]]\nprocess = \"left\"\nwhat = \"throw\"\nat = []\n")
            .find("faults.toml:4:6: error: 'at' names no time") != std::string::npos);
  CHECK(wrong_faults("[[fault]]\nproces = \"left\"\nwhat = \"throw\"\nat = \"1s\"\n")
            .find("did you mean 'process'?") != std::string::npos);
}

TEST_CASE("a rig that waits for an hour takes milliseconds") {
  nanoseconds best = 1h;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    testing::simulate({}, [] {
      testing::rig<heart> rig;
      auto beats = rig.channel<beat>("beats");
      rig.set("period", nanoseconds(1h)).start();
      REQUIRE(beats.recv_until(2h).has_value());
    });
    best = std::min<nanoseconds>(best, std::chrono::steady_clock::now() - begin);
  }
  MESSAGE((best.count() / 1000) << " us");
  CHECK(best < 1s);  // 5 ms are wanted; a loaded machine has others to serve
}
