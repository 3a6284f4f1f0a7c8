// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <string>
#include <vector>

#include <leat/process/mailbox.hpp>

#include "sched/fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

struct set_point {
  int value;
};
struct reading {
  int value;
};
struct owned {
  std::unique_ptr<int> value;
};
struct question {};

using box = mailbox<set_point, reading, owned, ask<question, int>>;

}  // namespace

TEST_CASE("messages of different kinds are handled in the order in which they were sent") {
  sweep_clean([] {
    for (const std::size_t capacity : {std::size_t{0}, std::size_t{1}, std::size_t{16}}) {
      const box b(capacity);
      auto sender = spawn([b] {
        for (int i = 0; i < 100; i += 2) {
          b.send(set_point{i});
          b.send(reading{i + 1});
        }
        b.close();
      });
      std::vector<int> seen;
      CHECK(b.handle([&](set_point s) { seen.push_back(s.value); },
                     [&](reading r) { seen.push_back(r.value); }, [](owned) {},
                     [](question, reply<int>) {}) == inbox_end::closed);
      sender.get();
      REQUIRE(seen.size() == 100);
      for (int i = 0; i < 100; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
    }
  });
}

TEST_CASE("a request is handled after what was sent before it, and answered or told to have failed") {
  sweep_clean([] {
    const box b(8);
    auto actor = spawn([b] {
      int value = 0;
      try {
        (void)b.handle([&](set_point s) { value = s.value; }, [](reading) { throw std::string("broken"); },
                       [&](const owned& o) { value += *o.value; }, [&](question, reply<int> r) { r(value); });
      } catch (const std::string&) {
      }
      return value;
    });
    b.send(set_point{20});
    b.send(owned{std::make_unique<int>(1)});
    CHECK(b.ask(question{}, patience) == 21);
    // In the hands of one who fails, and in a mailbox that is closed.
    b.send(reading{0});
    CHECK(actor.get() == 21);
    CHECK(!b.ask(question{}, 1ms));
    b.close();
    CHECK(!b.ask(question{}, patience));
    CHECK(b.send(set_point{1}) == send_status::closed);
  });
}

TEST_CASE("a mailbox ends at its deadline or a stop, takes part in select, and drops by its policy") {
  sweep_clean([] {
    const box b(1, {.full = full::drop_oldest});
    const auto none = [](auto&&...) {};
    CHECK(b.handle_until(1ms, none) == inbox_end::timeout);
    CHECK(b.try_send(set_point{1}) == send_status::sent);
    b.send(reading{2});
    CHECK(b.size() == 1);
    int seen = 0;
    const channel<int> other;
    CHECK(select(on_recv(other, [](int) {}), b.on([](set_point) {}, [&](reading r) { seen = r.value; },
                                                  [](owned) {}, [](question, reply<int>) {})) == 1);
    CHECK(seen == 2);
    CHECK(b.messages().stats().dropped == 1);
    auto actor = spawn([b, none] { return b.handle(none); });
    actor.request_stop();
    CHECK(actor.get() == inbox_end::stopped);
  });
}
