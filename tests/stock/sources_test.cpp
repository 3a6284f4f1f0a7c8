// SPDX-License-Identifier: BSL-1.0
#include <condition_variable>
#include <limits>
#include <mutex>

#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

TEST_CASE("a ticker counts its ticks and says when they were due") {
  at_procs([] {
    rig r("ticker");
    const auto ticks = r.channel("ticks");
    r.set("period", 1ms).set("count", 3).set("missed", "burst").start();
    CHECK(r.wait() == ended::returned);
    const std::vector<record> all = drained(ticks);
    CHECK(texts_of(all, "count") == std::vector<std::string>{"1", "2", "3"});
    for (const record& t : all) {
      REQUIRE(t.find("at")->kind() == value_kind::moment);
      const nanoseconds age = moment_now() - std::get<moment>(*t.find("at"));
      CHECK((age > -1s && age < patience));
    }
  });
}

TEST_CASE("a ticker that is not read leaves ticks out, and counts them") {
  at_procs([] {
    rig r("ticker");
    const auto ticks = r.channel("ticks", 0);
    r.set("period", 100us).start();
    double last = *ticks.recv()->number("count");
    CHECK(last >= 1);
    CHECK(eventually([&] {
      (void)sleep_for(1ms);
      const double before = std::exchange(last, *ticks.recv()->number("count"));
      return last > before + 1;
    }));
    CHECK(r.stop() == ended::returned);
  });
}

std::vector<record> simulated(const char* kind, std::int64_t seed, double noise = 0) {
  rig r("sensor-sim");
  const auto values = r.channel("values", 100);
  r.set("sensors", std::vector<std::string>{"boiler", "tank"})
      .set("kind", kind)
      .set("period", nanoseconds(0));
  r.set("seed", seed)
      .set("count", 20)
      .set("middle", 50.0)
      .set("swing", 10.0)
      .set("cycle", 8s)
      .set("noise", noise);
  r.start();
  CHECK(r.wait() == ended::returned);
  return drained(values);
}

TEST_CASE("simulated sensors send the same values for the same seed") {
  run_clean(with_procs(2), [] {
    for (const char* kind : {"sine", "walk", "square", "noise"}) {
      const auto a = simulated(kind, 7, 0.5), b = simulated(kind, 7, 0.5), c = simulated(kind, 8, 0.5);
      REQUIRE(a.size() == 40);
      CHECK(texts_of(a, "value") == texts_of(b, "value"));
      CHECK(texts_of(a, "value") != texts_of(c, "value"));
      CHECK(a[0].find("at")->kind() == value_kind::moment);
      CHECK(*a[0].text("sensor") == "boiler");
      CHECK(*a[1].text("sensor") == "tank");
    }
  });
}

TEST_CASE("simulated values stay within their swing and have their form") {
  run_clean(with_procs(1), [] {
    for (const char* kind : {"sine", "walk", "square", "noise"})
      for (const record& r : simulated(kind, 3)) {
        CHECK(*r.number("value") >= 40);
        CHECK(*r.number("value") <= 60);
      }
    const auto square = simulated("square", 1);
    CHECK(texts_of({square[0], square[6], square[8], square[14]}, "value") ==
          std::vector<std::string>{"60.0", "60.0", "40.0", "40.0"});
    const auto sine = simulated("sine", 1);
    CHECK(sine[4].number("value") == doctest::Approx(60));  // a quarter of its wave
    CHECK(sine[5].number("value") == doctest::Approx(40));  // the second sensor is half a wave ahead
  });
}

TEST_CASE("sources end when they are stopped, wait for slow readers, and end with their last reader") {
  at_procs([] {
    rig endless("sensor-sim");
    const auto values = endless.channel("values", 1);
    endless.set("period", nanoseconds(0)).start();
    for (int i = 0; i < 100; ++i) CHECK(values.recv());
    CHECK(values.stats().dropped == 0);
    CHECK(endless.stop() == ended::returned);

    rig unread("sensor-sim");
    const auto closed = unread.channel("values", 1);
    unread.set("period", nanoseconds(0)).start();
    CHECK(closed.recv());
    closed.close();
    CHECK(unread.wait() == ended::returned);

    rig none("sensor-sim");
    (void)none.channel("values", 1);
    none.set("sensors", std::vector<std::string>{}).start();
    CHECK(none.failure().ends_with("setting 'sensors': none is named"));
  });
}

// A log that takes nothing until it is told to.
class slow_log {
 public:
  slow_log() {
    set_log_sink(
        [](void* self, log_level, std::string_view, std::string_view) {
          auto& me = *static_cast<slow_log*>(self);
          std::unique_lock hold(me.lock_);
          ++me.came_;
          me.opened_.wait_for(hold, patience, [&] { return me.open_; });
        },
        this);
  }
  ~slow_log() { set_log_sink(nullptr, nullptr); }
  slow_log(const slow_log&) = delete;
  slow_log& operator=(const slow_log&) = delete;
  void open() {
    const std::lock_guard hold(lock_);
    open_ = true;
    opened_.notify_all();
  }
  std::size_t came() {
    const std::lock_guard hold(lock_);
    return came_;
  }

 private:
  std::mutex lock_;
  std::condition_variable opened_;
  bool open_ = false;
  std::size_t came_ = 0;
};

TEST_CASE("records are in the log as JSON, after their prefix, each in one line") {
  at_procs([] {
    log_reader log;
    rig r("log");
    const auto in = r.channel("values");
    r.set("level", "warning").set("prefix", "plant ").start();
    in.send({{"sensor", "boiler"}, {"value", 71.5}});
    in.send(record());
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(log.count("log: plant {\"sensor\":\"boiler\",\"value\":71.5}") == 1);
    CHECK(log.count("log: plant {}") == 1);
  });
}

TEST_CASE("a log that is slow makes its sender wait, and loses nothing") {
  at_procs([] {
    slow_log log;
    rig r("log");
    const auto in = r.channel("values", 2);
    r.start();
    auto sender = spawn("sender", [&] {
      for (int i = 0; i < 20; ++i) in.send({{"n", i}});
      in.close();
    });
    CHECK(eventually([&] { return log.came() == 1 && in.size() == 2; }));
    CHECK(!sender.done());
    CHECK(in.stats().received == 1);
    log.open();
    CHECK(r.wait() == ended::returned);
    CHECK(log.came() == 20);
    sender.get();
  });
}

TEST_CASE("whatever a record holds, it is a line of the log and no more") {
  at_procs([] {
    log_reader log;
    rig r("log");
    const auto in = r.channel("values");
    r.start();
    in.send({{"text", "two\nlines \x1b[31m"}, {"number", std::numeric_limits<double>::infinity()}});
    in.send({{"text", "not \xff UTF-8"}});
    in.send({{"text", std::string(std::size_t{1} << 20, 'x')}});
    in.send({{"text", "after it"}});
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(log.count("two\\nlines \\u001b[31m") == 1);
    CHECK(log.count("log: {\"text\":\"not ") == 1);
    CHECK(log.count("xxxxxxxx") == 1);
    CHECK(log.longest() < 2000);
    CHECK(log.count("after it") == 1);
    CHECK(log.count("\n") == 0);
  });
}

TEST_CASE("log ends when it is stopped, and keeps to the level that it shows") {
  at_procs([] {
    log_reader log;
    rig r("log");
    const auto in = r.channel("values");
    r.start();
    const log_level before = get_log_level();
    set_log_level(log_level::error);
    in.send({{"n", 1}});
    CHECK(eventually([&] { return in.stats().received == 1; }));
    CHECK(r.stop() == ended::returned);
    set_log_level(before);
    CHECK(log.count("{\"n\":1}") == 0);
  });
}

}  // namespace
}  // namespace leat::stock::test
