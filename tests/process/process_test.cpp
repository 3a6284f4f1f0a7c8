// SPDX-License-Identifier: BSL-1.0
#include <deque>
#include <numeric>

#include <leat/base/schema.hpp>

#include "csp/fixture.hpp"

using namespace leat::csp::test;

// --- as a user writes it -----------------------------------------------------------------------------------

struct sample {
  double celsius;
  std::int64_t at_ms;
};
LEAT_MESSAGE(sample, celsius, at_ms);

class smooth : public leat::process {
  leat::in<sample> raw{this, "raw"};
  leat::out<sample> clean{this, "clean"};
  leat::setting<int> window{this, "window", 8, "samples averaged", leat::between(1, 1024)};

  void run() override {
    std::deque<double> last;
    for (sample s : raw) {
      last.push_back(s.celsius);
      if (last.size() > static_cast<std::size_t>(window)) last.pop_front();
      s.celsius = std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
      clean.send(s);
    }
  }
};
LEAT_PROCESS(smooth, "moving average");

// -----------------------------------------------------------------------------------------------------------

namespace {

class ends : public leat::process {
 public:
  leat::in<int> numbers{this, "numbers", "what it reads", leat::optional_port};
  leat::out<int> more{this, "more", leat::exclusive_port};
  leat::out<std::unique_ptr<int>> boxes;
  void run() override {}
};

struct frame {
  std::unique_ptr<int> pixels;
};
LEAT_OPAQUE(frame);

class camera : public leat::process {
 public:
  leat::out<frame> frames{this, "frames"};
  void run() override {
    frame f{std::make_unique<int>(3)};
    frames.send(std::move(f));
  }
};
LEAT_PROCESS_AS("camera-sim", camera, "makes frames");

template <class F>
std::string wiring_refusal(F f) {
  try {
    f();
  } catch (const leat::wiring_error& e) {
    return e.what();
  }
  return "was wired";
}

}  // namespace

TEST_CASE("the documented process averages what it reads") {
  at_procs([] {
    const leat::channel<sample> raw(16), clean(16);
    const auto p =
        leat::make<smooth>({.name = "climate/filter",
                            .settings = leat::value(leat::value::table{{"window", {}, leat::value(2)}}),
                            .ports = {{"raw", {raw}}, {"clean", {clean}}}});
    CHECK(p->name() == "climate/filter");
    for (const double c : {10.0, 20.0, 40.0}) raw.send({c, 0});
    raw.close();
    static_cast<leat::process&>(*p).run();
    CHECK(*clean.recv() == sample{10, 0});
    CHECK(*clean.recv() == sample{15, 0});
    CHECK(*clean.recv() == sample{30, 0});
    CHECK_FALSE(clean.try_recv());
  });
}

TEST_CASE("in plain code a process is an object like any other, connected before it runs") {
  at_procs([] {
    const leat::channel<sample> raw(4), clean(4);
    smooth s;
    s.connect("raw", raw);
    s.connect("clean", clean);
    raw.send({5, 1});
    raw.close();
    static_cast<leat::process&>(s).run();
    CHECK(*clean.recv() == sample{5, 1});
  });
}

TEST_CASE("a port that is not connected is nil") {
  const ends e;
  CHECK_FALSE(e.numbers);
  CHECK_FALSE(e.more);
  CHECK_FALSE(e.numbers.try_recv());
}

TEST_CASE("a port costs no more than an end: connected to one channel it is that channel's") {
  const leat::channel<int> c(1);
  const auto e = leat::make<ends>({.ports = {{"numbers", {c}}}});
  CHECK(e->numbers.base() == c.base());
  CHECK(sizeof(leat::in<int>) == sizeof(void*));
}

TEST_CASE("a port at several channels receives from all, or sends to each") {
  at_procs([] {
    const leat::channel<int> a(2), b(2), x(2), y(2);
    const auto e = leat::make<ends>({.ports = {{"numbers", {a, b}}, {"more", {x, y}}}});
    a.send(1);
    b.send(2);
    CHECK(*e->numbers.recv() + *e->numbers.recv() == 3);
    CHECK(e->more.send(7) == leat::send_status::sent);
    CHECK(*x.recv() == 7);
    CHECK(*y.recv() == 7);
  });
}

TEST_CASE("what does not go together is refused, with the names of both") {
  const leat::channel<int> numbers(1, {.name = "counts"});
  CHECK(wiring_refusal([&] { (void)leat::make<smooth>({.name = "f", .ports = {{"raw", {numbers}}}}); }) ==
        "'f', port 'raw': channel 'counts' carries 'int32', not 'sample'");
  CHECK(wiring_refusal([&] { (void)leat::make<smooth>({.name = "f", .ports = {{"row", {numbers}}}}); }) ==
        "'f' has no port 'row'");
  smooth s;
  CHECK(wiring_refusal([&] { s.connect("row", numbers); }) ==
        "a process has no port 'row'; it has raw, clean");
  camera c;
  c.connect("frames", leat::channel<frame>(1));
  CHECK(wiring_refusal([&] { c.connect("frames", leat::channel<frame>(1)); }) ==
        "a process, port 'frames': 'frame' cannot be copied, so it can go to one channel only");
}

TEST_CASE("channels are made by the type of a port, without knowing it") {
  at_procs([] {
    const leat::process_class* const c = leat::find_process_class("smooth");
    REQUIRE(c);
    const leat::port_type* const t = c->find_port_type("raw");
    REQUIRE(t);
    CHECK(c->find_port_type("clean") == t);
    CHECK(c->find_port_type("windows") == nullptr);
    CHECK(t->message_name() == "sample");
    CHECK(t->value_size == sizeof(sample));

    const auto raw = leat::any_channel::make(*t, 4, {.writers = 1, .readers = 1, .name = "raw"});
    CHECK(raw.flavour() == leat::flavour::single);
    CHECK(raw.name() == "raw");
    const auto clean = leat::any_channel::make(leat::broadcast, *t, 4);
    const auto reader = clean.subscribe(2, leat::full::drop_oldest);
    const auto also = clean.reader<sample>();
    const auto p = c->make({.ports = {{"raw", {raw}}, {"clean", {clean}}}});
    CHECK(raw.send_json(R"({"celsius":4.0,"at_ms":1})") == leat::send_status::sent);
    CHECK_THROWS_AS(raw.send_json("{}"), leat::message_error);
    raw.close();
    p->run();
    CHECK(raw.stats().received == 1);
    std::string text;
    CHECK(reader.recv_json(text) == leat::recv_status::received);
    CHECK(text == R"({"celsius":4.0,"at_ms":1})");
    CHECK(*also.recv() == sample{4, 1});
    CHECK(clean.closed() == false);
    CHECK_THROWS_AS((void)raw.reader<int>(), leat::wiring_error);
  });
}

TEST_CASE("what is left in a channel can be thrown away") {
  const leat::channel<int> c(4);
  c.send(1);
  c.send(2);
  const leat::any_channel any(c);
  CHECK(any.discard() == 2);
  CHECK(any.size() == 0);
  CHECK(any.stats().received == 2);
}

TEST_CASE("replicas share a reader of a broadcast channel") {
  at_procs([] {
    const leat::any_channel hub = leat::any_channel::make(leat::broadcast, leat::ports::type_of<int>, 4);
    const leat::any_channel share = hub.subscribe(4);
    const auto a = leat::make<ends>({.ports = {{"numbers", {share}}}});
    const auto b = leat::make<ends>({.ports = {{"numbers", {share}}}});
    const auto apart = leat::make<ends>({.ports = {{"numbers", {hub}}}});
    const auto to = hub.writer<int>();
    to.send(1);
    to.send(2);
    CHECK(*a->numbers.recv() == 1);
    CHECK(*b->numbers.recv() == 2);
    CHECK(*apart->numbers.recv() == 1);
    CHECK(*apart->numbers.recv() == 2);
  });
}

TEST_CASE("values that only move travel between processes, and cannot be broadcast") {
  at_procs([] {
    const leat::process_class* const c = leat::find_process_class("camera-sim");
    REQUIRE(c);
    const leat::port_type& t = *c->find_port_type("frames");
    const auto frames = leat::any_channel::make(t, 2);
    c->make({.ports = {{"frames", {frames}}}})->run();
    CHECK(*frames.reader<frame>().recv()->pixels == 3);
    CHECK(wiring_refusal([&] { (void)leat::any_channel::make(leat::broadcast, t, 2, {.name = "video"}); }) ==
          "channel 'video': 'frame' cannot be copied, so not every reader can have it");
  });
}

TEST_CASE("a fresh object with the same wiring goes on where the last one stopped") {
  at_procs([] {
    const leat::channel<sample> raw(4), clean(4);
    const leat::process_options wiring{.ports = {{"raw", {raw}}, {"clean", {clean}}}};
    {
      const auto first = leat::make<smooth>(wiring);
    }
    raw.send({1, 1});
    raw.close();
    static_cast<leat::process&>(*leat::make<smooth>(wiring)).run();
    CHECK(*clean.recv() == sample{1, 1});
  });
}
