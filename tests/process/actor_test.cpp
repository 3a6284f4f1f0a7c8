// SPDX-License-Identifier: BSL-1.0
#include <stdexcept>

#include "csp/fixture.hpp"
#include "csp/start_waiting.hpp"

using namespace leat::csp::test;

namespace {

struct set_point {
  double celsius = 0;
};
LEAT_MESSAGE(set_point, celsius);
struct reading {
  double celsius = 0;
};
LEAT_MESSAGE(reading, celsius);
struct status_request {
  int what = 0;
};
LEAT_MESSAGE(status_request, what);
struct status {
  double wanted = 0;
  double is = 0;
};
LEAT_MESSAGE(status, wanted, is);

using request = leat::request<status_request, status>;
using client = leat::client<status_request, status>;

class controller : public leat::process {
 public:
  leat::inbox<set_point, reading, ask<status_request, status>> inbox{this, "inbox"};
  status now;

  void run() override {
    inbox.handle([&](set_point s) { now.wanted = s.celsius; }, [&](reading r) { now.is = r.celsius; },
                 [&](const status_request& q, leat::reply<status> answer) {
                   if (q.what == 1) throw std::runtime_error("on fire");
                   if (q.what == 2) return;
                   answer(now);
                 });
  }
};

class panel : public leat::process {
 public:
  client controller{this, "controller"};
  std::optional<status> seen;
  void run() override { seen = controller.ask(status_request{}, 10s); }
};

struct wired {
  leat::channel<set_point> points{4};
  leat::channel<reading> readings{4};
  leat::channel<request> requests{4};
  leat::process_options options{.ports = {{"inbox.set_point", {points}},
                                          {"inbox.reading", {readings}},
                                          {"inbox.status_request", {requests}}}};

  void close() const {
    points.close();
    readings.close();
    requests.close();
  }
};

}  // namespace

TEST_CASE("an actor handles each kind of message, and answers, until its channels are closed") {
  at_procs([] {
    const wired w;
    const auto actor = leat::make<controller>(w.options);
    auto running = leat::spawn([&] { actor->run(); });
    w.points.send({21});
    w.readings.send({19});
    const auto desk = leat::make<panel>({.ports = {{"controller", {w.requests}}}});
    CHECK(eventually([&] {
      desk->run();
      return desk->seen == status{21, 19};
    }));
    w.close();
    running.get();
  });
}

TEST_CASE("a request whose handler throws is answered with failure, at once") {
  at_procs([] {
    const wired w;
    const auto actor = leat::make<controller>(w.options);
    auto running = leat::spawn([&] { actor->run(); });
    const client c(w.requests);
    std::optional<status> answer;
    CHECK(c.ask({1}, answer, leat::deadline::never()) == leat::ask_status::failed);
    CHECK_FALSE(answer);
    CHECK_THROWS_WITH_AS(running.get(), "on fire", std::runtime_error);
  });
}

TEST_CASE("a request whose handler forgets to answer is answered with failure") {
  at_procs([] {
    const wired w;
    const auto actor = leat::make<controller>(w.options);
    auto running = leat::spawn([&] { actor->run(); });
    CHECK_FALSE(client(w.requests).ask({2}, leat::deadline::never()));
    CHECK(client(w.requests).ask({0}, leat::deadline::never()));
    w.close();
    running.get();
  });
}

TEST_CASE("a request that dies in a channel is answered with failure") {
  at_procs([] {
    const leat::channel<request> pushed_out(1, policy_options(leat::full::drop_oldest));
    std::optional<status> answer;
    leat::ask_status how{};
    auto asks = start_waiting([&] { how = client(pushed_out).ask({}, answer, leat::deadline::never()); });
    leat::channel<status> way(1);
    CHECK(pushed_out.send(request({}, leat::reply<status>(way))) == leat::send_status::sent);
    asks.get();
    CHECK(how == leat::ask_status::failed);

    const leat::channel<request> left(1);
    auto asks_too = start_waiting([&] { how = client(left).ask({}, answer, leat::deadline::never()); });
    CHECK(leat::any_channel(left).discard() == 1);
    asks_too.get();
    CHECK(how == leat::ask_status::failed);
  });
}

TEST_CASE("an ask ends at its deadline, when nobody takes requests, and when it is stopped") {
  at_procs([] {
    const leat::channel<request> c(1);
    std::optional<status> answer;
    CHECK(client(c).ask({}, answer, 1ms) == leat::ask_status::timeout);  // taken, not answered
    CHECK(client(c).ask({}, answer, 1ms) == leat::ask_status::timeout);  // no room
    leat::ask_status how{};
    auto asks = start_waiting([&] { how = client(c).ask({}, answer, leat::deadline::never()); });
    asks.request_stop();
    asks.get();
    CHECK(how == leat::ask_status::stopped);
    c.close();
    CHECK(client(c).ask({}, answer, 1ms) == leat::ask_status::closed);
    CHECK(client().ask({}, answer, leat::deadline::never()) == leat::ask_status::closed);
  });
}

TEST_CASE("an answer that comes too late goes nowhere, and a second one is a mistake") {
  at_procs([] {
    const leat::channel<request> c(1);
    CHECK_FALSE(client(c).ask({}, 1ms));
    auto late = c.recv();
    REQUIRE(late);
    late->answer(status{});
    CHECK_FALSE(late->answer);
    CHECK_THROWS_AS(late->answer(status{}), std::logic_error);
  });
}

TEST_CASE("an inbox handles what is wired, until a deadline or a stop") {
  at_procs([] {
    const leat::channel<int> numbers(4);
    const leat::inbox<int> box(numbers);
    int sum = 0;
    numbers.send(1);
    numbers.send(2);
    CHECK(box.handle_until(100ms, [&](int n) { sum += n; }) == leat::inbox_end::timeout);
    CHECK(sum == 3);
    leat::inbox_end how{};
    auto t = start_waiting([&] { how = box.handle([&](int n) { sum += n; }); });
    t.request_stop();
    t.get();
    CHECK(how == leat::inbox_end::stopped);
    numbers.send(4);
    numbers.close();
    CHECK(box.handle_until(20s, [&](int n) { sum += n; }) == leat::inbox_end::closed);
    CHECK(sum == 7);
    const controller unwired;
    CHECK(unwired.inbox.handle([](set_point) {}, [](reading) {},
                               [](status_request, const leat::reply<status>&) {}) == leat::inbox_end::closed);
  });
}

TEST_CASE("the kinds of an inbox take part in select") {
  at_procs([] {
    const wired w;
    const auto actor = leat::make<controller>(w.options);
    double got = 0;
    w.readings.send({7});
    CHECK(leat::select(leat::on_timeout(20s, [] {}),
                       actor->inbox.on<reading>([&](reading r) { got = r.celsius; })) == 1);
    CHECK(got == 7);
    leat::channel<status> way(1);
    w.requests.send(request({5}, leat::reply<status>(way)));
    CHECK(leat::select(actor->inbox.on<status_request>([](status_request q, leat::reply<status> answer) {
            answer(status{.wanted = static_cast<double>(q.what)});
          })) == 0);
    CHECK(way.recv()->wanted == 5);
  });
}

TEST_CASE("many ask at once, handlers die now and then, and nobody hangs") {
  at_procs([] {
    const leat::channel<request> c(2);
    std::atomic<int> answered{0}, failed{0};
    leat::task_group askers;
    for (int i = 0; i < 16; ++i) {
      askers.go([&, i] {
        for (int k = 0; k < scaled(200); ++k) {
          std::optional<status> s;
          switch (client(c).ask({(i + k) % 4 == 0 ? 1 : 0}, s, leat::deadline::never())) {
            case leat::ask_status::answered: ++answered; break;
            case leat::ask_status::failed: ++failed; break;
            default: CHECK(false);
          }
        }
      });
    }
    leat::task_group actors;
    actors.go([&] {
      for (bool open = true; open;) {
        const auto actor = leat::make<controller>({.ports = {{"inbox.status_request", {c}}}});
        try {
          actor->run();
          open = false;
        } catch (const std::runtime_error&) {
        }
      }
    });
    askers.wait();
    c.close();
    actors.wait();
    CHECK(answered + failed == 16 * scaled(200));
    CHECK(failed == 4 * scaled(200));
  });
}
