// SPDX-License-Identifier: BSL-1.0
#include <sys/socket.h>
#include <asio/steady_timer.hpp>

#include "core_fixture.hpp"

using namespace leat;
using namespace leat::net::test;

namespace {

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

// The dump while a G waits in `f`; then `end` ends that.
template <class F, class End>
std::string dump_while(F f, End end) {
  whereabouts who;
  auto t = spawn("waiter", [&] {
    who.here();
    f();
  });
  CHECK(who.will_wait());
  std::string text = dumped();
  end();
  t.get();
  return text;
}

}  // namespace

TEST_CASE("a dump shows operation and both addresses of a stream") {
  at_procs([] {
    connection c;
    char one = 0;
    const std::string near = c.near.local().text(), far = c.near.peer().text();
    const auto reading = dump_while([&] { (void)c.near.read_some({&one, 1}); }, [&] { c.far.write("x"); });
    CHECK_MESSAGE(has(reading, "'waiter': waiting for I/O: read " + near + " <- " + far + ", since"),
                  reading);
    const std::string big(std::size_t{16} << 20, 'x');
    const auto writing = dump_while([&] { c.near.write(big, 1min); },
                                    [&] {
                                      std::string into(big.size(), ' ');
                                      c.far.read_exactly(into);
                                    });
    CHECK_MESSAGE(has(writing, "waiting for I/O: write " + near + " -> " + far + ", since"), writing);
  });
}

TEST_CASE("a dump shows where an accept waits, also on IPv6 and Unix sockets") {
  at_procs([] {
    const std::string path = "unix:/tmp/leat-dump-" + std::to_string(::getpid());
    for (const std::string& where : {std::string("127.0.0.1:0"), std::string("[::1]:0"), path}) {
      std::optional<net::listener> at;
      try {
        at = net::listen(where);
      } catch (const std::system_error&) {
        std::printf("skipped: %s cannot be listened on here\n", where.c_str());
        continue;
      }
      const std::string local = at->local().text();
      const auto text = dump_while([&] { (void)at->accept(); }, [&] { (void)net::dial(local); });
      CHECK_MESSAGE(has(text, "waiting for I/O: accept " + local + ", since"), text);
    }
    net::listener at = net::listen(path);
    net::stream near = net::dial(path), far = at.accept();
    char one = 0;
    const auto text = dump_while([&] { (void)near.read_some({&one, 1}); }, [&] { far.write("x"); });
    CHECK_MESSAGE(has(text, "waiting for I/O: read - <- " + path + ", since"), text);
  });
}

TEST_CASE("a dump names the Asio operation that is awaited") {
  at_procs([] {
    asio::steady_timer timer(io(), 1h);
    const auto text = dump_while([&] { (void)timer.async_wait(await_tuple); },
                                 [&] { asio::post(io(), [&] { timer.cancel(); }); });
    CHECK_MESSAGE(has(text, "'waiter': waiting for I/O: async_wait, since"), text);
  });
}

TEST_CASE("dumps may be taken while connections come and go") {
  run_clean(with_procs(2), [] {
    std::atomic<bool> over{false};
    auto dumper = spawn([&] {
      while (!over) {
        const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
        dump(nowhere);
        ::close(nowhere);
        yield();
      }
    });
    for (int i = 0; i < scaled(300); ++i) {
      connection c;
      auto t = spawn([&] {
        char one = 0;
        c.near.read_exactly({&one, 1});
      });
      yield();
      c.far.write("x");
      t.get();
    }
    over = true;
    dumper.get();
  });
}
