// SPDX-License-Identifier: BSL-1.0
#include "net/example_fixture.hpp"

namespace leat::net::test {
namespace {

stream guest(const server& s, const std::string& nick) {
  stream c = s.dial();
  CHECK(c.read_line(patience) == "Your name?");
  c.write(nick + "\n");
  CHECK(c.read_line(patience) == "Welcome, " + nick + ".");
  return c;
}

void meet(stream& first, const std::string& second_nick) {
  CHECK(first.read_line(patience) == "* " + second_nick + " is here");
}

TEST_CASE("what one says, all others read") {
  run_clean(with_procs(2), [] {
    server s;
    stream ann = guest(s, "ann");
    stream bob = guest(s, "bob");
    meet(ann, "bob");
    stream cid = guest(s, "cid");
    meet(ann, "cid");
    meet(bob, "cid");
    bob.write("hello\r\n");
    CHECK(ann.read_line(patience) == "bob: hello");
    CHECK(cid.read_line(patience) == "bob: hello");
    ann.write("a\x1b[2Jb\n");
    CHECK(bob.read_line(patience) == "ann: a [2Jb");
    cid.close();
    CHECK(ann.read_line(patience) == "* cid has left");
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("names are checked, and free again after their owner has left") {
  run_clean(with_procs(2), [] {
    server s;
    stream a = s.dial();
    a.write("bad name!\n");
    CHECK(a.read_line(patience) == "Your name?");
    CHECK(a.read_line(patience) == "1 to 20 letters, digits, - or _, please.");
    a.write("ann\n");
    CHECK(a.read_line(patience) == "Welcome, ann.");
    stream b = guest(s, "bob");
    meet(a, "bob");
    stream c = s.dial();
    c.write("bob\n");
    CHECK(c.read_line(patience) == "Your name?");
    CHECK(c.read_line(patience) == "That name is taken.");
    b.close();
    CHECK(a.read_line(patience) == "* bob has left");
    // The name goes just after the farewell.
    CHECK(eventually([&] {
      c.write("bob\n");
      return c.read_line(patience) == "Welcome, bob.";
    }));
    meet(a, "bob");
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("a client that does not read loses lines and stalls nobody" * doctest::timeout(280)) {
  run_clean(with_procs(2), [] {
    server s;
    stream ann = guest(s, "ann");
    stream bob = guest(s, "bob");
    meet(ann, "bob");
    stream slow = guest(s, "slow");
    meet(ann, "slow");
    meet(bob, "slow");
    const std::string text(900, 'x');
    // More than the server's socket and queue hold, and not so much that its patience with `slow` comes to an
    // end.
    const int few_bytes = 128 * 1024;
    REQUIRE(::setsockopt(slow.handle().fd(), SOL_SOCKET, SO_RCVBUF, &few_bytes, sizeof few_bytes) == 0);
    constexpr int lines = 6'000;
    auto speaker = spawn([&] {
      for (int i = 0; i < lines; ++i) {
        bob.write(text + "\n", patience);
        // At Ann's pace, or she would lose lines too.
        CHECK(ann.read_line(patience) == "bob: " + text);
      }
    });
    speaker.get();
    // It goes on to read, and is told.
    bool told = false;
    while (!told) {
      const auto line = slow.read_line(patience);
      REQUIRE(line);
      told = line->starts_with("* ") && line->ends_with(" lines lost");
    }
    CHECK(told);
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("too long a line ends its sender's stay and no other's") {
  run_clean(with_procs(2), [] {
    server s;
    stream ann = guest(s, "ann");
    stream bob = guest(s, "bob");
    meet(ann, "bob");
    std::string too_long(2000, 'x');
    too_long += '\n';
    bob.write(too_long);
    CHECK(ann.read_line(patience) == "* bob has left");
    stream cid = guest(s, "cid");
    meet(ann, "cid");
    cid.write("fine\n");
    CHECK(ann.read_line(patience) == "cid: fine");
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("nc can chat") {
  if (!has_program("nc")) return;
  run_clean(with_procs(2), [] {
    server s;
    stream ann = guest(s, "ann");
    child nc({"nc", "127.0.0.1", s.port()}, {.in = stdio::pipe, .out = stdio::pipe});
    CHECK(nc.out().read_line(patience) == "Your name?");
    nc.in().write("netcat\n");
    CHECK(nc.out().read_line(patience) == "Welcome, netcat.");
    meet(ann, "netcat");
    nc.in().write("hello\n");
    CHECK(ann.read_line(patience) == "netcat: hello");
    ann.write("hello yourself\n");
    CHECK(nc.out().read_line(patience) == "ann: hello yourself");
    nc.in().close();
    CHECK(s.end().text() == "exited with 0");
    CHECK(nc.wait(patience).ok());
  });
}

}  // namespace
}  // namespace leat::net::test
