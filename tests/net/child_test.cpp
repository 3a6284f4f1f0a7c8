// SPDX-License-Identifier: BSL-1.0
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

std::string everything(stream& s) {
  std::string all;
  char data[1000];
  while (const std::size_t n = s.read_some(data, patience)) all.append(data, n);
  return all;
}

child shell(const std::string& script, child_options o = {}) { return child({"sh", "-c", script}, o); }

bool exists(pid_t pid) { return ::kill(pid, 0) == 0; }
bool is_zombie(pid_t pid) {
  std::string number, name, state;
  return (std::ifstream("/proc/" + std::to_string(pid) + "/stat") >> number >> name >> state) && state == "Z";
}

// With a pidfd, and with a thread of its own.
template <class F>
void both_ways(F body) {
  for (const bool pidfd : {true, false}) {
    CAPTURE(pidfd);
    for (const unsigned procs : {1u, 2u, 4u}) run_clean(with_procs(procs), [&] { body(pidfd); });
  }
}

TEST_CASE("a child reads what we write and we read what it writes") {
  both_ways([](bool pidfd) {
    child sort({"sort", "-n"}, {.in = stdio::pipe, .out = stdio::pipe, .use_pidfd = pidfd});
    sort.in().write("10\n9\n1\n", patience);
    sort.in().close();
    CHECK(everything(sort.out()) == "1\n9\n10\n");
    CHECK(sort.wait(patience).ok());
  });
}

TEST_CASE("how it ended is told, as often as one asks") {
  both_ways([](bool pidfd) {
    child a = shell("exit 3", {.use_pidfd = pidfd});
    CHECK(a.wait(patience).code == 3);
    CHECK(a.wait(patience).text() == "exited with 3");
    CHECK_FALSE(a.is_running());
    child b = shell("kill -9 $$", {.use_pidfd = pidfd});
    const exit_status s = b.wait(patience);
    CHECK(s.signal == SIGKILL);
    CHECK(s.code == -1);
    CHECK_FALSE(s.ok());
    CHECK(s.text() == "killed by signal 9 (Killed)");
  });
}

TEST_CASE("a program that does not exist is a clear error") {
  run_clean(with_procs(1), [] {
    CHECK(error_of([] { child c({"no-such-program-of-leat"}); }) == std::errc::no_such_file_or_directory);
    CHECK(text_of<std::system_error>([] { child c({"no-such-program-of-leat"}); }) ==
          "leat::net::child: cannot start \"no-such-program-of-leat\": No such file or directory");
    CHECK(error_of([] { child c({"/etc/passwd"}); }) == std::errc::permission_denied);
    CHECK_THROWS_AS(child(std::vector<std::string>{}), std::invalid_argument);
    CHECK(text_of<std::system_error>([] { child c({"true"}, {.cwd = "/no/such/place"}); }) ==
          "leat::net::child: cannot start \"true\" in \"/no/such/place\": No such file or directory");
  });
}

TEST_CASE("a failed start leaves no descriptor open") {
  run_clean(with_procs(1), [] {
    const auto next_fd = [] {
      const int fd = ::dup(0);
      ::close(fd);
      return fd;
    };
    (void)listen("127.0.0.1:0");  // the poller's own
    const int before = next_fd();
    for (int i = 0; i < 3; ++i)
      CHECK(error_of([] {
        child c({"no-such-program-of-leat"}, {.in = stdio::pipe, .out = stdio::pipe, .err = stdio::pipe});
      }));
    CHECK(next_fd() == before);
  });
}

TEST_CASE("stdout and stderr come apart, and null swallows") {
  run_clean(with_procs(2), [] {
    const std::string script = "echo to out; echo to err >&2; cat";
    child both = shell(script, {.in = stdio::null, .out = stdio::pipe, .err = stdio::pipe});
    CHECK(everything(both.out()) == "to out\n");
    CHECK(everything(both.err()) == "to err\n");
    CHECK(both.wait(patience).ok());
    child quiet = shell(script, {.in = stdio::null, .out = stdio::null, .err = stdio::pipe});
    CHECK(everything(quiet.err()) == "to err\n");
    CHECK_THROWS_AS((void)quiet.out(), std::logic_error);
    CHECK(quiet.wait(patience).ok());
  });
}

TEST_CASE("the environment is ours with the changes asked for") {
  run_clean(with_procs(1), [] {
    ::setenv("LEAT_KEPT", "kept", 1);
    ::setenv("LEAT_REMOVED", "removed", 1);
    ::setenv("LEAT_CHANGED", "before", 1);
    child c = shell("echo $LEAT_KEPT,$LEAT_REMOVED,$LEAT_CHANGED,$LEAT_NEW",
                    {.out = stdio::pipe, .env = {"LEAT_REMOVED", "LEAT_CHANGED=after", "LEAT_NEW=a=b"}});
    CHECK(everything(c.out()) == "kept,,after,a=b\n");
  });
}

TEST_CASE("it starts in the directory asked for") {
  run_clean(with_procs(1), [] {
    child c({"pwd"}, {.out = stdio::pipe, .cwd = "/usr"});
    CHECK(everything(c.out()) == "/usr\n");
  });
}

TEST_CASE("descriptors that we open are not open in it") {
  run_clean(with_procs(1), [] {
    const auto open_ones = [] {
      child c({"ls", "/proc/self/fd"}, {.in = stdio::null, .out = stdio::pipe, .err = stdio::pipe});
      return everything(c.out());
    };
    const std::string before = open_ones();  // those of whoever started this test
    CHECK(before.find("2\n") != std::string::npos);
    listener at = listen("127.0.0.1:0");
    udp_socket u = bind_udp("127.0.0.1:0");
    const in<int> s = signals(SIGUSR1);
    child other({"sleep", "100"}, {.in = stdio::pipe, .out = stdio::pipe});
    CHECK(open_ones() == before);
  });
}

TEST_CASE("signals are as at the start of a program, whatever they are here") {
  run_clean(with_procs(1), [] {
    const in<int> s = signals(SIGTERM);
    child c = shell("kill -PIPE $$; echo survived", {.out = stdio::pipe});
    CHECK(c.wait(patience).signal == SIGPIPE);
    child t = shell("kill -TERM $$; echo survived", {.out = stdio::pipe});
    CHECK(t.wait(patience).signal == SIGTERM);
    CHECK(s.try_recv() == std::nullopt);
  });
}

TEST_CASE("a wait ends at its deadline and by a stop, and the child goes on") {
  both_ways([](bool pidfd) {
    child c({"sleep", "100"}, {.use_pidfd = pidfd});
    CHECK(error_of([&] { (void)c.wait(5ms); }) == std::errc::timed_out);
    std::error_code ec;
    CHECK_FALSE(c.wait(ec, 1ms));
    CHECK(ec == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { (void)c.wait(); }));
    CHECK(c.is_running());
    c.kill(SIGTERM);
    CHECK(c.wait(patience).signal == SIGTERM);
    c.kill(SIGTERM);  // nobody is hit
  });
}

TEST_CASE("the destructor kills a child that is left, even one that will not listen, and reaps it") {
  both_ways([](bool pidfd) {
    pid_t pid = -1;
    {
      child c = shell("trap '' TERM INT HUP; echo ready; while :; do sleep 1; done",
                      {.out = stdio::pipe, .use_pidfd = pidfd});
      CHECK(c.out().read_line(patience) == "ready");
      pid = c.pid();
      CHECK(exists(pid));
    }
    CHECK_FALSE(exists(pid));
  });
}

TEST_CASE("a group is reached after the end of its first, and ends with the object") {
  both_ways([](bool pidfd) {
    pid_t other = -1;
    {
      child c = shell("sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' & sleep 0.1; exit 3",
                      {.out = stdio::pipe, .own_group = true, .use_pidfd = pidfd});
      other = std::stoi(c.out().read_line(patience).value_or("-1"));
      REQUIRE(other > 1);
      CHECK(c.wait(patience).code == 3);
      CHECK(c.wait(patience).code == 3);
      CHECK_FALSE(c.is_running());
      c.kill_group(SIGTERM);  // to which it is deaf
      CHECK(exists(other));
    }
    // Whoever reaps orphans here may take its time.
    CHECK(eventually([&] { return !exists(other) || is_zombie(other); }));
  });
}

TEST_CASE("a child that is moved over another takes its place") {
  run_clean(with_procs(1), [] {
    child a({"sleep", "100"});
    const pid_t first = a.pid();
    a = child({"sleep", "100"});
    CHECK_FALSE(exists(first));
    CHECK(a.is_running());
    child nobody;
    CHECK(nobody.pid() == -1);
    CHECK(error_of([&] { (void)nobody.wait(); }) == std::errc::no_child_process);
  });
}

TEST_CASE("a child that does not read makes the writer wait, and one that is gone is an error") {
  run_clean(with_procs(2), [] {
    child c({"sleep", "100"}, {.in = stdio::pipe});
    const std::string much(1 << 20, 'x');
    CHECK(error_of([&] { c.in().write(much, 5ms); }) == std::errc::timed_out);
    c.kill(SIGKILL);
    (void)c.wait(patience);
    CHECK(error_of([&] { c.in().write(much, patience); }) == std::errc::broken_pipe);
  });
}

TEST_CASE("many children at once, each waited for by its own G") {
  both_ways([](bool pidfd) {
    std::atomic<int> right{0};
    {
      task_group group;
      for (int i = 0; i < 16; ++i)
        group.go([&, i] {
          child c = shell("exit " + std::to_string(i), {.use_pidfd = pidfd});
          if (c.wait(patience).code == i) ++right;
        });
      group.wait();
    }
    CHECK(right == 16);
  });
}

// Another run of this program, for one test of it that is skipped otherwise; `before` is shell.
child run_apart(const std::string& test, const std::string& before, child_options o) {
  return child({"sh", "-c", before + "exec \"$0\" --no-skip \"-tc=$1\"",
                std::filesystem::read_symlink("/proc/self/exe").string(), test},
               o);
}

TEST_CASE("apart: a child of a program that is killed" * doctest::skip()) {
  leat::run([] {
    child c = shell("sleep 1000 & echo $$ $!; wait", {.out = stdio::pipe, .own_group = true});
    std::string line = *c.out().read_line(patience) + '\n';
    (void)!::write(1, line.data(), line.size());
    (void)c.wait();
  });
}

TEST_CASE("a group ends when this program is killed") {
  run_clean(with_procs(2), [] {
    child program =
        run_apart("apart: a child of a program that is killed", "", {.out = stdio::pipe, .err = stdio::null});
    // doctest greets first.
    std::string line;
    while (program.out().read_line(line, patience) && line.find_first_not_of("0123456789 ") != line.npos) {
    }
    std::istringstream numbers(line);
    pid_t first = 0, second = 0;
    REQUIRE((numbers >> first >> second));
    CHECK(exists(first));
    CHECK(exists(second));
    program.kill(SIGKILL);
    (void)program.wait(patience);
    CHECK(eventually([&] { return !exists(first) || is_zombie(first); }));
    CHECK(eventually([&] { return !exists(second) || is_zombie(second); }));
  });
}

TEST_CASE("apart: how a child ended" * doctest::skip()) {
  leat::run([] {
    child c({"sh", "-c", "exit 3"});
    CHECK(c.wait(patience).code == 3);
  });
}

TEST_CASE("a program that was started with SIGCHLD ignored learns how its children end") {
  run_clean(with_procs(2), [] {
    child program = run_apart("apart: how a child ended", "trap '' CHLD; ", {.out = stdio::pipe});
    const std::string told = everything(program.out());
    INFO(told);
    CHECK(program.wait(patience).ok());
    CHECK(told.find("1 passed") != std::string::npos);
  });
}

TEST_CASE("a program that ignores SIGCHLD is told that it cannot know, and kills nobody else") {
  run_clean(with_procs(1), [] {
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGCHLD, &ignore, &before);
    {
      child c({"true"});
      CHECK(error_of([&] { (void)c.wait(patience); }) == std::errc::no_child_process);
    }
    ::sigaction(SIGCHLD, &before, nullptr);
  });
}

}  // namespace
}  // namespace leat::net::test
