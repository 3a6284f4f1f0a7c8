// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/supervisor.hpp>

#include "sched/fixture.hpp"
#include "sched/overrun_fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

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

// Both say the same.
struct pair_of {
  std::int64_t a = 0;
  std::string b = "0";
};
LEAT_MESSAGE(pair_of, a, b);
class saves_pairs : public process {
 public:
  state<pair_of> pair{this, "pair"};
  state<std::int64_t> plain{this, "plain"};
  void run() override {}
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

namespace {

std::atomic<bool> held_up{true};
std::atomic<int> made_late{0};

struct counts_itself {
  counts_itself() { ++made_late; }
  int n = 0;
};
// Its constructor hangs on its way to a state.
class hangs_before_its_state : public process {
 public:
  hangs_before_its_state() {
    while (held_up) {
    }
  }
  void run() override {}
};
class has_it_later : public hangs_before_its_state {
 public:
  state<counts_itself> late{this, "late"};
};

// Below a frame of the C library, where its thread is neither left nor stopped: it comes back.
void make_below_qsort(const process_options& o) {
  static const process_options* with = nullptr;
  with = &o;
  int two[] = {2, 1};
  std::qsort(two, 2, sizeof two[0], [](const void*, const void*) {
    (void)make<has_it_later>(*with);
    return 0;
  });
}

}  // namespace

TEST_CASE("a constructor that comes back behind its fence adds no state to those of its successor") {
  process_options o;
  o.states = std::make_shared<state_store>();
  run_clean(with_procs(2), [&] {
    held_up = true;
    made_late = 0;
    auto first = spawn({.guard = guard_of(5ms, 5ms)}, [&] { make_below_qsort(o); });
    CHECK_THROWS_AS(first.get(), quarantined);
    make<adds>(o)->kept.save({7, 70});
    held_up = false;
    CHECK(eventually([] { return stats().fenced == 0; }));
    CHECK(made_late == 0);
    CHECK(make<adds>(o)->kept.load().sum == 70);
    CHECK(make<has_it_later>(o)->late.load().n == 0);
    CHECK(made_late == 1);
  });
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

TEST_CASE(
    "whoever writes a state to a file finds it whole beside all saves, and is told of the first since") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [] {
      constexpr std::int64_t last = 3000;
      process_options o;
      o.states = std::make_shared<state_store>();
      state_store::keeping k;
      k.read.push_back({"plain", to_cbor(std::int64_t{5})});
      const channel<char> wake = k.wake;
      o.states->keep(std::move(k));
      const auto p = make<saves_pairs>(o);
      CHECK(p->plain.load() == 5);
      std::int64_t written = 0;
      int wrong = 0;
      auto writer = spawn([&] {
        while (written < last) {
          if (!wake.recv()) return;
          for (const state_store::entry& e : o.states->all()) {
            if (e.name != "pair" || !e.box->take_unwritten()) continue;
            std::vector<std::uint8_t> cbor;
            e.box->write(cbor);
            const auto v = from_cbor<pair_of>(cbor);
            if (v.b != std::to_string(v.a) || v.a < written) ++wrong;
            written = v.a;
          }
        }
      });
      for (std::int64_t n = 1; n <= last; ++n) {
        p->pair.save({n, std::to_string(n)});
        if (n % 7 == 0) yield();
      }
      writer.get();
      CHECK(wrong == 0);
      CHECK(written == last);
    });
  }
}

TEST_CASE("a state that is to be kept must be described") {
  process_options o;
  o.states = std::make_shared<state_store>();
  o.states->keep({});
  CHECK_THROWS_WITH_AS(
      (void)make<adds>(o),
      "state 'kept' is of a type that cannot be written to a file: describe it by LEAT_MESSAGE or "
      "LEAT_SETTINGS",
      wiring_error);
}
