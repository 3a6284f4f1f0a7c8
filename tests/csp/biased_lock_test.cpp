// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/biased_lock.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <thread>

#include "../sched/fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using csp::biased_lock;
using csp::seat_of;
using sched::seat;

namespace {

constexpr int enough = 512;  // sections of one M in a row, for a lock that was never revoked

std::unique_ptr<biased_lock> fresh_lock() { return std::make_unique<biased_lock>(); }

// What the lock guards, and whether it does.
struct guarded {
  long count = 0;
  std::atomic<int> inside{0};
  std::atomic<int> together{0};

  void use() {
    if (inside.fetch_add(1, std::memory_order_relaxed) != 0) together.fetch_add(1, std::memory_order_relaxed);
    ++count;
    inside.fetch_sub(1, std::memory_order_relaxed);
  }
};

void use_with(biased_lock& l, seat* mine, guarded& g, int times) {
  for (int i = 0; i < times; ++i) {
    l.lock(mine);
    g.use();
    l.unlock();
  }
}

bool biases_here() {
  sched::prepare_barriers();
  return fiber::under_tsan || sched::detail::membarrier_works.load();
}

// A thread with a seat, as an M has one.
struct seated {
  seat* mine = sched::take_seat();
  ~seated() { sched::leave_seat(*mine); }
};

}  // namespace

TEST_CASE("a lock is biased to the one who alone uses it, until another comes") {
  if (!biases_here()) return;  // a kernel without membarrier: it stays thin
  const seated a, b;
  auto l = fresh_lock();
  guarded g;
  use_with(*l, a.mine, g, enough);
  CHECK(l->is_biased());
  use_with(*l, b.mine, g, 1);
  CHECK_FALSE(l->is_biased());
  use_with(*l, a.mine, g, enough);
  CHECK_FALSE(l->is_biased());  // it takes longer the second time
  use_with(*l, a.mine, g, 16 * enough);
  CHECK(l->is_biased());
  CHECK(g.count == 18 * enough + 1);
}

TEST_CASE("a lock that two use by turns is fetched a handful of times in its life") {
  const seated a, b;
  auto l = fresh_lock();
  guarded g;
  int fetched = 0;
  for (int turns = 0; turns < 1'000; ++turns) {
    use_with(*l, a.mine, g, 1'000);
    fetched += l->is_biased();
    use_with(*l, b.mine, g, 1'000);
    fetched += l->is_biased();
  }
  CHECK(fetched <= 1);  // after 256 sections in a row, the next time not before 4096
}

TEST_CASE("no lock is biased to one who has no seat") {
  auto l = fresh_lock();
  guarded g;
  use_with(*l, nullptr, g, 10 * enough);
  CHECK_FALSE(l->is_biased());
}

TEST_CASE("looks do not keep a lock from being biased again") {
  if (!biases_here()) return;
  const seated a;
  auto l = fresh_lock();
  guarded g;
  for (int looks = 0; looks < 40; ++looks) {
    use_with(*l, a.mine, g, 5'000);
    REQUIRE(l->is_biased());
    l->lock_to_look();  // this thread is no M
    l->unlock();
    REQUIRE_FALSE(l->is_biased());
  }
}

TEST_CASE("the only user may look as often as it likes, and the lock is biased to it") {
  if (!biases_here()) return;
  const seated a;
  auto l = fresh_lock();
  guarded g;
  for (int n = 0; n < enough; ++n) {
    use_with(*l, a.mine, g, 1);
    if (l->is_biased()) break;
    l->lock_to_look();
    l->unlock();
  }
  CHECK(l->is_biased());
}

TEST_CASE("a lock that is taken under another, both biased to one seat, does not let go of that") {
  if (!biases_here()) return;
  const seated a, b;
  // The ranks are of locks that may be held together.
  biased_lock outer(lock_rank::channel), inner(lock_rank::timers);
  guarded g;
  use_with(outer, a.mine, g, enough);
  use_with(inner, a.mine, g, enough);
  REQUIRE(outer.is_biased());
  REQUIRE(inner.is_biased());
  outer.lock(a.mine);
  inner.lock(a.mine);
  inner.unlock();
  std::atomic<bool> got_it{false};
  std::thread other([&] {
    outer.lock(b.mine);
    got_it = true;
    outer.unlock();
  });
  std::this_thread::sleep_for(20ms);
  CHECK_FALSE(got_it);
  outer.unlock();
  other.join();
  CHECK(got_it);
}

TEST_CASE("where there is one P, a lock is biased when it is made, until another comes") {
  if (!biases_here()) return;
  biased_lock on_a_plain_thread;
  on_a_plain_thread.bias_if_alone();
  CHECK_FALSE(on_a_plain_thread.is_biased());
  for (const unsigned procs : {1u, 2u}) {
    CAPTURE(procs);
    run(with_procs(procs), [&] {
      biased_lock l;
      l.bias_if_alone();
      CHECK(l.is_biased() == (procs == 1));
      guarded g;
      use_with(l, csp::seat_here(), g, 10);
      l.lock();
      std::atomic<bool> got_it{false};
      std::thread other([&] {
        const seated b;
        use_with(l, b.mine, g, 1);
        got_it = true;
      });
      std::this_thread::sleep_for(5ms);
      CHECK_FALSE(got_it);
      l.unlock();
      other.join();
      CHECK_FALSE(l.is_biased());
      use_with(l, csp::seat_here(), g, 10);
      CHECK(g.count == 21);
      CHECK(g.together == 0);
    });
  }
}

TEST_CASE("after a lock that was biased when it was made, and should not have been, some are not") {
  if (!biases_here()) return;
  runtime_options o = with_procs(1);
  o.slice = 10s;  // without its P nothing is biased: on a busy machine it must not be retaken
  run(o, [&] {
    const auto is_biased_when_made = [] {
      biased_lock l;
      l.bias_if_alone();
      return l.is_biased();
    };
    REQUIRE(is_biased_when_made());
    biased_lock mistaken;
    mistaken.bias_if_alone();
    {
      // From here, too: if this thread waited for another one, its P would be retaken.
      const seated b;
      mistaken.lock(b.mine);
      mistaken.unlock();
    }
    int others = 0;
    while (!is_biased_when_made() && others < 1000) ++others;
    CHECK(others == 64);
    guarded g;
    use_with(mistaken, csp::seat_here(), g, enough);
    CHECK(mistaken.is_biased());  // as soon as any other
  });
}

TEST_CASE("where there is one P, channels are right for all who come to them") {
  run(with_procs(1), [] {
    constexpr int rounds = 300;
    const keep_alive while_the_thread_answers;
    // Asks over a way there, and is answered over a way back that is made for each: by a G beside it, one
    // with a thread of its own, a plain thread.
    struct question {
      int value = 0;
      out<int> back;
    };
    const channel<question> ask;
    const auto answers = [ask] {
      for (question& q : ask) (void)q.back.send(q.value + 1);
    };
    auto beside = spawn(answers);
    auto apart = spawn({.thread = own_thread{}}, answers);
    std::thread plain(answers);
    const auto asks = [&](int from) {
      for (int i = from; i < from + rounds; ++i) {
        const channel<int> back;
        REQUIRE(ask.send({i, back}) == send_status::sent);
        REQUIRE(back.recv() == i + 1);
        const channel<int> made_elsewhere = blocking([] { return channel<int>(1); });
        REQUIRE(made_elsewhere.send(i) == send_status::sent);
        REQUIRE(made_elsewhere.recv() == i);
      }
    };
    asks(0);
    set_procs(2);
    auto also = spawn([&] { asks(rounds); });
    asks(2 * rounds);
    also.join();
    ask.close();
    beside.join();
    apart.join();
    blocking([&] { plain.join(); });
  });
}

// Each round: one thread gets the lock biased to it and goes on with it, while two others come: one with a
// seat, to whom it may be biased in turn, and one without.
TEST_CASE("however a revocation meets a section, there is one holder") {
  constexpr int rounds = fiber::under_tsan ? 100 : 600;
  (void)biases_here();
  struct stage {
    std::unique_ptr<biased_lock> lock = fresh_lock();
    guarded what;
    std::atomic<long> expected{0};
  };
  std::array<stage, 2> stages;
  std::atomic<int> round{-1}, came_first{-1}, done{0};
  const auto player = [&](unsigned number) {
    const seated own;
    seat* const mine = number == 2 ? nullptr : own.mine;
    std::minstd_rand random(number + 1);
    for (int r = 0; r < rounds; ++r) {
      while (round.load() < r) std::this_thread::yield();
      stage& s = stages[static_cast<unsigned>(r) % 2];
      while (number != 0 && came_first.load() < r) std::this_thread::yield();
      if (number != 0)
        for (unsigned wait = static_cast<unsigned>(random()) % 200; wait > 0; --wait) cpu_pause();
      int times = number == 0 ? enough : 1 + static_cast<int>(random() % 100);
      use_with(*s.lock, mine, s.what, times);
      if (number == 0) came_first.store(r);
      for (; number == 0 && done.load(std::memory_order_relaxed) < 2; ++times)
        use_with(*s.lock, mine, s.what, 1);
      s.expected.fetch_add(times);
      done.fetch_add(1);
    }
  };
  std::array<std::thread, 3> players;
  for (unsigned i = 0; i < players.size(); ++i) players[i] = std::thread(player, i);
  int wrong = 0;
  for (int r = 0; r < rounds; ++r) {
    stage& s = stages[static_cast<unsigned>(r) % 2];
    s.lock = fresh_lock();
    s.what.count = 0;
    done.store(0);
    round.store(r);
    while (done.load() < 3) std::this_thread::yield();
    if (s.what.together.exchange(0) != 0 || s.what.count != s.expected.exchange(0)) ++wrong;
  }
  for (std::thread& t : players) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("Gs on several Ps, with steals, keep one another out") {
  constexpr int gs = 16, times = fiber::under_tsan ? 500 : 5'000;
  for (const unsigned procs : {1u, 2u, 4u}) {
    auto l = fresh_lock();
    guarded g;
    run_clean(with_procs(procs), [&] {
      std::vector<task<void>> all;
      for (int i = 0; i < gs; ++i)
        all.push_back(spawn([&] {
          for (int n = 0; n < times; ++n) {
            {
              const sched::entered in;
              lock_guard hold(*l);
              g.use();
            }
            if (n % 64 == 0) yield();
          }
        }));
      for (auto& t : all) t.join();
    });
    CHECK(g.together == 0);
    CHECK(g.count == long{gs} * times);
  }
}

TEST_CASE("a lock that is biased in a runtime goes on after its end, and in the next") {
  auto l = fresh_lock();
  guarded g;
  const auto use = [&] {
    const sched::entered in;
    use_with(*l, seat_of(in), g, 10'000);
    CHECK(l->is_biased() == biases_here());
  };
  run_clean(with_procs(1), use);
  run_clean(with_procs(1), use);
  l->lock();
  CHECK(g.count == 20'000);
  l->unlock();
  CHECK_FALSE(l->is_biased());
}
