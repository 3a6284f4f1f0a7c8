// SPDX-License-Identifier: BSL-1.0
//
// One end at several channels.
#include <memory>
#include <vector>

#include <leat/csp/composite.hpp>

#include "csp/fixture.hpp"
#include "csp/start_waiting.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

template <class T>
csp::ref<csp::channel_base> shared(const channel<T>& c) {
  c.base()->add_ref();
  return csp::ref<csp::channel_base>(c.base());
}
template <class T>
in<T> merged(const std::vector<channel<T>>& all) {
  csp::channel_list parts;
  for (const auto& c : all) parts.push_back(shared(c));
  return in<T>(csp::merge(parts));
}
template <class T>
out<T> fan(const std::vector<channel<T>>& all) {
  csp::channel_list parts;
  for (const auto& c : all) parts.push_back(shared(c));
  return out<T>(csp::fan_out(parts, csp::copier_of<T>));
}

// Its move may throw, so it travels in a box.
struct bulky {
  bulky() = default;
  explicit bulky(int v) : value(v) {}
  bulky(const bulky&) = default;
  bulky(bulky&& o) noexcept(false) : value(std::exchange(o.value, -1)) {}
  bulky& operator=(const bulky&) = default;
  bulky& operator=(bulky&& o) noexcept(false) {
    value = std::exchange(o.value, -1);
    return *this;
  }
  int value = 0;
};

}  // namespace

TEST_CASE("an end at one channel is that channel's") {
  const channel<int> c(4);
  CHECK(merged<int>({c}).base() == c.base());
  CHECK(fan<int>({c}).base() == c.base());
}

TEST_CASE("a merged end receives from all its channels until all are closed") {
  at_procs([] {
    const std::vector<channel<int>> all{channel<int>(4), channel<int>(4, single_options()), channel<int>(0)};
    const in<int> from = merged<int>(all);
    task_group group;
    for (const auto& c : all) {
      group.go([c] {
        for (int i = 1; i <= 100; ++i) c.send(i);
        c.close();
      });
    }
    int sum = 0, n = 0;
    for (const int i : from) {
      sum += i;
      ++n;
    }
    CHECK(n == 300);
    CHECK(sum == 3 * 5050);
    CHECK(from.closed());
    group.wait();
    CHECK(from.stats().received == 300);
  });
}

TEST_CASE("a merged end is fair to its channels") {
  run_clean(undisturbed(1), [] {
    const channel<int> a(1000), b(1000);
    const in<int> from = merged<int>({a, b});
    for (int i = 0; i < 1000; ++i) {
      a.send(0);
      b.send(1);
    }
    int of_b = 0;
    for (int i = 0; i < 1000; ++i) of_b += *from.recv();
    CHECK(of_b == 500);
  });
}

TEST_CASE("a merged end that waits is woken by any of its channels, its deadline and a stop") {
  at_procs([] {
    const channel<int> a(1);
    const channel<bulky> x(1), y(1);
    const in<bulky> boxes = merged<bulky>({x, y});
    std::atomic<int> got{0};
    auto t = start_waiting([&] { got = boxes.recv()->value; });
    y.send(bulky(7));
    t.get();
    CHECK(got == 7);

    std::optional<bulky> v;
    CHECK(boxes.recv(v, 1ms) == recv_status::timeout);
    CHECK(boxes.try_recv(v) == recv_status::empty);
    std::atomic<recv_status> how{recv_status::received};
    auto stopped = start_waiting([&] {
      std::optional<bulky> none;
      how = boxes.recv(none);
    });
    stopped.request_stop();
    stopped.get();
    CHECK(how == recv_status::stopped);
    // A stop ends it also when there is something.
    x.send(bulky(1));
    stop_source stop;
    stop.request_stop();
    auto late = spawn(spawn_options{.stop = stop}, [&] {
      std::optional<bulky> none;
      how = boxes.recv(none);
    });
    late.get();
    CHECK(how == recv_status::stopped);
    CHECK(boxes.try_recv()->value == 1);
  });
}

TEST_CASE("broadcast readers and plain channels can be merged") {
  at_procs([] {
    const channel<bulky> hub(broadcast, 4);
    const channel<bulky> plain(4);
    const in<bulky> reader(hub);
    reader.base()->add_ref();
    const in<bulky> from(csp::merge({csp::ref<csp::channel_base>(reader.base()), shared(plain)}));
    hub.send(bulky(1));
    plain.send(bulky(2));
    CHECK(from.recv()->value + from.recv()->value == 3);
    int got = 0;
    auto t = start_waiting([&] { select(on_recv(from, [&](bulky b) { got = b.value; })); });
    hub.send(bulky(5));
    t.get();
    CHECK(got == 5);
  });
}

TEST_CASE("a merged end takes part in select, and is closed when all its channels are") {
  at_procs([] {
    const channel<int> a(1), b(1), other(1);
    const in<int> from = merged<int>({a, b});
    int got = 0, closes = 0, others = 0;
    const auto once = [&] {
      return select(on_recv(other, [&](int) { ++others; }), on_recv(from, [&](std::optional<int> v) {
                      if (v) {
                        got = *v;
                      } else {
                        ++closes;
                      }
                    }));
    };
    b.send(3);
    CHECK(once() == 1);
    CHECK(got == 3);
    auto t = start_waiting([&] { CHECK(once() == 1); });
    a.close();  // one is left: nothing to tell
    b.send(4);
    t.get();
    CHECK(got == 4);
    CHECK(closes == 0);
    auto last = start_waiting([&] { CHECK(once() == 1); });
    b.close();
    last.get();
    CHECK(closes == 1);
    other.send(1);
    CHECK(eventually([&] {
      (void)once();
      return others == 1;
    }));
    // A handler that takes a plain value is not told.
    CHECK(select(on_recv(from, [](int) {})) == select_closed);
    CHECK(select(on_recv(from, [](int) {}), otherwise([] {})) == 1);
  });
}

TEST_CASE("a case made at run time may stand for several channels, again and again") {
  at_procs([] {
    const channel<int> a(4), b(4);
    std::vector<int> got;
    std::vector<select_case> cases;
    cases.emplace_back(on_recv(merged<int>({a, b}), [&](int v) { got.push_back(v); }));
    a.send(1);
    b.send(2);
    CHECK(select(cases) == 0);
    CHECK(select(cases) == 0);
    CHECK(got.size() == 2);
    CHECK(got[0] + got[1] == 3);
  });
}

TEST_CASE("a fan sends to each of its channels") {
  at_procs([] {
    const std::vector<channel<bulky>> all{channel<bulky>(2), channel<bulky>(2), channel<bulky>(broadcast, 2)};
    const in<bulky> reader(all[2]);
    const out<bulky> to = fan<bulky>(all);
    CHECK(to.send(bulky(5)) == send_status::sent);
    CHECK(all[0].recv()->value == 5);
    CHECK(all[1].recv()->value == 5);
    CHECK(reader.recv()->value == 5);
    bulky kept(6);
    CHECK(to.try_send(kept) == send_status::sent);
    CHECK(all[0].recv()->value == 6);
  });
}

TEST_CASE("a fan tells the worst that happened, and passes by channels that are closed") {
  at_procs([] {
    const channel<int> a(1), b(2), dropping(1, policy_options(full::drop_newest));
    const out<int> to = fan<int>({a, b});
    CHECK(to.send(1) == send_status::sent);
    CHECK(to.send_until(2, 1ms) == send_status::timeout);
    CHECK(b.size() == 2);
    a.close();
    (void)b.recv();
    CHECK(to.try_send(3) == send_status::sent);
    CHECK(to.try_send(4) == send_status::full);
    CHECK_FALSE(to.closed());
    to.close();
    CHECK(to.closed());
    CHECK(to.send(5) == send_status::closed);
    const out<int> mixed = fan<int>({channel<int>(8), dropping});
    CHECK(mixed.send(1) == send_status::sent);
    CHECK(mixed.send(2) == send_status::dropped);
  });
}

TEST_CASE("a fan takes part in select: the first channel decides, the others follow") {
  at_procs([] {
    const channel<int> a(1), b(1);
    const out<int> to = fan<int>({a, b});
    a.send(0);
    int sent = 0;
    auto t = start_waiting([&] { CHECK(select(on_send(to, 9, [&] { ++sent; })) == 0); });
    CHECK(*a.recv() == 0);
    t.get();
    CHECK(sent == 1);
    CHECK(*a.recv() == 9);
    CHECK(*b.recv() == 9);
  });
}

TEST_CASE("a fan that waits in a select for a channel that is closed waits for the next that is open") {
  at_procs([] {
    const channel<int> a(1), b(1), c(1);
    const out<int> to = fan<int>({a, b, c});
    a.send(0);
    b.send(0);
    int sent = 0;
    auto t = start_waiting([&] { CHECK(select(on_send(to, 9, [&] { ++sent; })) == 0); });
    a.close();
    CHECK(*b.recv() == 0);
    t.get();
    CHECK(sent == 1);
    CHECK(*b.recv() == 9);
    CHECK(*c.recv() == 9);
    // The handler that is told of a close is told of that of the last.
    b.send(0);
    c.send(0);
    std::optional<send_status> said;
    auto last = start_waiting([&] { CHECK(select(on_send(to, 9, [&](send_status s) { said = s; })) == 0); });
    b.close();
    c.close();
    last.get();
    CHECK(said == send_status::closed);
    CHECK(select(on_send(to, 9, [&] { ++sent; })) == select_closed);
    CHECK(sent == 1);
  });
}

TEST_CASE("a select that goes on to the next channel of a fan keeps its deadline and its other cases") {
  at_procs([] {
    const channel<bulky> a(1), b(1);
    const channel<int> other(1);
    const out<bulky> to = fan<bulky>({a, b});
    a.send(bulky(0));
    b.send(bulky(0));
    int ran = 0;
    const auto put = [&](auto&& third) {
      return select(on_send(to, bulky(7), [&] { ran = 1; }), on_recv(other, [&](int v) { ran = v; }), third);
    };
    auto late = start_waiting([&] { CHECK(put(on_timeout(400ms, [&] { ran = 3; })) == 2); });
    a.close();
    late.get();
    CHECK(ran == 3);
    auto third = start_waiting([&] { CHECK(put(on_timeout(1h, [] {})) == 1); });
    other.send(5);
    third.get();
    CHECK(ran == 5);
  });
}
