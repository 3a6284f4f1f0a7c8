// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <map>
#include <optional>
#include <vector>

#include <leat/csp/composite.hpp>
#include <leat/csp/gate.hpp>

#include "csp/keyed_fixture.hpp"
#include "csp/start_waiting.hpp"
#include "sched/hang_guard.hpp"

using namespace leat;
using namespace leat::csp::test;

TEST_CASE("values of one key go to one queue, in order, and keys are spread over all") {
  at_procs([] {
    const keyed_ends c(4, 1000);
    for (int i = 0; i < 1000; ++i) CHECK(c.to.send({i % 100, i}) == send_status::sent);
    std::map<int, std::size_t> where;
    for (std::size_t q = 0; q < 4; ++q) {
      std::map<int, int> last;
      CHECK(c.queues[q].size() > 0);
      while (const auto v = c.queues[q].try_recv()) {
        const auto [at, first] = where.emplace(v->key, q);
        CHECK(at->second == q);
        const auto [before, fresh] = last.emplace(v->key, v->n);
        if (!fresh) CHECK(before->second < v->n);
        before->second = v->n;
      }
    }
    CHECK(where.size() == 100);
    CHECK(c.to.stats().sent == 1000);
    CHECK(c.to.stats().received == 1000);
    CHECK(c.to.flavour() == flavour::keyed);
    CHECK(c.to.capacity() == 1000);
  });
}

TEST_CASE("the choice is the same in each channel, and fair") {
  run_clean(with_procs(1), [] {
    const keyed_ends a(3), b(3);
    std::vector<int> count(3);
    for (int k = 0; k < 3000; ++k) {
      CHECK(a.chosen(k) == b.chosen(k));
      ++count[a.chosen(k)];
    }
    for (const int n : count) CHECK((n > 850 && n < 1150));
    // With one more, a key stays where it is or goes to that one.
    const keyed_ends more(4);
    for (int k = 0; k < 3000; ++k) CHECK((more.chosen(k) == a.chosen(k) || more.chosen(k) == 3));
  });
}

TEST_CASE("a full queue holds up those who send to it, and nobody else") {
  at_procs([] {
    const keyed_ends c(2, 1);
    const int slow = c.key_for(0), other = c.key_for(1);
    CHECK(c.to.send({slow, 1}) == send_status::sent);
    CHECK(c.to.size() == 1);  // the fullest
    CHECK(c.to.try_send({slow, 2}) == send_status::full);
    CHECK(c.to.send_until({slow, 2}, 1ms) == send_status::timeout);
    auto waits = start_waiting([&] { CHECK(c.to.send({slow, 2}) == send_status::sent); });
    for (int i = 0; i < 3; ++i) {
      CHECK(c.to.send({other, i}) == send_status::sent);
      CHECK(c.queues[1].recv()->n == i);
    }
    std::vector<csp::waiting_g> seen(8);
    CHECK(c.group->waiting(seen) == 1);
    CHECK(seen[0].sends);
    CHECK(c.queues[0].recv()->n == 1);
    waits.get();
    CHECK(c.queues[0].recv()->n == 2);
    auto stopped = [&] { return c.to.send({slow, 4}); };
    CHECK(c.to.send({slow, 3}) == send_status::sent);
    CHECK(stopped_in(sched::wait_reason::send, stopped) == send_status::stopped);
    CHECK(c.to.stats().left == 1);
  });
}

TEST_CASE("a select sends by key, and is told of a close") {
  at_procs([] {
    const keyed_ends c(2, 1);
    const channel<int> other(1);
    const int slow = c.key_for(0), quick = c.key_for(1);
    CHECK(select(on_send(c.to, item{slow, 1}, [] {}), otherwise([] {})) == 0);
    CHECK(select(on_send(c.to, item{slow, 2}, [] {}), otherwise([] {})) == 1);
    CHECK(select(on_send(c.to, item{quick, 3}, [] {}), otherwise([] {})) == 0);
    auto waits = start_waiting(
        [&] { CHECK(select(on_send(c.to, item{slow, 2}, [] {}), on_recv(other, [](int) {})) == 0); });
    CHECK(c.queues[0].recv()->n == 1);
    waits.get();
    CHECK(c.queues[0].recv()->n == 2);
    auto elsewhere = start_waiting([&] {
      CHECK(c.to.send({slow, 4}) == send_status::sent);
      CHECK(select(on_send(c.to, item{slow, 5}, [] {}), on_recv(other, [](int) {})) == 1);
    });
    CHECK(other.send(1) == send_status::sent);
    elsewhere.get();
    std::optional<send_status> s;
    auto told =
        start_waiting([&] { select(on_send(c.to, item{slow, 6}, [&](send_status how) { s = how; })); });
    c.to.close();
    told.get();
    CHECK(s == send_status::closed);
    CHECK(c.to.closed());
    CHECK(c.to.send({quick, 1}) == send_status::closed);
    CHECK(c.queues[0].recv()->n == 4);
    CHECK_FALSE(c.queues[0].recv());
  });
}

TEST_CASE("when a reader has gone for good its keys go to the others, and no other key moves") {
  at_procs([] {
    const keyed_ends c(3, 1);
    std::vector<std::size_t> before;
    for (int k = 0; k < 100; ++k) before.push_back(c.chosen(k));
    const int key = c.key_for(1);
    CHECK(c.to.send({key, 1}) == send_status::sent);
    std::optional<send_status> how;
    auto waits = start_waiting([&] { how = c.to.send({key, 2}); });
    c.group->leave(1);
    c.queues[1].base()->abandon();
    waits.get();
    CHECK(how == send_status::sent);
    for (int k = 0; k < 100; ++k) {
      const std::size_t now = c.chosen(k), was = before[static_cast<std::size_t>(k)];
      CHECK((was == 1 ? now != 1 : now == was));
    }
    CHECK(c.queues[c.chosen(key)].recv()->n == 2);
    CHECK(c.to.stats().left == 1);
    CHECK_FALSE(c.to.closed());
    for (const std::size_t i : {0u, 2u}) {
      c.group->leave(i);
      c.queues[i].base()->abandon();
    }
    CHECK(c.to.closed());
    CHECK(c.to.send({key, 3}) == send_status::closed);
    const channel_stats s = c.to.stats();
    CHECK(s.sent == s.received + s.dropped + s.left);
  });
}

TEST_CASE("a select whose reader has gone for good chooses again") {
  at_procs([] {
    const keyed_ends c(2, 1);
    const int key = c.key_for(0);
    CHECK(c.to.send({key, 1}) == send_status::sent);
    int sent = 0;
    auto waits = start_waiting([&] { CHECK(select(on_send(c.to, item{key, 2}, [&] { ++sent; })) == 0); });
    c.group->leave(0);
    c.queues[0].base()->abandon();
    waits.get();
    CHECK(sent == 1);
    CHECK(c.queues[1].recv()->n == 2);
    CHECK(c.to.send({key, 3}) == send_status::sent);
    auto last =
        start_waiting([&] { CHECK(select(on_send(c.to, item{key, 4}, [&] { ++sent; })) == select_closed); });
    c.group->leave(1);
    c.queues[1].base()->abandon();
    last.get();
    CHECK(sent == 1);
  });
}

TEST_CASE("what a queue refused and another one took was not refused") {
  at_procs([] {
    // Its reader leaves after a sender has chosen the queue.
    struct leaving_key final : csp::key_of {
      mutable csp::keyed* leaves = nullptr;
      mutable std::size_t queue = 0;
      mutable int calls = 0;
      std::uint64_t hash(const void* v) const noexcept override {
        if (leaves && ++calls == 2) leaves->leave(queue);
        return static_cast<std::uint64_t>(static_cast<const item*>(v)->key);
      }
      bool same(const void*, const void*) const noexcept override { return false; }
    };
    const keyed_ends c(2);
    const auto key = std::make_shared<leaving_key>();
    csp::channel_list all;
    for (const channel<item>& q : c.queues) {
      q.base()->add_ref();
      all.push_back(csp::ref<csp::channel_base>(q.base()));
    }
    auto* const group = new csp::keyed(std::move(all), key, channel_options{});
    const out<item> to{csp::ref<csp::channel_base>(group)};
    const item v{7, 1};
    key->queue = group->choose(&v);
    key->leaves = group;
    c.queues[key->queue].base()->abandon();
    CHECK(to.send(v) == send_status::sent);
    CHECK(c.queues[key->queue].stats().refused == 1);
    CHECK(to.stats().sent == 1);
    CHECK(to.stats().refused == 0);
    to.close();
    CHECK(to.send(v) == send_status::closed);
    CHECK(to.stats().refused == 1);
  });
}

TEST_CASE("a keyed end is sent to by a fan, and looked at by a gate") {
  at_procs([] {
    const keyed_ends c(2, 4);
    const channel<item> plain(4);
    const auto share = [](csp::channel_base* b) {
      b->add_ref();
      return csp::ref<csp::channel_base>(b);
    };
    const out<item> fan(csp::fan_out({share(c.group), share(plain.base())}, csp::copier_of<item>));
    CHECK(fan.send({1, 5}) == send_status::sent);
    CHECK(select(on_send(fan, item{1, 6}, [] {})) == 0);
    CHECK(c.queues[c.chosen(1)].recv()->n == 5);
    CHECK(c.queues[c.chosen(1)].recv()->n == 6);
    CHECK(plain.recv()->n == 5);
    CHECK(plain.recv()->n == 6);
    const auto record = std::make_shared<csp::gate_record>();
    const out<item> gated(csp::gate_out(share(c.group), record));
    CHECK(gated.send({1, 7}) == send_status::sent);
    CHECK(select(on_send(gated, item{1, 8}, [] {})) == 0);
    CHECK(record->passed == 2);
    CHECK_THROWS_AS((void)in<item>(share(c.group)).recv(), channel_error);
  });
}

TEST_CASE("a storm of writers by all calls: each key of each writer arrives in order, at one reader") {
  at_procs([] {
    constexpr int writers = 3, keys = 40;
    constexpr std::size_t readers = 3;
    const int each = scaled(4000);
    const keyed_ends c(readers, 2);
    const channel<int> silent(0);
    std::atomic<int> received{0}, wrong{0};
    std::vector<std::atomic<int>> reader_of(keys);
    for (auto& r : reader_of) r = -1;
    task_group writing, reading;
    for (int w = 0; w < writers; ++w)
      writing.go([&, w] {
        random_numbers random(static_cast<std::uint64_t>(w) + 1);
        for (int i = 0; i < each; ++i) {
          const item v{static_cast<int>(random.below(keys)), i, w};
          for (bool done = false; !done;) switch (random.below(4)) {
              case 0: done = c.to.try_send(v) == send_status::sent; break;
              case 1:
                done = c.to.send_until(v, nanoseconds(random.below(20'000))) == send_status::sent;
                break;
              case 2:
                done = select(on_send(c.to, v, [] {}), on_recv(silent, [](int) {}),
                              on_timeout(20us, [] {})) == 0;
                break;
              default: done = c.to.send(v) == send_status::sent; break;
            }
        }
      });
    for (std::size_t r = 0; r < readers; ++r)
      reading.go([&, r] {
        std::map<std::pair<int, int>, int> last;
        for (const item& v : c.queues[r]) {
          ++received;
          int expected = -1;
          const int me = static_cast<int>(r);
          if (!reader_of[static_cast<std::size_t>(v.key)].compare_exchange_strong(expected, me) &&
              expected != me)
            ++wrong;
          const auto [at, fresh] = last.emplace(std::pair(v.writer, v.key), v.n);
          if (!fresh && at->second >= v.n) ++wrong;
          at->second = v.n;
        }
      });
    writing.wait();
    c.to.close();
    reading.wait();
    CHECK(wrong == 0);
    CHECK(received == writers * each);
    const channel_stats s = c.to.stats();
    CHECK(s.sent == s.received);
  });
}
