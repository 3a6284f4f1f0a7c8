// SPDX-License-Identifier: BSL-1.0
//
// The eleven scenarios of the scheduler's design, each told by the event rings and the statistics.
#include <future>
#include <thread>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched;
using namespace leat::sched::test;

namespace {

// A G that holds a P without entering the runtime until it is let go.
class hog {
 public:
  // At two Ps: returns when it runs beside the caller.
  hog() {
    task_ = spawn("hog", [this] {
      p = current_p();
      runs = true;
      (void)eventually_without_entering([&] { return over.load(); });
    });
    REQUIRE(eventually_without_entering([&] { return runs.load(); }));
  }
  void let_go() { over = true; }
  ~hog() { over = true; }

  std::atomic<unsigned> p{0};
  std::atomic<bool> runs{false}, over{false};

 private:
  task<void> task_;
};

std::uint32_t count_of(const event& stolen) { return stolen.arg & 0xffff; }
std::uint32_t victim_of(const event& stolen) { return stolen.arg >> 16; }

}  // namespace

TEST_CASE("scenario 1: a G that a G creates is queued on the same P") {
  run_clean(undisturbed(1), [] {
    std::uint64_t id = 0;
    const auto before = stats();
    auto t = spawn([&] { id = self().id; });
    CHECK(stats().local_lengths[0] == before.local_lengths[0] + 1);
    CHECK(stats().global_length == 0);
    t.get();
    const auto created = events_of(event_kind::created, id);
    REQUIRE(created.size() == 1);
    CHECK(created[0].p == current_p());
  });
}

TEST_CASE("scenario 2: when a G ends, the same thread runs the next one") {
  run_clean(undisturbed(1), [] {
    pid_t first = 0, second = 0;
    std::uint64_t a = 0, b = 0;
    const unsigned threads = stats().threads;
    auto g1 = spawn([&] {
      first = thread_id();
      a = self().id;
    });
    auto g2 = spawn([&] {
      second = thread_id();
      b = self().id;
    });
    g1.get();
    g2.get();
    CHECK(first == second);
    CHECK(stats().threads == threads);
    CHECK(events_of(event_kind::finished, a).size() == 1);
    REQUIRE(events_of(event_kind::run, b).size() == 1);
    CHECK(events_of(event_kind::run, a)[0].p == events_of(event_kind::run, b)[0].p);
  });
}

TEST_CASE("scenario 3: four Gs fit on a ring of four") {
  run_clean(undisturbed(1, 4), [] {
    int ran = 0;
    for (std::size_t i = 1; i <= 4; ++i) {
      go([&] { ++ran; });
      CHECK(stats().local_lengths[0] == i);
    }
    CHECK(stats().global_length == 0);
    CHECK(stats().overflows == 0);
    CHECK(eventually([&] { return ran == 4; }));
  });
}

TEST_CASE("scenario 4: the fifth moves half of the ring and itself to the global queue") {
  run_clean(undisturbed(1, 4), [] {
    std::vector<int> order;
    for (int i = 1; i <= 5; ++i) go([&order, i] { order.push_back(i); });
    CHECK(stats().local_lengths[0] == 2);
    CHECK(stats().global_length == 3);
    CHECK(stats().overflows == 1);
    const auto overflowed = events_of(event_kind::overflowed);
    REQUIRE(overflowed.size() == 1);
    CHECK(overflowed[0].arg == 3);
    const auto created = events_of(event_kind::created);
    REQUIRE(created.size() >= 5);
    CHECK(overflowed[0].g == created.back().g);
    CHECK(eventually([&] { return order.size() == 5; }));
    // The head of the ring was moved: 3 and 4 are still local, 1, 2 and 5 follow from the global queue.
    CHECK(order == std::vector<int>{3, 4, 1, 2, 5});
  });
}

TEST_CASE("scenario 5: one more is on the ring again") {
  run_clean(undisturbed(1, 4), [] {
    int ran = 0;
    for (int i = 0; i < 5; ++i) go([&] { ++ran; });
    REQUIRE(stats().local_lengths[0] == 2);
    go([&] { ++ran; });
    CHECK(stats().local_lengths[0] == 3);
    CHECK(stats().global_length == 3);
    CHECK(stats().overflows == 1);
    CHECK(eventually([&] { return ran == 6; }));
  });
}

TEST_CASE("scenario 6: a G created while a P is idle wakes a thread, which takes the P and searches") {
  run_clean(undisturbed(2), [] {
    CHECK(eventually([] { return stats().idle_procs == 1 && stats().spinning == 0; }));
    const auto before = stats();
    const unsigned here = current_p();
    const pid_t me = thread_id();
    std::atomic<unsigned> p{0};
    std::atomic<pid_t> thread{0};
    std::atomic<std::uint64_t> id{0};
    auto t = spawn([&] {
      p = current_p();
      id = self().id;
      thread = thread_id();
    });
    REQUIRE(eventually_without_entering([&] { return thread != 0; }));
    CHECK(thread != me);
    CHECK(p != here);
    CHECK(stats().wakes > before.wakes);
    CHECK(stats().most_spinning >= 1);
    const auto stolen = events_of(event_kind::stolen, id);
    REQUIRE(stolen.size() == 1);
    CHECK(stolen[0].p == p);
    CHECK(victim_of(stolen[0]) == here);
    t.get();
  });
}

TEST_CASE("scenario 7: a thread that finds the global queue filled takes its share, at most half a ring") {
  struct row {
    int queued;
    std::uint32_t taken;  // min(len/procs + 1, cap/2), at two Ps and a ring of 8
  };
  for (const row r : {row{1, 1}, row{2, 2}, row{4, 3}, row{5, 3}, row{6, 4}, row{12, 4}, row{100, 4}}) {
    CAPTURE(r.queued);
    run_clean(undisturbed(2, 8), [&] {
      hog other;
      std::atomic<int> ran{0};
      const std::size_t before = events_on(other.p, event_kind::took_global).size();
      from_outside(r.queued, [&] { ++ran; });
      REQUIRE(stats().global_length == static_cast<std::size_t>(r.queued));
      other.let_go();
      REQUIRE(eventually_without_entering([&] { return ran == r.queued; }));
      const auto took = events_on(other.p, event_kind::took_global);
      REQUIRE(took.size() > before);
      CHECK(took[before].arg == r.taken);
    });
  }
}

TEST_CASE("scenario 8: with nothing of its own and nothing global it steals half of another ring") {
  for (const int queued : {1, 2, 3, 10, 11, 60}) {
    CAPTURE(queued);
    run_clean(undisturbed(2), [&] {
      hog other;
      const unsigned here = current_p();
      std::atomic<int> ran{0};
      const std::size_t before = events_on(other.p, event_kind::stolen).size();
      const auto was = stats();
      for (int i = 0; i < queued; ++i) go([&] { ++ran; });
      REQUIRE(stats().local_lengths[here] == static_cast<std::size_t>(queued));
      other.let_go();
      REQUIRE(eventually_without_entering([&] { return ran == queued; }));
      const auto stolen = events_on(other.p, event_kind::stolen);
      REQUIRE(stolen.size() > before);
      CHECK(count_of(stolen[before]) == static_cast<std::uint32_t>(queued - queued / 2));
      CHECK(victim_of(stolen[before]) == here);
      CHECK(stats().stolen_gs - was.stolen_gs == static_cast<std::uint64_t>(queued));
      CHECK(stats().steals > was.steals);
    });
  }
}

TEST_CASE("scenario 9: no more threads spin than allowed, and the surplus sleeps") {
  for (const unsigned limit : {0u, 1u, 2u, 4u}) {
    CAPTURE(limit);
    runtime_options o = with_procs(4);
    o.spinning = limit;
    run_clean(o, [&] {
      for (int round = 0; round < 50; ++round) {
        std::atomic<int> ran{0};
        for (int i = 0; i < 16; ++i) go([&] { ++ran; });
        REQUIRE(eventually([&] { return ran == 16; }));
        CHECK(stats().spinning <= limit);
      }
      CHECK(stats().most_spinning <= limit);
      CHECK(eventually([] {
        const auto s = stats();
        return s.spinning == 0 && s.idle_procs == 3 && s.idle_threads == s.threads - 1;
      }));
    });
  }
}

TEST_CASE("scenario 10: a declared blocking call hands its P with work to another thread at once") {
  run_clean(undisturbed(1), [] {
    std::promise<pid_t> other;
    go([&] { other.set_value(thread_id()); });
    const auto before = stats();
    auto answer = other.get_future();
    const pid_t me = thread_id();
    const bool came = blocking([&] { return answer.wait_for(patience) == std::future_status::ready; });
    REQUIRE(came);
    CHECK(answer.get() != me);
    CHECK(events_of(event_kind::handed_off, self().id).size() == 1);
    CHECK(stats().retakes == before.retakes);
  });
}

TEST_CASE("scenario 10: a declared call without other work loses its P after a tick, when work comes") {
  run_clean(undisturbed(1), [] {
    const std::uint64_t me = self().id;
    const bool came = blocking([&] {
      std::promise<void> ran;
      go([&] { ran.set_value(); });
      return ran.get_future().wait_for(patience) == std::future_status::ready;
    });
    CHECK(came);
    CHECK(events_of(event_kind::handed_off, me).empty());
    CHECK(events_of(event_kind::retaken, me).size() == 1);
  });
}

TEST_CASE("scenario 10: an undeclared blocking call loses its P within a slice") {
  runtime_options o = with_procs(1);
  o.slice = 1ms;
  run_clean(o, [] {
    int pipe[2];
    REQUIRE(::pipe(pipe) == 0);
    const std::uint64_t me = self().id;
    go([&] { CHECK(::write(pipe[1], "x", 1) == 1); });
    char c = 0;
    CHECK(::read(pipe[0], &c, 1) == 1);  // nobody else could ever write at one P
    CHECK(stats().retakes >= 1);
    CHECK(events_of(event_kind::retaken, me).size() >= 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
  });
}

TEST_CASE("scenario 11: a returning call takes its old P when that is free") {
  run_clean(undisturbed(2), [] {
    for (int i = 0; i < 20; ++i) {
      const unsigned before = current_p();
      const pid_t thread = thread_id();
      // Until sysmon has taken the P away, or never, if it does not bother.
      blocking([] { std::this_thread::sleep_for(200us); });
      CHECK(current_p() == before);
      CHECK(thread_id() == thread);
    }
  });
}

TEST_CASE("scenario 11: else it takes an idle P") {
  run_clean(undisturbed(2), [] {
    hog other;
    const unsigned old_p = current_p();
    std::atomic<bool> runs{false}, over{false};
    auto second = spawn([&] {
      runs = true;
      (void)eventually_without_entering([&] { return over.load(); });
    });
    const pid_t thread = thread_id();
    const bool arranged = blocking([&] {
      if (!eventually([&] { return runs.load(); })) return false;  // on the P handed off
      other.let_go();
      return eventually([] { return stats().idle_procs == 1; });
    });
    REQUIRE(arranged);
    CHECK(current_p() == other.p);
    CHECK(current_p() != old_p);
    CHECK(thread_id() == thread);
    over = true;
    second.get();
  });
}

TEST_CASE("scenario 11: else its G goes to the global queue and the thread sleeps") {
  run_clean(undisturbed(1), [] {
    const std::uint64_t me = self().id;
    std::atomic<bool> runs{false}, queued{false};
    auto second = spawn([&] {
      runs = true;
      queued =
          eventually_without_entering([] { return stats().global_length == 1 && stats().idle_threads == 1; });
    });
    CHECK(blocking([&] { return eventually([&] { return runs.load(); }); }));
    CHECK(queued);
    CHECK(events_of(event_kind::took_global, me).size() >= 1);
    second.get();
  });
}
