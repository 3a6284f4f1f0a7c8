// SPDX-License-Identifier: BSL-1.0
//
// What those cost who look: CPU time of the deployment, measured from outside, with them and without. On a machine
// that does nothing else (`./dev soak`).
#include <doctest/doctest.h>
#include <time.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <leat/leat.hpp>

#include "services/deployment.hpp"
#include "support/browser.hpp"
#include "support/figure.hpp"

using namespace leat::services::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* service = "door-cost-service";

// So many processes and twice as many channels.
std::string many(int processes, const std::string& period) {
  std::string t;
  for (int i = 0; i < processes / 2; ++i) {
    const std::string n = std::to_string(i), from = "pulse" + n + '.';
    t += "[process.pulse" + n + "]\nuse = \"pulse\"\nconfig = { period = \"" + period +
         "\" }\n[process.drain" + n + "]\nuse = \"drain\"\nin = { a = \"" + from + "a\", b = \"" + from +
         "b\", c = \"" + from + "c\", d = \"" + from + "d\" }\n";
  }
  return t;
}

double cpu_seconds(pid_t pid) {
  clockid_t clock = 0;
  timespec t{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &t) != 0)
    throw std::runtime_error("no CPU clock");
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Per cent of a core that it takes within so long.
double share_of(pid_t pid, std::chrono::seconds time) {
  const double before = cpu_seconds(pid);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(time);
  const double took = cpu_seconds(pid) - before;
  return 100 * took / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double resident_megabytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
  double all = 0, here = 0;
  in >> all >> here;
  return here * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// Of all threads: how often one gave its CPU back by itself.
double switches(pid_t pid) {
  double sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::ifstream in(thread.path() / "status");
    for (std::string line; std::getline(in, line);)
      if (line.starts_with("voluntary_ctxt_switches:")) sum += std::atof(line.c_str() + 24);
  }
  return sum;
}

// Of it and all that it has started.
double cpu_of_family(pid_t first) {
  struct one {
    pid_t pid, parent;
    double seconds;
  };
  std::vector<one> all;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    std::string text;
    if (!std::getline(in, text)) continue;
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream rest(text.substr(name_end + 1));
    std::string skipped;
    one p{std::atoi(text.c_str()), 0, 0};
    rest >> skipped >> p.parent;
    for (int i = 0; i < 9; ++i) rest >> skipped;
    double user = 0, system = 0;
    rest >> user >> system;
    p.seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    all.push_back(p);
  }
  std::vector<pid_t> family{first};
  for (std::size_t i = 0; i < family.size(); ++i)
    for (const one& p : all)
      if (p.parent == family[i]) family.push_back(p.pid);
  double sum = 0;
  for (const one& p : all)
    if (std::find(family.begin(), family.end(), p.pid) != family.end()) sum += p.seconds;
  return sum;
}

std::uint64_t number_before(const std::string& text, const std::string& what) {
  const std::size_t end = text.rfind(' ' + what);
  REQUIRE_MESSAGE(end != std::string::npos, text);
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoull(text.substr(begin, end - begin));
}

}  // namespace

TEST_CASE("an open door with nobody there costs an idle deployment a megabyte at most, and no CPU") {
  const std::string idle = many(10, "1h");
  const deployment open(idle, {}, {}, service);
  REQUIRE(open.is_up());
  program alone({leat::test::program_path(service), "alone", open.file}, open.environment);
  std::this_thread::sleep_for(3s);
  CHECK(leat::test::at_most("memory of an open door",
                            resident_megabytes(open.service.pid()) - resident_megabytes(alone.pid()), "MB",
                            1));
  CHECK(leat::test::at_most("an idle deployment with its door open", share_of(open.service.pid(), 20s),
                            "% CPU", 0.05));
  alone.signal(SIGTERM);
  CHECK(alone.end() == 0);
}

TEST_CASE("a deployment that ticks once a second sleeps in between") {
  const deployment d(many(2, "1s"), {}, {}, service);
  REQUIRE(d.is_up());
  std::this_thread::sleep_for(3s);
  const double before = switches(d.service.pid());
  const double share = share_of(d.service.pid(), 20s);
  const double rate = (switches(d.service.pid()) - before) / 20;
  // Its own: the tick, and the sink that it wakes.
  CHECK(leat::test::at_most("switches of a deployment with a tick a second, beyond its own two", rate - 2,
                            "1/s", 5));
  CHECK(leat::test::at_most("a deployment with a tick a second", share, "% CPU", 0.02));
}

TEST_CASE("top, twice a second, of 100 processes and 200 channels") {
  const deployment d(many(100, "100ms"), {}, {}, service);
  REQUIRE(d.is_up());
  std::this_thread::sleep_for(2s);
  const double before = share_of(d.service.pid(), 15s);
  program top({leat::test::program_path("leat"), "top", "--interval", "500ms"}, d.environment,
              program::at::terminal, 120);
  REQUIRE(top.says("pulse0"));
  std::jthread reads([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) (void)top.says_more(100ms);
  });
  const double during = share_of(d.service.pid(), 15s);
  reads.request_stop();
  reads.join();
  top.signal(SIGINT);
  CHECK(top.end() >= 0);
  const double after = share_of(d.service.pid(), 15s);
  MESSAGE("the service takes ", before, " % without, ", during, " % with top, ", after, " % afterwards");
  CHECK(leat::test::at_most("top at 2 Hz of 100 processes and 200 channels", during - (before + after) / 2,
                            "% CPU", 1));
}

TEST_CASE("a scrape of 100 processes and 200 channels") {
  const deployment d(many(100, "100ms"), {}, {}, service);
  REQUIRE(d.is_up());
  std::this_thread::sleep_for(2s);
  std::vector<double> took;
  for (int i = 0; i < 40; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = leat::control::test::ask(
        d.socket(),
        leat::control::test::get("/metrics", "Host: localhost\r\nAccept: application/openmetrics-text\r\n"));
    took.push_back(
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
    REQUIRE(text.find("# EOF") != std::string::npos);
    std::this_thread::sleep_for(100ms);
  }
  std::sort(took.begin(), took.end());
  MESSAGE("from ", took.front(), " to ", took.back(), " ms");
  CHECK(leat::test::at_most("a scrape of 100 processes and 200 channels, median", took[took.size() / 2], "ms",
                            5));
}

TEST_CASE("a tap of ten thousand values a second") {
  const deployment d(
      "[process.fast]\nuse = \"fast\"\nout = { to = \"a\" }\n[process.taker]\nuse = \"taker\"\nin = { from = "
      "\"a\" }\n[channel.a]\n",
      {}, {}, service);
  REQUIRE(d.is_up());
  std::this_thread::sleep_for(2s);
  const double before = share_of(d.service.pid(), 10s);
  const std::string sink = d.folder.path() + "/tapped";
  program tap({leat::test::program_path("leat"), "tap", "a", "--json", "--out", sink, "--rate", "10000"},
              d.environment);
  std::this_thread::sleep_for(1s);
  const double during = share_of(d.service.pid(), 10s);
  tap.signal(SIGINT);
  CHECK(tap.end() >= 0);
  const double after = share_of(d.service.pid(), 10s);
  MESSAGE("the service takes ", before, " % without, ", during, " % with a tap, ", after, " % afterwards; ",
          tap.said);
  CHECK(leat::test::at_most("a tap of 10,000 values a second", during - (before + after) / 2, "% CPU", 5));
  // The number of the last value is that of those that had passed.
  std::ifstream in(sink);
  std::uint64_t shown = 0, last = 0;
  for (std::string line; std::getline(in, line);)
    if (const std::size_t at = line.find("\"seq\":"); at != std::string::npos) {
      ++shown;
      last = std::stoull(line.substr(at + 6));
    }
  CHECK(shown == number_before(tap.said, "shown, "));
  CHECK(shown + number_before(tap.said, "not shown") >= last);
  CHECK(last > 90'000);
}

TEST_CASE("the inspector page of 200 processes and 400 channels" * doctest::timeout(300)) {
  const std::string chromium = leat::test::chromium();
  if (chromium.empty()) {
    std::printf("skipped: there is no chromium here (Debian: apt install chromium)\n");
    return;
  }
  const deployment d("[control]\nlisten = \"$DOOR\"\n" + many(200, "100ms"), {}, {}, service);
  REQUIRE(d.is_up());
  leat::run([&] {
    leat::test::browser b(chromium);
    b.show_at(1600, 900);
    const auto share = [&](std::chrono::seconds time) {
      const double before = cpu_of_family(b.pid());
      std::this_thread::sleep_for(time);
      return 100 * (cpu_of_family(b.pid()) - before) / static_cast<double>(time.count());
    };
    std::this_thread::sleep_for(5s);
    const double empty = share(10s), alone = share_of(d.service.pid(), 10s);
    b.open("http://" + d.door + "/");
    CHECK(b.becomes("String(document.querySelectorAll('.process').length)", "200"));
    std::this_thread::sleep_for(5s);
    const double shown = share(20s), looked_at = share_of(d.service.pid(), 20s);
    MESSAGE("the browser takes ", empty, " % with an empty page, ", shown,
            " % with the inspector; the service ", alone, " % and ", looked_at, " %");
    CHECK(leat::test::at_most("the inspector of 200 processes, browser", shown - empty, "% CPU", 10));
    CHECK(leat::test::at_most("the inspector of 200 processes, service", looked_at - alone, "% CPU", 10));
  });
}
