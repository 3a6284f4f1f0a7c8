// SPDX-License-Identifier: BSL-1.0
//
// The machine without a runtime: what it wants done, written as a line of words.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include <leat/process/supervision.hpp>

using namespace leat;
using namespace std::chrono_literals;
using status = supervision::status;

namespace {

// Three children called a, b, c, and a clock that stands still until it is moved.
struct team {
  explicit team(restart_strategy s = restart_strategy::one_for_one, unsigned n = 3) {
    supervision::limits l;
    l.restart.strategy = s;
    l.restart.burst = 2;
    l.restart.backoff = 100ms;
    l.grace = 20ms;
    l.patience = 30ms;
    for (unsigned i = 0; i < n; ++i) (void)machine.add(l);
    machine.start(clock.now());
  }
  std::string steps() {
    static constexpr const char* words[] = {"start", "ask", "insist", "linger", "limit"};
    std::string text;
    for (supervision::step s{}; machine.next(s);)
      text += (text.empty() ? "" : " ") + std::string(words[static_cast<int>(s.what)]) + ":" +
              static_cast<char>('a' + s.who);
    return text;
  }
  restart_decision over(char who, process_end how = process_end::failed) {
    return machine.over(static_cast<supervision::child>(who - 'a'), how, clock.now());
  }
  void fault(char who) { machine.fault(static_cast<supervision::child>(who - 'a'), clock.now()); }
  status at(char who) const { return machine.at(static_cast<supervision::child>(who - 'a')); }
  std::string after(nanoseconds d) {
    clock.advance(d);
    machine.pass(clock.now());
    return steps();
  }

  manual_clock clock;
  supervision machine;
};

}  // namespace

TEST_CASE("children are started in their order") {
  team t;
  CHECK(t.steps() == "start:a start:b start:c");
  CHECK(t.machine.next_deadline() == never);
}

TEST_CASE("one-for-one restarts the one that failed, after its pause") {
  team t;
  (void)t.steps();
  const restart_decision d = t.over('b');
  CHECK(d.what == restart_decision::kind::restarts);
  CHECK(d.pause >= 90ms);
  CHECK(t.steps().empty());
  CHECK(t.machine.next_deadline() == t.clock.now() + d.pause);
  CHECK(t.after(d.pause - 1ns).empty());
  CHECK(t.after(1ns) == "start:b");
  CHECK(t.at('b') == status::running);
}

TEST_CASE("one that returns has ended, and when all have, all is over") {
  team t;
  (void)t.steps();
  for (const char who : {'a', 'c', 'b'}) {
    CHECK_FALSE(t.machine.all_over());
    CHECK(t.over(who, process_end::returned).what == restart_decision::kind::stays_ended);
  }
  CHECK(t.machine.all_over());
  CHECK(t.steps().empty());
}

TEST_CASE(
    "one-for-all stops the others from the last to the first, one at a time, then starts all in order") {
  team t(restart_strategy::one_for_all);
  (void)t.steps();
  (void)t.over('b');
  CHECK(t.machine.together() == 3);
  CHECK(t.steps() == "ask:c");
  CHECK(t.over('c', process_end::returned).what == restart_decision::kind::expected);
  CHECK(t.steps() == "ask:a");
  CHECK(t.after(10ms).empty());
  (void)t.over('a', process_end::returned);
  CHECK(t.after(50ms).empty());
  CHECK(t.after(60ms) == "start:a start:b start:c");
}

TEST_CASE("rest-for-one leaves those alone that were started before") {
  team t(restart_strategy::rest_for_one);
  (void)t.steps();
  (void)t.over('b');
  CHECK(t.steps() == "ask:c");
  (void)t.over('c', process_end::returned);
  CHECK(t.at('a') == status::running);
  CHECK(t.after(200ms) == "start:b start:c");
  SUBCASE("the last one alone") {
    (void)t.over('c');
    CHECK(t.steps().empty());
    CHECK(t.after(1s) == "start:c");
  }
  SUBCASE("the first takes all") {
    (void)t.over('a');
    CHECK(t.steps() == "ask:c");
  }
}

TEST_CASE("a second failure while some are stopped joins the first") {
  team t(restart_strategy::rest_for_one);
  (void)t.steps();
  (void)t.over('b');
  CHECK(t.steps() == "ask:c");
  (void)t.over('a');
  CHECK(t.steps().empty());  // c is on its way
  (void)t.over('c', process_end::returned);
  CHECK(t.after(200ms) == "start:a start:b start:c");
}

TEST_CASE("what fails while it is stopped with others counts against nobody") {
  team t(restart_strategy::one_for_all);
  (void)t.steps();
  for (int round = 0; round < 2; ++round) {
    (void)t.over('a');
    CHECK(t.steps() == "ask:c");
    CHECK(t.over('c').what == restart_decision::kind::expected);
    CHECK(t.steps() == "ask:b");
    CHECK(t.over('b').what == restart_decision::kind::expected);
    CHECK(t.after(1s) == "start:a start:b start:c");
  }
  CHECK(t.over('c').recent == 1);
}

TEST_CASE("one that has ended for good is not restarted with the others") {
  team t(restart_strategy::one_for_all);
  (void)t.steps();
  (void)t.over('a', process_end::returned);
  (void)t.over('c');
  CHECK(t.steps() == "ask:b");
  (void)t.over('b', process_end::returned);
  CHECK(t.after(1s) == "start:b start:c");
}

TEST_CASE("one that does not end is insisted on, lingers, and is replaced when it is out at last") {
  team t;
  (void)t.steps();
  t.fault('b');
  CHECK(t.steps() == "ask:b");
  CHECK(t.after(19ms).empty());
  CHECK(t.after(1ms) == "insist:b");
  CHECK(t.after(29ms).empty());
  CHECK(t.after(1ms) == "linger:b");
  CHECK(t.at('b') == status::lingering);
  CHECK(t.after(1h).empty());
  CHECK(t.over('b', process_end::returned).what == restart_decision::kind::restarts);  // it had failed
  CHECK(t.after(1s) == "start:b");
}

TEST_CASE("those restarted with one that lingers wait for it") {
  team t(restart_strategy::one_for_all);
  (void)t.steps();
  (void)t.over('a');
  CHECK(t.steps() == "ask:c");
  CHECK(t.after(20ms) == "insist:c");
  CHECK(t.after(30ms) == "linger:c");
  CHECK(t.after(1h).empty());
  (void)t.over('c', process_end::returned);
  CHECK(t.steps() == "ask:b");
  (void)t.over('b', process_end::returned);
  CHECK(t.after(0s) == "start:a start:b start:c");
}

TEST_CASE("too many failures are the supervisor's own") {
  team t;
  (void)t.steps();
  for (int i = 0; i < 2; ++i) {
    (void)t.over('a');
    CHECK(t.after(1s) == "start:a");
  }
  CHECK(t.over('a').what == restart_decision::kind::limit_reached);
  CHECK(t.steps() == "limit:a");
  CHECK(t.at('a') == status::ended);
}

TEST_CASE("one that could not be started has failed, also when others are still to be started") {
  team t(restart_strategy::one_for_all);
  supervision::step s{};
  CHECK(t.machine.next(s));
  CHECK(s.who == 0);
  (void)t.over('a');
  CHECK(t.steps().empty());
  CHECK(t.after(1s) == "start:a start:b start:c");
}

TEST_CASE("a stop ends them from the last to the first, passes over those that linger, restarts nothing") {
  team t;
  (void)t.steps();
  (void)t.over('a');  // it waits for its restart
  t.machine.stop(t.clock.now());
  CHECK(t.at('a') == status::ended);
  CHECK(t.steps() == "ask:c");
  CHECK(t.after(20ms) == "insist:c");
  CHECK(t.after(30ms) == "linger:c ask:b");
  CHECK_FALSE(t.machine.all_over());
  (void)t.over('b');
  CHECK(t.machine.all_over());
  CHECK(t.after(1h).empty());
  (void)t.over('c');
  CHECK(t.machine.all_over());
}

TEST_CASE("a stop in the middle of a restart of all") {
  team t(restart_strategy::one_for_all);
  (void)t.steps();
  (void)t.over('b');
  CHECK(t.steps() == "ask:c");
  t.machine.stop(t.clock.now());
  CHECK(t.steps().empty());  // c has been asked
  (void)t.over('c', process_end::returned);
  CHECK(t.steps() == "ask:a");
  (void)t.over('a', process_end::returned);
  CHECK(t.machine.all_over());
}

TEST_CASE("a closed one restarts nothing and says who will not come back") {
  team t;
  (void)t.steps();
  (void)t.over('b');
  CHECK(t.machine.close() == std::vector<supervision::child>{1});
  CHECK(t.over('c').what == restart_decision::kind::stays_ended);
  CHECK(t.after(1h).empty());
  CHECK(t.machine.next_deadline() == never);
}

TEST_CASE("one that was asked before all is closed, or stopped, is insisted on in its time") {
  for (const bool stops : {false, true}) {
    team t;
    (void)t.steps();
    t.fault('b');
    CHECK(t.steps() == "ask:b");
    CHECK(t.after(15ms).empty());
    if (stops) {
      t.machine.stop(t.clock.now());
      (void)t.over('c', process_end::returned);
      (void)t.steps();
    } else {
      CHECK(t.machine.close().empty());
    }
    CHECK(t.after(5ms) == "insist:b");
    CHECK(t.after(30ms).substr(0, 8) == "linger:b");
    CHECK(t.over('b').what ==
          (stops ? restart_decision::kind::expected : restart_decision::kind::stays_ended));
    CHECK(t.machine.close().empty());
  }
}

TEST_CASE("news of one that is out already is not taken twice") {
  team t;
  (void)t.steps();
  CHECK(t.over('a').what == restart_decision::kind::restarts);
  CHECK(t.over('a').what == restart_decision::kind::expected);
  CHECK(t.after(1s) == "start:a");
}

TEST_CASE("one that is renewed is asked to stop and started again at once, which is no failure") {
  team t;
  (void)t.steps();
  CHECK(t.machine.renew(1, t.clock.now()));
  CHECK(t.steps() == "ask:b");
  const restart_decision d = t.over('b', process_end::returned);
  CHECK(d.what == restart_decision::kind::restarts);
  CHECK(d.pause == 0ns);
  CHECK(t.steps() == "start:b");
  // More often than failures may come.
  for (int i = 0; i < 5; ++i) {
    CHECK(t.machine.renew(1, t.clock.now()));
    CHECK(t.steps() == "ask:b");
    CHECK(t.over('b', process_end::failed).what == restart_decision::kind::restarts);
    CHECK(t.steps() == "start:b");
  }
}

TEST_CASE("one that pauses before its restart and is renewed starts now; one that has ended does not") {
  team t;
  (void)t.steps();
  (void)t.over('a');
  CHECK(t.machine.renew(0, t.clock.now()));
  CHECK(t.steps() == "start:a");
  CHECK(t.after(10s).empty());
  (void)t.over('c', process_end::returned);
  CHECK_FALSE(t.machine.renew(2, t.clock.now()));
  (void)t.machine.close();
  CHECK_FALSE(t.machine.renew(1, t.clock.now()));
}

TEST_CASE("one that is renewed and does not end is insisted on and lingers, as after any stop") {
  team t;
  (void)t.steps();
  CHECK(t.machine.renew(0, t.clock.now()));
  CHECK(t.steps() == "ask:a");
  CHECK(t.after(20ms) == "insist:a");
  CHECK(t.after(30ms) == "linger:a");
  CHECK(t.over('a').what == restart_decision::kind::restarts);
  CHECK(t.steps() == "start:a");
}
