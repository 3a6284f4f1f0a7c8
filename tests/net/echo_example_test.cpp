// SPDX-License-Identifier: BSL-1.0
#include "net/example_fixture.hpp"

namespace leat::net::test {
namespace {

TEST_CASE("every byte comes back, for several clients at once, and Ctrl-C ends it") {
  run_clean(with_procs(2), [] {
    server s;
    {
      task_group clients;
      for (int i = 0; i < 8; ++i)
        clients.go([&, i] {
          stream c = s.dial();
          const std::string sent(50'000, static_cast<char>('a' + i));
          auto writer = spawn([&] {
            c.write(sent, patience);
            c.shutdown_write();
          });
          std::string got(sent.size(), '\0');
          c.read_exactly(got, patience);
          CHECK(got == sent);
          char more = 0;
          CHECK(c.read_some({&more, 1}, patience) == 0);
          writer.get();
        });
      clients.wait();
    }
    stream idle = s.dial();
    idle.write("x");
    char c = 0;
    CHECK(idle.read_some({&c, 1}, patience) == 1);
    CHECK(s.end().text() == "exited with 0");
    std::error_code ec;
    CHECK(idle.read_some({&c, 1}, ec, patience) == 0);
    CHECK(ec != std::errc::timed_out);
  });
}

TEST_CASE("clients that reset do not harm the others") {
  run_clean(with_procs(2), [] {
    server s;
    for (int i = 0; i < 20; ++i) {
      stream bad = s.dial();
      bad.write("some of it");
      reset(bad);
    }
    stream good = s.dial();
    good.write("still there\n");
    CHECK(good.read_line(patience) == "still there");
    CHECK(s.end(SIGTERM).text() == "exited with 0");
  });
}

TEST_CASE("nc gets back what it sends") {
  if (!has_program("nc")) return;
  run_clean(with_procs(2), [] {
    server s;
    const std::string text(100'000, 'n');
    const output o = run_client({"nc", "-N", "127.0.0.1", s.port()}, text);
    CHECK(o.status.ok());
    CHECK(o.text == text);
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("socat gets back what it sends, over a unix socket too") {
  if (!has_program("socat")) return;
  run_clean(with_procs(2), [] {
    scratch_directory dir;
    const std::string path = dir / "echo.sock";
    server tcp, local("unix:" + path);
    CHECK(run_client({"socat", "-t", "10", "-", "TCP:" + tcp.where()}, "hello\n").text == "hello\n");
    CHECK(run_client({"socat", "-t", "10", "-", "UNIX-CONNECT:" + path}, "hello\n").text == "hello\n");
    CHECK(tcp.end().text() == "exited with 0");
    CHECK(local.end().text() == "exited with 0");
    CHECK(::access(path.c_str(), F_OK) != 0);
  });
}

}  // namespace
}  // namespace leat::net::test
