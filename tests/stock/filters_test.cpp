// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <limits>

#include <leat/stock/batch.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/windows.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

record value_of(double v) { return {{"value", v}}; }
record value_of(const char* sensor, double v) { return {{"sensor", sensor}, {"value", v}}; }

// Sends all, closes, and gives what came out of `out`.
std::vector<record> through(rig& r, std::vector<record> all) {
  const auto in = r.channel("values", all.size() + 1), out = r.channel("out", all.size() + 1);
  r.start();
  for (record& x : all) in.send(std::move(x));
  in.close();
  CHECK(r.wait() == ended::returned);
  return drained(out);
}

TEST_CASE("a deadband passes on what differs, for each key by itself") {
  at_procs([] {
    rig r("deadband");
    r.set("absolute", 0.5).set("key", "sensor");
    const auto all = through(r, {value_of("a", 1), value_of("b", 1), value_of("a", 1.5), value_of("b", 2),
                                 value_of("a", 1.75), value_of("a", 1.6)});
    CHECK(texts_of(all, "sensor") == strings{"a", "b", "b", "a"});
    CHECK(texts_of(all, "value") == strings{"1.0", "1.0", "2.0", "1.75"});
  });
}

TEST_CASE("what a filter cannot use is dropped and told once, and the rest goes on") {
  at_procs([] {
    log_reader log;
    {
      rig r("deadband");
      r.set("key", "sensor");
      const auto all = through(r, {value_of("a", 1),
                                   {{"sensor", "a"}},
                                   {{"sensor", "a"}, {"value", "warm"}},
                                   {{"sensor", "a"}, {"value", {}}},
                                   {{"sensor", "a"}, {"value", std::numeric_limits<double>::infinity()}},
                                   {{"sensor", "a"}, {"value", std::numeric_limits<double>::quiet_NaN()}},
                                   {{"value", 5}},
                                   {{"sensor", 7}, {"value", 5}},
                                   value_of("a", 2)});
      CHECK(texts_of(all, "value") == strings{"1.0", "5", "2.0"});
      CHECK(log.count("deadband: dropped") < 4);  // one in ten seconds
      CHECK(log.has("deadband: dropped: field 'value' is missing"));
      r.destroy();
    }
    CHECK(log.has("6 in all; the last: field 'sensor', the key, is missing"));
  });
}

TEST_CASE("a filter can be told to fail on what it cannot use") {
  at_procs([] {
    const auto why = [](record bad) {
      rig r("moving-average");
      const auto in = r.channel("values"), out = r.channel("out");
      r.set("bad", "fail").start();
      in.send(std::move(bad));
      return r.failure();
    };
    CHECK(why({{"value", "warm"}}) ==
          "field 'value': expected a number, got a text (\"warm\") (bad = \"fail\")");
    CHECK(why({{"value", std::string(5000, 'x')}}).size() < 250);
    CHECK(why({{"celsius", 5}}) == "field 'value' is missing (bad = \"fail\")");
  });
}

TEST_CASE("complaints come once in ten seconds, with their number") {
  run_clean(with_procs(1), [] {
    log_reader log;
    rig owner("log");
    (void)owner.channel("values");
    const auto p = find_process_class("log")->make({.name = "probe"});
    {
      complaints c(*p, "cut");
      c.add_at(from_ns(0), "first");
      c.add_at(from_ns(9'999'999'999), "second");
      CHECK(log.count("probe: cut") == 1);
      c.add_at(from_ns(10'000'000'000), "third");
      CHECK(log.has("probe: cut 2 more, 3 in all; the last: third"));
      c.add_at(from_ns(11'000'000'000), "fourth");
      CHECK(log.count("probe: cut") == 2);
      CHECK(c.count() == 4);
    }
    CHECK(log.has("probe: cut 1 more, 4 in all; the last: fourth"));
  });
}

TEST_CASE("a moving average replaces the number and keeps the rest") {
  at_procs([] {
    rig r("moving-average");
    r.set("window", 2).set("field", "celsius").set("key", "sensor");
    const auto of = [](const char* s, double c) {
      return record{{"sensor", s}, {"celsius", c}, {"unit", "C"}};
    };
    const auto all = through(r, {of("a", 1), of("b", 10), of("a", 3), of("a", 5), of("b", 20)});
    CHECK(texts_of(all, "celsius") == strings{"1.0", "10.0", "2.0", "4.0", "15.0"});
    CHECK(texts_of(all, "unit") == strings(5, "C"));
  });
}

TEST_CASE("a window by count tells its least, greatest and mean, and the last one what it has") {
  at_procs([] {
    rig r("min-max");
    r.set("window", 3).set("key", "sensor");
    const auto all = through(
        r, {value_of("a", 1), value_of("b", 7), value_of("a", 5), value_of("a", 3), value_of("a", -2)});
    CHECK(texts_of(all, "sensor") == strings{"a", "b", "a"});
    CHECK(texts_of(all, "min") == strings{"1.0", "7.0", "-2.0"});
    CHECK(texts_of(all, "max") == strings{"5.0", "7.0", "-2.0"});
    CHECK(texts_of(all, "mean") == strings{"3.0", "7.0", "-2.0"});
    CHECK(texts_of(all, "count") == strings{"3", "1", "1"});
    CHECK(texts_of(all, "value") == strings{"3.0", "7.0", "-2.0"});
  });
}

TEST_CASE("a window that is displaced by a new key is told before it is forgotten") {
  at_procs([] {
    rig r("min-max");
    r.set("window", 10).set("key", "sensor").set("keys", 1);
    const auto all = through(r, {value_of("a", 1), value_of("a", 2), value_of("b", 3), value_of("a", 4)});
    CHECK(texts_of(all, "count") == strings{"2", "1", "1"});
    CHECK(texts_of(all, "sensor") == strings{"a", "b", "a"});
  });
}

TEST_CASE("a window by time ends although nothing comes any more") {
  at_procs([] {
    rig r("min-max");
    const auto in = r.channel("values"), out = r.channel("out");
    r.set("every", 20ms).start();
    in.send(value_of(1));
    const auto first = out.recv_until(patience);
    REQUIRE(first);
    CHECK(first->number("count") == 1);
    in.send(value_of(2));
    REQUIRE(out.recv_until(patience));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a window needs an end") {
  at_procs([] {
    rig r("min-max");
    const auto in = r.channel("values"), out = r.channel("out");
    r.start();
    CHECK(r.failure() == "one of `window` and `every` must be given");
  });
}

TEST_CASE("samples are every nth of each key, or one in a time") {
  at_procs([] {
    rig r("sample");
    r.set("nth", 3).set("key", "sensor");
    const auto all = through(r, {value_of("a", 1), value_of("b", 10), value_of("a", 2), value_of("a", 3),
                                 value_of("a", 4), value_of("b", 11)});
    CHECK(texts_of(all, "value") == strings{"1.0", "10.0", "4.0"});

    rig slow("sample");
    slow.set("interval", 1h);
    CHECK(texts_of(through(slow, {value_of(1), value_of(2), value_of(3)}), "value") == strings{"1.0"});

    rig fast("sample");
    const auto in = fast.channel("values"), out = fast.channel("out");
    fast.set("interval", 1ms).start();
    CHECK(eventually([&] {
      in.send(value_of(1));
      return out.stats().sent >= 2;
    }));
  });
}

TEST_CASE("a throttle drops what comes too fast, or lets it wait") {
  at_procs([] {
    rig drops("throttle");
    drops.set("rate", 0.001).set("burst", 2.0).set("over", "drop");
    CHECK(texts_of(through(drops, {value_of(1), value_of(2), value_of(3)}), "value") ==
          strings{"1.0", "2.0"});

    rig waits("throttle");
    waits.set("rate", 1000.0);
    const time_point begin = now();
    CHECK(through(waits, std::vector<record>(21, value_of(1))).size() == 21);
    CHECK(now() - begin >= 20ms);

    rig stopped("throttle");
    const auto in = stopped.channel("values"), out = stopped.channel("out");
    stopped.set("rate", 0.001).start();
    in.send(value_of(1));
    in.send(value_of(2));
    CHECK(out.recv());
    CHECK(eventually([&] { return in.size() == 0; }));
    CHECK(stopped.stop() == ended::returned);
  });
}

TEST_CASE("a merge passes on all of several channels") {
  at_procs([] {
    rig r("merge");
    const auto a = r.channel("values"), b = r.channel("values"), out = r.channel("out");
    r.start();
    for (int i = 0; i < 10; ++i) {
      a.send(value_of("a", i));
      b.send(value_of("b", i));
    }
    a.close();
    b.close();
    CHECK(r.wait() == ended::returned);
    std::size_t from_a = 0;
    const auto all = drained(out);
    for (const record& x : all) from_a += *x.text("sensor") == "a";
    CHECK(all.size() == 20);
    CHECK(from_a == 10);
  });
}

TEST_CASE("a tee sends to each of its ports, and goes on when one of them is closed") {
  at_procs([] {
    rig r("tee");
    const auto in = r.channel("values", 0), a = r.channel("out"), b = r.channel("out3");
    r.start();
    in.send(value_of(1));
    CHECK(a.recv() == value_of(1));
    CHECK(b.recv() == value_of(1));
    a.close();
    in.send(value_of(2));
    CHECK(b.recv() == value_of(2));
    b.close();
    in.send(value_of(3));
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("what a batch has gathered when it is stopped is lost, counted and logged") {
  at_procs([] {
    log_reader log;
    rig gathers("batch");
    const auto in = gathers.channel("values", 0);
    const auto out = gathers.channel<record_batch>("batches");
    gathers.set("size", 100).set("every", nanoseconds(0)).start();
    for (int i = 0; i < 3; ++i) CHECK(in.send_until(value_of(i), patience) == send_status::sent);
    CHECK(gathers.stop() == ended::returned);
    CHECK(log.has("batch: lost 3 records: it was stopped"));

    rig sends("batch");  // and nobody takes it
    const auto in2 = sends.channel("values", 0);
    const auto out2 = sends.channel<record_batch>("batches", 0);
    sends.set("size", 2).start();
    for (int i = 0; i < 2; ++i) CHECK(in2.send_until(value_of(i), patience) == send_status::sent);
    CHECK(in2.send_until(value_of(2), 20ms) == send_status::timeout);
    CHECK(sends.stop() == ended::returned);
    CHECK(log.has("batch: lost 2 records: it was stopped"));
  });
}

TEST_CASE("a batch is sent when it is full, when its time has come, and at the end") {
  at_procs([] {
    rig r("batch");
    const auto in = r.channel("values");
    const auto out = r.channel<record_batch>("batches");
    r.set("size", 2).set("every", 1h).start();
    for (int i = 0; i < 3; ++i) in.send(value_of(i));
    CHECK(out.recv() == record_batch{{value_of(0), value_of(1)}});
    CHECK_FALSE(out.try_recv());
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(out.recv() == record_batch{{value_of(2)}});
    CHECK(to_json(record_batch{{value_of(2)}}) == R"({"records":[{"value":2.0}]})");

    rig timed("batch");
    const auto in2 = timed.channel("values");
    const auto out2 = timed.channel<record_batch>("batches");
    timed.set("every", 5ms).start();
    for (int i = 0; i < 2; ++i) {
      in2.send(value_of(i));
      const auto got = out2.recv_until(patience);
      REQUIRE(got);
      CHECK(*got == record_batch{{value_of(i)}});
    }
    CHECK(timed.stop() == ended::returned);
  });
}

TEST_CASE("fields are kept, left out, renamed and added") {
  at_procs([] {
    const auto table = [](auto... members) { return value(value::table{members...}); };
    const auto text = [](const char* key, const char* v) { return value_member{key, {}, value(v)}; };
    rig r("select-fields");
    r.set("keep", strings{"a", "b", "c"}).set("drop", strings{"b"});
    r.set("rename", value::list{table(text("from", "a"), text("to", "x"))});
    r.set("constants", value::list{table(text("field", "site"), text("text", "north")),
                                   table(text("field", "n"), value_member{"number", {}, value(2.5)}),
                                   table(text("field", "c"), value_member{"flag", {}, value(true)})});
    const auto all = through(r, {{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}}, {{"d", 5}}});
    REQUIRE(all.size() == 2);
    CHECK(all[0] == record{{"x", 1}, {"c", true}, {"site", "north"}, {"n", 2.5}});
    CHECK(all[1] == record{{"site", "north"}, {"n", 2.5}, {"c", true}});

    rig wrong("select-fields");
    const auto in = wrong.channel("values"), out = wrong.channel("out");
    wrong.set("constants", value::list{table(text("field", "site"))}).start();
    CHECK(
        wrong.failure().ends_with("setting 'constants': \"site\" needs one of `text`, `number` and `flag`"));
    rig half("select-fields");
    const auto in2 = half.channel("values"), out2 = half.channel("out");
    half.set("rename", value::list{table(text("from", "site"))}).start();
    CHECK(half.failure().ends_with("setting 'rename': `from` and `to` must be given"));
  });
}

// What they have in common: each passes on all records with these settings.
std::vector<std::unique_ptr<rig>> all_that_pass() {
  std::vector<std::unique_ptr<rig>> all;
  for (const char* name : {"deadband", "dedup", "moving-average", "min-max", "sample", "throttle", "merge",
                           "tee", "select-fields"}) {
    all.push_back(std::make_unique<rig>(name));
    if (std::string_view(name) == "min-max") all.back()->set("window", 1);
    if (std::string_view(name) == "throttle") all.back()->set("rate", 1e9);
  }
  return all;
}

record deep(double lat, int raw) {
  return {{"where", record{{"lat", lat}, {"lon", 10}}}, {"raw", field_list{raw, 2, 3}}, {"name", "buoy"}};
}

TEST_CASE("filters look at what a path leads to") {
  at_procs([] {
    rig band("deadband"), mean("moving-average"), range("min-max");
    const auto in = band.channel("values"), out = band.channel("out");
    band.set("field", "where.lat").set("absolute", 1.0).set("key", "raw[0]").start();
    for (const int key : {1, 2, 1}) in.send(deep(54, key));
    in.close();
    CHECK(band.wait() == ended::returned);
    CHECK(texts_of(drained(out), "raw") == std::vector<std::string>{"[1,2,3]", "[2,2,3]"});

    const auto in2 = mean.channel("values"), out2 = mean.channel("out");
    mean.set("field", "where.lat").start();
    in2.send(deep(54, 1));
    in2.send(deep(56, 1));
    in2.close();
    CHECK(mean.wait() == ended::returned);
    CHECK(to_json(drained(out2).at(1)) == R"({"where":{"lat":55.0,"lon":10},"raw":[1,2,3],"name":"buoy"})");

    const auto in3 = range.channel("values"), out3 = range.channel("out");
    range.set("field", "raw[0]").set("window", std::int64_t{2}).start();
    in3.send(deep(54, 1));
    in3.send(deep(54, 7));
    in3.close();
    CHECK(range.wait() == ended::returned);
    CHECK(texts_of(drained(out3), "max") == std::vector<std::string>{"7.0"});
  });
}

TEST_CASE("select-fields keeps, drops, renames and sets what a path leads to") {
  at_procs([] {
    const auto selected = [](auto set) {
      rig r("select-fields");
      const auto in = r.channel("values"), out = r.channel("out");
      set(r);
      r.start();
      in.send(deep(54, 1));
      in.send({{"where.lat", 55}, {"raw", {}}});
      in.close();
      CHECK(r.wait() == ended::returned);
      std::string text;
      for (const record& x : drained(out)) text += to_json(x);
      return text;
    };
    CHECK(selected([](rig& r) { r.set("keep", strings{"name", "where.lat", "raw[0]"}); }) ==
          R"({"where":{"lat":54.0},"raw":[1],"name":"buoy"}{"where.lat":55})");
    CHECK(selected([](rig& r) { r.set("drop", strings{"where.lat", "raw[0]", "raw[1]"}); }) ==
          R"({"where":{"lon":10},"raw":[3],"name":"buoy"}{"raw":null})");
    CHECK(selected([](rig& r) {
            value::table names;
            names.push_back({"from", {}, value("where.lat")});
            names.push_back({"to", {}, value("position.north")});
            value::list all;
            all.emplace_back(std::move(names));
            r.set("rename", std::move(all)).set("drop", strings{"raw", "name"});
          }) == R"({"where":{"lon":10},"position":{"north":54.0}}{"position":{"north":55}})");
  });
}

TEST_CASE("a filter waits for a slow reader and loses nothing") {
  at_procs([] {
    for (const auto& r : all_that_pass()) {
      const auto in = r->channel("values", 1), out = r->channel("out", 1);
      r->start();
      auto sender = spawn([&] {
        for (int i = 0; i < 200; ++i) CHECK(in.send(value_of(i)) == send_status::sent);
        in.close();
      });
      for (int i = 0; i < 200; ++i) {
        if (i % 50 == 0) CHECK(eventually([&] { return out.size() == 1 && in.size() == 1; }) == true);
        CHECK(out.recv());
      }
      CHECK(r->wait() == ended::returned);
      sender.join();
    }
  });
}

TEST_CASE("a filter ends when it is stopped, at either port, and when nobody reads it any more") {
  at_procs([] {
    for (const bool blocked : {false, true})
      for (const auto& r : all_that_pass()) {
        const auto in = r->channel("values", 4), out = r->channel("out", 1);
        r->start();
        if (blocked) {
          for (int i = 0; i < 3; ++i) in.send(value_of(i));
          CHECK(eventually([&] { return out.size() == 1 && in.size() == 1; }));
        }
        CHECK(r->stop() == ended::returned);
      }
    for (const auto& r : all_that_pass()) {
      const auto in = r->channel("values", 4), out = r->channel("out", 1);
      r->start();
      out.close();
      in.send(value_of(1));
      CHECK(r->wait() == ended::returned);
    }
  });
}

struct reading {
  std::string sensor;
  double celsius = 0;
};
LEAT_MESSAGE(reading, sensor, celsius);

TEST_CASE("a filter stands between channels of messages, and fails if it cannot make one") {
  at_procs([] {
    rig r("deadband");
    const auto in = r.channel<reading>("values"), out = r.channel<reading>("out");
    r.set("field", "celsius").set("key", "sensor").start();
    in.send({"a", 1});
    in.send({"a", 1});
    in.send({"a", 2});
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(out.recv() == reading{"a", 1});
    CHECK(out.recv() == reading{"a", 2});

    rig wrong("merge");
    const auto records = wrong.channel("values");
    const auto typed = wrong.channel<reading>("out");
    wrong.start();
    records.send(value_of("a", 2));
    CHECK(wrong.failure() == "field 'celsius' is missing");
  });
}

TEST_CASE("what a channel refuses is told") {
  at_procs([] {
    log_reader log;
    rig r("merge");
    const auto in = r.channel("values"), out = r.channel("out", 1, {.full = full::fail});
    r.start();
    for (int i = 0; i < 2; ++i) in.send(value_of(i));
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(log.has("merge: lost: the channel is full"));
    CHECK(out.size() == 1);
  });
}

}  // namespace
}  // namespace leat::stock::test
