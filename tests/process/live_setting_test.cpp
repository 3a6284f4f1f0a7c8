// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/supervisor.hpp>
#include <leat/testing.hpp>

#include "sched/fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

enum class mode { slow, fast };
LEAT_ENUM(mode, slow, fast);

struct span_of {
  std::string name = "none";
  int from = 1, to = 2;
};
LEAT_SETTINGS(span_of, name, from, to);

std::string no_blank(const std::string& text) {
  return text.find(' ') == std::string::npos ? "" : "a blank is not allowed";
}

class all_kinds : public process {
 public:
  setting<int, live> window{this, "window", 8, "samples averaged", between(1, 1024)};
  setting<double, live> factor{this, "factor", 0.5};
  setting<nanoseconds, live> period{this, "period", 1s, "time between two", at_least<nanoseconds>(1ms)};
  setting<byte_size, live> room{this, "room", byte_size{1024}};
  setting<mode, live> speed{this, "speed", mode::slow};
  setting<bool, live> on{this, "on", true};
  setting<std::optional<int>, live> perhaps{this, "perhaps"};
  setting<std::string, live> text{this, "text", "first", "a word", validated_by(no_blank)};
  setting<std::vector<std::string>, live> words{this, "words", {"a"}};
  setting<span_of, live> span{this, "span"};
  setting<int> plain{this, "plain", 1};
  void run() override {}
};
LEAT_PROCESS(all_kinds, "has live settings of all kinds");

class needs_one : public process {
 public:
  setting<int, live> window{this, "window", required, "", between(1, 9)};
  void run() override {}
};
class other_type : public process {
 public:
  setting<double, live> window{this, "window", 1};
  void run() override {}
};

value table_of(std::string key, value v) {
  value::table t;
  t.push_back({std::move(key), {}, std::move(v)});
  return value(std::move(t));
}

static_assert(lives::fits_a_word<int>() && lives::fits_a_word<nanoseconds>() && lives::fits_a_word<mode>());
static_assert(lives::fits_a_word<double>() && lives::fits_a_word<byte_size>() && lives::fits_a_word<bool>());
static_assert(!lives::fits_a_word<std::string>() && !lives::fits_a_word<span_of>());
// What could be meant as help does not compile, as with other settings.
static_assert(!std::is_constructible_v<setting<std::string, live>, process*, const char*, const char (&)[5]>);
static_assert(!std::is_constructible_v<setting<bool, live>, process*, const char*, const char (&)[5]>);
// A setting that is not live is its value and nothing else.
static_assert(sizeof(setting<int>) == sizeof(int));

}  // namespace

TEST_CASE("a live setting has its default, and then what it was set to, without a runtime too") {
  all_kinds p;
  CHECK(*p.window == 8);
  CHECK(p.text.get() == "first");
  CHECK(p.text.get().size() == 5);
  CHECK(p.span.get().name == "none");
  CHECK_FALSE(p.perhaps.get().has_value());

  CHECK(p.apply_setting("window", value(16)).empty());
  CHECK(p.apply_setting("factor", value(2)).empty());  // a whole number for a real
  CHECK(p.apply_setting("period", value("250ms")).empty());
  CHECK(p.apply_setting("room", value("64K")).empty());
  CHECK(p.apply_setting("speed", value("fast")).empty());
  CHECK(p.apply_setting("on", value(false)).empty());
  CHECK(p.apply_setting("perhaps", value(7)).empty());
  CHECK(p.apply_setting("text", value("second")).empty());
  CHECK(p.apply_setting("words", value(value::list{value("x"), value("y")})).empty());
  CHECK(*p.window == 16);
  CHECK(*p.factor == 2.0);
  CHECK(*p.period == 250ms);
  CHECK(p.room.get().bytes == 64 * 1024);
  CHECK(*p.speed == mode::fast);
  CHECK_FALSE(*p.on);
  CHECK(*p.perhaps == 7);
  CHECK(*p.text == "second");
  CHECK(*p.words == std::vector<std::string>{"x", "y"});
}

TEST_CASE("a structure that is set in part has its defaults for the rest, as from a file") {
  all_kinds p;
  CHECK(p.apply_setting("span", table_of("from", value(5))).empty());
  CHECK(p.span.get().from == 5);
  CHECK(p.apply_setting("span", table_of("name", value("pump"))).empty());
  CHECK(p.span.get().from == 1);
  CHECK(p.span.get().name == "pump");
}

TEST_CASE("what does not fit is told, and changes nothing") {
  all_kinds p;
  CHECK(p.apply_setting("window", value("16")) == "setting 'window': expected an integer, got \"16\"");
  CHECK(p.apply_setting("window", value(0)) == "setting 'window': 0 is below 1");
  CHECK(p.apply_setting("window", value(5000)) == "setting 'window': 5000 is above 1024");
  CHECK(p.apply_setting("period", value("1us")).find("is below") != std::string::npos);
  CHECK(p.apply_setting("period", value(5)).find("expected a duration") != std::string::npos);
  CHECK(p.apply_setting("speed", value("warp")).find("expected") != std::string::npos);
  CHECK(p.apply_setting("text", value("a b")) == "setting 'text': a blank is not allowed");
  CHECK(p.apply_setting("span", table_of("form", value(5))).find("unknown key 'form'") != std::string::npos);
  CHECK(p.apply_setting("plain", value(5)).find("no live setting 'plain'") != std::string::npos);
  CHECK(p.apply_setting("windw", value(5)).find("no live setting 'windw'") != std::string::npos);
  CHECK(*p.window == 8);
  CHECK(*p.text == "first");

  setting_store store;
  CHECK(store.set(value(5)) == "settings are a table");
}

TEST_CASE("all changes of a set are made, or none") {
  const auto store = std::make_shared<setting_store>();
  const auto p = make<all_kinds>({.live = store});
  value::table t;
  t.push_back({"text", {}, value("new")});
  t.push_back({"window", {}, value(0)});
  CHECK_FALSE(store->set(value(std::move(t))).empty());
  CHECK(*p->text == "first");
  CHECK_FALSE(store->all_set());
}

TEST_CASE("what was set stays for later objects and reaches all that share it, also what is not live") {
  const auto store = std::make_shared<setting_store>();
  const process_options o{.settings = table_of("window", value(4)), .live = store};
  const auto first = make<all_kinds>(o), replica = make<all_kinds>(o);
  CHECK(*first->window == 4);
  CHECK(store->set(table_of("window", value(5))).empty());
  CHECK(store->set(table_of("plain", value(2))).empty());
  CHECK(*first->window == 5);
  CHECK(*replica->window == 5);
  CHECK(*first->plain == 1);
  const auto next = make<all_kinds>(o);
  CHECK(*next->window == 5);
  CHECK(*next->plain == 2);
  CHECK(*settings_with(o.settings, store->all_set().get()).find("window") == value(5));
  // Also what was set before there was an object.
  const auto early = std::make_shared<setting_store>();
  CHECK(early->set(table_of("window", value(6))).empty());
  CHECK(*make<all_kinds>({.live = early})->window == 6);
}

TEST_CASE("a live setting is checked when it is made like any other, and a wrong one spoils no store") {
  const auto store = std::make_shared<setting_store>();
  CHECK_THROWS_WITH_AS(make<needs_one>({.live = store}), doctest::Contains("'window': is required"),
                       setting_error);
  CHECK_THROWS_AS(make<needs_one>({.settings = table_of("window", value(10)), .live = store}), setting_error);
  CHECK(*make<needs_one>({.settings = table_of("window", value(9)), .live = store})->window == 9);
  CHECK_THROWS_WITH_AS(make<other_type>({.live = store}), doctest::Contains("another type"), setting_error);
}

TEST_CASE("the schema says which settings are live") {
  const class_schema& c = *program_catalog().find_class("all_kinds");
  CHECK(find_setting(c.settings, "window")->live);
  CHECK(find_setting(c.settings, "window")->most == value(1024));
  CHECK(find_setting(c.settings, "span")->live);
  CHECK_FALSE(find_setting(c.settings, "plain")->live);
}

TEST_CASE("a view keeps its copy until the setting has changed") {
  all_kinds p;
  live_view<std::string> text(p.text);
  const std::string* const at = &text.get();
  CHECK(*at == "first");
  CHECK(text.get().data() == at->data());
  CHECK(p.apply_setting("text", value("second")).empty());
  CHECK(text.get() == "second");
  CHECK(p.apply_setting("text", value("third")).empty());
  CHECK(p.apply_setting("text", value("fourth")).empty());
  CHECK(text.get() == "fourth");
}

TEST_CASE("a change is received once, however many there were, and from when the object was made") {
  run_clean(with_procs(1), [] {
    all_kinds p;
    CHECK_FALSE(p.window.changes().try_recv());
    CHECK(p.apply_setting("window", value(2)).empty());
    CHECK(p.apply_setting("window", value(3)).empty());
    CHECK(p.apply_setting("text", value("x")).empty());
    CHECK(p.window.changes().size() == 1);
    CHECK(p.window.changes().recv()->number == 2);
    CHECK_FALSE(p.window.changes().try_recv());
    CHECK(p.text.changes().try_recv()->number == 1);
    CHECK_FALSE(p.window.changes().recv_until(1ms));
    CHECK(p.apply_setting("window", value(3)).empty());  // a set is a change
    CHECK(p.window.changes().try_recv()->number == 3);
    CHECK(p.window.changes().stats().received == 2);
  });
}

TEST_CASE("a select that waits is woken by its own setting, and stops like any other") {
  sweep_clean([] {
    const auto store = std::make_shared<setting_store>();
    const auto p = make<all_kinds>({.live = store});
    channel<int> seen(4), never_used;
    auto waits = spawn([&] {
      for (;;) {
        const int what = select(on_recv(never_used, [](int) {}),
                                on_recv(p->window.changes(), [&] { seen.send(p->window.get()); }));
        if (what < 0) return;
      }
    });
    for (int n = 10; n < 20; ++n) {
      CHECK(store->set(table_of("text", value("other"))).empty());
      CHECK(store->set(table_of("window", value(n))).empty());
      CHECK(seen.recv_until(patience) == n);
    }
    waits.request_stop();
    (void)waits.join();
    CHECK_FALSE(seen.try_recv());
  });
}

TEST_CASE("of several who wait at one end a change goes to one, and each object has its own end") {
  run_clean(with_procs(2), [] {
    const auto store = std::make_shared<setting_store>();
    const auto a = make<all_kinds>({.live = store}), b = make<all_kinds>({.live = store});
    std::atomic<int> of_a{0}, of_b{0};
    std::vector<task<void>> all;
    for (int i = 0; i < 3; ++i)
      all.push_back(spawn([&] {
        while (a->window.changes().recv()) ++of_a;
      }));
    all.push_back(spawn([&] {
      while (b->window.changes().recv()) ++of_b;
    }));
    for (int n = 1; n <= 20; ++n) {
      CHECK(store->set(table_of("window", value(n))).empty());
      CHECK(eventually([&] { return of_a == n && of_b == n; }));
    }
    for (auto& t : all) t.request_stop();
  });
}

TEST_CASE("an end that is closed lets its own waiters go, and no others") {
  run_clean(with_procs(1), [] {
    all_kinds p;
    auto closed = spawn([&] { return p.window.changes().recv().has_value(); });
    auto waits = spawn([&] { return p.text.changes().recv().has_value(); });
    yield();
    p.window.changes().base()->close();
    CHECK_FALSE(closed.get());
    CHECK(p.apply_setting("text", value("x")).empty());
    CHECK(waits.get());
  });
}

TEST_CASE("the incarnation after a failure has what was set") {
  class fails : public process {
   public:
    setting<int, live> level{this, "level", 1};
    in<int> go{this, "go"};
    out<int> seen{this, "seen"};
    void run() override {
      seen.send(*level);
      for (const int n : go)
        if (n == 0) throw std::runtime_error("a zero");
    }
  };
  run_clean(with_procs(2), [] {
    const auto store = std::make_shared<setting_store>();
    channel<int> go(4), seen(4);
    supervisor s;
    s.add<fails>("fails", {}, {.ports = {{"go", {go}}, {"seen", {seen}}}, .live = store});
    auto runs = spawn([&] { s.run(); });
    CHECK(seen.recv_until(patience) == 1);
    CHECK(store->set(table_of("level", value(7))).empty());
    go.send(0);
    CHECK(seen.recv_until(patience) == 7);
    go.close();
    (void)runs.join();
  });
}

namespace {

struct pair_of {
  std::string a = "0", b = "0";  // always the same
};
LEAT_SETTINGS(pair_of, a, b);

class stressed : public process {
 public:
  setting<std::int64_t, live> word{this, "word", 0};
  setting<pair_of, live> both{this, "both"};
  void run() override {}
};

value both_of(int n) {
  const std::string text = std::to_string(n) + std::string(40, 'x');  // on the heap
  value::table t;
  t.push_back({"a", {}, value(text)});
  t.push_back({"b", {}, value(text)});
  return value(std::move(t));
}

}  // namespace

// Setters and readers on Gs, and a setter on a plain thread; objects come and go meanwhile.
TEST_CASE("readers see whole values that never go back, and the last change is never missed") {
  const int sets = fiber::under_tsan ? 60 : 300;
  run_clean(with_procs(4), [&] {
    const auto store = std::make_shared<setting_store>();
    const auto p = make<stressed>({.live = store});
    std::atomic<bool> over{false};
    std::atomic<int> torn{0}, back{0}, woken{0};
    std::vector<task<void>> readers;
    const auto read = [&](auto value_of_both) {
      int last = 0;
      while (!over) {
        const auto& v = value_of_both();
        if (v.a != v.b) ++torn;
        const int n = std::stoi(v.a);
        if (n < last) ++back;
        last = n;
        yield();
      }
    };
    readers.push_back(spawn([&] { read([&] { return p->both.get(); }); }));
    readers.push_back(spawn([&] {
      live_view<pair_of> view(p->both);
      read([&]() -> const pair_of& { return view.get(); });
    }));
    readers.push_back(spawn([&] {
      std::int64_t last = 0;
      while (!over) {
        const std::int64_t n = p->word;
        if (n < last) ++back;
        last = n;
        yield();
      }
    }));
    std::atomic<std::int64_t> last_word{0};
    readers.push_back(spawn([&] {
      for (;;) {
        if (select(on_recv(p->word.changes(), [&] { last_word = *p->word; })) < 0) return;
        ++woken;
      }
    }));
    readers.push_back(spawn([&] {
      while (!over) {
        const auto next = make<stressed>({.live = store});
        const pair_of v = *next->both;
        if (v.a != v.b) ++torn;
        yield();
      }
    }));
    std::thread foreign([&] {
      for (int n = 1; n <= sets; ++n) CHECK(store->set(table_of("word", value(n))).empty());
    });
    for (int n = 1; n <= sets; ++n) {
      CHECK(store->set(table_of("both", both_of(n))).empty());
      if (n % 8 == 0) yield();
    }
    foreign.join();
    CHECK(eventually([&] { return last_word == sets; }));
    over = true;
    for (auto& r : readers) r.request_stop();
    for (auto& r : readers) (void)r.join();
    CHECK(torn.load() == 0);
    CHECK(back.load() == 0);
    CHECK(woken.load() > 0);
    CHECK(std::stoi(p->both.get().a) == sets);
    CHECK(*p->word == sets);
  });
}
