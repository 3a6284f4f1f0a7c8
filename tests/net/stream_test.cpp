// SPDX-License-Identifier: BSL-1.0
#include <fcntl.h>
#include <csignal>
#include <vector>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

const std::string kinds[] = {"127.0.0.1:0", abstract_name("stream-test")};

stream_pair pipe_pair() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw std::system_error(errno, std::system_category(), "pipe2");
  return {stream(descriptor(ends[0])), stream(descriptor(ends[1]))};
}

std::string pattern(std::size_t n) {
  std::string s(n, '\0');
  for (std::size_t i = 0; i < n; ++i) s[i] = static_cast<char>(i * 7 + i / 251);
  return s;
}

TEST_CASE("bytes arrive in order and whole, whatever their number") {
  for (const std::string& kind : kinds) {
    at_procs([&] {
      stream_pair pair = connected(kind);
      stream &a = pair.near, &b = pair.far;
      const std::string sent = pattern(1 << 20);
      auto writer = spawn([&] {
        a.write(sent, patience);
        a.shutdown_write();
      });
      std::string got(sent.size(), '\0');
      b.read_exactly(got, patience);
      CHECK(got == sent);
      char more = 0;
      CHECK(b.read_some({&more, 1}, patience) == 0);
      writer.get();
    });
  }
}

TEST_CASE("one byte at a time makes the same lines as all at once") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    auto writer = spawn([&] {
      for (const char c : std::string_view("one\r\ntwo\n\nlast")) {
        a.write({&c, 1}, patience);
        yield();
      }
      a.shutdown_write();
    });
    std::vector<std::string> lines;
    while (auto line = b.read_line(patience)) lines.push_back(*line);
    CHECK(lines == std::vector<std::string>{"one", "two", "", "last"});
    writer.get();
  });
}

TEST_CASE("what a line left in the buffer is what the next read gets") {
  run_clean(with_procs(2), [] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    a.write("head\nabcdef");
    CHECK(b.read_line(patience) == "head");
    CHECK(eventually([&] { return b.buffered() == 6; }));
    char got[6];
    CHECK(b.read_some({got, 2}, patience) == 2);
    b.read_exactly({got + 2, 4}, patience);
    CHECK(std::string(got, 6) == "abcdef");
  });
}

TEST_CASE("a line of the limit is read, and one byte more is an error that keeps the rest") {
  run_clean(with_procs(2), [] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    b.line_limit(8);
    a.write("12345678\n123456789\nnext\n");
    CHECK(b.read_line(patience) == "12345678");
    CHECK(error_of([&] { (void)b.read_line(patience); }) == std::errc::message_size);
    CHECK(b.read_line(patience) == "");
    CHECK(b.read_line(patience) == "next");
  });
}

TEST_CASE("a line limit also holds where the buffer ends") {
  run_clean(with_procs(2), [] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    const std::string line(4096, 'x');
    b.line_limit(4096);
    auto writer = spawn([&] { a.write(line + "\n" + line + "y\n", patience); });
    CHECK(b.read_line(patience) == line);
    CHECK(error_of([&] { (void)b.read_line(patience); }) == std::errc::message_size);
    writer.get();
  });
}

TEST_CASE("a delimiter of several bytes is found across reads") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    auto writer = spawn([&] {
      for (const char* const part : {"head\r", "\n", "\r", "\nbody\r\n\r", "x"}) {
        a.write(part, patience);
        (void)sleep_for(1ms);  // so that they come apart; it holds if they do not
      }
      a.shutdown_write();
    });
    std::string text;
    CHECK(b.read_until(text, "\r\n\r\n", patience));
    CHECK(text == "head\r\n\r\n");
    CHECK_FALSE(b.read_until(text, "\r\n\r\n", patience));
    CHECK(text == "body\r\n\rx");
    writer.get();
  });
}

TEST_CASE("a stream that ends inside an exact read says how much was missing") {
  run_clean(with_procs(2), [] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    a.write("abc");
    a.close();
    char got[10];
    const std::string said = text_of<end_of_stream>([&] { b.read_exactly(got, patience); });
    CHECK(said.find("7 bytes") != std::string::npos);
  });
}

TEST_CASE("a half-closed connection still carries the other way") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    a.write("question\n");
    a.shutdown_write();
    CHECK(b.read_line(patience) == "question");
    CHECK(b.read_line(patience) == std::nullopt);
    b.write("answer\n", patience);
    CHECK(a.read_line(patience) == "answer");
  });
}

TEST_CASE("a reset is an error for the reader and for the writer") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    auto reader = start_waiting([&] {
      char c = 0;
      CHECK(error_of([&] { (void)b.read_some({&c, 1}, patience); }) == std::errc::connection_reset);
    });
    reset(a);
    reader.get();
    const std::error_code ec = error_of([&] { b.write("x", patience); });
    CHECK((ec == std::errc::broken_pipe || ec == std::errc::connection_reset));
  });
}

TEST_CASE("a read and a write that wait end at their deadline") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    char c = 0;
    CHECK(error_of([&] { (void)b.read_some({&c, 1}, 5ms); }) == std::errc::timed_out);
    const std::string much(16 << 20, 'x');
    CHECK(error_of([&] { a.write(much, 5ms); }) == std::errc::timed_out);
    std::error_code ec;
    CHECK(a.read_some({&c, 1}, ec, deadline(now() - 1s)) == 0);
    CHECK(ec == std::errc::timed_out);
  });
}

TEST_CASE("a line or an exact read that a deadline ends is not lost for the next read") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    a.write("hal", patience);
    CHECK(error_of([&] { (void)b.read_line(std::chrono::milliseconds(5)); }) == std::errc::timed_out);
    a.write("f\n0123", patience);
    CHECK(b.read_line(patience) == "half");
    char digits[10];
    CHECK(error_of([&] { b.read_exactly(digits, std::chrono::milliseconds(5)); }) == std::errc::timed_out);
    a.write("456789rest\n", patience);
    b.read_exactly(digits, patience);
    CHECK(std::string_view(digits, sizeof digits) == "0123456789");
    CHECK(b.read_line(patience) == "rest");
  });
}

TEST_CASE("a deadline that has passed does not hide what is there") {
  run_clean(with_procs(1), [] {
    stream_pair pair = connected(abstract_name("stream-test"));
    stream &a = pair.near, &b = pair.far;
    a.write("x");
    char c = 0;
    CHECK(b.read_some({&c, 1}, deadline(now() - 1s)) == 1);
  });
}

TEST_CASE("a stop ends a read that waits, and one that would not have to") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    CHECK(stops_while_waiting([&] {
      char c = 0;
      (void)b.read_some({&c, 1});
    }));
    a.write("x");
    stop_source asked;
    asked.request_stop();
    spawn({.stop = asked}, [&] {
      char c = 0;
      std::error_code ec;
      CHECK(b.read_some({&c, 1}, ec) == 0);
      CHECK(ec == std::errc::operation_canceled);
      b.write("goodbye\n");  // does not wait, so it goes out
      CHECK(a.is_open());
    }).get();
    CHECK(a.read_line(patience) == "goodbye");
  });
}

TEST_CASE("a stop ends a write that waits") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    const std::string much(16 << 20, 'x');
    CHECK(stops_while_waiting([&] { a.write(much); }));
    CHECK(b.is_open());
  });
}

TEST_CASE("a shutdown from elsewhere ends who reads") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    auto reader = start_waiting([&] {
      char c = 0;
      CHECK(b.read_some({&c, 1}, patience) == 0);
    });
    b.shutdown();
    reader.get();
    CHECK(a.read_line(patience) == std::nullopt);
  });
}

TEST_CASE("one G reads while another writes") {
  at_procs([] {
    stream_pair pair = connected();
    stream &a = pair.near, &b = pair.far;
    const std::string sent = pattern(256 << 10);
    auto echo = spawn([&] {
      char data[1000];
      while (const std::size_t n = b.read_some(data, patience)) b.write({data, n}, patience);
      b.shutdown_write();
    });
    auto writer = spawn([&] {
      a.write(sent, patience);
      a.shutdown_write();
    });
    std::string got(sent.size(), '\0');
    a.read_exactly(got, patience);
    CHECK(got == sent);
    writer.get();
    echo.get();
  });
}

TEST_CASE("a pipe is a stream, and one without a reader is an error, not a signal") {
  run_clean(with_procs(2), [] {
    stream_pair pair = pipe_pair();
    stream &reads = pair.near, &writes = pair.far;
    writes.write("through a pipe\n");
    CHECK(reads.read_line(patience) == "through a pipe");
    reads.close();
    CHECK(error_of([&] { writes.write("x", patience); }) == std::errc::broken_pipe);
  });
}

TEST_CASE("a regular file cannot be a descriptor") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const int fd = ::open((dir / "f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(error_of([&] { descriptor d(fd); }) == std::errc::operation_not_permitted);
    CHECK(::fcntl(fd, F_GETFD) == -1);
  });
}

TEST_CASE("calls on a closed stream are errors") {
  run_clean(with_procs(1), [] {
    stream s;
    char c = 0;
    CHECK(error_of([&] { (void)s.read_some({&c, 1}); }) == std::errc::bad_file_descriptor);
    CHECK(error_of([&] { s.write("x"); }) == std::errc::bad_file_descriptor);
  });
}

TEST_CASE("nobody can wait for a stream without a runtime") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  stream a{descriptor(ends[0])}, b{descriptor(ends[1])};
  a.write("x");
  char c = 0;
  CHECK(b.read_some({&c, 1}) == 1);
  CHECK_THROWS_AS((void)b.read_some({&c, 1}), std::logic_error);
}

}  // namespace
}  // namespace leat::net::test
