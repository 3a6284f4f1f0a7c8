// SPDX-License-Identifier: BSL-1.0
//
// Callbacks of a stop, contexts with their deadlines, and groups within them.
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <leat/sched/context.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

TEST_CASE(
    "a callback is called once when a stop is asked for, at once if it was before, and not after its end") {
  sweep_clean([] {
    stop_source s;
    const stop_token t = s.token();
    int kept = 0, gone = 0, late = 0;
    const stop_callback a(t, [&] { ++kept; });
    {
      const stop_callback b(t, [&] { ++gone; });
    }
    CHECK(!t.stop_requested());
    CHECK(t.why() == stop_reason::none);
    s.request_stop();
    s.insist();
    CHECK(t.stop_requested());
    CHECK(t.why() == stop_reason::requested);
    const stop_callback c(t, [&] { ++late; });
    CHECK(kept == 1);
    CHECK(gone == 0);
    CHECK(late == 1);
    const stop_callback unbound(stop_token(), [&] { ++late; });
    CHECK(late == 1);
    CHECK(!stop_token().stop_requested());
  });
}

TEST_CASE("a callback may end itself, others, and the source") {
  sweep_clean([] {
    std::optional<stop_source> s(std::in_place);
    int calls = 0;
    using function = std::function<void()>;
    std::unique_ptr<stop_callback<function>> first, second, third;
    first = std::make_unique<stop_callback<function>>(s->token(), [&] {
      ++calls;
      second.reset();  // is not called any more
      s.reset();
      first.reset();  // itself, with what it has captured: the last thing that it does
    });
    second = std::make_unique<stop_callback<function>>(stop_token(), [&] { ++calls; });
    const stop_token t = s->token();
    second = std::make_unique<stop_callback<function>>(t, [&] { calls += 100; });
    third = std::make_unique<stop_callback<function>>(t, [&] { ++calls; });
    s->request_stop();
    CHECK(calls == 2);
    CHECK(!first);
    CHECK(!s);
  });
}

// The destructor races with the call: after it, nothing is touched.
TEST_CASE("after its destructor a callback does not run, whoever asks for the stop meanwhile") {
  sweep_clean([] {
    for (int round = 0; round < 200; ++round) {
      stop_source s;
      std::atomic<int> alive{0}, calls{0}, wrong{0};
      const auto live_shortly = [&] {
        for (int i = 0; i < 5; ++i) {
          std::atomic<bool> mine{true};
          ++alive;
          {
            const stop_callback c(s.token(), [&] {
              if (!mine) ++wrong;
              ++calls;
            });
          }
          mine = false;
          yield();
        }
      };
      task_group all;
      for (int i = 0; i < 3; ++i) all.go(live_shortly);
      all.go([&] { s.request_stop(); });
      if (round % 10 == 0) std::thread([&] { s.insist(); }).join();
      all.wait();
      CHECK(wrong == 0);
      CHECK(calls <= alive);
    }
  });
}

TEST_CASE("when its deadline has come, every call of a context's Gs that may wait returns stopped") {
  sweep_clean([] {
    context c(5ms);
    CHECK(c.until() == c.token().until());
    CHECK(!c.until().is_never());
    channel<int> nothing, full_one(1);
    full_one.send(1);
    semaphore none(0);
    send_status sent{};
    sleep_result slept{};
    acquire_status acquired{};
    std::optional<int> received;
    int chosen = 0;
    task_group group(c.token());
    group.go([&] { slept = sleep_for(1h); });
    group.go([&] { received = nothing.recv(); });
    group.go([&] { sent = full_one.send(2); });
    group.go([&] { acquired = none.acquire(); });
    group.go([&] { chosen = select(on_recv(nothing, [](int) {})); });
    auto own = spawn({.stop = c.source()}, [] { return sleep_for(1h); });
    CHECK(group.wait() == wait_status::done);
    CHECK(own.get() == sleep_result::stopped);
    CHECK(slept == sleep_result::stopped);
    CHECK(sent == send_status::stopped);
    CHECK(acquired == acquire_status::stopped);
    CHECK(chosen == select_stopped);
    CHECK(!received);
    CHECK(c.ended());
    CHECK(c.why() == stop_reason::deadline);
    c.cancel();
    CHECK(c.why() == stop_reason::deadline);  // the first reason stays
    // Later ones start as stopped, and in every round.
    for (int round = 0; round < 2; ++round) {
      std::optional<bool> began_stopped;
      group.go([&] { began_stopped = stop_requested(); });
      CHECK(group.wait() == wait_status::done);
      CHECK(began_stopped == true);
    }
  });
}

TEST_CASE("a context ends with the one that it is part of, for its reason, and not the other way round") {
  sweep_clean([] {
    context whole(1h);
    context part(whole.token()), twin(whole.token(), 2h);
    context below(part.token(), 30min);
    CHECK(part.until() == whole.until());
    CHECK(twin.until() == whole.until());
    CHECK(below.until() < whole.until());
    below.cancel();
    CHECK(!part.ended());
    CHECK(!whole.ended());
    {
      const context brief(whole.token());
    }
    CHECK(!whole.ended());
    const context other(part.token());
    whole.cancel();
    CHECK(part.why() == stop_reason::requested);
    CHECK(twin.ended());
    CHECK(other.ended());
    const context late(whole.token(), 1h);
    CHECK(late.ended());

    context timed(1ms);
    const context under(timed.token(), 1h);
    CHECK(eventually([&] { return under.ended(); }));
    CHECK(under.why() == stop_reason::deadline);
    CHECK(context(-1s).why() == stop_reason::deadline);
    CHECK(!context(std::chrono::hours::max()).ended());
    CHECK(!context().ended());
  });
}

TEST_CASE(
    "a function run in a context gives its result, and its waits end with the context or with its caller") {
  sweep_clean([] {
    context c(1h);
    CHECK(c.run([] { return 7; }) == 7);
    CHECK_THROWS_WITH_AS(c.run([] { throw std::runtime_error("no"); }), "no", std::runtime_error);
    context brief(2ms);
    CHECK(brief.run([] { return sleep_for(1h); }) == sleep_result::stopped);
    CHECK_THROWS_AS(brief.run([] { checkpoint(); }), stopped);
    CHECK(!stop_requested());  // the caller was not asked
    std::atomic<bool> begun{false};
    auto caller = spawn([&] {
      context mine(1h);
      return mine.run([&] {
        begun = true;
        return sleep_for(1h);
      });
    });
    CHECK(eventually([&] { return begun.load(); }));
    caller.request_stop();
    CHECK(caller.get() == sleep_result::stopped);
  });
}

TEST_CASE("deadlines, cancels and ends of contexts may meet") {
  sweep_clean([] {
    for (int round = 0; round < 100; ++round) {
      std::atomic<int> stopped_ones{0};
      context whole(std::chrono::microseconds(round * 7));
      task_group group;
      for (int i = 0; i < 4; ++i)
        group.go([&, i] {
          context part(whole.token(), std::chrono::microseconds(50 + 100 * i));
          task_group inner(part.token());
          for (int k = 0; k < 3; ++k)
            inner.go([&] {
              if (sleep_for(1h) == sleep_result::stopped) ++stopped_ones;
            });
          if (i == 3) part.cancel();
          (void)inner.wait();
        });
      if (round % 2 == 0) whole.cancel();
      group.wait();
      CHECK(stopped_ones == 12);
    }
  });
}
