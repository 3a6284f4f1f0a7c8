// SPDX-License-Identifier: BSL-1.0
#include <leat/control/blame.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

namespace leat::control {
namespace {

using kind = activity::kind;
constexpr std::int64_t ms = 1'000'000;

activity computes() { return {}; }
activity sleeps(std::int64_t age = 0) { return {.what = kind::timer, .age = age}; }
activity waits_for_network(std::string peer) { return {.what = kind::network, .detail = std::move(peer)}; }
activity waits_for_lock() { return {.what = kind::lock}; }
activity receives(std::vector<queue_index> from) {
  return {.what = kind::receives, .queues = std::move(from)};
}
activity is_blocked_at(std::vector<queue_index> queues) {
  return {.what = kind::sends, .queues = std::move(queues)};
}
activity is_restarted(std::string why) { return {.what = kind::restarts, .detail = std::move(why)}; }
activity is_away() { return {.what = kind::is_away}; }

// A deployment that does what the test says, looked at ten times a second.
class stage {
 public:
  process_index process(unsigned replicas = 1) {
    for (unsigned i = 0; i < replicas; ++i) {
      graph_.process_of.push_back(processes_);
      now_.push_back(computes());
    }
    return processes_++;
  }
  queue_index queue(std::vector<process_index> writers, std::vector<process_index> readers,
                    bool blocks = true) {
    graph_.queues.push_back({std::move(writers), std::move(readers), blocks});
    dropped_.push_back(0);
    return static_cast<queue_index>(graph_.queues.size() - 1);
  }
  // By replica; those of process 0 come first.
  void does(replica_index r, activity a) { now_[r] = std::move(a); }
  void drops(queue_index q, std::uint64_t n) { dropped_[q] += n; }
  void look() {
    if (!machine_) machine_ = std::make_unique<blame_machine>(graph_);
    at_ += 100 * ms;
    machine_->add({at_, now_, dropped_});
  }
  void look(int times) {
    for (int i = 0; i < times; ++i) look();
  }
  // A whole window of it.
  std::vector<verdict> verdicts() {
    look(14);
    return machine_->verdicts();
  }
  blame_machine& machine() { return *machine_; }

 private:
  blame_graph graph_;
  process_index processes_ = 0;
  std::vector<activity> now_;
  std::vector<std::uint64_t> dropped_;
  std::int64_t at_ = 1000 * ms;
  std::unique_ptr<blame_machine> machine_;
};

std::vector<process_index> sorted(std::vector<process_index> v) {
  std::sort(v.begin(), v.end());
  return v;
}
using victims = std::vector<process_index>;

TEST_CASE("a reader that computes while its writer is blocked is to blame") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow});
  s.does(0, is_blocked_at({q}));
  s.does(1, computes());
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 1);
  CHECK(all[0].queue == q);
  CHECK(all[0].victims == victims{source});
  CHECK(all[0].does == kind::computes);
  CHECK(all[0].share == doctest::Approx(1));
  CHECK(!all[0].drops);
  CHECK(!all[0].one_of_several);
  CHECK(all[0].held >= std::chrono::seconds(1));
}

TEST_CASE("what it does most is told, with its share and its peer") {
  stage s;
  const auto source = s.process(), post = s.process();
  const auto q = s.queue({source}, {post});
  s.does(0, is_blocked_at({q}));
  for (int i = 0; i < 15; ++i) {
    s.does(1, i % 5 == 0 ? computes() : waits_for_network("10.0.0.7:443"));
    s.look();
  }
  const auto all = s.machine().verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].does == kind::network);
  CHECK(all[0].detail == "10.0.0.7:443");
  CHECK(all[0].share > 0.7);
  CHECK(all[0].share < 0.9);
}

TEST_CASE("who is blocked himself is a victim: the last of the chain is to blame") {
  stage s;
  const auto source = s.process(), middle = s.process(), sink = s.process();
  const auto first = s.queue({source}, {middle}), second = s.queue({middle}, {sink});
  s.does(0, is_blocked_at({first}));
  s.does(1, is_blocked_at({second}));
  s.does(2, sleeps());
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 2);
  CHECK(all[0].queue == second);
  CHECK(sorted(all[0].victims) == victims{source, middle});
  CHECK(all[0].does == kind::timer);
}

TEST_CASE("in a diamond whose end is slow, the end is named once with all the others as victims") {
  stage s;
  const auto fork = s.process(), left = s.process(), right = s.process(), join = s.process();
  const auto to_left = s.queue({fork}, {left}), to_right = s.queue({fork}, {right});
  const auto from_left = s.queue({left}, {join}), from_right = s.queue({right}, {join});
  s.does(0, is_blocked_at({to_left, to_right}));
  s.does(1, is_blocked_at({from_left}));
  s.does(2, is_blocked_at({from_right}));
  s.does(3, waits_for_lock());
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 3);
  CHECK(sorted(all[0].victims) == victims{fork, left, right});
  CHECK(all[0].does == kind::lock);
}

TEST_CASE("in a diamond with one slow side, that side is to blame and not the end that waits for it") {
  stage s;
  const auto fork = s.process(), left = s.process(), right = s.process(), join = s.process();
  const auto to_left = s.queue({fork}, {left}), to_right = s.queue({fork}, {right});
  const auto from_left = s.queue({left}, {join}), from_right = s.queue({right}, {join});
  (void)to_right;
  s.does(0, is_blocked_at({to_left}));
  s.does(1, computes());
  s.does(2, is_blocked_at({from_right}));
  s.does(3, receives({from_left}));
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 1);
  CHECK(all[0].does == kind::computes);
  CHECK(sorted(all[0].victims) == victims{fork, right, join});
}

TEST_CASE("the slow side is found behind others that get nothing either") {
  stage s;
  const auto fork = s.process(), left = s.process(), after = s.process(), right = s.process(),
             join = s.process();
  const auto to_left = s.queue({fork}, {left}), to_after = s.queue({left}, {after}),
             from_after = s.queue({after}, {join});
  const auto to_right = s.queue({fork}, {right}), from_right = s.queue({right}, {join});
  (void)to_right;
  s.does(0, is_blocked_at({to_left}));
  s.does(1, sleeps());
  s.does(2, receives({to_after}));
  s.does(3, is_blocked_at({from_right}));
  s.does(4, receives({from_after}));
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 1);
  CHECK(sorted(all[0].victims) == victims{fork, right, join});
}

TEST_CASE(
    "one who waits for another queue, to which nobody is held up, is to blame, and the queue is named") {
  stage s;
  const auto fast = s.process(), seldom = s.process(), join = s.process();
  const auto many = s.queue({fast}, {join}), few = s.queue({seldom}, {join});
  s.does(0, is_blocked_at({many}));
  s.does(1, sleeps());
  s.does(2, receives({few}));
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 2);
  CHECK(all[0].does == kind::receives);
  CHECK(all[0].waits_at == few);
  CHECK(all[0].victims == victims{fast});
}

TEST_CASE("two that wait for each other's queues are both told, and none of it loops") {
  stage s;
  const auto a = s.process(), b = s.process(), left = s.process(), right = s.process();
  const auto to_left = s.queue({a}, {left}), to_right = s.queue({b}, {right});
  const auto across = s.queue({left}, {right}), back = s.queue({right}, {left});
  s.does(0, is_blocked_at({to_left}));
  s.does(1, is_blocked_at({to_right}));
  s.does(2, receives({back}));
  s.does(3, receives({across}));
  CHECK(s.verdicts().size() == 2);
}

TEST_CASE("one who waits at a channel of its own is to blame without a queue") {
  stage s;
  const auto source = s.process(), sink = s.process();
  const auto q = s.queue({source}, {sink});
  s.does(0, is_blocked_at({q}));
  s.does(1, receives({}));
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].does == kind::receives);
  CHECK(all[0].waits_at == no_queue);
}

TEST_CASE("a cycle in which all are blocked has no culprit") {
  stage s;
  const auto a = s.process(), b = s.process();
  const auto there = s.queue({a}, {b}), back = s.queue({b}, {a});
  s.does(0, is_blocked_at({there}));
  s.does(1, is_blocked_at({back}));
  CHECK(s.verdicts().empty());
}

TEST_CASE("a queue that drops holds up nobody, but its slow reader and the rate are told") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow}, false);
  s.does(0, sleeps());
  s.does(1, computes());
  for (int i = 0; i < 15; ++i) {
    s.drops(q, 5);
    s.look();
  }
  const auto all = s.machine().verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].drops);
  CHECK(all[0].culprit == 1);
  CHECK(all[0].drop_rate == doctest::Approx(50));
  CHECK(all[0].victims.empty());
}

TEST_CASE("a queue that dropped once, or whose reader waits for values, is not told of") {
  stage s;
  const auto source = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader}, false);
  s.does(0, sleeps());
  SUBCASE("once") {
    s.does(1, computes());
    s.look(3);
    s.drops(q, 1000);
  }
  SUBCASE("its reader waits") {
    s.does(1, receives({q}));
    for (int i = 0; i < 14; ++i) {
      s.drops(q, 1);
      s.look();
    }
  }
  CHECK(s.verdicts().empty());
}

TEST_CASE("the reader of a queue that drops may itself be held up: then it is a victim") {
  stage s;
  const auto source = s.process(), middle = s.process(), sink = s.process();
  const auto lossy = s.queue({source}, {middle}, false), second = s.queue({middle}, {sink});
  s.does(0, sleeps());
  s.does(1, is_blocked_at({second}));
  s.does(2, computes());
  for (int i = 0; i < 15; ++i) {
    s.drops(lossy, 2);
    s.look();
  }
  for (const verdict& v : s.machine().verdicts()) CHECK(v.culprit == 2);
  CHECK(s.machine().verdicts().size() == 2);  // who is held up, and what is lost
}

TEST_CASE("bursts that the reader works off are no fault") {
  stage s;
  const auto source = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader});
  for (const int busy : {1, 3, 6}) {  // tenths of a second out of ten
    for (int i = 0; i < 60; ++i) {
      const bool burst = i % 10 < busy;
      s.does(0, burst ? is_blocked_at({q}) : sleeps());
      s.does(1, burst ? computes() : receives({q}));
      s.look();
      CHECK(s.machine().verdicts().empty());
    }
  }
}

TEST_CASE("a queue that is full by chance while its reader waits for values is no fault") {
  stage s;
  const auto source = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader});
  s.does(0, is_blocked_at({q}));
  s.does(1, receives({q}));
  CHECK(s.verdicts().empty());
}

TEST_CASE("a select that would take a value from the queue is not busy with something else") {
  stage s;
  const auto source = s.process(), other = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader}), second = s.queue({other}, {reader});
  s.does(0, is_blocked_at({q}));
  s.does(1, sleeps());
  s.does(2, receives({second, q}));
  CHECK(s.verdicts().empty());
}

TEST_CASE("one slow replica of three is named; three that are alike are named as one process") {
  stage s;
  const auto source = s.process(), workers = s.process(3);
  const auto q = s.queue({source}, {workers});
  s.does(0, is_blocked_at({q}));
  bool expected = false;
  SUBCASE("one of them is slow") {
    s.does(1, sleeps(5 * ms));
    s.does(2, sleeps(200 * ms));
    s.does(3, sleeps(4 * ms));
    expected = true;
  }
  SUBCASE("the others compute") {
    s.does(1, computes());
    s.does(2, sleeps(200 * ms));
    s.does(3, computes());
    expected = true;
  }
  SUBCASE("all are as slow") {
    for (replica_index r = 1; r <= 3; ++r) s.does(r, sleeps(200 * ms));
  }
  SUBCASE("one is at the beginning of a long wait, the others at the end of theirs") {
    s.does(1, sleeps(100 * ms));
    s.does(2, sleeps(1900 * ms));
    s.does(3, sleeps(400 * ms));
  }
  SUBCASE("one is a little slower") {
    s.does(1, sleeps(40 * ms));
    s.does(2, sleeps(60 * ms));
    s.does(3, sleeps(40 * ms));
  }
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].one_of_several == expected);
  if (expected) CHECK(all[0].culprit == 2);
  CHECK(all[0].victims == victims{source});
}

TEST_CASE("a reader that is being restarted is to blame, with its failure") {
  stage s;
  const auto source = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader});
  s.does(0, is_blocked_at({q}));
  s.does(1, is_restarted("no sensor"));
  const auto all = s.verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].culprit == 1);
  CHECK((all[0].does == kind::restarts));
  CHECK(all[0].detail == "no sensor");
  CHECK(all[0].victims == victims{source});
  // For a moment it is no fault.
  stage quick;
  (void)quick.process(), (void)quick.process();
  (void)quick.queue({source}, {reader});
  for (int i = 0; i < 20; ++i) {
    quick.does(0, i % 4 == 0 ? is_blocked_at({q}) : computes());
    quick.does(1, i % 4 == 0 ? is_restarted("no sensor") : receives({q}));
    quick.look();
  }
  CHECK(quick.machine().verdicts().empty());
}

TEST_CASE("a reader that has ended is told of elsewhere, as a failure") {
  stage s;
  const auto source = s.process(), reader = s.process();
  const auto q = s.queue({source}, {reader});
  s.does(0, is_blocked_at({q}));
  s.does(1, is_away());
  CHECK(s.verdicts().empty());
  // And when it is back and slow, it is to blame.
  s.does(1, computes());
  CHECK(s.verdicts().size() == 1);
}

TEST_CASE("two that have nothing to do with each other are both named, the longer one first") {
  stage s;
  const auto a = s.process(), slow_a = s.process(), b = s.process(), slow_b = s.process();
  const auto qa = s.queue({a}, {slow_a}), qb = s.queue({b}, {slow_b});
  s.does(0, sleeps());
  s.does(1, receives({qa}));
  s.does(2, is_blocked_at({qb}));
  s.does(3, computes());
  s.look(5);
  s.does(0, is_blocked_at({qa}));
  s.does(1, sleeps());
  const auto all = s.verdicts();
  REQUIRE(all.size() == 2);
  CHECK(all[0].culprit == 3);
  CHECK(all[1].culprit == 1);
  CHECK(all[0].held > all[1].held);
}

TEST_CASE("nothing is said before it has lasted for most of a window, and nothing after it has ended") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow});
  s.does(0, is_blocked_at({q}));
  for (int i = 0; i < 9; ++i) {
    s.look();
    CHECK(s.machine().verdicts().empty());
    CHECK(s.machine().suspects());
  }
  s.look(2);
  CHECK(s.machine().verdicts().size() == 1);
  s.does(0, sleeps());
  s.does(1, receives({q}));
  s.look(7);
  CHECK(s.machine().verdicts().empty());
  CHECK(!s.machine().suspects());
}

TEST_CASE("a sender that is caught between two full moments ends nothing") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow});
  s.does(1, computes());
  for (int i = 0; i < 40; ++i) {
    s.does(0, i % 7 == 3 ? computes() : is_blocked_at({q}));
    s.look();
  }
  const auto all = s.machine().verdicts();
  REQUIRE(all.size() == 1);
  CHECK(all[0].held > std::chrono::seconds(3));
}

TEST_CASE("on a busy machine, where a woken sender waits for a CPU, a verdict stays once it was found") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow});
  s.does(0, is_blocked_at({q}));
  CHECK(s.verdicts().size() == 1);
  for (int i = 0; i < 30; ++i) {
    s.does(0, i % 3 == 0 ? computes() : is_blocked_at({q}));
    s.look();
    CHECK(s.machine().verdicts().size() == 1);
  }
}

TEST_CASE("what was forgotten says nothing any more") {
  stage s;
  const auto source = s.process(), slow = s.process();
  const auto q = s.queue({source}, {slow});
  s.does(0, is_blocked_at({q}));
  CHECK(s.verdicts().size() == 1);
  s.machine().forget();
  CHECK(s.machine().verdicts().empty());
  s.look();
  CHECK(s.machine().verdicts().empty());
}

TEST_CASE("queues that nobody reads, and processes without queues, are no trouble") {
  stage s;
  const auto source = s.process(), lonely = s.process();
  (void)lonely;
  const auto q = s.queue({source}, {});
  s.does(0, is_blocked_at({q}));
  CHECK(s.verdicts().empty());
}

}  // namespace
}  // namespace leat::control
