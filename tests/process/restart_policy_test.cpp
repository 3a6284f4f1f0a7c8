// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <vector>

#include <leat/process/restart_policy.hpp>
#include <leat/process/restart_text.hpp>

using namespace leat;
using namespace std::chrono_literals;
using kind = restart_decision::kind;

namespace {

constexpr double middle = 0.5;  // no jitter

restart_policy policy(restart_when when = restart_when::failure) {
  restart_policy p;
  p.when = when;
  p.burst = 3;
  p.window = 60s;
  p.backoff = 100ms;
  p.longest_backoff = 1s;
  return p;
}

// Fails at each of these moments, and is restarted if the policy says so.
std::vector<restart_decision> fails_at(const restart_policy& p, const std::vector<nanoseconds>& moments) {
  restart_history h;
  std::vector<restart_decision> all;
  for (const nanoseconds at : moments) {
    const time_point now = from_ns(0) + at;
    all.push_back(decide(p, h, process_end::failed, now, middle));
    if (all.back().what == kind::restarts) h.restarted(p, now);
  }
  return all;
}

// How long it is tried when each run takes so long, in an hour at most; without an end if it is never given
// up.
std::optional<nanoseconds> given_up_after(const restart_policy& p, nanoseconds run, double random) {
  restart_history h;
  for (nanoseconds at = run; at < 1h;) {
    const time_point now = from_ns(0) + at;
    const restart_decision d = decide(p, h, process_end::failed, now, random);
    if (d.what == kind::limit_reached) return at;
    h.restarted(p, now);
    at += d.pause + run;
  }
  return {};
}

}  // namespace

TEST_CASE("by default a device may be away for three minutes, and what fails at once for five is given up") {
  for (const double random : {0.0, middle, 0.999}) {
    CAPTURE(random);
    const auto at_once = given_up_after({}, 0s, random);
    REQUIRE(at_once);
    CHECK(*at_once > 3min);
    CHECK(*at_once < 5min);
    CHECK_FALSE(given_up_after({}, 5s, random));
  }
}

TEST_CASE("which ends are followed by a restart is a matter of `when`") {
  const time_point now = from_ns(0);
  struct row {
    restart_when when;
    process_end how;
    kind what;
  };
  for (const row& r : {row{restart_when::always, process_end::returned, kind::restarts},
                       row{restart_when::always, process_end::failed, kind::restarts},
                       row{restart_when::always, process_end::finished, kind::stays_ended},
                       row{restart_when::failure, process_end::returned, kind::stays_ended},
                       row{restart_when::failure, process_end::failed, kind::restarts},
                       row{restart_when::failure, process_end::finished, kind::stays_ended},
                       row{restart_when::not_at_all, process_end::returned, kind::stays_ended},
                       row{restart_when::not_at_all, process_end::failed, kind::stays_ended}}) {
    CAPTURE(static_cast<int>(r.when));
    CAPTURE(static_cast<int>(r.how));
    CHECK(decide(policy(r.when), {}, r.how, now, middle).what == r.what);
  }
}

TEST_CASE("one restart more than the burst in the window is the limit") {
  const auto all = fails_at(policy(), {0s, 1s, 2s, 3s});
  for (unsigned i = 0; i < 3; ++i) {
    CHECK(all[i].what == kind::restarts);
    CHECK(all[i].recent == i + 1);
  }
  CHECK(all[3].what == kind::limit_reached);
}

TEST_CASE("restarts that are older than the window do not count") {
  // The first has just left the window when the fourth comes.
  const auto all = fails_at(policy(), {0s, 1s, 2s, 60s, 60s + 999ms, 61s});
  CHECK(all[3].what == kind::restarts);
  CHECK(all[3].recent == 3);
  CHECK(all[4].what == kind::limit_reached);
  CHECK(all[5].what == kind::restarts);
}

TEST_CASE("a burst of none allows no restart at all") {
  restart_policy p = policy();
  p.burst = 0;
  CHECK(fails_at(p, {0s})[0].what == kind::limit_reached);
}

TEST_CASE("the pause doubles up to the longest, and begins anew after a quiet window") {
  restart_policy p = policy();
  p.burst = 100;
  std::vector<nanoseconds> pauses;
  for (const restart_decision& d : fails_at(p, {0s, 1s, 2s, 3s, 4s, 5s, 64s, 124s, 125s}))
    pauses.push_back(d.pause);
  CHECK(pauses == std::vector<nanoseconds>{100ms, 200ms, 400ms, 800ms, 1s, 1s, 1s, 100ms, 200ms});
}

TEST_CASE("pauses keep within a tenth of their length, and none exceeds the longest") {
  restart_policy p = policy();
  p.burst = 100;
  const restart_history fresh;
  CHECK(decide(p, fresh, process_end::failed, from_ns(0), 0.0).pause == 90ms);
  CHECK(decide(p, fresh, process_end::failed, from_ns(0), 0.999).pause < 110ms);
  restart_history tired;
  for (int i = 0; i < 10; ++i) tired.restarted(p, from_ns(0));
  CHECK(decide(p, tired, process_end::failed, from_ns(0), 0.999).pause == 1s);
  CHECK(decide(p, tired, process_end::failed, from_ns(0), 0.0).pause == 900ms);
}

TEST_CASE("a back-off of nothing, and one that is longer than its longest") {
  restart_policy p = policy();
  p.backoff = p.longest_backoff = 0s;
  CHECK(fails_at(p, {0s, 0s})[1].pause == 0s);
  p.backoff = 5s;
  CHECK(fails_at(p, {0s, 0s})[1].pause == 5s);
  p.backoff = 1h;
  p.longest_backoff = nanoseconds::max();
  p.burst = 1000;
  restart_history h;
  for (int i = 0; i < 200; ++i) h.restarted(p, from_ns(0));
  CHECK(decide(p, h, process_end::failed, from_ns(0), middle).pause > 24h);
}

TEST_CASE("what follows is told in words") {
  const auto what_follows = [](const restart_decision& d, const restart_policy& by,
                               std::size_t together = 0) {
    fixed_text<256> t;
    append_what_follows(t, d, by, together);
    return std::string(t.view());
  };
  const restart_policy p = policy();
  CHECK(what_follows({kind::restarts, 200ms, 2}, p) == "restarts in 200ms (2 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 123456789ns, 1}, p, 4) ==
        "with 3 others it restarts in 123ms (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 9'309'876ns, 1}, p) == "restarts in 9.31ms (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 9'003'000ns, 1}, p) == "restarts in 9ms (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 10'040ms, 1}, p) == "restarts in 10s (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 1'050ms, 1}, p) == "restarts in 1.05s (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 0ns, 1}, p) == "restarts in 0 (1 of 3 in 1m)");
  CHECK(what_follows({kind::restarts, 2h, 1}, p) == "restarts in 2h (1 of 3 in 1m)");
  CHECK(what_follows({kind::limit_reached, {}, 3}, p) == "3 restarts in 1m are the limit");
  restart_policy once = p;
  once.burst = 1;
  CHECK(what_follows({kind::limit_reached, {}, 1}, once) == "1 restart in 1m is the limit");
  CHECK(what_follows({kind::stays_ended}, policy(restart_when::not_at_all)) ==
        "it stays ended (restart.when is never)");
}
