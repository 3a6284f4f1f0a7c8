// SPDX-License-Identifier: BSL-1.0
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/supervisor.hpp>

#include "sched/fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

struct totals {
  int count = 0;
  int sum = 0;
};

// Its assignment can be cut short.
struct fragile {
  fragile() = default;
  fragile(const fragile& other) : text(other.text) {
    if (other.breaks) throw std::runtime_error("cut short");
  }
  fragile& operator=(const fragile&) = delete;
  std::string text = "first";
  bool breaks = false;
};

class adds : public process {
 public:
  state<totals> kept{this, "kept"};
  state<std::vector<std::string>> words{this, "words"};
  in<int> from{this, "from", optional_port};

  void run() override {
    totals t = kept.load();
    for (const int n : from) {
      ++t.count;
      t.sum += n;
      kept.save(t);
      auto all = words.load();
      all.push_back(std::to_string(n));
      words.save(all);
      if (n == 0) throw std::runtime_error("a zero");
    }
  }
};

class other_type : public process {
 public:
  state<int> kept{this, "kept"};
  void run() override {}
};

}  // namespace

TEST_CASE("a state is default-constructed at first, and keeps what was saved last") {
  adds a;
  CHECK(a.kept.load().count == 0);
  CHECK(a.words.load().empty());
  a.kept.save({1, 2});
  a.kept.save({3, 4});
  a.words.save({"x"});
  CHECK(a.kept.load().count == 3);
  CHECK(a.words.load() == std::vector<std::string>{"x"});
  CHECK(adds().kept.load().count == 0);  // without a store each object has its own
}

TEST_CASE("objects with one store hand their states on") {
  process_options o;
  o.states = std::make_shared<state_store>();
  make<adds>(o)->kept.save({7, 70});
  make<adds>(o)->words.save({"a", "b"});
  const auto next = make<adds>(o);
  CHECK(next->kept.load().sum == 70);
  CHECK(next->words.load().size() == 2);
}

TEST_CASE("one name cannot be two things") {
  process_options o;
  o.states = std::make_shared<state_store>();
  (void)make<adds>(o);
  CHECK_THROWS_WITH_AS(make<other_type>(o), "state 'kept' is there with another type", wiring_error);
}

TEST_CASE("a save that was cut short never happened") {
  states::box<fragile> b;
  fragile next;
  next.text = "second";
  b.save(next);
  next.text = "third";
  next.breaks = true;
  CHECK_THROWS(b.save(next));
  CHECK(b.load().text == "second");
}

TEST_CASE("a supervised process goes on where its last incarnation was") {
  log_catcher log;
  sweep([](const runtime_options& o) {
    run_clean(o, [] {
      const channel<int> numbers(16);
      auto store = std::make_shared<state_store>();
      supervisor s("test");
      process_options with;
      with.states = store;
      with.ports.push_back({"from", {numbers}});
      child_options quick;
      quick.restart.backoff = 0s;
      s.add<adds>("adds", quick, with);
      for (const int n : {1, 2, 0, 3, 0, 4}) numbers.send(n);
      numbers.close();
      s.run();
      CHECK(s.report()[0].failures == 2);
      CHECK(s.report()[0].runs == 3);
      process_options look;
      look.states = store;
      const auto after = make<adds>(look);
      CHECK(after->kept.load().count == 6);
      CHECK(after->kept.load().sum == 10);
      CHECK(after->words.load() == std::vector<std::string>{"1", "2", "0", "3", "0", "4"});
    });
  });
}
