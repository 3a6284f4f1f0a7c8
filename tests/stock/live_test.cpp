// SPDX-License-Identifier: BSL-1.0
//
// Stock classes whose settings are changed while they run.
#include <leat/stock/batch.hpp>
#include <leat/stock/windows.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

record value_of(double v) { return {{"value", v}}; }

// One record in, one out.
std::string through(const leat::channel<record>& in, const leat::channel<record>& out, double v,
                    const char* field = "value") {
  in.send(value_of(v));
  const std::optional<record> r = out.recv_until(patience);
  return r && r->find(field) ? to_text(*r->find(field)) : "-";
}

TEST_CASE("a mean of another length keeps the last values, as far as there is room") {
  moving_mean m(4);
  for (const double v : {1, 2, 3, 4, 5, 6}) m.add(v);  // 3 4 5 6
  m.resize(2);
  CHECK(m.add(8) == 7);  // 6 8
  m.resize(3);
  CHECK(m.add(1) == 5);  // 6 8 1
  CHECK(m.add(3) == 4);  // 8 1 3
  moving_mean few(4);
  few.add(1);
  few.add(3);
  few.resize(8);
  CHECK(few.add(5) == 3);
  few.resize(1);
  CHECK(few.add(7) == 7);
}

TEST_CASE("a rate that changes counts what went before") {
  rate_limit l(1, 1);
  const time_point t = from_ns(1'000'000'000);
  l.take(t);
  CHECK(l.due() == from_ns(2'000'000'000));
  l.change(10, 1, t);
  CHECK(l.due() == from_ns(1'100'000'000));
  l.change(0.1, 1, t);
  CHECK(l.due() == from_ns(11'000'000'000));
  l.change(0.1, 2, t);
  CHECK(l.due() <= t);
  l.change(10, 1, from_ns(60'000'000'000));  // nothing is left of it
  CHECK(l.due() <= from_ns(60'000'000'000));
}

TEST_CASE("a ticker goes on with another period at once, and counts on") {
  at_procs([] {
    rig r("ticker");
    const auto ticks = r.channel("ticks", 8);
    r.set("period", nanoseconds(24h)).set("missed", "burst").start();
    CHECK_FALSE(ticks.recv_until(2ms));
    r.change("period", 1ms);
    CHECK(ticks.recv_until(patience)->number("count") == 1);
    const double second = *ticks.recv_until(patience)->number("count");
    r.change("period", 2ms);
    CHECK(*ticks.recv_until(patience)->number("count") > second);
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("sensors go on with another period, middle and wave") {
  at_procs([] {
    rig r("sensor-sim");
    const auto values = r.channel("values", 0);
    r.set("period", nanoseconds(24h)).set("swing", 0.0).start();
    CHECK(values.recv_until(patience)->number("value") == 20);
    r.change("middle", 50.0).change("period", 1ms);
    CHECK(values.recv_until(patience)->number("value") == 50);
    r.change("kind", "square").change("swing", 1.0).change("period", nanoseconds(0));
    CHECK(eventually([&] { return values.recv_until(patience)->number("value") != 50; }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a throttle that lets one wait hears of another rate, and of another answer") {
  at_procs([] {
    rig r("throttle");
    const auto in = r.channel("values"), out = r.channel("out");
    r.set("rate", 0.001).start();
    CHECK(through(in, out, 1) == "1.0");
    in.send(value_of(2));
    CHECK(eventually([&] { return in.size() == 0; }));
    r.change("rate", 1e6);
    CHECK(out.recv_until(patience)->number("value") == 2);

    r.change("rate", 0.001);
    (void)through(in, out, 3);  // what went before is over at either rate
    in.send(value_of(4));
    CHECK(eventually([&] { return in.size() == 0; }));
    r.change("over", "drop");
    r.change("burst", 1e6);
    CHECK(eventually([&] {
      in.send(value_of(5));
      const auto got = out.recv_until(10ms);
      return got && got->number("value") == 5;
    }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("filters take another threshold, length and number with the next record") {
  at_procs([] {
    {
      rig r("deadband");
      const auto in = r.channel("values"), out = r.channel("out");
      r.start();
      CHECK(through(in, out, 1) == "1.0");
      r.change("absolute", 10.0);
      in.send(value_of(2));
      CHECK(through(in, out, 20) == "20.0");
      r.change("absolute", 0.0);
      CHECK(through(in, out, 21) == "21.0");
    }
    {
      rig r("moving-average");
      const auto in = r.channel("values"), out = r.channel("out");
      r.set("window", 2).start();
      CHECK(through(in, out, 2) == "2.0");
      CHECK(through(in, out, 4) == "3.0");
      r.change("window", 1);
      CHECK(through(in, out, 8) == "8.0");
      r.change("window", 3);
      CHECK(through(in, out, 10) == "9.0");
    }
    {
      rig r("sample");
      const auto in = r.channel("values"), out = r.channel("out");
      r.set("nth", 1'000'000).start();
      CHECK(through(in, out, 1) == "1.0");
      in.send(value_of(2));
      r.change("nth", 1);
      const std::string next = through(in, out, 3);
      CHECK((next == "3.0" || next == "2.0"));  // 2: it came to that after the change
    }
    {
      rig r("min-max");
      const auto in = r.channel("values", 0), out = r.channel("out");
      r.set("window", 1000).start();
      for (const double v : {1, 2, 3}) in.send(value_of(v));
      in.send({{"other", 1}});  // is dropped, and was taken when all others were done
      r.change("window", 2);
      CHECK(through(in, out, 4, "count") == "4");
      r.change("every", nanoseconds(1ms)).change("window", 0);
      in.send(value_of(5));
      CHECK(out.recv_until(patience)->number("count") == 1);
    }
    {
      rig r("batch");
      const auto in = r.channel("values");
      leat::channel<record_batch> out(8);
      r.connect("batches", out).set("size", 1000).set("every", nanoseconds(0)).start();
      in.send(value_of(1));
      CHECK(eventually([&] { return in.size() == 0; }));
      r.change("size", 2);
      in.send(value_of(2));
      CHECK(out.recv_until(patience)->records.size() == 2);
    }
  });
}

TEST_CASE("a log writes with another prefix and level from the next record on") {
  run_clean(with_procs(1), [] {
    log_reader log;
    rig r("log");
    const auto in = r.channel("values", 0);
    r.set("prefix", "before ").start();
    in.send(value_of(1));
    CHECK(eventually([&] { return log.has("before {\"value\":1"); }));
    r.change("prefix", "after ").change("level", "warning");
    in.send(value_of(2));
    CHECK(eventually([&] { return log.has("after {\"value\":2"); }));
    in.close();
    CHECK(r.wait() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::stock::test
