// SPDX-License-Identifier: BSL-1.0
//
// Stored channels whose disk fails or loses power, and what senders and readers see of it.
#include <doctest/doctest.h>
#include <atomic>
#include <chrono>
#include <numeric>
#include <random>

#include "channel_fixture.hpp"
#include "faulty_vfs.hpp"

using namespace leat;
using namespace leat::store;
using namespace leat::store::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::int64_t> row(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

template <class F>
bool in_time(F f) {
  for (const time_point end = now() + 45s; now() < end; sleep_for(1ms))
    if (f()) return true;
  return false;
}

faulty_disk& good_disk() {
  faulty_disk& disk = faulty_disk::get();
  disk.power_on();
  return disk;
}

bool fails(const life& l) { return l.hub->stats_of_store().failing; }
deadline soon() { return deadline(now() + 45s); }

}  // namespace

TEST_CASE("while the disk fails a reader goes on beyond the window, and nothing is lost or doubled") {
  const temporary_folder t;
  faulty_disk& disk = good_disk();
  leat::run([&] {
    life l(t.file(), {}, full::block, 4, faulty_disk::name);
    disk.fails_with = SQLITE_FULL;
    const std::string text(1000, 'x');  // 600 of them are more than a window, and less than waits in memory
    for (int i = 1; i <= 600; ++i) REQUIRE(l.writer().send({i, text}) == send_status::sent);
    REQUIRE(in_time([&] { return fails(l); }));
    for (int i = 1; i <= 500; ++i) {
      const auto v = l.reader().recv_until(soon());
      REQUIRE(v);
      REQUIRE(v->n == i);
      REQUIRE(v->text == text);
    }
    CHECK(fails(l));
    disk.fails_with = SQLITE_OK;
    REQUIRE(in_time([&] { return !fails(l); }));
    CHECK(l.finish());
    CHECK(found(t.file()) == row(501, 600));
  });
}

TEST_CASE("with sync = each a disk that fails leaves a send its deadline, and a try does not wait") {
  const temporary_folder t;
  faulty_disk& disk = good_disk();
  leat::run([&] {
    life l(t.file(), {.sync = 0ns}, full::block, 4, faulty_disk::name);
    REQUIRE(l.writer().send(reading_of(1)) == send_status::sent);
    disk.fails_with = SQLITE_FULL;
    // The first is put before it is known, and taken back.
    reading second = reading_of(2);
    CHECK(l.writer().send_until(std::move(second), deadline(now() + 50ms)) == send_status::timeout);
    CHECK(second == reading_of(2));
    REQUIRE(in_time([&] { return fails(l); }));
    CHECK(l.writer().try_send(std::move(second)) == send_status::full);
    CHECK(l.writer().send_until(std::move(second), deadline(now() + 20ms)) == send_status::timeout);
    CHECK(second == reading_of(2));
    CHECK(l.any.stats().sent == 1);
    disk.fails_with = SQLITE_OK;
    CHECK(l.writer().send_until(std::move(second), soon()) == send_status::sent);
    CHECK(l.finish());
    CHECK(found(t.file()) == row(1, 2));
  });
}

TEST_CASE("with sync = each a stop ends a send whose disk fails, and the value is not sent") {
  const temporary_folder t;
  faulty_disk& disk = good_disk();
  leat::run([&] {
    life l(t.file(), {.sync = 0ns}, full::block, 4, faulty_disk::name);
    disk.fails_with = SQLITE_FULL;
    stop_source stop;
    std::atomic<int> how{-1};
    go({.name = "sender", .stop = stop},
       [&how, w = l.writer()] { how = static_cast<int>(w.send(reading_of(1))); });
    REQUIRE(in_time([&] { return fails(l); }));
    CHECK(how == -1);
    stop.request_stop();
    REQUIRE(in_time([&] { return how >= 0; }));
    CHECK(how == static_cast<int>(send_status::stopped));
    disk.fails_with = SQLITE_OK;
    CHECK(l.finish());
    CHECK(found(t.file()).empty());
  });
}

TEST_CASE("with sync = each what was sent before the end is in the file, and the rest is refused") {
  for (int i = 0; i < 20; ++i) {
    const temporary_folder t;
    (void)good_disk();
    leat::run({.procs = 4}, [&] {
      life l(t.file(), {.sync = 0ns}, full::block, 4, faulty_disk::name);
      std::atomic<int> sent{0};
      send_status last = send_status::sent;
      task_group all;
      all.go([&] {
        while ((last = l.writer().send(reading_of(sent + 1))) == send_status::sent) ++sent;
      });
      REQUIRE(in_time([&] { return sent >= 3; }));
      CHECK(l.finish());
      all.wait();
      CHECK(last == send_status::closed);
      CHECK(found(t.file()) == row(1, sent));
    });
  }
}

TEST_CASE("senders are served in the order in which they came") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.max = 2000});
    int sent = 0;
    while (l.writer().try_send(reading_of(sent + 1)) == send_status::sent) ++sent;
    std::atomic<bool> through{false};
    task_group all;
    all.go([&] {
      (void)l.writer().send({sent + 1, std::string(500, 'x')});
      through = true;
    });
    csp::waiting_g waits[4];
    REQUIRE(in_time([&] { return l.hub->waiting(waits) == 1; }));
    // Room for a small one, which must not overtake it.
    for (int i = 1; i <= 3; ++i) REQUIRE(l.reader().recv()->n == i);
    CHECK_FALSE(through.load());
    CHECK(l.writer().try_send(reading_of(0)) == send_status::full);
    for (int i = 4; i <= sent + 1; ++i) REQUIRE(l.reader().recv()->n == i);
    all.wait();
    CHECK(through.load());
    // One that gives up makes way.
    sent = 0;
    while (l.writer().try_send(reading_of(sent + 1)) == send_status::sent) ++sent;
    REQUIRE(l.reader().recv()->n == 1);
    REQUIRE(l.reader().recv()->n == 2);
    std::atomic<int> large{-1}, small{-1};
    all.go([&] {
      large = static_cast<int>(l.writer().send_until({0, std::string(500, 'x')}, deadline(now() + 100ms)));
    });
    REQUIRE(in_time([&] { return large >= 0 || l.hub->waiting(waits) == 1; }));
    all.go([&] { small = static_cast<int>(l.writer().send_until(reading_of(0), soon())); });
    all.wait();
    CHECK(large == static_cast<int>(send_status::timeout));
    CHECK(small == static_cast<int>(send_status::sent));
  });
}

TEST_CASE("drop-oldest drops what the file alone has, the oldest first") {
  const temporary_folder t;
  leat::run([&] {
    constexpr std::uint64_t max = 1 << 20;
    constexpr int n = 6000;
    life l(t.file(), {.max = max}, full::drop_oldest);
    const std::string text(1000, 'x');
    for (int i = 1; i <= n; ++i) REQUIRE(l.writer().send({i, text}) == send_status::sent);
    REQUIRE(in_time([&] { return l.hub->stats_of_store().bytes <= max; }));
    const channel_stats s = l.any.stats();
    CHECK(s.sent == s.received + s.dropped + s.left);
    CHECK(s.left > 900);
    for (std::int64_t i = n + 1 - static_cast<std::int64_t>(s.left); i <= n; ++i) {
      const auto v = l.reader().recv_until(soon());
      REQUIRE(v);
      REQUIRE(v->n == i);
    }
  });
}

TEST_CASE("with sync = each a power cut takes nothing whose send has returned") {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const temporary_folder t;
    faulty_disk& disk = good_disk();
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
    const unsigned keeps = below(4), cut = 5 + below(60);
    int sent = 0;
    leat::run([&] {
      life l(t.file(), {.sync = 0ns}, full::block, 4, faulty_disk::name);
      disk.cut_at = cut;
      stop_source stop;
      std::atomic<bool> over{false};
      go({.name = "sender", .stop = stop}, [&over, &sent, w = l.writer()] {
        while (w.send(reading_of(sent + 1)) == send_status::sent) ++sent;
        over = true;
      });
      REQUIRE(in_time([&] { return disk.off.load(); }));
      stop.request_stop();  // what is under way would wait for the disk
      REQUIRE(in_time([&] { return over.load(); }));
      (void)l.finish();
    });
    disk.power_cut([&] { return below(4) < keeps; });
    disk.power_on();
    std::vector<std::int64_t> there = found(t.file());
    REQUIRE(there.size() >= static_cast<std::size_t>(sent));
    there.resize(static_cast<std::size_t>(sent));
    CHECK(there == row(1, sent));
  }
}

TEST_CASE("a channel that falls idle is synced, and so is what was acknowledged last") {
  for (const bool acknowledges : {false, true}) {
    const temporary_folder t;
    faulty_disk& disk = good_disk();
    leat::run([&] {
      life l(t.file(), {.sync = 50ms}, full::block, 4, faulty_disk::name);
      std::size_t before = disk.syncs;
      REQUIRE(l.writer().send(reading_of(1)) == send_status::sent);
      REQUIRE(in_time([&] { return l.hub->stats_of_store().written == 1 && disk.syncs > before; }));
      if (acknowledges) {
        before = disk.syncs;
        REQUIRE(l.reader().recv()->n == 1);
        REQUIRE(in_time([&] { return disk.syncs > before; }));
      }
      disk.power_cut([] { return false; });
      (void)l.finish();
    });
    disk.power_on();
    CHECK(found(t.file()).size() == (acknowledges ? 0 : 1));
  }
}
