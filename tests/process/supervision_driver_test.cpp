// SPDX-License-Identifier: BSL-1.0
//
// The driver without a runtime: incarnations are made and never run, what they tell is told by hand, and what
// the owner hears of is written as a line of words.
#include <doctest/doctest.h>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include <leat/process/supervision_driver.hpp>

using namespace leat;
using namespace std::chrono_literals;

namespace {

// Two children called a and b; b has a watchdog.
class team final : public supervision_driver::owner {
 public:
  explicit team(unsigned burst = 5) : driver_(*this, 1, clock) {
    supervision::limits l;
    l.restart.burst = burst;
    l.restart.backoff = l.restart.longest_backoff = 100ms;
    l.grace = 20ms;
    l.patience = 30ms;
    (void)driver_.add(l, std::nullopt);
    (void)driver_.add(l, 1s);
    driver_.start();
  }

  std::string said() { return std::exchange(text_, {}); }
  std::string after(nanoseconds d) {
    clock.advance(d);
    driver_.pass();
    return said();
  }
  std::string ends(char who, incarnation_news::kind how, std::string text = {}) {
    incarnation_news n = news_of(who, how);
    n.why = std::move(text);
    return hear(who, n);
  }
  std::string overruns(char who, overrun_step step, bool last_thread = false) {
    incarnation_news n = news_of(who, incarnation_news::kind::overran);
    n.step = step;
    n.ran = 3s;
    n.last_thread = last_thread;
    return hear(who, n);
  }
  std::string hear(char who, const incarnation_news& n) {
    driver_.hear(child_of(who), n);
    return said();
  }
  incarnation_news news_of(char who, incarnation_news::kind what) const {
    incarnation_news n;
    n.number = numbers_[child_of(who)];
    n.what = what;
    return n;
  }
  supervision_driver& driver() noexcept { return driver_; }
  bool asked(char who) const { return driver_.last(child_of(who))->stop_requested(); }
  static supervision_driver::child child_of(char who) {
    return static_cast<supervision_driver::child>(who - 'a');
  }

  manual_clock clock;
  std::uint64_t passed = 0;     // b's progress
  bool nothing_left = false;    // for whoever returns
  bool stops_at_limit = false;  // the owner stops all
  bool no_memory = false;       // for incarnations
  std::shared_ptr<incarnation> freed = {};

 private:
  using child = supervision_driver::child;

  void note(const std::string& what, child c) {
    text_ += (text_.empty() ? "" : " ") + what + ":" + static_cast<char>('a' + c);
  }
  std::shared_ptr<incarnation> launch(child c, unsigned number,
                                      std::shared_ptr<incarnation>& before) override {
    note("launch" + std::to_string(number), c);
    CHECK((before != nullptr) == (number > 1));
    if (no_memory) throw std::bad_alloc();
    freed = std::move(before);
    numbers_[c] = number;
    return std::make_shared<incarnation>(incarnation::options{.child = c}, told_);
  }
  std::uint64_t progress(child c) const noexcept override { return c == 1 ? passed : 0; }
  bool finished(child) const override { return nothing_left; }
  void overran(child c, const incarnation_news& n, bool went_on) override {
    static constexpr const char* words[] = {"asked", "insisted", "quarantined", "left-alone"};
    note(std::string(words[static_cast<int>(n.step)]) + (went_on ? "(went-on)" : ""), c);
  }
  void lingers(child c) override { note("lingers", c); }
  void is_out(child c, const supervision_driver::ending& e) override {
    static constexpr const char* words[] = {"returned", "failed", "finished"};
    CHECK(driver_.in(c) == nullptr);
    note(std::string(e.quarantined ? "fenced," : "") + words[static_cast<int>(e.how)] +
             (e.again ? "" : "-for-good"),
         c);
    fixed_text<128> t;
    e.append_cause(t);
    t.append(e.why);
    why = t.view();
  }
  void limit_reached(child c, supervision_driver::limit which) override {
    static constexpr const char* words[] = {"restarts", "quarantines", "threads"};
    note(std::string("limit-of-") + words[static_cast<int>(which)], c);
    if (stops_at_limit) driver_.stop();
  }

  channel<incarnation_news> told_{64};
  unsigned numbers_[2] = {};
  std::string text_;
  supervision_driver driver_;

 public:
  std::string why;  // of the last end
};

using kind = incarnation_news::kind;

}  // namespace

TEST_CASE("one that fails is launched again after its pause, and the last one is handed over to be freed") {
  team t;
  CHECK(t.said() == "launch1:a launch1:b");
  const incarnation* const first = t.driver().in(0);
  CHECK(t.ends('a', kind::failed, "no carrier") == "failed:a");
  CHECK(t.why == "no carrier");
  CHECK(t.driver().in(0) == nullptr);
  CHECK(t.driver().last(0) == first);
  CHECK(t.after(110ms) == "launch2:a");
  CHECK(t.freed.get() == first);
}

TEST_CASE("one that cannot be made has failed, and is tried again until its limit") {
  team t(3);
  (void)t.said();
  const incarnation* const first = t.driver().in(0);
  t.no_memory = true;
  CHECK(t.ends('a', kind::failed, "no carrier") == "failed:a");
  CHECK(t.after(110ms) == "launch2:a failed:a");
  CHECK(t.why == "std::bad_alloc");
  CHECK(t.driver().in(0) == nullptr);
  CHECK(t.driver().last(0) == first);
  CHECK(t.after(110ms) == "launch3:a failed:a");
  SUBCASE("there is memory again") {
    t.no_memory = false;
    CHECK(t.after(110ms) == "launch4:a");
    CHECK(t.driver().in(0) != first);
    CHECK(t.freed.get() == first);
  }
  SUBCASE("there is none") {
    CHECK(t.after(110ms) == "launch4:a failed-for-good:a limit-of-restarts:a");
    CHECK(t.driver().in(1) != nullptr);
  }
}

TEST_CASE("news of an earlier incarnation, or of one that is out, change nothing") {
  team t;
  const incarnation_news late = t.news_of('a', kind::failed);
  (void)t.ends('a', kind::failed);
  (void)t.said();
  CHECK(t.hear('a', late).empty());
  (void)t.after(110ms);
  CHECK(t.hear('a', late).empty());
  CHECK(t.driver().in(0) != nullptr);
}

TEST_CASE("one that returns is over, and has finished if the owner says so") {
  team t;
  (void)t.said();
  CHECK(t.ends('a', kind::returned) == "returned-for-good:a");
  t.nothing_left = true;
  CHECK(t.ends('b', kind::returned) == "finished-for-good:b");
  CHECK(t.driver().all_over());
}

TEST_CASE("one that overruns is asked to stop, and has failed however it ends") {
  team t;
  (void)t.said();
  CHECK(t.overruns('a', overrun_step::asked) == "asked:a");
  CHECK(t.asked('a'));
  CHECK(t.driver().cause(0).what == failure_cause::kind::overran);
  CHECK(t.ends('a', kind::returned) == "failed:a");
  CHECK(t.after(110ms) == "launch2:a");
  CHECK_FALSE(t.driver().cause(0));
}

TEST_CASE("the first cause is the one that counts") {
  team t;
  (void)t.said();
  t.driver().fault(0, {failure_cause::kind::deadlock});
  CHECK(t.overruns('a', overrun_step::asked) == "asked:a");
  CHECK(t.driver().cause(0).what == failure_cause::kind::deadlock);
}

TEST_CASE("one that is quarantined is out, and the want of threads is a limit") {
  team t;
  (void)t.said();
  (void)t.overruns('a', overrun_step::asked);
  CHECK(t.overruns('a', overrun_step::insisted) == "insisted:a");
  CHECK(t.overruns('a', overrun_step::quarantined, true) ==
        "quarantined:a fenced,failed:a limit-of-threads:a");
  CHECK(t.after(110ms) == "launch2:a");
}

TEST_CASE("one that goes on after its stop is put out, and that is its cause if there was none") {
  team t;
  (void)t.said();
  t.driver().stop();
  CHECK(t.asked('b'));
  CHECK(t.after(20ms).empty());  // insisted on
  CHECK(t.after(30ms) == "lingers:b");
  CHECK(t.driver().in(1)->out_wanted());
  incarnation_news n = t.news_of('b', kind::overran);
  n.step = overrun_step::quarantined;
  n.ran = 1ms;
  CHECK(t.hear('b', n) == "quarantined(went-on):b fenced,failed-for-good:b");
}

TEST_CASE("one that may not be quarantined reaches a limit, and the owner may stop all from there") {
  team t;
  (void)t.said();
  t.stops_at_limit = true;
  (void)t.overruns('a', overrun_step::asked);
  CHECK(t.overruns('a', overrun_step::left_alone) == "left-alone:a limit-of-quarantines:a");
  CHECK(t.asked('b'));
  CHECK(t.ends('b', kind::returned) == "returned-for-good:b");
  CHECK_FALSE(t.driver().all_over());
  CHECK(t.after(20ms).empty());
  CHECK(t.after(30ms) == "lingers:a");
  CHECK(t.driver().all_over());
}

TEST_CASE("too many failures are a limit, told after the end that reached it") {
  team t(1);
  (void)t.said();
  CHECK(t.ends('a', kind::failed) == "failed:a");
  CHECK(t.after(110ms) == "launch2:a");
  CHECK(t.ends('a', kind::failed) == "failed-for-good:a limit-of-restarts:a");
}

TEST_CASE("a watchdog finds silence, is put off by progress, and begins anew with each incarnation") {
  team t;
  (void)t.said();
  CHECK(t.after(900ms).empty());
  ++t.passed;
  (void)t.after(250ms);
  CHECK_FALSE(t.asked('b'));  // what has passed was seen when it was looked for
  CHECK(t.driver().next_deadline() < never);
  (void)t.after(999ms);
  CHECK_FALSE(t.asked('b'));
  (void)t.after(1ms);
  CHECK(t.asked('b'));
  CHECK(t.driver().cause(1).what == failure_cause::kind::silent);
  CHECK(t.ends('b', kind::failed, "stopped") == "failed:b");
  CHECK(t.why == "it has neither received nor sent for 1s, then: stopped");
  CHECK(t.after(110ms) == "launch2:b");
  (void)t.after(999ms);
  CHECK_FALSE(t.asked('b'));
  (void)t.after(1ms);
  CHECK(t.asked('b'));
}

TEST_CASE("after close nothing is launched, nobody is silent, and an overrun is noted without a fault") {
  team t;
  (void)t.said();
  (void)t.ends('a', kind::failed);
  CHECK(t.driver().close() == std::vector<supervision_driver::child>{0});
  CHECK(t.after(10s).empty());
  CHECK_FALSE(t.asked('b'));
  t.driver().fault(1, {failure_cause::kind::deadlock});
  CHECK_FALSE(t.driver().cause(1));
  CHECK(t.overruns('b', overrun_step::asked) == "asked:b");
  CHECK_FALSE(t.asked('b'));  // who told of it has done that
  CHECK(t.ends('b', kind::returned) == "failed-for-good:b");
  CHECK(t.driver().all_over());
}
