// SPDX-License-Identifier: BSL-1.0
//
// A service with a recorder that is killed at any moment, over and over.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/stock.hpp>

#include "support/child.hpp"

extern char** environ;

namespace leat::stock::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// Lines of all sizes, so that some cross the pages that a killed write ends at.
std::size_t padding(std::int64_t n) {
  return 1 + static_cast<std::size_t>((n * 7919) % (n % 16 == 0 ? 20'000 : 200));
}

void say(const std::string& line) { (void)!::write(STDOUT_FILENO, line.data(), line.size()); }

class kill_source : public process {
  record_out values{this, "values", "numbers from 0 on"};
  setting<std::string> run_number{this, "run", "0", "which start of the program this is"};
  void run() override {
    for (std::int64_t n = 0;; ++n) {
      const std::string pad(padding(n), 'x');
      if (values.send({{"run", std::stoll(*run_number)}, {"n", n}, {"pad", pad}}) != send_status::sent)
        return;
      say("s" + std::to_string(n) + "\n");
    }
  }
};
LEAT_PROCESS_AS("kill-source", kill_source, "counts");

class kill_witness : public process {
  record_in values{this, "values", "what has been written"};
  void run() override {
    for (const record& r : values) say("w" + to_text(*r.find("n")) + "\n");
  }
};
LEAT_PROCESS_AS("kill-witness", kill_witness, "tells what has been written");

LEAT_CHILD(recorder_service) {
  stock::use();
  std::string program = "leat", verb = "run", quiet = "--quiet", file = ::getenv("LEAT_KILL_TOML");
  char* words[] = {program.data(), verb.data(), quiet.data(), file.data(), nullptr};
  std::exit(leat::main(4, words));
}

constexpr std::int64_t none = -1;

struct outcome {
  std::int64_t sent = none, witnessed = none;  // the last of each
};

// Starts the service, kills it a while after its first word or, every other time, after its start; the last
// one is asked to end.
outcome one_life(const std::string& toml, int number, std::mt19937& random, int signal) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  std::vector<std::string> texts;
  const bool ends_well = signal != SIGKILL;
  for (char** e = environ; *e; ++e)
    if (!ends_well || std::string_view(*e).rfind("ASAN_OPTIONS=", 0) != 0) texts.emplace_back(*e);
  if (ends_well) texts.push_back(leat::test::leaks_once("recorder_service"));
  texts.push_back("LEAT_KILL_TOML=" + toml);
  texts.push_back("RUN=" + std::to_string(number));
  texts.push_back("LEAT_LOG=error");
  std::vector<char*> environment;
  for (std::string& t : texts) environment.push_back(t.data());
  environment.push_back(nullptr);
  std::string self = "/proc/self/exe", flag = "--leat-child", name = "recorder_service";
  char* argv[] = {self.data(), flag.data(), name.data(), nullptr};
  const pid_t pid = ::fork();
  REQUIRE(pid >= 0);
  if (pid == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execve(argv[0], argv, environment.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string said;
  const auto read_some = [&](nanoseconds patience) {
    pollfd p{ends[0], POLLIN, 0};
    const timespec wait{patience / 1s, (patience % 1s).count()};
    if (::ppoll(&p, 1, &wait, nullptr) != 1) return false;
    char data[65536];
    const ssize_t n = ::read(ends[0], data, sizeof data);
    if (n > 0) said.append(data, static_cast<std::size_t>(n));
    return n > 0;
  };
  const bool after_first_word = signal != SIGKILL || number % 2 == 0;
  if (after_first_word)
    while (said.find('w') == std::string::npos && read_some(60s)) {
    }
  const auto until = now() + std::chrono::microseconds(random() % (after_first_word ? 20'000 : 60'000));
  while (now() < until) (void)read_some(until - now() > 0ns ? until - now() : 1ns);
  ::kill(pid, signal);
  while (read_some(60s)) {
  }
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  ::close(ends[0]);
  if (signal != SIGKILL) CHECK(WIFEXITED(status));
  outcome o;
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = said.find('\n', at);
    if (end == std::string::npos) break;
    (said[at] == 's' ? o.sent : o.witnessed) = std::stoll(said.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return o;
}

struct line {
  std::int64_t run, n;
  std::size_t pad;
};

std::vector<line> read_lines(const std::string& folder, bool csv) {
  std::vector<std::string> paths;
  for (const auto& e : fs::directory_iterator(folder)) paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  std::vector<line> all;
  for (const std::string& path : paths) {
    std::ifstream f(path);
    std::string text;
    bool head = csv;
    while (std::getline(f, text)) {
      CHECK_FALSE(f.eof());  // each line has its end
      if (head) {
        CHECK(text == "run,n,pad");
        head = false;
        continue;
      }
      if (csv) {
        const std::size_t a = text.find(','), b = text.find(',', a + 1);
        REQUIRE(b != std::string::npos);
        REQUIRE(text.find_first_not_of('x', b + 1) == std::string::npos);
        all.push_back(
            {std::stoll(text.substr(0, a)), std::stoll(text.substr(a + 1, b - a - 1)), text.size() - b - 1});
      } else {
        const record r = from_json<record>(text);
        all.push_back({static_cast<std::int64_t>(*r.number("run")), static_cast<std::int64_t>(*r.number("n")),
                       r.text("pad")->size()});
      }
    }
  }
  return all;
}

// Flushed: each record is written before the next is taken.
void kill_over_and_over(const char* format, bool flushed, int times) {
  std::string place = (fs::temp_directory_path() / "leat-kill-XXXXXX").string();
  REQUIRE(::mkdtemp(place.data()));
  const std::string toml = place + "/service.toml", folder = place + "/records";
  std::ofstream(toml) << R"(leat = 1
[process.source]
use = "kill-source"
config = { run = "${RUN}" }
out = { values = "raw" }
[process.record]
use = "recorder"
config = { folder = ")"
                      << folder << R"(", format = ")" << format << R"(", rotate_size = "200K", flush = ")"
                      << (flushed ? "0" : "2ms") << R"(" }
in = { values = "raw" }
out = { written = "written" }
[process.witness]
use = "kill-witness"
in = { values = "written" }
[channel.raw]
capacity = 1
[channel.written]
capacity = 16
)";
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  std::vector<outcome> lives;
  for (int i = 0; i < times; ++i)
    lives.push_back(one_life(toml, i, random, i == times - 1 ? SIGTERM : SIGKILL));

  const std::vector<line> lines = read_lines(folder, format == std::string("csv"));
  std::vector<std::int64_t> last(lives.size(), none);
  std::int64_t run = 0;
  int out_of_order = 0, torn = 0;
  for (const line& l : lines) {
    out_of_order += l.run < run;
    run = l.run;
    auto& before = last.at(static_cast<std::size_t>(l.run));
    out_of_order += l.n != before + 1;  // none twice, none left out
    before = l.n;
    torn += l.pad != padding(l.n);
  }
  INFO("seed " << seed << ", " << lines.size() << " lines");
  CHECK(out_of_order == 0);
  CHECK(torn == 0);
  int lost = 0, missing = 0, worked = 0;
  for (std::size_t i = 0; i < lives.size(); ++i) {
    lost += last[i] < lives[i].witnessed;
    // In the channel, and in the recorder's hand.
    missing += flushed && lives[i].sent - last[i] > 2;
    worked += last[i] >= 0;
  }
  CHECK(lost == 0);
  CHECK(missing == 0);
  CHECK(worked > times / 4);
  std::printf("%s, %d lives, %d got to work: %zu lines\n", format, times, worked, lines.size());
  fs::remove_all(place);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int lives = 12;
#else
constexpr int lives = 70;
#endif

TEST_CASE("a recorder killed at any moment leaves whole lines, none twice, and loses none it has written" *
          doctest::timeout(280)) {
  kill_over_and_over("csv", true, lives);
  kill_over_and_over("json", true, lives);
  kill_over_and_over("json", false, lives);
}

}  // namespace
}  // namespace leat::stock::test
