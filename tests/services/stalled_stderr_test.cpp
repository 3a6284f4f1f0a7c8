// SPDX-License-Identifier: BSL-1.0
//
// A service whose stderr is a full pipe that nobody reads, or a terminal that somebody has stopped. Nothing but lines of the
// log is lost, and those are counted: a process that hangs is replaced, systemd's watchdog is fed, SIGTERM is answered.
#include <sys/ioctl.h>
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <leat/base/log_output.hpp>
#include <leat/main.hpp>
#include <leat/stock.hpp>

#include "misbehaving.hpp"
#include "program.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services::test;

namespace {

std::atomic<bool> full{false};  // the pipe, and the room of the log
std::atomic<int> runs{0};

std::string path_of(const char* name) { return std::getenv("STALLED_FOLDER") + std::string("/") + name; }

// Logs until it is stopped, and leaves behind how many lines that were.
class talker : public process {
  void run() override {
    const std::string tail(100, '.');
    int n = 0;
    for (std::size_t before = 0; !stop_requested();) {
      before = detail::log_backlog();
      log_info("test", "talk {} {}", ++n, tail);
      if (before > 0 && detail::log_backlog() == before) full = true;
      (void)sleep_for(full ? 1ms : 10us);
    }
    std::ofstream(path_of("talked")) << n;
  }
};

class hangs_when_full : public process {
  void run() override {
    if (++runs > 1) std::ofstream(path_of("replaced")) << "yes";
    while (!full) (void)sleep_for(1ms);
    volatile unsigned turns = 0;
    while (runs == 1) turns = turns + 1;
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};

}  // namespace

LEAT_PROCESS(talker, "logs");
LEAT_PROCESS(hangs_when_full, "hangs once");

LEAT_CHILD(runs_a_service) {
  stock::use();
  std::string words[] = {"test", "run", path_of("run.toml")};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  std::_Exit(leat::main(3, argv));
}

namespace {

// It runs in a folder of its own, with systemd at its socket and nobody at its stderr.
class stalled {
 public:
  explicit stalled(const std::string& toml, program::at where = program::at::pipe)
      : systemd(folder.path() + "/notify"),
        written(folder.file("run.toml", "leat = 1\n" + toml)),
        runs({"/proc/self/exe", "--leat-child", "runs_a_service"},
             {systemd.variable(), "WATCHDOG_USEC=200000", "STALLED_FOLDER=" + folder.path()}, where) {}

  bool leaves(const std::string& name) const {
    return waits([&] { return std::filesystem::exists(folder.path() + '/' + name); });
  }
  int number_in(const std::string& name) const {
    int n = 0;
    std::ifstream(folder.path() + '/' + name) >> n;
    return n;
  }
  // The watchdog is fed again, and again.
  bool is_fed() const {
    (void)systemd.waiting();
    for (int i = 0; i < 5; ++i)
      if (systemd.next() != "WATCHDOG=1") return false;
    return true;
  }
  bool is_stopping() const {
    std::string told;
    while ((told = systemd.next()) == "WATCHDOG=1") {
    }
    return told == "STOPPING=1";
  }
  // It ends by itself, with nobody reading.
  bool ends_unread() const {
    return waits([&] {
      siginfo_t end{};
      return ::waitid(P_PID, static_cast<id_t>(runs.pid()), &end, WEXITED | WNOHANG | WNOWAIT) == 0 &&
             end.si_pid != 0;
    });
  }
  template <class F>
  static bool waits(F until) {
    const auto end = std::chrono::steady_clock::now() + leat::services::test::patience;
    while (!until()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }

  scratch_folder folder;
  notify_socket systemd;
  std::string written;
  program runs;
};

const std::string talks_and_hangs = R"(
[service]
name = "s"
drain = "100ms"
[runtime]
procs = 2
[process.talker]
use = "talker"
grace = "1m"
[process.p]
use = "hangs_when_full"
hang = "100ms"
grace = "20ms"
restart = { backoff = ["1ms", "1ms"] }
)";

}  // namespace

TEST_CASE("with a stderr that takes nothing, one that hangs is replaced, and the end comes by itself") {
  if (fiber::under_tsan) return;
  stalled s(talks_and_hangs);
  REQUIRE(s.systemd.next() == "READY=1");
  CHECK(s.leaves("replaced"));
  CHECK(s.is_fed());
  s.runs.signal(SIGTERM);
  CHECK(s.is_stopping());
  CHECK(s.ends_unread());
  CHECK(s.runs.end() == 0);
}

TEST_CASE("at a terminal that somebody has stopped, the host and all others go on") {
  if (fiber::under_tsan) return;
  stalled s("[supervisor]\nhost_hang = \"1s\"\n" + std::string(talks_and_hangs), program::at::terminal);
  REQUIRE(s.systemd.next() == "READY=1");
  REQUIRE(s.runs.says("talk"));
  REQUIRE(::write(s.runs.descriptor(), "\023", 1) == 1);  // Ctrl-S
  CHECK(s.leaves("replaced"));
  // Several times as long as the host may make no step. Each second its status line comes round.
  for (int i = 0; i < 6; ++i) CHECK(s.is_fed());
  REQUIRE(::write(s.runs.descriptor(), "\021", 1) == 1);  // Ctrl-Q
  CHECK(s.runs.says(" lines of the log were lost here"));
  s.runs.signal(SIGTERM);
  CHECK(s.runs.end() == 0);
}

TEST_CASE("a terminal that nobody reads has little room, and its program ends by itself") {
  if (fiber::under_tsan) return;
  stalled s(talks_and_hangs, program::at::terminal);
  REQUIRE(s.systemd.next() == "READY=1");
  CHECK(s.leaves("replaced"));
  for (int i = 0; i < 4; ++i) {
    char some[100];
    CHECK(::read(s.runs.descriptor(), some, sizeof some) > 0);
    CHECK(s.is_fed());
  }
  s.runs.signal(SIGTERM);
  CHECK(s.is_stopping());
  CHECK(s.ends_unread());
  CHECK(s.runs.end() == 0);
}

TEST_CASE("when stderr takes lines again, those that were lost are told, and none is missing besides") {
  if (fiber::under_tsan) return;
  stalled s(talks_and_hangs);
  REQUIRE(s.systemd.next() == "READY=1");
  CHECK(s.leaves("replaced"));
  CHECK(s.is_fed());
  const std::string gap = " lines of the log were lost here\n";
  REQUIRE(s.runs.says(gap));
  s.runs.signal(SIGTERM);
  CHECK(s.runs.end() == 0);
  const std::string& said = s.runs.said;
  CHECK(said.find(" restarts 1, overruns 1, quarantined 1, ") != std::string::npos);
  std::size_t lost = 0;
  for (std::size_t at = said.find(gap); at != std::string::npos; at = said.find(gap, at + 1))
    lost += std::strtoull(said.c_str() + said.rfind(' ', at - 1), nullptr, 10);
  CHECK(lost > 0);
  const std::size_t talked = static_cast<std::size_t>(s.number_in("talked"));
  const std::size_t came = count_of(said, " info test: talk ");
  CHECK(came + lost >= talked);
  CHECK(came + lost <= talked + 20);  // and lines about the one that hung
}

TEST_CASE("the stock process log waits for its reader, and loses no value") {
  const scratch_folder data;
  constexpr int rows = 5000;
  std::string text = "n,text\n";
  for (int i = 1; i <= rows; ++i) text += std::to_string(i) + "," + std::string(60, 'x') + "\n";
  stalled s("[service]\nname = \"s\"\n[process.rows]\nuse = \"csv-reader\"\nconfig = { file = \"" +
            data.file("rows.csv", text) +
            "\" }\n[process.shown]\nuse = \"log\"\nin = { values = \"rows.values\" }\n");
  REQUIRE(s.systemd.next() == "READY=1");
  int kept = 0, before = -1;
  // The pipe is full when it stops growing. To read later would find no more.
  CHECK(stalled::waits([&] {
    before = kept;
    std::this_thread::sleep_for(100ms);
    return ::ioctl(s.runs.descriptor(), FIONREAD, &kept) == 0 && kept > 30'000 && kept == before;
  }));
  CHECK(s.is_fed());
  CHECK(s.runs.end() == 0);
  const std::string& said = s.runs.said;
  CHECK(count_of(said, " info stock: s/shown: {") == rows);
  CHECK_FALSE(said.find("were lost") != std::string::npos);
  CHECK(said.find("sent 5000 = received 5000 + dropped 0 + left 0") != std::string::npos);
}

TEST_CASE("a stop ends log although it waits for its reader") {
  const scratch_folder data;
  std::string text = "n,text\n";
  for (int i = 1; i <= 5000; ++i) text += std::to_string(i) + "," + std::string(60, 'x') + "\n";
  stalled s(
      "[service]\nname = \"s\"\ndrain = \"100ms\"\n[process.rows]\nuse = \"csv-reader\"\nconfig = { file = "
      "\"" +
      data.file("rows.csv", text) +
      "\" }\n[process.shown]\nuse = \"log\"\nin = { values = \"rows.values\" }\n");
  REQUIRE(s.systemd.next() == "READY=1");
  int kept = 0;
  CHECK(stalled::waits([&] { return ::ioctl(s.runs.descriptor(), FIONREAD, &kept) == 0 && kept > 30'000; }));
  s.runs.signal(SIGTERM);
  CHECK(s.is_stopping());
  CHECK(s.ends_unread());
  CHECK(s.runs.end() >= 0);
}
