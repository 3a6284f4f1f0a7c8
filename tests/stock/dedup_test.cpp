// SPDX-License-Identifier: BSL-1.0
//
// `dedup`, and the part of `sample` that waits: what they decide, and what they lose.
#include <leat/stock/recent.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

record of(const char* sensor, double v) { return {{"sensor", sensor}, {"value", v}}; }

std::vector<record> passed(rig& r, const std::vector<record>& all) {
  const auto in = r.channel("values", all.size() + 1), out = r.channel("out", all.size() + 1);
  r.start();
  for (const record& x : all) in.send(x);
  in.close();
  CHECK(r.wait() == ended::returned);
  return drained(out);
}

// ---- what came lately

TEST_CASE("a text is a repeat within the window, counted from the first or from the last") {
  for (const bool renew : {false, true}) {
    recent_texts seen(10, 10000);
    CHECK_FALSE(seen.came("a", from_ns(0), 10ns, renew));
    CHECK(seen.came("a", from_ns(9), 10ns, renew));
    CHECK(seen.came("a", from_ns(12), 10ns, renew) == renew);
    CHECK(seen.came("a", from_ns(21), 10ns, renew));
    CHECK_FALSE(seen.came("b", from_ns(21), 10ns, renew));
    CHECK_FALSE(seen.forgot_early());
  }
}

TEST_CASE("what is remembered is bounded in number and bytes, and the window frees it") {
  recent_texts few(2, 1 << 20);
  for (const char* t : {"a", "b", "c"}) CHECK_FALSE(few.came(t, from_ns(0), nanoseconds::max(), false));
  CHECK(few.size() == 2);
  CHECK(few.forgot_early());
  CHECK(few.came("c", from_ns(1), nanoseconds::max(), false));
  CHECK_FALSE(few.came("a", from_ns(1), nanoseconds::max(), false));

  recent_texts small(1000, 5000);
  for (int i = 0; i < 10; ++i)
    CHECK_FALSE(small.came(std::string(1000, static_cast<char>('a' + i)), from_ns(i), 1h, false));
  CHECK(small.size() == 4);
  CHECK_FALSE(small.came(std::string(100'000, 'x'), from_ns(20), 1h, false));
  CHECK(small.size() == 1);
  CHECK(small.came(std::string(100'000, 'x'), from_ns(21), 1h, false));
  CHECK_FALSE(small.came("y", from_ns(21) + 1h, 1h, false));
  CHECK(small.size() == 1);
}

// ---- dedup

TEST_CASE("a repeat is dropped: in all fields, in some, or without some") {
  at_procs([] {
    rig whole("dedup");
    CHECK(texts_of(passed(whole, {of("a", 1), of("a", 1), of("b", 1), of("a", 2), of("a", 1)}), "value") ==
          strings{"1.0", "1.0", "2.0"});

    rig some("dedup");
    some.set("fields", strings{"sensor"});
    CHECK(texts_of(passed(some, {of("a", 1), of("a", 2), of("b", 3)}), "value") == strings{"1.0", "3.0"});

    rig without("dedup");
    without.set("ignore", strings{"at"});
    CHECK(texts_of(passed(without, {{{"at", 1}, {"value", 5}},
                                    {{"at", 2}, {"value", 5}},
                                    {{"value", 5.0}, {"at", 3}},
                                    {{"at", 4}, {"value", 6}}}),
                   "at") == strings{"1", "4"});
  });
}

TEST_CASE("what is compared may lie within a table") {
  at_procs([] {
    const auto at = [](int lat, int t) {
      return record{{"where", record{{"lat", lat}, {"t", t}}}, {"l", field_list{1, lat}}};
    };
    rig some("dedup");
    some.set("fields", strings{"where.lat"});
    CHECK(passed(some, {at(1, 1), at(1, 2), at(2, 3)}).size() == 2);
    rig without("dedup");
    without.set("ignore", strings{"where.t"});
    CHECK(passed(without, {at(1, 1), at(1, 2), at(2, 3)}).size() == 2);
    rig whole("dedup");
    CHECK(passed(whole, {at(1, 1), at(1, 1), at(1, 2)}).size() == 2);
  });
}

TEST_CASE("a text is not a number, and a field that is missing is none that is null") {
  at_procs([] {
    rig r("dedup");
    r.set("fields", strings{"value"});
    const auto all = passed(r, {{{"value", 1}},
                                {{"value", "1"}},
                                {{"value", {}}},
                                {{"other", 1}},
                                {{"value", true}},
                                {{"value", ""}},
                                {{"value", 1.0}},
                                {{"other", 2}},
                                {{"value", "1"}}});
    CHECK(all.size() == 6);
  });
}

TEST_CASE("a repeat passes after the window, and what is forgotten for want of room is told once") {
  at_procs([] {
    rig r("dedup");
    const auto in = r.channel("values"), out = r.channel("out");
    r.set("window", 1ms).start();
    CHECK(eventually([&] {
      in.send(of("a", 1));
      return out.stats().sent >= 2;
    }));
    CHECK(r.stop() == ended::returned);

    log_reader log;
    rig few("dedup");
    few.set("remember", 1);
    CHECK(passed(few, {of("a", 1), of("b", 1), of("a", 1), of("b", 1)}).size() == 4);
    CHECK(log.count("dedup: more records within `window` than it may remember") == 1);
  });
}

TEST_CASE("live: a window of no end keeps repeats back from then on") {
  at_procs([] {
    rig r("dedup");
    const auto in = r.channel("values"), out = r.channel("out");
    r.set("window", 1ns).start();
    in.send(of("a", 1));
    in.send(of("a", 1));
    CHECK(out.recv_until(patience));
    CHECK(out.recv_until(patience));
    r.change("window", nanoseconds(0));
    in.send(of("a", 1));
    in.send(of("b", 1));
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(texts_of(drained(out), "sensor") == strings{"b"});
  });
}

// ---- sample

TEST_CASE("a sample may be the last of each nth, and the last of each time") {
  at_procs([] {
    rig nth("sample");
    nth.set("nth", 3).set("take", "last");
    std::vector<record> all;
    for (int i = 1; i <= 7; ++i) all.push_back(of("a", i));
    CHECK(texts_of(passed(nth, all), "value") == strings{"3.0", "6.0"});

    rig timed("sample");
    timed.set("interval", 1h).set("take", "last").set("key", "sensor");
    CHECK(texts_of(passed(timed, {of("a", 1), of("b", 2), of("a", 3)}), "value") == strings{"2.0", "3.0"});

    rig soon("sample");
    const auto in = soon.channel("values"), out = soon.channel("out");
    soon.set("interval", 1ms).set("take", "last").start();
    in.send(of("a", 1));
    CHECK(out.recv_until(patience));
    CHECK(soon.stop() == ended::returned);
  });
}

TEST_CASE("samples that wait when it is stopped are lost, and told; those that were replaced are not") {
  at_procs([] {
    log_reader log;
    rig r("sample");
    const auto in = r.channel("values", 0), out = r.channel("out");
    r.set("interval", 1h).set("take", "last").set("key", "sensor").start();
    for (int i = 0; i < 5; ++i) in.send(of("a", i));
    for (int i = 0; i < 5; ++i) in.send(of("b", i));
    in.send({{"value", 1}});  // is dropped, and was taken when all others were done
    CHECK(eventually([&] { return log.has("sample: dropped"); }));
    CHECK(r.stop() == ended::returned);
    CHECK(log.has("sample: lost 2 records: it was stopped"));
  });
}

}  // namespace
}  // namespace leat::stock::test
