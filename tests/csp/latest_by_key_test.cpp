// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csp/fragile.hpp"
#include "csp/keyed_fixture.hpp"
#include "csp/start_waiting.hpp"
#include "sched/hang_guard.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

template <class T = item>
struct latest_ends {
  explicit latest_ends(std::size_t keys, std::uint64_t hashes = ~0ull)
      : latest_ends(csp::ref<csp::channel_base>(
            new csp::latest_by_key(keys, {.full = leat::full::latest, .name = "latest"},
                                   std::make_shared<item_key<T>>(hashes), &csp::keep_value<T>))) {}
  in<T> from;
  out<T> to;

 private:
  explicit latest_ends(const csp::ref<csp::channel_base>& c) : from(c), to(c) {}
};

// Its move may throw.
struct fragile_item {
  fragile_item(int k, int v) : key(k), value(v) {}
  int key;
  fragile value;
};
// Only moved.
struct moved_item {
  int key = 0;
  std::unique_ptr<int> n = {};
};

}  // namespace

TEST_CASE("each key has its latest value, and comes in the order in which keys came") {
  for (const std::uint64_t hashes : {1u, 2u, 1000u}) {
    CAPTURE(hashes);
    at_procs([hashes] {
      const latest_ends c(8, hashes);
      for (const item& v : {item{1, 1}, item{2, 2}, item{1, 3}, item{3, 4}, item{2, 5}, item{1, 6}})
        CHECK(c.to.send(v) == send_status::sent);
      CHECK(c.from.size() == 3);
      CHECK(adds_up(c.from));
      CHECK(c.from.recv()->n == 6);
      CHECK(c.to.send({1, 7}) == send_status::sent);
      CHECK(c.from.recv()->n == 5);
      CHECK(c.from.try_recv()->n == 4);
      CHECK(c.from.recv()->n == 7);
      CHECK_FALSE(c.from.try_recv());
      const channel_stats s = c.from.stats();
      CHECK(s.sent == 7);
      CHECK(s.dropped == 3);
      CHECK(s.received == 4);
      CHECK(s.high_water == 3);
      CHECK(c.from.flavour() == flavour::latest_by_key);
    });
  }
}

TEST_CASE("with one key too many, the value that has waited longest is dropped and counted") {
  at_procs([] {
    const latest_ends c(2, 1);
    for (const item& v : {item{1, 1}, item{2, 2}, item{1, 3}, item{3, 4}}) (void)c.to.send(v);
    CHECK(c.from.stats().dropped == 2);
    CHECK(c.from.recv()->n == 2);
    CHECK(c.from.recv()->n == 4);
    CHECK(adds_up(c.from));
  });
}

TEST_CASE("who waits is served, timed out, stopped and told of a close") {
  at_procs([] {
    const latest_ends c(2);
    std::optional<item> v;
    CHECK(c.from.recv(v, 1ms) == recv_status::timeout);
    auto receives = start_waiting([&] { v = c.from.recv(); });
    CHECK(c.to.send({1, 9}) == send_status::sent);
    receives.get();
    CHECK(v->n == 9);
    CHECK(stopped_in(sched::wait_reason::receive, [&] { return c.from.recv(v); }) == recv_status::stopped);
    auto told = start_waiting([&] { CHECK_FALSE(c.from.recv()); });
    const latest_ends kept(2);
    CHECK(kept.to.send({1, 2}) == send_status::sent);
    c.to.close();
    kept.to.close();
    told.get();
    CHECK(c.to.send({1, 1}) == send_status::closed);
    CHECK(c.from.stats().refused == 1);
    CHECK(kept.from.recv()->n == 2);
    CHECK(kept.from.recv(v) == recv_status::closed);
  });
}

TEST_CASE("it takes part in select on both sides") {
  at_procs([] {
    const latest_ends c(2);
    const channel<int> other(1);
    int got = 0;
    const auto take = [&](const item& v) { got = v.n; };
    CHECK(select(on_send(c.to, item{1, 1}, [] {}), on_recv(other, [](int) {})) == 0);
    CHECK(select(on_send(c.to, item{1, 2}, [] {}), on_recv(other, [](int) {})) == 0);
    CHECK(select(on_recv(c.from, take), on_recv(other, [](int) {})) == 0);
    CHECK(got == 2);
    CHECK(select(on_recv(c.from, take), otherwise([] {})) == 1);
    auto waits =
        start_waiting([&] { CHECK(select(on_recv(c.from, take), on_recv(other, [](int) {})) == 0); });
    CHECK(c.to.send({1, 3}) == send_status::sent);
    waits.get();
    CHECK(got == 3);
    auto goes = start_waiting([&] { CHECK(select(on_recv(c.from, take), on_recv(other, [](int) {})) == 1); });
    CHECK(other.send(1) == send_status::sent);
    goes.get();
    CHECK(c.to.send({1, 4}) == send_status::sent);
    CHECK(c.from.recv()->n == 4);
    c.to.close();
    CHECK(select(on_recv(c.from, take)) == select_closed);
    CHECK(adds_up(c.from));
  });
}

TEST_CASE("values that can only be moved, and values that are left, die once") {
  run_clean(with_procs(1), [] {
    const latest_ends<moved_item> c(4);
    CHECK(c.to.send({1, std::make_unique<int>(5)}) == send_status::sent);
    CHECK(c.to.send({1, std::make_unique<int>(6)}) == send_status::sent);
    CHECK(c.to.send({2, std::make_unique<int>(7)}) == send_status::sent);
    CHECK(*c.from.recv()->n == 6);
    c.to.close();
    moved_item kept{3, std::make_unique<int>(8)};
    CHECK(c.to.send(std::move(kept)) == send_status::closed);
  });
}

TEST_CASE("a move that throws loses nothing but what is counted") {
  run_clean(with_procs(1), [] {
    const latest_ends<fragile_item> c(4);
    fragile::countdown = -1;
    for (int k = 0; k < 3; ++k) CHECK(c.to.send(fragile_item(k, 10 + k)) == send_status::sent);
    std::optional<fragile_item> v;
    fragile::countdown = 0;
    CHECK_THROWS_AS((void)c.from.recv(v), fragile::broken);
    CHECK(adds_up(c.from));
    CHECK(c.from.size() == 3);
    fragile::countdown = -1;
    CHECK(c.from.recv(v) == recv_status::received);
    CHECK(v->value.value == 10);
    fragile_item kept(7, 70);
    fragile::countdown = 0;
    CHECK_THROWS_AS((void)c.to.send(std::move(kept)), fragile::broken);
    fragile::countdown = -1;
    CHECK(adds_up(c.from));
  });
  CHECK(fragile::live == 0);
}

TEST_CASE("a storm: what is received of a key never goes back, and the sums hold") {
  at_procs([] {
    constexpr int writers = 3, readers = 2, keys = 20;
    const int each = scaled(5000);
    const latest_ends c(8, 16);
    std::atomic<std::uint64_t> received{0};
    std::atomic<int> wrong{0};
    task_group writing, reading;
    for (int w = 0; w < writers; ++w)
      writing.go([&, w] {
        random_numbers random(static_cast<std::uint64_t>(w) + 1);
        for (int i = 1; i <= each; ++i) {
          const item v{static_cast<int>(random.below(keys)), i, w};
          if (random.one_in(2))
            (void)c.to.send(v);
          else
            (void)select(on_send(c.to, v, [] {}));
          if (random.one_in(8)) yield();
        }
      });
    for (int r = 0; r < readers; ++r)
      reading.go([&, r] {
        random_numbers random(static_cast<std::uint64_t>(r) + 100);
        std::map<std::pair<int, int>, int> last;
        for (bool more = true; more;) {
          std::optional<item> v;
          if (random.one_in(2))
            v = c.from.recv();
          else
            (void)select(on_recv(c.from, [&](std::optional<item> got) { v = got; }));
          more = v.has_value();
          if (!v) break;
          ++received;
          int& before = last[std::pair(v->writer, v->key)];
          if (v->n <= before) ++wrong;
          before = v->n;
        }
      });
    writing.wait();
    c.to.close();
    reading.wait();
    const channel_stats s = c.from.stats();
    CHECK(wrong == 0);
    CHECK(s.sent == static_cast<std::uint64_t>(writers * each));
    CHECK(s.received == received);
    CHECK(s.sent == s.received + s.dropped + s.left);
    CHECK(s.left == 0);
  });
}
