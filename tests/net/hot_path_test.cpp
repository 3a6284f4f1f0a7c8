// SPDX-License-Identifier: BSL-1.0
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>

#include "core_fixture.hpp"
#include "support/alloc_count.hpp"

using namespace leat;
using namespace leat::net::test;
using asio::ip::tcp;

LEAT_COUNT_ALLOCATIONS();

namespace {

// What `play(n)` allocates once it has run before. A thread that is started meanwhile costs two: its M, and
// room for loot.
template <class F>
void check_allocates(std::uint64_t allowed, F play) {
  play(200);
  // The first round on each thread may fill caches there.
  std::uint64_t allocated = 0;
  for (const deadline enough = patience; !enough.expired();) {
    const unsigned threads = stats().threads;
    const leat::test::alloc_count count;
    play(200);
    allocated = count.allocations();
    const unsigned started = stats().threads - threads;
    if (allocated <= allowed + 2 * started + 1) return;  // one: the vector of stats()
  }
  CHECK(allocated == allowed);
}
template <class F>
void check_allocates_nothing(F play) {
  check_allocates(0, play);
}

}  // namespace

TEST_CASE("reading and writing a stream allocates nothing, whether it waits or not") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(undisturbed(procs), [&] {
      connection c;
      auto echo = spawn([&] {
        char data[64];
        std::size_t n = 0;
        while ((n = c.far.read_some(data)) > 0) c.far.write({data, n});
      });
      check_allocates_nothing([&](int rounds) {
        char data[64] = {};
        for (int i = 0; i < rounds; ++i) {
          c.near.write(data);
          c.near.read_exactly(data, i % 2 == 0 ? deadline::never() : deadline(1h));
        }
      });
      c.near.close();
      echo.get();
    });
  }
}

TEST_CASE("an awaited operation allocates nothing after the first of its G") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(undisturbed(procs), [&] {
      tcp::acceptor at(io(), {asio::ip::address_v4::loopback(), 0});
      tcp::socket near(io()), far(io());
      near.connect(at.local_endpoint());
      at.accept(far);
      auto echo = spawn([&] {
        char data[64];
        for (;;) {
          const auto [ec, n] = far.async_read_some(asio::buffer(data), await_tuple);
          if (ec) return;
          (void)far.async_write_some(asio::buffer(data, n), await);
        }
      });
      check_allocates_nothing([&](int rounds) {
        char data[64] = {};
        for (int i = 0; i < rounds; ++i) {
          (void)near.async_write_some(asio::buffer(data), await);
          (void)near.async_read_some(asio::buffer(data), i % 2 == 0 ? await : await(1h));
        }
      });
      // A composed one: once, for the slot that Asio puts between its steps and ours.
      check_allocates(2 * 200, [&](int rounds) {
        char data[64] = {};
        for (int i = 0; i < rounds; ++i) {
          (void)asio::async_write(near, asio::buffer(data), await);
          (void)asio::async_read(near, asio::buffer(data), await);
        }
      });
      asio::steady_timer t(io());
      check_allocates_nothing([&](int rounds) {
        for (int i = 0; i < rounds; ++i) {
          t.expires_after(10us);
          t.async_wait(await);
        }
      });
      near.close();
      echo.get();
    });
  }
}
