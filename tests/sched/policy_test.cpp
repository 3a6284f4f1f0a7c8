// SPDX-License-Identifier: BSL-1.0
//
// The scheduler's heuristics as cases: time and counts are passed in, nothing runs.
#include <sched.h>
#include <set>

#include <doctest/doctest.h>

#include <leat/sched/policy/burst.hpp>
#include <leat/sched/policy/fetch.hpp>
#include <leat/sched/policy/hand_off.hpp>
#include <leat/sched/policy/network_share.hpp>
#include <leat/sched/policy/nudge.hpp>
#include <leat/sched/policy/round.hpp>
#include <leat/sched/policy/run_next_theft.hpp>

using namespace leat::sched;

namespace {

// Hand-offs that wake nobody until the next may.
int quiet_ones(hand_off_policy& p) {
  int n = 0;
  while (!p.may_wake()) ++n;
  return n;
}

constexpr std::int64_t at = 1'000'000;

}  // namespace

TEST_CASE("hand-off: the first may wake somebody, and each wake in vain doubles the quiet until the next") {
  hand_off_policy p;
  CHECK(p.may_wake());
  for (const int quiet : {1, 3, 7, 15, 31, 63, 127, 255, 511, 1023, 2047, 4095, 4095, 4095}) {
    p.woke();
    CHECK(quiet_ones(p) == quiet);
  }
}

TEST_CASE("hand-off: after a theft that was worth a wake, the next comes at once") {
  hand_off_policy p;
  for (int i = 0; i < 5; ++i) p.woke();
  CHECK_FALSE(p.was_stolen());
  p.stolen(at);
  CHECK(p.was_stolen());
  p.assess(at + hand_off_policy::cost_of_a_wake + 1);  // the waker went on for so long
  CHECK_FALSE(p.was_stolen());
  CHECK(p.may_wake());
  p.woke();
  CHECK(quiet_ones(p) == 1);
}

TEST_CASE("hand-off: a theft from a waker that parked soon after changes nothing") {
  hand_off_policy p;
  for (int i = 0; i < 3; ++i) p.woke();
  p.stolen(at);
  p.assess(at + hand_off_policy::cost_of_a_wake);
  CHECK_FALSE(p.was_stolen());
  CHECK(quiet_ones(p) == 7);
}

TEST_CASE(
    "fetch: an M that ran through what it fetched in no time naps, longer each time, and fetches little") {
  fetch_policy f;
  const int mine = 0;
  CHECK(f.most(256u) == 256);
  CHECK_FALSE(f.is_to_assess());
  for (const std::int64_t nap : {100'000, 200'000, 400'000, 800'000, 800'000}) {
    f.fetched(8, &mine, 50, at);
    CHECK(f.is_to_assess());
    REQUIRE(f.assess(&mine, 51, at + 8 * fetch_policy::tiny_g - 1));
    CHECK_FALSE(f.is_to_assess());
    CHECK(f.nap(10'000'000) == nap);
    CHECK(f.most(256u) == 8);
    CHECK(f.most(1u) == 1);
  }
}

TEST_CASE("fetch: Gs that compute, start or wake others, or ran on another P, were worth it") {
  fetch_policy f;
  const int mine = 0, other = 0;
  const auto nap_once = [&] {
    f.fetched(8, &mine, 0, at);
    REQUIRE(f.assess(&mine, 0, at + 1));
    (void)f.nap(1);
    REQUIRE(f.most(256u) == 8);
    f.fetched(8, &mine, 50, at);
  };
  nap_once();
  CHECK_FALSE(f.assess(&mine, 50, at + 8 * fetch_policy::tiny_g));  // they computed
  CHECK(f.most(256u) == 256);
  nap_once();
  CHECK_FALSE(f.assess(&mine, 52, at + 1));  // they started or woke others
  CHECK(f.most(256u) == 256);
  nap_once();
  CHECK_FALSE(f.assess(&other, 50, at + 1));  // the M has another P by now
  CHECK(f.most(256u) == 256);
}

TEST_CASE("fetch: of those that hold a P, one at least stays at work") {
  CHECK_FALSE(fetch_policy::may_nap(0, 1));
  CHECK(fetch_policy::may_nap(0, 2));
  CHECK_FALSE(fetch_policy::may_nap(1, 2));
  CHECK(fetch_policy::may_nap(1, 3));
}

TEST_CASE("fetch: a wake waits for the end of a nap where all CPUs have an M and one of these is at work") {
  CHECK(fetch_policy::puts_off_wake(1, 2, 2));
  CHECK(fetch_policy::puts_off_wake(2, 3, 2));
  CHECK_FALSE(fetch_policy::puts_off_wake(0, 2, 2));  // nobody naps
  CHECK_FALSE(fetch_policy::puts_off_wake(1, 2, 4));  // a CPU has none
  // The last one at work has ended since the others began to nap: nobody else would run what is queued.
  CHECK_FALSE(fetch_policy::puts_off_wake(2, 2, 2));
  CHECK_FALSE(fetch_policy::puts_off_wake(1, 1, 1));
}

TEST_CASE("fetch: few are not assessed, and no nap outlasts a timer") {
  CHECK_FALSE(fetch_policy::is_worth_assessing(7));
  CHECK(fetch_policy::is_worth_assessing(8));
  fetch_policy f;
  CHECK(f.nap(30'000) == 30'000);
  CHECK(f.nap(-5) == 0);  // due
}

TEST_CASE("run_next: thefts far enough apart are all allowed, however many") {
  run_next_theft_policy t;
  for (std::int64_t now = at; now < at + 1'000'000; now += run_next_theft_policy::closely) {
    REQUIRE(t.may_take(now));
    t.took(now);
  }
}

TEST_CASE("run_next: thefts in a row are followed by pauses that double, up to a limit") {
  run_next_theft_policy t;
  std::int64_t now = at;
  t.took(now);
  CHECK(t.may_take(now));
  for (const std::int64_t pause : {10'000, 20'000, 40'000, 80'000, 160'000, 320'000, 640'000, 640'000}) {
    t.took(now);
    CHECK_FALSE(t.may_take(now + pause - 1));
    now += pause;
    CHECK(t.may_take(now));
  }
}

TEST_CASE(
    "run_next: when nothing was to be taken for a while after a pause, the next theft is as the first") {
  run_next_theft_policy t;
  std::int64_t now = at;
  for (int i = 0; i < 9; ++i) t.took(now);
  now += run_next_theft_policy::longest_pause + run_next_theft_policy::closely;
  REQUIRE(t.may_take(now));
  t.took(now);
  CHECK(t.may_take(now));
}

TEST_CASE("network: short requests are not shared out, however many") {
  network_share_policy n;
  std::int64_t now = at;
  n.begin(0, now);
  for (std::uint64_t switches = 100; switches < 100'000; switches += 100)
    n.look(switches, now += 100 * 5'000);
  CHECK_FALSE(n.shares());
}

TEST_CASE("network: one long stretch is not believed, two are, and for a while") {
  network_share_policy n;
  std::int64_t now = at;
  n.begin(0, now);
  n.look(10, now += network_share_policy::cold + 10 * network_share_policy::long_run + 1);
  CHECK_FALSE(n.shares());
  n.look(20, now += 10 * network_share_policy::long_run + 1);
  CHECK(n.shares());
  int looks = 0;
  for (; n.shares(); ++looks) n.look(20, now += 1);
  CHECK(looks == 15);
}

TEST_CASE("network: who does a little after each sleep is not slow, only cold") {
  network_share_policy n;
  std::int64_t now = at;
  for (std::uint64_t switches = 0; switches < 1000; ++switches) {
    n.begin(switches, now += 1'000'000'000);
    n.look(switches, now += 2'000);
    n.look(switches + 1, now += network_share_policy::cold);
    n.look(switches + 1, now += 2'000);
  }
  CHECK_FALSE(n.shares());
  for (std::uint64_t switches = 1000; switches < 1002; ++switches) {
    n.begin(switches, now += 1'000'000'000);
    n.look(switches + 1, now += network_share_policy::cold + network_share_policy::long_run + 1);
  }
  CHECK(n.shares());
}

TEST_CASE("network: what was learnt is forgotten in some hundred looks, and sleep does not count") {
  network_share_policy n;
  std::int64_t now = at;
  n.begin(0, now);
  now += network_share_policy::cold;
  std::uint64_t switches = 0;
  for (; switches < 1000;) n.look(++switches, now += network_share_policy::long_run + 1);
  int looks = 0;
  for (; n.shares(); ++looks) n.look(++switches, now += 1);
  CHECK(looks == network_share_policy::most - network_share_policy::weight);
  now += 3'600'000'000'000;
  n.begin(switches, now);
  n.look(switches + 1, now += 1);
  n.look(switches + 2, now += 1);
  CHECK_FALSE(n.shares());
}

TEST_CASE("network: a look after which nothing has run says nothing") {
  network_share_policy n;
  std::int64_t now = at;
  n.begin(7, now);
  for (int i = 0; i < 100; ++i) n.look(7, now += 1'000'000);
  CHECK_FALSE(n.shares());
}

TEST_CASE(
    "rounds: each 8th looks at the timers, each 61st takes from the global queue if something waits there") {
  for (const bool waits : {false, true}) {
    round_policy r;
    std::set<int> timers, global;
    for (int i = 1; i <= 976; ++i) {
      if (r.is_quick()) continue;
      switch (r.next(waits)) {
        case round_policy::kind::plain: break;
        case round_policy::kind::looks_at_timers: timers.insert(i); break;
        case round_policy::kind::takes_global: global.insert(i); break;
      }
    }
    std::set<int> eighths, sixty_firsts;
    for (int i = 1; i <= 976; ++i) {
      if (i % 61 == 0 && waits) {
        sixty_firsts.insert(i);
      } else if (i % 8 == 0) {
        eighths.insert(i);
      }
    }
    CHECK(timers == eighths);
    CHECK(global == sixty_firsts);
  }
}

TEST_CASE("rounds: for a timer that is far by the coarse clock, every 16th look is by the clock itself") {
  CHECK(round_policy::is_far(at + round_policy::far + 1, at));
  CHECK(round_policy::is_far(INT64_MAX, 0));
  CHECK_FALSE(round_policy::is_far(at + round_policy::far, at));
  CHECK_FALSE(round_policy::is_far(at - 1, at));
  CHECK_FALSE(round_policy::is_far(0, at));
  round_policy r;
  int looks = 0, trusted = 0;
  for (int i = 1; i <= 160 * 8; ++i)
    if (!r.is_quick() && r.next(false) == round_policy::kind::looks_at_timers) {
      ++looks;
      trusted += r.trusts_coarse();
    }
  CHECK(looks == 160);
  CHECK(trusted == 150);
}

TEST_CASE("burst: it begins with a long ring, once, and ends when the ring is empty") {
  burst_policy b;
  CHECK_FALSE(b.begins(burst_policy::long_ring));
  CHECK_FALSE(b.is_on());
  CHECK(b.begins(burst_policy::long_ring + 1));
  CHECK(b.is_on());
  CHECK_FALSE(b.begins(burst_policy::long_ring + 2));
  CHECK(b.end());
  CHECK_FALSE(b.is_on());
  CHECK_FALSE(b.end());
}

TEST_CASE("nudge: only an M that slept on the busy CPU is kept off it, and only if there is another") {
  cpu_set_t two, one;
  CPU_ZERO(&two);
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  CPU_SET(0, &two);
  CPU_SET(3, &two);
  const auto others = kept_off(3, 3, two);
  REQUIRE(others);
  CHECK(CPU_COUNT(&*others) == 1);
  CHECK(CPU_ISSET(0, &*others));
  CHECK_FALSE(kept_off(3, 0, two));    // it slept elsewhere
  CHECK_FALSE(kept_off(-1, -1, two));  // nobody knows
  CHECK_FALSE(kept_off(0, 0, one));    // nowhere else to go
  CHECK_FALSE(kept_off(1, 1, two));    // it may not run there anyway
}
