// SPDX-License-Identifier: BSL-1.0
//
// Each case is a program of its own: the first terminal that a program writes to is the one it keeps a file for. One that
// waits after all does so for ever, and its time limit tells.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include <leat/base/format.hpp>
#include <leat/base/write_now.hpp>

#include "support/child.hpp"

using leat::test::child_result;
using leat::test::run_self;

namespace {

struct terminal {
  terminal() : master(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (master < 0 || ::grantpt(master) != 0 || ::unlockpt(master) != 0) std::_Exit(77);
    fd = ::open(::ptsname(master), O_RDWR | O_NOCTTY);
  }
  std::size_t read(std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t n = ::read(master, text.data(), most);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  bool is_blocking() const { return (::fcntl(fd, F_GETFL) & O_NONBLOCK) == 0; }
  int master, fd;
};

std::size_t write_until_full(int fd) {
  const std::string lines(1000, '\n');  // two characters each, on a terminal
  std::size_t all = 0;
  for (ssize_t n = 1; n > 0; all += n > 0 ? static_cast<std::size_t>(n) : 0)
    n = leat::write_now(fd, lines.data(), lines.size());
  return all;
}

// What nearly full means, the terminal alone knows: a little is read each time, and much is written.
void fill_and_read(const terminal& t) {
  std::printf("full %d\n", write_until_full(t.fd) > 0);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    (void)t.read(1 + i % 100);
    taken += write_until_full(t.fd);
  }
  std::printf("taken %d, blocking %d\n", taken > 0, t.is_blocking());
}

}  // namespace

LEAT_CHILD(fills_a_terminal) { fill_and_read(terminal()); }
LEAT_CHILD(fills_a_second_terminal) {
  const terminal first, second;
  std::printf("first %d\n", leat::write_now(first.fd, "x", 1) == 1);
  std::printf("full %d\n", write_until_full(second.fd) > 0);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    (void)second.read(1 + i % 100);
    taken += write_until_full(second.fd);
  }
  std::printf("taken %d, blocking %d\n", taken > 0, second.is_blocking());
}
LEAT_CHILD(stops_a_terminal) {
  const terminal t;
  std::printf("before %d\n", leat::write_now(t.fd, "x", 1) == 1);
  (void)::tcflow(t.fd, TCOOFF);  // what Ctrl-S does
  std::printf("stopped %d\n", leat::write_now(t.fd, "x", 1) == 0);
  std::printf("text %d\n", leat::write_text(t.fd, "a line\n", 20));
  (void)::tcflow(t.fd, TCOON);
  std::printf("after %d\n", leat::write_now(t.fd, "x", 1) == 1);
}
LEAT_CHILD(fills_a_pipe) {
  int ends[2];
  if (::pipe(ends) != 0) return;
  std::printf("full %d\n", write_until_full(ends[1]) > 0);
  std::string some(5000, '\0');
  (void)!::read(ends[0], some.data(), some.size());
  std::printf("taken %d\n", write_until_full(ends[1]) > 0);
  std::printf("text %d\n", leat::write_text(ends[1], std::string(100'000, 'x'), 20));
  std::printf("blocking %d\n", (::fcntl(ends[1], F_GETFL) & O_NONBLOCK) == 0);
}
LEAT_CHILD(loses_its_reader) {
  ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  if (::pipe(ends) != 0) return;
  ::close(ends[0]);
  std::printf("pipe %d\n", leat::write_now(ends[1], "x", 1) == -1);
  const terminal t;
  ::close(t.master);
  std::printf("terminal %d\n", leat::write_now(t.fd, "x", 1) == -1);
  std::printf("closed %d\n", leat::write_now(1000, "x", 1) == -1);
}

TEST_CASE("a terminal that has little room takes that, and nobody waits for the rest") {
  const child_result r = run_self("fills_a_terminal");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("full 1\n"));
  CHECK(r.said("taken 1, blocking 1\n"));
}

TEST_CASE("a second terminal is not waited for either") {
  const child_result r = run_self("fills_a_second_terminal");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("first 1\n"));
  CHECK(r.said("full 1\n"));
  CHECK(r.said("taken 1, blocking 1\n"));
}

TEST_CASE("a terminal that was stopped takes nothing, and goes on where it is let") {
  const child_result r = run_self("stops_a_terminal");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("before 1\nstopped 1\ntext 0\nafter 1\n"));
}

TEST_CASE("a pipe takes what it has room for, and stays as it was") {
  const child_result r = run_self("fills_a_pipe");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("full 1\ntaken 1\ntext 0\nblocking 1\n"));
}

TEST_CASE("where nobody reads any more, that is said") {
  const child_result r = run_self("loses_its_reader");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("pipe 1\nterminal 1\nclosed 1\n"));
}
