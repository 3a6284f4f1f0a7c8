// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>
#include <leat/base/log_aside.hpp>
#include <leat/base/log_output.hpp>

#include <doctest/doctest.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/alloc_count.hpp"
#include "support/child.hpp"
#include "support/full_stderr.hpp"

using namespace std::chrono_literals;
using leat::log_level;
using leat::test::child_options;
using leat::test::child_result;
using leat::test::full_stderr;
using leat::test::run_self;

LEAT_COUNT_ALLOCATIONS();

namespace {

// Collects what is logged while it lives.
class captured {
 public:
  captured() {
    leat::set_log_sink(
        [](void* arg, log_level level, std::string_view component, std::string_view text) {
          auto* self = static_cast<captured*>(arg);
          const std::lock_guard guard(self->lock_);
          self->lines_.push_back(std::string(to_string(level)) + " " + std::string(component) + ": " +
                                 std::string(text));
        },
        this);
  }
  ~captured() { leat::set_log_sink(nullptr, nullptr); }
  std::vector<std::string> lines() {
    const std::lock_guard guard(lock_);
    return lines_;
  }

 private:
  std::mutex lock_;
  std::vector<std::string> lines_;
};

struct level_restored {
  log_level before = leat::get_log_level();
  ~level_restored() { leat::set_log_level(before); }
};

// Each run of digits as one #.
std::string shape_of(const std::string& text) {
  std::string shape;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) shape += c;
    if (digit && (shape.empty() || shape.back() != '#')) shape += '#';
  }
  return shape;
}

const child_options clean{.environment = {"LEAT_LOG", "JOURNAL_STREAM", "NO_COLOR"}};

child_options clean_and(const std::string& more) {
  child_options options = clean;
  if (const std::size_t equals = more.find('='); equals != std::string::npos)
    std::erase(options.environment, more.substr(0, equals));
  options.environment.push_back(more);
  return options;
}

}  // namespace

LEAT_CHILD(logs_each_level) {
  leat::log_debug("test", "one");
  leat::log_info("test", "two");
  leat::log_notice("test", "three");
  leat::log_warning("test", "four");
  leat::log_error("test", "five");
}

TEST_CASE("on a pipe a line has date, time, level, component and text, from info up") {
  const child_result result = run_self("logs_each_level", clean);
  CAPTURE(result.output);
  CHECK(result.exited(0));
  CHECK(shape_of(result.output) ==
        "#-#-# #:#:#.# info test: two\n"
        "#-#-# #:#:#.# notice test: three\n"
        "#-#-# #:#:#.# warning test: four\n"
        "#-#-# #:#:#.# error test: five\n");
  CHECK(result.output.find(" info") == 23);
}

TEST_CASE("the date of a line is today's, in UTC") {
  const auto today = [] {
    const time_t t = ::time(nullptr);
    tm parts;
    ::gmtime_r(&t, &parts);
    char text[16];
    return std::string(text, ::strftime(text, sizeof text, "%Y-%m-%d %H", &parts));
  };
  const std::string before = today();
  const child_result result = run_self("logs_each_level", clean);
  const std::string found = result.output.substr(0, before.size());
  // Either side of a change of hour.
  CHECK((found == before || found == today()));
}

TEST_CASE("LEAT_LOG sets the level") {
  const auto lines = [](const std::string& level) {
    const child_result result = run_self("logs_each_level", clean_and("LEAT_LOG=" + level));
    return std::count(result.output.begin(), result.output.end(), '\n');
  };
  CHECK(lines("debug") == 5);
  CHECK(lines("info") == 4);
  CHECK(lines("notice") == 3);
  CHECK(lines("warning") == 2);
  CHECK(lines("error") == 1);
  CHECK(lines("") == 4);
}

TEST_CASE("a wrong LEAT_LOG gets a warning that lists the levels, and means info") {
  const child_result result = run_self("logs_each_level", clean_and("LEAT_LOG=loud"));
  CAPTURE(result.output);
  CHECK(
      result.said("warning log: LEAT_LOG=loud is not a level; using info. "
                  "Levels: debug, info, notice, warning, error\n"));
  CHECK(result.said("info test: two"));
  CHECK_FALSE(result.said("debug test"));
}

LEAT_CHILD(logs_to_the_journal) {
  struct stat file;
  if (::fstat(STDERR_FILENO, &file) != 0) return;
  const std::string stream = std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  ::setenv("JOURNAL_STREAM", stream.c_str(), 1);
  leat::set_log_level(log_level::debug);
  logs_each_level();
}

TEST_CASE("when the journal owns stderr, a line has its priority and no date") {
  const child_result result = run_self("logs_to_the_journal", clean);
  CHECK(result.output == "<7>test: one\n<6>test: two\n<5>test: three\n<4>test: four\n<3>test: five\n");
}

TEST_CASE("a JOURNAL_STREAM that is not our stderr is ignored") {
  for (const char* stream : {"1:2", "junk", "8:", ":8", "", "99999999999999999999999:1"}) {
    const child_result result =
        run_self("logs_each_level", clean_and("JOURNAL_STREAM=" + std::string(stream)));
    CAPTURE(stream);
    CHECK_FALSE(result.said("<6>"));
    CHECK(result.said("info test: two"));
  }
}

// Runs with a pseudo-terminal as stderr and copies what came there to stdout.
LEAT_CHILD(logs_to_a_terminal) {
  const int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) return;
  const int terminal = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::dup2(terminal, STDERR_FILENO) < 0) return;
  leat::log_warning("test", "bright");
  char text[512];
  const ssize_t size = ::read(master, text, sizeof text);
  if (size > 0) leat::write_text(STDOUT_FILENO, {text, static_cast<std::size_t>(size)});
}

TEST_CASE("a terminal gets colour, unless NO_COLOR is set") {
  const child_result colour = run_self("logs_to_a_terminal", clean);
  CAPTURE(colour.output);
  CHECK(colour.said("\033[33mwarning test: bright\033[0m"));
  const child_result plain = run_self("logs_to_a_terminal", clean_and("NO_COLOR=1"));
  CAPTURE(plain.output);
  CHECK(plain.said("warning test: bright"));
  CHECK_FALSE(plain.said("\033"));
}

LEAT_CHILD(logs_a_long_line) {
  const std::string huge(5000, 'x');
  leat::log_info("test", "{}", huge);
  leat::log_info(huge, "short");
}

TEST_CASE("a line longer than a kilobyte is cut and marked, and still one line") {
  const child_result result = run_self("logs_a_long_line", clean);
  const std::size_t end = result.output.find('\n');
  REQUIRE(end != std::string::npos);
  CHECK(end < 1024);
  CHECK(end > 1000);
  CHECK(result.output.substr(end - 4, 4) == "x…");
  CHECK(result.output.substr(result.output.size() - 5) == "x…\n");
}

// Fewer bytes than the pipe and the log hold together: none is lost, however late the reader runs.
LEAT_CHILD(logs_from_many_threads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) leat::log_info("test", "thread {} line {} of 200 end", t, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("lines of many threads never mix") {
  const child_result result = run_self("logs_from_many_threads", clean);
  CHECK(result.exited(0));
  std::size_t lines = 0;
  for (std::size_t at = 0; at < result.output.size(); ++lines) {
    const std::size_t end = result.output.find('\n', at);
    REQUIRE(end != std::string::npos);
    const std::string line = result.output.substr(at, end - at);
    CAPTURE(line);
    CHECK(line.find(" info test: thread ") == 23);
    CHECK(line.rfind(" of 200 end") == line.size() - 11);
    at = end + 1;
  }
  CHECK(lines == 800);
}

TEST_CASE("a sink gets level, component and formatted text") {
  const level_restored restore;
  leat::set_log_level(log_level::debug);
  captured log;
  leat::log_debug("sched", "{} of {} {}s", 3, 4.5, "worker");
  leat::log(log_level::error, "net", "plain {{}}");
  CHECK(log.lines() == std::vector<std::string>{"debug sched: 3 of 4.5 workers", "error net: plain {}"});
}

TEST_CASE("control characters cannot forge a line") {
  captured log;
  leat::log_info("net", "name {}", "a\nerror net: forged\033[2J\x7f\ttab");
  CHECK(log.lines() == std::vector<std::string>{"info net: name a error net: forged [2J  tab"});
}

TEST_CASE("what is below the level costs no formatting and reaches nobody") {
  const level_restored restore;
  captured log;
  leat::set_log_level(log_level::error);
  CHECK(leat::get_log_level() == log_level::error);
  CHECK_FALSE(leat::log_enabled(log_level::warning));
  CHECK(leat::log_enabled(log_level::error));
  leat::log_warning("test", "not seen");
  CHECK(log.lines().empty());
}

TEST_CASE("logging neither allocates nor changes errno") {
  const level_restored restore;
  leat::set_log_level(log_level::info);
  const int kept = ::dup(STDERR_FILENO);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  REQUIRE(::dup2(nowhere, STDERR_FILENO) == STDERR_FILENO);
  leat::log_info("test", "warm up");
  const leat::test::alloc_count count;
  errno = 99;
  leat::log_info("test", "{} {} {} {}", 1, 2.5, "text", leat::hex{255});
  const int after = errno;
  const std::uint64_t allocations = count.allocations();
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  ::close(nowhere);
  CHECK(after == 99);
  CHECK(allocations == 0);
}

TEST_CASE("a sink is not replaced while a thread is inside it") {
  struct {
    std::atomic<bool> entered{false};
    std::atomic<bool> replaced{false};
    bool replaced_while_inside = false;
  } state;
  leat::set_log_sink(
      [](void* arg, log_level, std::string_view, std::string_view) {
        auto* mine = static_cast<decltype(state)*>(arg);
        mine->entered.store(true);
        // Time for a set_log_sink that does not wait to come back; a right one cannot, however long this
        // takes.
        for (int i = 0; i < 100 && !mine->replaced.load(); ++i) std::this_thread::sleep_for(1ms);
        mine->replaced_while_inside = mine->replaced.load();
      },
      &state);
  std::thread logger([] { leat::log_error("test", "line"); });
  while (!state.entered.load()) std::this_thread::yield();
  leat::set_log_sink(nullptr, nullptr);
  state.replaced.store(true);
  logger.join();
  CHECK_FALSE(state.replaced_while_inside);
}

namespace {
thread_local bool watches = false;
}

TEST_CASE(
    "who must not wait for a sink does not: its lines come when the sink takes them, or are told as lost") {
  leat::detail::must_not_wait_for_sink = []() noexcept { return watches; };
  struct {
    std::atomic<bool> open{false};
    std::mutex lock;
    std::vector<std::string> lines;
  } slow;
  leat::set_log_sink(
      [](void* arg, log_level level, std::string_view component, std::string_view text) {
        auto* mine = static_cast<decltype(slow)*>(arg);
        while (!mine->open) std::this_thread::sleep_for(1ms);
        const std::lock_guard hold(mine->lock);
        mine->lines.push_back(std::string(to_string(level)) + " " + std::string(component) + ": " +
                              std::string(text));
      },
      &slow);
  watches = true;
  constexpr int many = 100;
  const leat::test::alloc_count count;
  for (int i = 0; i < many; ++i) leat::log_error("test", "{}", i);
  CHECK(count.allocations() == 0);
  watches = false;
  CHECK_FALSE(leat::detail::wait_for_log_aside(1));
  CHECK(slow.lines.empty());
  slow.open = true;
  CHECK(leat::detail::wait_for_log_aside(60'000));
  // Others give theirs themselves.
  leat::log_info("test", "and on");
  leat::set_log_sink(nullptr, nullptr);
  leat::detail::must_not_wait_for_sink = nullptr;
  REQUIRE(slow.lines.size() > 2);
  const auto kept = static_cast<int>(slow.lines.size()) - 2;
  for (int i = 0; i < kept; ++i)
    CHECK(slow.lines[static_cast<std::size_t>(i)] == "error test: " + std::to_string(i));
  CHECK(slow.lines[slow.lines.size() - 2] == "warning log: the sink of the log took nothing for a while: " +
                                                 std::to_string(many - kept) + " lines were lost here");
  CHECK(slow.lines.back() == "info test: and on");
}

TEST_CASE("sinks can be replaced while other threads log") {
  std::atomic<bool> stop{false};
  captured quiet;
  std::thread logger([&] {
    while (!stop.load()) leat::log_info("test", "line");
  });
  long wrong = 0;
  for (int round = 0; round < 500; ++round) {
    // The sink must get its own argument, alive: no mix of two settings, no late call.
    struct pair {
      pair* self;
      std::atomic<long>* wrong;
    };
    std::atomic<long> torn{0};
    pair one{&one, &torn};
    const auto sink = [](void* arg, log_level, std::string_view, std::string_view) {
      auto* mine = static_cast<pair*>(arg);
      if (mine->self != mine) mine->wrong->fetch_add(1);
    };
    leat::set_log_sink(sink, &one);
    leat::set_log_sink([](void*, log_level, std::string_view, std::string_view) {}, nullptr);
    one.self = nullptr;
    wrong += torn.load();
  }
  stop.store(true);
  logger.join();
  CHECK(wrong == 0);
}

LEAT_CHILD(logs_to_nobody) {
  const full_stderr err;
  const auto begin = std::chrono::steady_clock::now();
  // More than is kept: the rest is lost, and counted.
  for (int i = 0; i < 3000; ++i) leat::log_info("test", "line {} of many", i);
  if (std::chrono::steady_clock::now() - begin > 5s) ::_exit(3);
  if (!leat::detail::log_is_stalled()) ::_exit(4);
  (void)err.take();
  // As sysmon does it. What was kept is as much as a pipe holds.
  std::string text;
  for (int i = 0; i < 10 && leat::detail::log_is_stalled(); ++i) {
    leat::detail::empty_log();
    text += err.take();
  }
  std::size_t lines = 0;
  int expected = 0;
  for (std::size_t at = text.find(": line "); at != std::string::npos;
       at = text.find(": line ", at + 1), ++lines)
    if (std::atoi(text.c_str() + at + 7) != expected++) ::_exit(5);
  const std::size_t told = text.find("leat: stderr took nothing for a while: ");
  if (told == std::string::npos) ::_exit(6);
  const auto lost = static_cast<std::size_t>(std::atoi(text.c_str() + told + 39));
  std::printf("%zu lines kept, %zu lost\n", lines, lost);
  if (lines < 500 || lines + lost != 3000) ::_exit(7);
  if (leat::detail::log_is_stalled()) ::_exit(8);
  leat::log_info("test", "and on it goes");
  if (err.take().find("and on it goes\n") == std::string::npos) ::_exit(9);
  std::fflush(stdout);
  ::_exit(0);
}
TEST_CASE(
    "who logs does not wait when stderr takes nothing; what is kept comes later, and what is lost is told") {
  const auto child = run_self("logs_to_nobody");
  CHECK_MESSAGE(child.exited(0), child.output);
  MESSAGE(child.output);
}

LEAT_CHILD(many_log_to_nobody) {
  const full_stderr err;
  std::string text;
  std::atomic<bool> over{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([t] {
      for (int i = 0; i < 500; ++i) leat::log_info("test", "thread {} line {}", t, i);
    });
  std::thread reader([&] {
    while (!over) text += err.take();
  });
  for (std::thread& t : all) t.join();
  leat::write_last_words("the end\n", 5000);
  over = true;
  reader.join();
  text += err.take();
  // Each line whole, those of a thread in order, and all of them there or told.
  std::size_t lines = 0, lost = 0;
  for (std::size_t at = text.find("info test: "); at != std::string::npos;
       at = text.find("info test: ", at + 1))
    ++lines;
  for (std::size_t at = text.find("a while: "); at != std::string::npos; at = text.find("a while: ", at + 1))
    lost += static_cast<std::size_t>(std::atoi(text.c_str() + at + 9));
  std::printf("%zu lines, %zu lost\n", lines, lost);
  std::fflush(stdout);
  ::_exit(lines + lost == 2000 && text.size() > 8 && text.substr(text.size() - 8) == "the end\n" ? 0 : 1);
}
TEST_CASE("lines of several threads are there or told, whoever empties the log") {
  const auto child = run_self("many_log_to_nobody");
  CHECK_MESSAGE(child.exited(0), child.output);
}
