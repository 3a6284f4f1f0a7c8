// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include "channel_fixture.hpp"
#include "faulty_vfs.hpp"

using namespace leat;
using namespace leat::store;
using namespace leat::store::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::int64_t> numbers(std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(last - first + 1));
  std::iota(all.begin(), all.end(), first);
  return all;
}

template <class F>
bool comes_true(F f) {
  for (const time_point end = now() + 45s; now() < end; sleep_for(1ms))
    if (f()) return true;
  return false;
}

}  // namespace

TEST_CASE("what nobody received is there at the next start, in order") {
  const temporary_folder t;
  for (const unsigned procs : {1u, 2u, 4u}) {
    std::filesystem::remove(t.file());
    leat::run({.procs = procs}, [&] {
      {
        life l(t.file());
        for (int i = 1; i <= 20'000; ++i) REQUIRE(l.writer().send(reading_of(i)) == send_status::sent);
        for (int i = 1; i <= 10; ++i) REQUIRE(l.reader().recv()->n == i);
        CHECK(l.any.size() == 19'990);
        CHECK(l.finish());
      }
      {
        life l(t.file());
        CHECK(l.hub->stats_of_store().restored == 19'990);
        REQUIRE(l.writer().send(reading_of(20'001)) == send_status::sent);
        l.any.close();
        for (int i = 11; i <= 20'001; ++i) {
          const auto v = l.reader().recv();
          REQUIRE(v);
          REQUIRE(*v == reading_of(i));
        }
        CHECK_FALSE(l.reader().recv());
        const channel_stats s = l.any.stats();
        CHECK(s.sent == s.received + s.dropped + s.left);
        CHECK(l.finish());
      }
      CHECK(found(t.file()).empty());
    });
  }
}

TEST_CASE("what a careful reader has in hand comes again, unless it was acknowledged") {
  const temporary_folder t;
  leat::run([&] {
    {
      life l(t.file());
      for (int i = 1; i <= 5; ++i) REQUIRE(l.writer().send(reading_of(i)) == send_status::sent);
      const in<reading> r = l.careful_reader();
      CHECK(r.recv()->n == 1);
      CHECK(r.recv()->n == 2);
      CHECK(l.finish());
    }
    CHECK(found(t.file()) == numbers(2, 5));
    {
      life l(t.file());
      const in<reading> r = l.careful_reader();
      CHECK(r.recv()->n == 2);
      (void)l.last_reader->acknowledge();
      CHECK(l.finish());
    }
    CHECK(found(t.file()) == numbers(3, 5));
  });
}

TEST_CASE("two careful readers acknowledge each their own") {
  const temporary_folder t;
  leat::run([&] {
    {
      life l(t.file());
      for (int i = 1; i <= 4; ++i) REQUIRE(l.writer().send(reading_of(i)) == send_status::sent);
      const in<reading> a = l.careful_reader();
      const in<reading> b = l.careful_reader();
      CHECK(a.recv()->n == 1);
      CHECK(b.recv()->n == 2);
      CHECK(b.recv()->n == 3);  // 2 is done
      CHECK(l.finish());
    }
    CHECK(found(t.file()) == std::vector<std::int64_t>{1, 3, 4});
  });
}

TEST_CASE("with sync = each a send returns when the file has the value") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.sync = 0ns});
    for (int i = 1; i <= 50; ++i) {
      REQUIRE(l.writer().send(reading_of(i)) == send_status::sent);
      if (i % 10 == 0) CHECK(found(t.file()) == numbers(1, i));
    }
  });
}

TEST_CASE("with sync = each a receive returns when the file has lost what it acknowledges") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.sync = 0ns});
    for (int i = 1; i <= 20; ++i) (void)l.writer().send(reading_of(i));
    const in<reading> r = l.careful_reader();
    for (int i = 1; i <= 20; ++i) {
      REQUIRE(r.recv()->n == i);
      CHECK(found(t.file()) == numbers(i, 20));
    }
  });
}

TEST_CASE("many senders with sync = each share their writes") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.sync = 0ns});
    task_group all;
    for (int g = 0; g < 50; ++g)
      all.go([&, g] {
        for (int i = 0; i < 10; ++i) (void)l.writer().send(reading_of(g * 10 + i));
      });
    all.wait();
    CHECK(found(t.file()).size() == 500);
  });
}

TEST_CASE("a full store makes senders wait, until a value is settled") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.max = 2000});
    int sent = 0;
    while (l.writer().try_send(reading_of(sent + 1)) == send_status::sent) ++sent;
    CHECK(sent > 10);
    std::atomic<bool> through{false};
    task_group all;
    all.go([&] {
      (void)l.writer().send(reading_of(sent + 1));
      through = true;
    });
    const in<reading> r = l.careful_reader();
    CHECK(r.recv()->n == 1);
    CHECK_FALSE(through.load());
    CHECK(l.hub->stats_of_store().bytes <= 2000);
    CHECK(r.recv()->n == 2);
    CHECK(comes_true([&] { return through.load(); }));
    all.wait();
    CHECK(l.hub->stats_of_store().bytes <= 2000);
    for (int i = 3; i <= sent + 1; ++i) REQUIRE(r.recv()->n == i);
  });
}

TEST_CASE("drop-oldest keeps the newest, within its bytes, and counts the rest") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.max = 5000}, full::drop_oldest);
    constexpr int n = 20'000;
    for (int i = 1; i <= n; ++i) REQUIRE(l.writer().send(reading_of(i)) == send_status::sent);
    REQUIRE(comes_true([&] { return l.hub->stats_of_store().bytes <= 5000; }));
    const channel_stats s = l.any.stats();
    CHECK(s.sent == n);
    CHECK(s.dropped == n - s.left);
    CHECK(s.left > 50);
    CHECK(l.finish());
    const std::vector<std::int64_t> left = found(t.file());
    CHECK(left == numbers(n + 1 - static_cast<std::int64_t>(s.left), n));
  });
}

TEST_CASE("a value that is larger than the store is dropped, and nobody waits") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.max = 1000});
    CHECK(l.writer().send({1, std::string(2000, 'x')}) == send_status::dropped);
    CHECK(l.writer().send(reading_of(2)) == send_status::sent);
    CHECK(l.reader().recv()->n == 2);
    CHECK(l.any.stats().dropped == 1);
  });
}

TEST_CASE("select takes stored values like any others, and a deadline ends a wait") {
  const temporary_folder t;
  leat::run([&] {
    life l(t.file(), {.max = 1000});
    const channel<int> other(1);
    const in<reading> r = l.reader();
    CHECK(!r.recv_until(deadline(now() + 1ms)));
    (void)l.writer().send(reading_of(1));
    std::int64_t got = 0;
    select(on_recv(r, [&](const reading& v) { got = v.n; }), on_recv(other, [&](int) { got = -1; }));
    CHECK(got == 1);
    int sent = 0;
    while (select(on_send(l.writer(), reading_of(sent), [&] { ++sent; }), on_timeout(20ms, [] {})) == 0) {
    }
    CHECK(sent > 5);
    for (int i = 0; i < sent; ++i) REQUIRE(r.recv()->n == i);
  });
}

TEST_CASE("a disk that is full holds up senders and loses nothing") {
  const temporary_folder t;
  faulty_disk& disk = faulty_disk::get();
  disk.power_on();
  leat::run([&] {
    life l(t.file(), {}, full::block, 4, faulty_disk::name);
    (void)l.writer().send(reading_of(1));
    REQUIRE(comes_true([&] { return l.hub->stats_of_store().written > 0; }));
    disk.fails_with = SQLITE_FULL;
    (void)l.writer().send(reading_of(2));
    REQUIRE(comes_true([&] { return l.hub->stats_of_store().failing; }));
    // What is in memory still passes.
    CHECK(l.reader().recv()->n == 1);
    CHECK(l.writer().send(reading_of(3)) == send_status::sent);
    disk.fails_with = SQLITE_OK;
    REQUIRE(comes_true([&] { return !l.hub->stats_of_store().failing; }));
    CHECK(l.finish());
    CHECK(found(t.file()) == numbers(2, 3));
  });
}

TEST_CASE("with drop-oldest a broken disk holds up nobody") {
  const temporary_folder t;
  faulty_disk& disk = faulty_disk::get();
  disk.power_on();
  leat::run([&] {
    life l(t.file(), {}, full::drop_oldest, 4, faulty_disk::name);
    disk.fails_with = SQLITE_IOERR_WRITE;
    (void)l.writer().send(reading_of(0));
    REQUIRE(comes_true([&] { return l.hub->stats_of_store().failing; }));
    const std::string text(1000, 'x');
    for (int i = 1; i <= 5000; ++i) REQUIRE(l.writer().send({i, text}) == send_status::sent);
    const channel_stats s = l.any.stats();
    CHECK(s.dropped > 3000);
    CHECK(s.sent == s.received + s.dropped + s.left);
    CHECK(l.hub->stats_of_store().failures < 60);
    disk.fails_with = SQLITE_OK;
    REQUIRE(comes_true([&] { return !l.hub->stats_of_store().failing; }));
    std::int64_t last = 0;
    for (std::uint64_t i = 0; i < s.left; ++i) {
      const std::int64_t n = l.reader().recv()->n;
      CHECK(n > last);
      last = n;
    }
    CHECK(last == 5000);
  });
}

namespace before {
struct reading {
  std::int64_t n = 0;
};
LEAT_MESSAGE(reading, n);
}  // namespace before

TEST_CASE("values from before a field was added have its member initialiser") {
  const temporary_folder t;
  {
    store_file f(t.file(), {"plant/raw", shape_text(shape_of<before::reading>())});
    const std::vector<std::uint8_t> body = to_cbor(before::reading{7});
    store_file::batch b;
    b.append.push_back({1, body});
    f.write(b);
  }
  leat::run([&] {
    life l(t.file());
    CHECK(*l.reader().recv() == reading{7, "x"});
  });
}

TEST_CASE("a value that cannot be read is set aside, and the next ones come") {
  const temporary_folder t;
  {
    store_file f(t.file(), {"plant/raw", shape_text(shape_of<reading>())});
    const std::vector<std::uint8_t> bad{0x61}, good = to_cbor(reading_of(2));
    store_file::batch b;
    b.append = {{1, bad}, {2, good}};
    f.write(b);
  }
  leat::run([&] {
    life l(t.file());
    CHECK(l.reader().recv()->n == 2);
    CHECK(l.hub->stats_of_store().unreadable == 1);
    CHECK(l.any.stats().dropped == 1);
  });
}

TEST_CASE("somebody who empties the file under it is told of, and nobody waits for what is gone") {
  const temporary_folder t;
  leat::run([&] {
    {
      life l(t.file());
      for (int i = 1; i <= 50'000; ++i) (void)l.writer().send(reading_of(i));
    }
    life l(t.file());
    CHECK(l.reader().recv()->n == 1);
    sqlite3* db = nullptr;
    REQUIRE(::sqlite3_open(t.file().c_str(), &db) == SQLITE_OK);
    ::sqlite3_busy_timeout(db, 10'000);
    REQUIRE(::sqlite3_exec(db, "DELETE FROM value WHERE number > 30000", nullptr, nullptr, nullptr) ==
            SQLITE_OK);
    ::sqlite3_close(db);
    (void)l.writer().send(reading_of(50'001));
    std::int64_t last = 0;
    while (last != 50'001) {
      const auto v = l.reader().recv();
      REQUIRE(v);
      CHECK(v->n > last);
      last = v->n;
    }
    CHECK(comes_true([&] { return l.any.stats().left == 0; }));
    CHECK(l.any.stats().dropped > 0);
  });
}

TEST_CASE("senders and readers at once, with replicas: all arrive once, those of a sender in order") {
  const temporary_folder t;
  constexpr int senders = 4, each = 5000;
  for (const unsigned procs : {1u, 4u}) {
    std::filesystem::remove(t.file());
    leat::run({.procs = procs}, [&] {
      life l(t.file(), {.max = 100'000});
      std::vector<std::atomic<int>> seen(senders * each);
      std::atomic<int> out_of_order{0};
      task_group writing, reading_all;
      for (int s = 0; s < senders; ++s)
        writing.go([&, s] {
          for (int i = 0; i < each; ++i) (void)l.writer().send(reading_of(s * each + i));
        });
      for (int r = 0; r < 2; ++r) {
        const in<reading> from = r == 0 ? l.reader() : l.careful_reader();
        reading_all.go([&, from] {
          std::vector<std::int64_t> last(senders, -1);
          while (const auto v = from.recv()) {
            ++seen[static_cast<std::size_t>(v->n)];
            std::int64_t& before = last[static_cast<std::size_t>(v->n / each)];
            if (v->n <= before) ++out_of_order;
            before = v->n;
          }
        });
      }
      writing.wait();
      l.any.close();
      reading_all.wait();
      CHECK(out_of_order == 0);
      CHECK(std::all_of(seen.begin(), seen.end(), [](const auto& n) { return n == 1; }));
      const channel_stats s = l.any.stats();
      CHECK(s.sent == senders * each);
      CHECK(s.received == senders * each);
    });
  }
}
