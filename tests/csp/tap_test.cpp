// SPDX-License-Identifier: BSL-1.0
//
// Looking into channels while they are used (csp/tap.hpp).
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/csp/tap.hpp>
#include <leat/leat.hpp>

#include "sched/fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

void write_number(const void* value, std::string& to) {
  to = std::to_string(*static_cast<const int*>(value));
}
void write_text(const void* value, std::string& to) { to = *static_cast<const std::string*>(value); }

csp::ref<csp::channel_base> handle(csp::channel_base* c) {
  c->add_ref();
  return csp::ref<csp::channel_base>(c);
}
template <class T>
std::unique_ptr<csp::tap_view> look(const channel<T>& c, std::size_t room, double rate = 0) {
  return csp::tap::look(handle(c.base()), std::is_same_v<T, int> ? write_number : write_text, room, rate);
}

channel<int> make(const std::string& kind) {
  if (kind == "one to one") return channel<int>(8, {.writers = 1, .readers = 1, .name = "c"});
  if (kind == "broadcast") return channel<int>(broadcast, 8, {.name = "c"});
  if (kind == "rendezvous") return channel<int>(0, {.name = "c"});
  return channel<int>(8, {.name = "c"});
}

std::vector<std::string> shown(csp::tap_view& v) {
  std::vector<std::string> all;
  csp::tapped t;
  while (v.take(t)) all.push_back(t.text);
  return all;
}

}  // namespace

TEST_CASE("a look shows what is sent from then on, in order, whatever the channel's kind") {
  run_clean(with_procs(2), [] {
    for (const char* kind : {"many", "one to one", "broadcast", "rendezvous"}) {
      const channel<int> c = make(kind);
      in<int> from(c);
      auto reader = spawn([from] {
        int n = 0;
        while (from.recv()) ++n;
        return n;
      });
      CHECK(c.send(1) == send_status::sent);
      {
        const auto v = look(c, 16);
        for (int i = 2; i <= 4; ++i) CHECK(c.send(i) == send_status::sent);
        CHECK(shown(*v) == std::vector<std::string>{"2", "3", "4"});
        CHECK(v->count().passed == 3);
      }
      CHECK(c.send(5) == send_status::sent);
      c.close();
      CHECK(reader.get() == 5);
    }
  });
}

TEST_CASE("what was not sent is not shown: a full channel, a deadline, a policy") {
  run_clean(with_procs(1), [] {
    const channel<int> c(1, {.name = "c"});
    const auto v = look(c, 16);
    CHECK(c.send(1) == send_status::sent);
    CHECK(c.try_send(2) == send_status::full);
    CHECK(c.send_until(3, 1ms) == send_status::timeout);
    const channel<int> drops(1, {.full = full::drop_newest, .name = "d"});
    const auto w = look(drops, 16);
    CHECK(drops.send(1) == send_status::sent);
    CHECK(drops.send(2) == send_status::dropped);
    CHECK(shown(*v) == std::vector<std::string>{"1"});
    CHECK(shown(*w) == std::vector<std::string>{"1"});
  });
}

TEST_CASE("a send by select is shown when its case is taken") {
  run_clean(with_procs(1), [] {
    for (const char* kind : {"many", "one to one"}) {
      const channel<int> c = make(kind);
      const channel<int> never;
      const auto v = look(c, 16);
      CHECK(select(on_send(c, 7, [] {}), on_recv(never, [](int) {})) == 0);
      CHECK(select(on_send(c, 8, [] {}), on_send(never, 9, [] {})) == 0);
      CHECK(shown(*v) == std::vector<std::string>{"7", "8"});
    }
  });
}

TEST_CASE("texts, which are moved from, are shown as they were") {
  run_clean(with_procs(1), [] {
    const channel<std::string> c(4, {.name = "c"});
    const auto v = look(c, 16);
    std::string s = "a text that is too long to be kept in place";
    CHECK(c.send(std::move(s)) == send_status::sent);
    CHECK(shown(*v) == std::vector<std::string>{"a text that is too long to be kept in place"});
  });
}

TEST_CASE("a view without room holds up nobody: shown + not shown = passed") {
  run_clean(with_procs(2), [] {
    const channel<int> c(8, {.writers = 1, .readers = 1, .name = "c"});
    auto reader = spawn([c] {
      int n = 0;
      while (c.recv()) ++n;
      return n;
    });
    const auto small = look(c, 4);
    const auto slow = look(c, 1000, 10);
    for (int i = 0; i < 1000; ++i) CHECK(c.send(i) == send_status::sent);
    const auto a = small->count(), b = slow->count();
    CHECK(a.passed == 1000);
    CHECK(a.shown == 4);
    CHECK(shown(*small).size() == a.shown);
    CHECK(b.passed == 1000);
    CHECK(b.shown >= 1);
    CHECK(b.shown < 200);
    c.close();
    CHECK(reader.get() == 1000);
  });
}

TEST_CASE("looks come and go while many send: each value is shown at most once, in order, none is lost") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    for (const bool ring : {false, true}) {
      run_clean(with_procs(procs), [ring] {
        const channel<int> c = ring ? make("one to one") : make("many");
        constexpr int n = 20'000;
        auto reader = spawn([c] {
          std::int64_t sum = 0;
          while (const auto v = c.recv()) sum += *v;
          return sum;
        });
        std::atomic<bool> over{false};
        std::atomic<std::uint64_t> seen{0};
        auto looker = spawn([&c, &over, &seen] {
          while (!over.load()) {
            const auto v = look(c, 64);
            int last = -1;
            for (int k = 0; k < 20; ++k) {
              for (const auto& t : shown(*v)) {
                const int now = std::stoi(t);
                CHECK(now > last);
                last = now;
                ++seen;
              }
              yield();
            }
            const auto counts = v->count();
            CHECK(counts.shown <= counts.passed);
          }
        });
        // Until enough have been sent, and some were seen.
        std::int64_t i = 0, sum = 0;
        for (; i < n || seen == 0; ++i) {
          sum += static_cast<int>(i);
          CHECK(c.send(static_cast<int>(i)) == send_status::sent);
          if (i % 64 == 0) yield();
        }
        over = true;
        c.close();
        CHECK(reader.get() == sum);
        looker.join();
      });
    }
  }
}

TEST_CASE("a bell wakes who looks, and what is too long or too much is not shown but counted") {
  run_clean(with_procs(2), [] {
    const channel<std::string> c(64, {.name = "c"});
    const auto v = look(c, 1000);
    auto looker = spawn([&v] {
      std::size_t n = 0;
      csp::tapped t;
      while (n < 10 && v->bell().recv())
        while (v->take(t)) ++n;
      return n;
    });
    for (int i = 0; i < 10; ++i) {
      CHECK(c.send("x") == send_status::sent);
      (void)sleep_for(100us);
    }
    CHECK(looker.get() == 10);
    CHECK(c.send(std::string(csp::tap_view::longest_text + 1, 'x')) == send_status::sent);
    CHECK(v->count().not_shown() == 1);
    const std::size_t fit = csp::tap_view::most_bytes / csp::tap_view::longest_text;
    for (std::size_t i = 0; i < fit + 4; ++i)
      CHECK(c.send(std::string(csp::tap_view::longest_text, 'x')) == send_status::sent);
    CHECK(v->count().shown == 10 + fit);
    CHECK(v->count().not_shown() == 1 + 4);
  });
}

TEST_CASE("a channel has so many views and no more") {
  run_clean(with_procs(1), [] {
    const channel<int> c(4, {.name = "c"});
    std::vector<std::unique_ptr<csp::tap_view>> all;
    for (std::size_t i = 0; i < csp::tap::most_views; ++i) all.push_back(look(c, 4));
    CHECK(look(c, 4) == nullptr);
    CHECK(c.send(7) == send_status::sent);
    for (const auto& v : all) CHECK(shown(*v) == std::vector<std::string>{"7"});
    all.pop_back();
    CHECK(look(c, 4) != nullptr);
  });
}

TEST_CASE("a channel that is gone when its sender wakes") {
  run_clean(with_procs(2), [] {
    for (int round = 0; round < 200; ++round) {
      auto c = std::make_unique<channel<int>>(0, channel_options{.name = "c"});
      auto v = look(*c, 4);
      v.reset();  // the tap stays, but nobody looks
      v = look(*c, 4);
      csp::channel_base* const raw = c->base();
      auto sender = spawn([raw] {
        int x = 1;
        CHECK(csp::send_tapped(*raw, &x, csp::forever) == send_status::sent);
      });
      CHECK(c->recv() == 1);
      v.reset();
      c.reset();
      sender.join();
    }
  });
}
