// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <leat/supervisor.hpp>

#include "sched/fixture.hpp"
#include "support/child.hpp"
#include "support/few_threads.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

child_options quick(restart_strategy s = restart_strategy::one_for_one) {
  child_options o;
  o.restart.strategy = s;
  o.restart.backoff = o.restart.longest_backoff = 1ms;
  o.grace = 10s;  // what listens ends in time, however slow the machine
  return o;
}

// What happened, in order.
class diary {
 public:
  void note(const std::string& what) {
    std::lock_guard hold(lock_);
    text_ += (text_.empty() ? "" : " ") + what;
  }
  std::string text() {
    std::lock_guard hold(lock_);
    return text_;
  }

 private:
  std::mutex lock_;
  std::string text_;
};

// Notes its start, waits for a stop, notes its end.
std::function<void()> waiter(diary& d, std::string name) {
  return [&d, name = std::move(name)] {
    d.note("+" + name);
    while (sleep_for(1h) != sleep_result::stopped) {
    }
    d.note("-" + name);
  };
}

}  // namespace

TEST_CASE("a supervisor runs until all of its children have ended") {
  sweep([](const runtime_options& o) {
    run_clean(o, [] {
      std::atomic<int> ran{0};
      supervisor s;
      for (int i = 0; i < 5; ++i) s.add("child", {}, [&] { ++ran; });
      s.run();
      CHECK(ran == 5);
      CHECK(s.report()[4].runs == 1);
    });
  });
}

TEST_CASE("one that throws is started again, with a report of why") {
  log_catcher log;
  sweep([](const runtime_options& o) {
    run_clean(o, [] {
      int runs = 0;
      supervisor s("gateway");
      s.add("flaky", quick(), [&] {
        if (++runs < 4) throw std::runtime_error("no carrier");
      });
      s.run();
      CHECK(runs == 4);
      CHECK(s.report()[0].failures == 3);
    });
  });
  CHECK(log.said("gateway: 'flaky' failed: no carrier; restarts in "));
  CHECK(log.said("(3 of 30 in 5m)"));
}

TEST_CASE("one whose factory throws has failed too") {
  log_catcher log;
  run_clean(with_procs(2), [] {
    int made = 0;
    supervisor s;
    s.add("made", quick(), supervisor::factory([&]() -> std::unique_ptr<process> {
            if (++made < 3) throw std::runtime_error("no device");
            return make_process([] {});
          }));
    s.run();
    CHECK(made == 3);
    CHECK(s.report()[0].failures == 2);
  });
}

TEST_CASE("one that hangs beyond max_quarantined ends the supervisor") {
  log_catcher log;
  static std::atomic<bool> enough;
  enough = false;
  runtime_options o = with_procs(2);
  o.max_quarantined = 0;
  run_clean(o, [] {
    supervisor s("gateway");
    child_options c = quick();
    c.hang = 20ms;
    c.grace = 20ms;
    s.add("spins", c, [] {
      while (!enough) {
      }
    });
    CHECK_THROWS_WITH_AS(s.run(), "gateway: 'spins' hangs, and max_quarantined is reached; all stop",
                         supervisor_failed);
    CHECK(s.report()[0].lingers);
    enough = true;
  });
}

// Each run takes a thread for good, and from the third on the system gives no further one.
LEAT_CHILD(supervised_hangs_without_threads) {
  constexpr int cannot = 77;  // the machine does not let us make the limit
  runtime_options o = with_procs(2);
  o.grace = 10ms;
  leat::run(o, [] {
    static diary d;
    static int runs = 0;
    child_options hangs = quick();
    hangs.hang = 30ms;
    hangs.grace = 10ms;
    hangs.restart.burst = 1000;
    supervisor s("gateway");
    s.add("other", quick(), waiter(d, "other"));
    s.add("stuck", hangs, [] {
      (void)eventually([] { return d.text() == "+other"; });
      // The thread that goes on when this one hangs is made by the other, in its own time.
      if (++runs == 3) {
        (void)eventually([] { return stats().threads >= 2; });
        if (!leat::test::refuse_threads()) ::_exit(cannot);
      }
      int ends[2];
      char c = 0;
      if (::pipe(ends) == 0)
        while (::read(ends[0], &c, 1) < 0) {
        }
    });
    try {
      s.run();
    } catch (const supervisor_failed& e) {
      std::fprintf(stderr, "%s. %s\n", e.what(), d.text().c_str());
    }
    std::fflush(stderr);
    ::_exit(0);
  });
}

TEST_CASE("hangs that take one thread after the other end the supervisor before the last one is gone") {
  if (fiber::under_tsan) return;  // which starts threads of its own
  const auto r = leat::test::run_self("supervised_hangs_without_threads");
  if (r.exited(77)) {
    MESSAGE("this machine does not let the test limit threads");
    return;
  }
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("gateway: 'stuck' hangs, and no further thread can be had; all stop. +other -other\n"));
}

TEST_CASE("too many failures stop the others and end the supervisor") {
  log_catcher log;
  sweep([](const runtime_options& o) {
    run_clean(o, [] {
      diary d;
      supervisor s("gateway");
      s.add("a", quick(), waiter(d, "a"));
      s.add("b", quick(), waiter(d, "b"));
      child_options bad = quick();
      bad.restart.burst = 2;
      s.add("bad", bad, [&] {
        while (d.text().size() < 5) (void)sleep_for(100us);  // until a and b are up, "+a +b"
        throw std::runtime_error("as always");
      });
      CHECK_THROWS_WITH_AS(s.run(), "gateway: 'bad' has failed too often; all stop", supervisor_failed);
      CHECK(s.report()[2].runs == 3);
      const std::string text = d.text();
      CHECK(text.substr(text.size() - 5) == "-b -a");
    });
  });
}

TEST_CASE("the failure of an inner supervisor is one of its outer's child") {
  log_catcher log;
  run_clean(with_procs(2), [] {
    int inner_runs = 0, bad_runs = 0;
    diary d;
    supervisor outer("outer");
    outer.add("inner", quick(), [&] {
      ++inner_runs;
      supervisor inner("inner");
      child_options bad = quick();
      bad.restart.burst = 1;
      inner.add("bad", bad, [&] {
        if (++bad_runs < 5) throw std::runtime_error("bad");
      });
      inner.run();
    });
    outer.run();
    CHECK(inner_runs == 3);  // two failures each in the first and the second
    CHECK(bad_runs == 5);
  });
}

TEST_CASE("one-for-all restarts the others as well, in order") {
  log_catcher log;
  run_clean(with_procs(2), [] {
    diary d;
    supervisor s;
    std::atomic<bool> over{false};
    const auto until_over = [&](std::string name) {
      return [&, name] {
        d.note("+" + name);
        while (!over && sleep_for(100us) != sleep_result::stopped) {
        }
        d.note("-" + name);
      };
    };
    s.add("a", quick(restart_strategy::one_for_all), until_over("a"));
    int runs = 0;
    s.add("b", quick(restart_strategy::one_for_all), [&] {
      d.note("b");
      // Both neighbours run: else one could be told to stop before it has begun, and note its begin at the
      // end.
      CHECK(eventually([&] {
        const std::string text = d.text();
        return text.find("+a") != std::string::npos && text.find("+c") != std::string::npos;
      }));
      if (++runs == 1) throw std::runtime_error("b");
      over = true;
    });
    s.add("c", quick(restart_strategy::one_for_all), until_over("c"));
    s.run();
    const std::string text = d.text();
    CHECK(text.find("-c -a") != std::string::npos);
    CHECK(s.report()[0].runs == 2);
    CHECK(s.report()[2].runs == 2);
  });
}

TEST_CASE("a supervisor that is stopped stops its children, the last first, and so do nested ones") {
  log_catcher log;
  sweep([](const runtime_options& o) {
    run_clean(o, [] {
      diary d;
      auto t = spawn("outer", [&] {
        supervisor outer("outer");
        outer.add("a", quick(), waiter(d, "a"));
        outer.add("inner", quick(), [&] {
          supervisor inner("inner");
          inner.add("b", quick(), waiter(d, "b"));
          inner.add("c", quick(), waiter(d, "c"));
          inner.run();
          d.note("-inner");
        });
        outer.run();
      });
      CHECK(eventually([&] { return d.text().size() == 8; }));
      t.request_stop();
      t.get();
      CHECK(d.text().substr(8) == " -c -b -inner -a");
    });
  });
}

TEST_CASE("one that ignores the stop is thrown out, and one that cannot be is told of") {
  log_catcher log;
  // Fenced, it may look at them once more after this test.
  static std::atomic<bool> started{false}, released{false};
  run_clean(with_procs(2), [&] {
    auto t = spawn("supervised", [&] {
      supervisor s("gateway");
      child_options o = quick();
      o.grace = 1s;
      s.add("mule", o, [] {
        for (;;) (void)sleep_for(1ms);
      });
      o.grace = 10ms;
      s.add("rock", o, [&] {
        started = true;
        while (!released) std::this_thread::sleep_for(1ms);
      });
      s.run();
      CHECK(s.report()[1].lingers);
      CHECK_FALSE(s.report()[0].lingers);
    });
    CHECK(eventually([&] { return started.load(); }));
    t.request_stop();
    t.get();
    CHECK(log.said("gateway: 'rock' was asked to stop and does not end"));
    released = true;
  });
}

namespace {

class takes : public process {
  in<int> from{this, "from"};
  state<int> runs{this, "runs"};
  void run() override {
    runs.save(runs.load() + 1);
    if (runs.load() == 1)
      while (sleep_for(1h) != sleep_result::stopped) {
      }
    for (const int n : from) (void)n;
  }
};

}  // namespace

TEST_CASE("a process through whose ports nothing passes for its watchdog's time is replaced") {
  log_catcher log;
  run_clean(with_procs(2), [&] {
    const channel<int> numbers(4, {.writers = 1, .readers = 1});
    for (const int n : {1, 2, 3}) numbers.send(n);
    numbers.close();
    child_options o = quick();
    o.watchdog = 300ms;
    process_options with;
    with.ports = {{"from", {numbers}}};
    supervisor s("gateway");
    s.add<takes>("takes", o, with);
    s.run();
    CHECK(s.report()[0].runs == 2);
    CHECK(s.report()[0].failures == 1);
    CHECK(numbers.size() == 0);
  });
  CHECK(log.said("gateway: 'takes' failed: it has neither received nor sent for 300ms; restarts in "));
}

TEST_CASE("steps of an overrun come to the supervisor with the place, and none waits for room") {
  run_clean(with_procs(2), [] {
    const channel<incarnation_news> to(incarnation::most_news);
    incarnation::options o;
    o.child = 3;
    o.number = 2;
    o.hang = 5s;
    auto i = std::make_shared<incarnation>(o, to);
    CHECK(i->hang() == 5s);
    void* const where[] = {reinterpret_cast<void*>(0x10), reinterpret_cast<void*>(0x20)};
    std::vector<void*> deep(100, reinterpret_cast<void*>(0x30));
    std::thread([&] {
      i->overran({overrun_step::asked, 9, 5s, where});
      i->overran({overrun_step::insisted, 9, 6s, {}});
      i->overran({overrun_step::quarantined, 9, 7s, deep});
    }).join();
    const auto first = to.try_recv(), second = to.try_recv(), third = to.try_recv();
    CHECK(first->child == 3);
    CHECK(first->number == 2);
    CHECK(first->step == overrun_step::asked);
    CHECK(second->ran == 6s);
    CHECK(third->step == overrun_step::quarantined);
    CHECK(i->trace(overrun_step::asked).size() == 2);
    CHECK(i->trace(overrun_step::asked)[1] == where[1]);
    CHECK(i->trace(overrun_step::insisted).empty());
    CHECK(i->trace(overrun_step::quarantined).size() == incarnation::most_frames);
  });
}
