// SPDX-License-Identifier: BSL-1.0
#include <fcntl.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <csignal>

#include <leat/net/child.hpp>
#include <leat/net/device_holder.hpp>
#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

// The far end of a cable, and the path of ours.
struct cable {
  stream far;
  std::string path;
  int keeps = -1;  // our side, so that the far end is not hung up before we open it
  cable() {
    int master = -1;
    char name[100];
    if (::openpty(&master, &keeps, name, nullptr, nullptr) != 0)
      throw std::system_error(errno, std::system_category(), "openpty");
    ::fcntl(master, F_SETFD, FD_CLOEXEC);
    far = stream(descriptor(master));
    path = name;
  }
  ~cable() { ::close(keeps); }
  cable(const cable&) = delete;
  cable& operator=(const cable&) = delete;
};

termios settings_of(const stream& port) {
  termios t{};
  REQUIRE(::tcgetattr(port.handle().fd(), &t) == 0);
  return t;
}

std::string read_n(stream& s, std::size_t n) {
  std::string got(n, '\0');
  s.read_exactly(got, patience);
  return got;
}

TEST_CASE("bytes pass both ways as they are") {
  at_procs([] {
    cable c;
    stream port = open_serial(c.path, {.baud = 9600});
    // A terminal would translate, swallow or act on each of these.
    std::string all;
    for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
    port.write(all, patience);
    CHECK(read_n(c.far, 256) == all);
    c.far.write(all, patience);
    CHECK(read_n(port, 256) == all);
  });
}

TEST_CASE("nothing is echoed, and lines are read without waiting for more") {
  run_clean(with_procs(2), [] {
    cable c;
    stream port = open_serial(c.path);
    c.far.write("$GPGGA,1\r\n$GP");
    CHECK(port.read_line(patience) == "$GPGGA,1");
    CHECK(error_of([&] { (void)port.read_line(5ms); }) == std::errc::timed_out);
    char data[1];
    CHECK(error_of([&] { (void)c.far.read_some(data, 1ms); }) == std::errc::timed_out);
  });
}

TEST_CASE("the options reach the port") {
  run_clean(with_procs(1), [] {
    cable c;
    {
      const stream port = open_serial(c.path, {.baud = 4800, .stop_bits = 2, .flow = flow::software});
      const termios t = settings_of(port);
      CHECK(::cfgetospeed(&t) == B4800);
      CHECK(::cfgetispeed(&t) == B4800);
      CHECK((t.c_cflag & CSTOPB) != 0);
      CHECK((t.c_iflag & (IXON | IXOFF)) == (IXON | IXOFF));
      CHECK((t.c_lflag & (ICANON | ECHO | ISIG)) == 0);
      CHECK((t.c_cflag & (CREAD | CLOCAL)) == (CREAD | CLOCAL));
    }
    ::ioctl(c.keeps, TIOCNXCL);
    const stream port = open_serial(c.path, {.baud = 921600, .flow = flow::hardware});
    const termios t = settings_of(port);
    CHECK(::cfgetospeed(&t) == B921600);
    CHECK((t.c_cflag & CSTOPB) == 0);
    CHECK((t.c_iflag & (IXON | IXOFF)) == 0);
    CHECK((t.c_cflag & CRTSCTS) != 0);
  });
}

TEST_CASE("options that no port has, and paths that are no port, are errors") {
  run_clean(with_procs(1), [] {
    cable c;
    CHECK(text_of<std::invalid_argument>([&] { (void)open_serial(c.path, {.baud = 12345}); }) ==
          "leat::net::open_serial: no port has 12345 baud");
    CHECK_THROWS_AS((void)open_serial(c.path, {.bits = 9}), std::invalid_argument);
    CHECK_THROWS_AS((void)open_serial(c.path, {.stop_bits = 3}), std::invalid_argument);
    CHECK(error_of([] { (void)open_serial("/dev/no-such-port"); }) == std::errc::no_such_file_or_directory);
    CHECK(error_of([] { (void)open_serial("/dev/null"); }) == std::errc::inappropriate_io_control_operation);
  });
}

TEST_CASE("a port that is in use is not opened a second time, and the error says so") {
  run_clean(with_procs(1), [] {
    cable c;
    {
      const stream first = open_serial(c.path);
      CHECK(error_of([&] { (void)open_serial(c.path); }) == std::errc::device_or_resource_busy);
      CHECK(text_of<std::system_error>([&] {
              (void)open_serial(c.path);
            }).find(c.path + ": another process of this program uses it") != std::string::npos);
    }
    const stream again = open_serial(c.path);
    CHECK(again.is_open());
  });
}

TEST_CASE("who has a port is told by number and name") {
  run_clean(with_procs(2), [] {
    cable c;
    const char* const script =
        "command -v flock >/dev/null || { echo no flock; exit; }; exec 9<>\"$0\"; flock -n 9; echo ready; "
        "exec sleep 1000";
    child holder({"sh", "-c", script, c.path}, {.out = stdio::pipe});
    if (holder.out().read_line(patience) == "ready") {
      const std::string name = "process " + std::to_string(holder.pid());
      CHECK(eventually([&] {  // until the shell has become what it runs
        return text_of<std::system_error>([&] {
                 (void)open_serial(c.path);
               }).find(c.path + ": " + name + " (sleep) uses it") != std::string::npos;
      }));
      holder.kill(SIGKILL);
    } else {
      MESSAGE("skipped: there is no flock here");
    }
    (void)holder.wait(patience);
    CHECK(device_holder("/dev/no-such-port") == "another program, or another process of this one, uses it");
    CHECK(device_holder(c.path) == "another process of this program uses it");  // the test's own end
  });
}

TEST_CASE("what came before the open is thrown away") {
  run_clean(with_procs(1), [] {
    cable c;
    {
      const stream first = open_serial(c.path);
    }
    ::ioctl(c.keeps, TIOCNXCL);
    c.far.write("stale");
    stream port = open_serial(c.path);
    c.far.write("fresh\n");
    CHECK(port.read_line(patience) == "fresh");
  });
}

TEST_CASE("a cable that is pulled out ends the read that waits") {
  at_procs([] {
    cable c;
    stream port = open_serial(c.path);
    auto reader = start_waiting([&] {
      std::error_code ec;
      char data[1];
      CHECK(port.read_some(data, ec, patience) == 0);
      CHECK((!ec || ec == std::errc::io_error));
    });
    c.far.close();
    reader.get();
  });
}

TEST_CASE("a stop ends a read of a port, and a full port ends a write at its deadline") {
  at_procs([] {
    cable c;
    stream port = open_serial(c.path);
    CHECK(stops_while_waiting([&] {
      char data[1];
      (void)port.read_some(data);
    }));
    const std::string much(1 << 20, 'x');
    CHECK(error_of([&] { port.write(much, 5ms); }) == std::errc::timed_out);
  });
}

}  // namespace
}  // namespace leat::net::test
