// SPDX-License-Identifier: BSL-1.0
//
// `join`: what it decides, and what it loses.
#include <leat/stock/latest.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

// ---- when a combination is due

TEST_CASE("a combination is due by its rule") {
  using rules = latest_records::rules;
  const rules any{2, join_on::any}, first{2, join_on::first}, all{2, join_on::all};
  latest_records l;
  l.put(0, {}, from_ns(0));
  for (const rules& r : {any, first, all}) CHECK_FALSE(l.due(from_ns(0), r));
  CHECK(l.due(from_ns(0), {2, join_on::any, true}));
  CHECK(l.due(from_ns(0), {2, join_on::first, true}));
  l.put(1, {}, from_ns(5));
  for (const rules& r : {any, first, all}) CHECK(l.due(from_ns(5), r));
  CHECK_FALSE(l.due(from_ns(5), {2, join_on::any, false, 4ns}));
  CHECK(l.due(from_ns(5), {2, join_on::any, true, 4ns}));
  CHECK(l.get(0, from_ns(5), {2, join_on::any, true, 4ns}) == nullptr);
  l.settle();
  for (const rules& r : {any, first, all}) CHECK_FALSE(l.due(from_ns(5), r));
  l.put(1, {}, from_ns(6));
  CHECK(l.due(from_ns(6), any));
  CHECK_FALSE(l.due(from_ns(6), first));
  CHECK_FALSE(l.due(from_ns(6), all));
  l.put(0, {}, from_ns(7));
  CHECK(l.due(from_ns(7), first));
  CHECK(l.due(from_ns(7), all));
}

// ---- join

record heat(const char* sensor, int c) { return {{"sensor", sensor}, {"celsius", c}}; }
record press(const char* sensor, int b) { return {{"sensor", sensor}, {"bar", b}}; }

TEST_CASE("the latest of two inputs are joined by their key") {
  at_procs([] {
    rig r("join");
    const auto a = r.channel("values", 0), b = r.channel("values2", 0), out = r.channel("out", 16);
    r.set("key", "sensor").start();
    const auto next = [&] {
      const auto got = out.recv_until(patience);
      return got ? to_json(*got) : std::string();
    };
    a.send(heat("x", 1));
    b.send(press("y", 7));
    b.send(press("x", 2));
    CHECK(next() == R"({"sensor":"x","celsius":1,"bar":2})");
    a.send(heat("x", 3));
    CHECK(next() == R"({"sensor":"x","celsius":3,"bar":2})");
    a.send(heat("y", 4));
    CHECK(next() == R"({"sensor":"y","celsius":4,"bar":7})");
    a.close();
    b.send(press("x", 5));
    CHECK(next() == R"({"sensor":"x","celsius":3,"bar":5})");
    b.close();
    CHECK(r.wait() == ended::returned);
    CHECK(out.size() == 0);
  });
}

TEST_CASE("with on = first the first input leads and ends it, with on = all each counts once") {
  at_procs([] {
    rig leads("join");
    const auto a = leads.channel("values", 0), b = leads.channel("values2", 0),
               out = leads.channel("out", 16);
    leads.set("on", "first").start();
    for (const int bar : {1, 2, 2}) b.send({{"bar", bar}});  // what came before the last has been handled
    a.send({{"n", 1}});
    CHECK(to_json(*out.recv_until(patience)) == R"({"n":1,"bar":2})");
    a.send({{"n", 2}});
    CHECK(to_json(*out.recv_until(patience)) == R"({"n":2,"bar":2})");
    a.close();
    CHECK(leads.wait() == ended::returned);

    rig each("join");
    const auto c = each.channel("values", 0), d = each.channel("values2", 0), e = each.channel("values3", 0),
               sets = each.channel("out", 16);
    each.set("on", "all").start();
    for (const int n : {1, 2, 2}) c.send({{"n", n}});
    d.send({{"d", 1}});
    e.send({{"e", 1}});
    CHECK(to_json(*sets.recv_until(patience)) == R"({"n":2,"d":1,"e":1})");
    c.send({{"n", 3}});
    d.send({{"d", 2}});
    CHECK(sets.size() == 0);
    for (const auto& in : {c, d, e}) in.close();
    CHECK(each.wait() == ended::returned);
    CHECK(sets.size() == 0);
  });
}

TEST_CASE("with a period one goes for each key, with the latest, and the last at the end") {
  at_procs([] {
    rig r("join");
    const auto a = r.channel("values", 0), b = r.channel("values2", 0), out = r.channel("out", 64);
    r.set("key", "sensor").set("every", 1h).start();
    for (int i = 0; i < 5; ++i) {
      a.send(heat("x", i));
      b.send(press("x", i));
    }
    a.send(heat("y", 9));  // has no pressure
    CHECK(out.size() == 0);
    a.close();
    b.close();
    CHECK(r.wait() == ended::returned);
    const auto all = drained(out);
    REQUIRE(all.size() == 1);
    CHECK(to_json(all[0]) == R"({"sensor":"x","celsius":4,"bar":4})");

    rig soon("join");
    const auto c = soon.channel("values", 0), d = soon.channel("values2", 0), each = soon.channel("out", 64);
    soon.set("every", 1ms).start();
    c.send({{"n", 1}});
    d.send({{"d", 1}});
    CHECK(each.recv_until(patience));
    soon.change("every", nanoseconds(0));
    CHECK(eventually([&] {
      c.send({{"n", 2}});
      return each.size() >= 2;
    }));
    CHECK(soon.stop() == ended::returned);
  });
}

TEST_CASE(
    "names keep the fields of the inputs apart; without them the first one's is sent, and that is told") {
  at_procs([] {
    const record one{{"sensor", "x"}, {"value", 1}}, two{{"sensor", "x"}, {"value", 2}};
    rig named("join");
    const auto a = named.channel("values", 0), b = named.channel("values2", 0), out = named.channel("out", 4);
    named.set("key", "sensor").set("names", strings{"boiler", "tank"}).start();
    a.send(one);
    b.send(two);
    const auto got = out.recv_until(patience);
    REQUIRE(got);
    CHECK(to_json(*got) == R"({"sensor":"x","boiler":{"value":1},"tank":{"value":2}})");
    CHECK(named.stop() == ended::returned);

    log_reader log;
    rig same("join");
    const auto c = same.channel("values", 0), d = same.channel("values2", 0), both = same.channel("out", 4);
    same.set("key", "sensor").start();
    c.send(one);
    for (int i = 0; i < 2; ++i) {
      d.send(two);
      CHECK(both.recv_until(patience)->number("value") == 1);
    }
    CHECK(log.count("several inputs have a field \"value\"") == 1);
    CHECK(same.stop() == ended::returned);
  });
}

TEST_CASE("a key that must make room is sent first, and partial ones go with what is there") {
  at_procs([] {
    rig r("join");
    const auto a = r.channel("values", 0), b = r.channel("values2", 0), out = r.channel("out", 8);
    r.set("key", "sensor").set("keys", 1).set("every", 1h).set("partial", true).start();
    a.send(heat("x", 1));
    a.send(heat("y", 2));
    CHECK(to_json(*out.recv_until(patience)) == R"({"sensor":"x","celsius":1})");
    a.close();
    b.close();
    CHECK(r.wait() == ended::returned);
    CHECK(to_json(*out.try_recv()) == R"({"sensor":"y","celsius":2})");
  });
}

TEST_CASE("a join that is stopped, or whose reader ends, tells of what it had in hand") {
  at_procs([] {
    log_reader log;
    {
      rig r("join");
      const auto a = r.channel("values"), b = r.channel("values2"), out = r.channel("out", 0);
      r.start();
      a.send({{"n", 1}});
      b.send({{"d", 1}});
      CHECK(eventually([&] { return a.size() == 0 && b.size() == 0; }));
      CHECK(r.stop() == ended::returned);
      CHECK(log.has("join: lost 1 record: it was stopped"));
    }
    {
      rig r("join");
      const auto a = r.channel("values", 0), b = r.channel("values2", 0), out = r.channel("out", 4);
      r.set("every", 1h).start();
      a.send({{"n", 1}});
      b.send({{"d", 1}});
      a.send({{"n", 2}});  // taken when the one before was done
      b.send({{"d", 2}});
      CHECK(r.stop() == ended::returned);
      CHECK(log.has("join: lost 1 that waited for the end of `every`"));
    }
    {
      rig r("join");
      const auto a = r.channel("values"), b = r.channel("values2"), out = r.channel("out", 4);
      r.start();
      out.close();
      a.send({{"n", 1}});
      b.send({{"d", 1}});
      CHECK(r.wait() == ended::returned);
    }
  });
}

TEST_CASE("a record without the key is rejected, or fails the join and all its inputs") {
  at_procs([] {
    log_reader log;
    rig drops("join");
    const auto a = drops.channel("values"), b = drops.channel("values2"), out = drops.channel("out");
    drops.set("key", "sensor").start();
    a.send({{"n", 1}});
    a.send(heat("x", 1));
    b.send(press("x", 1));
    CHECK(out.recv_until(patience));
    CHECK(log.has("join: dropped: field 'sensor', the key, is missing"));
    CHECK(drops.stop() == ended::returned);

    rig fails("join");
    const auto c = fails.channel("values"), d = fails.channel("values2"), none = fails.channel("out");
    fails.set("key", "sensor").set("bad", "fail").start();
    d.send({{"n", 1}});
    CHECK(fails.failure() == "field 'sensor', the key, is missing (bad = \"fail\")");
  });
}

TEST_CASE("inputs that come from many sides are joined without a loss") {
  at_procs([] {
    rig r("join");
    const auto a = r.channel("values", 1), b = r.channel("values2", 1), out = r.channel("out", 1);
    r.set("key", "sensor").set("partial", true).start();
    constexpr int n = 500;
    const auto feed = [&](const leat::channel<record>& to, const char* field) {
      return spawn([to, field] {
        for (int i = 0; i < n; ++i) to.send({{"sensor", i % 7}, {field, i}});
        to.close();
      });
    };
    auto one = feed(a, "a"), two = feed(b, "b");
    int got = 0;
    while (out.recv_until(patience) && ++got < 2 * n) {
    }
    CHECK(got == 2 * n);  // each record makes one due
    CHECK(r.wait() == ended::returned);
    one.get();
    two.get();
  });
}

TEST_CASE("what joins may lie within a table") {
  at_procs([] {
    rig r("join");
    const auto a = r.channel("values", 0), b = r.channel("values2", 0), out = r.channel("out", 4);
    r.set("key", "id.n").start();
    a.send({{"id", record{{"n", 7}, {"site", "x"}}}, {"c", 1}});
    b.send({{"id", record{{"n", 7}}}, {"d", 2}});
    const auto got = out.recv_until(patience);
    REQUIRE(got);
    CHECK(to_json(*got) == R"({"id":{"site":"x","n":7},"c":1,"d":2})");
    CHECK(r.stop() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::stock::test
