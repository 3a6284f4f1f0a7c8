// SPDX-License-Identifier: BSL-1.0
//
// Tests under virtual time and a seed: no sleeping, and the same run again as often as you like.
//
//   leat::testing::simulate({.seed = 7}, [] {
//     leat::channel<int> c(1);
//     leat::go([&] { leat::sleep_for(24h); c.send(1); });
//     CHECK(!c.try_recv());
//     leat::sleep_for(25h);                     // returns at once
//     CHECK(c.recv() == 1);
//   });
//   leat::testing::for_each_seed(1000, [] { ... });   // throws with the first seed that fails
//
// Order: which of the ready Gs runs next, where one gives way (at entries of the runtime), and which ready case of a
// select wins come from the seed, and so does leat::random. Time: leat::now, sleeps, tickers, deadlines, timers,
// leat::moment_now and the times in the log are the world's; it moves to the next deadline when nobody can run.
// leat::testing::settle waits until everybody else waits, without moving time. A program that only waits for
// time to pass by looking at it (`while (leat::now() < t) leat::yield();`) never ends there: sleep instead.
//
// The network: leat::net goes over a simulated one of named hosts (<leat/net/testing.hpp>).
//
// What cannot be simulated: other descriptors, Asio, children and signals (leat::net throws std::logic_error, unless
// .real_io is set), threads of your own, std::this_thread::sleep_for, std::random_device, clocks of the
// standard library. Declared blocking calls and `thread = own` run in their turn, on the one thread that there
// is.
//
// LEAT_SEED=7 runs for_each_seed with that seed alone. LEAT_SHRINK=1 looks for the fewest decisions that make it fail
// in the same way, and prints who ran then.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/sched/options.hpp>

namespace leat::testing {

enum class strategy : std::uint8_t {
  random_walk,  // each choice anew, all alike
  pct,          // priorities that change `depth` - 1 times: finds bugs that need few, certain switches
};

struct world_options {
  std::uint64_t seed = 1;
  testing::strategy order = testing::strategy::random_walk;
  // Lets Gs wait for descriptors, Asio, children and signals of the real system. Runs are not the same any more.
  bool real_io = false;
  unsigned depth = 3;             // of PCT
  std::uint64_t steps = 1000;     // of PCT: how many decisions the program takes, about
  unsigned gives_way_one_in = 4;  // of the random walk: entries of the runtime; 0: never
  bool keeps_decisions = true;    // to shrink a failure; a run of hours makes many
  // Its date: leat::moment_now and the times in the log begin here.
  std::chrono::system_clock::time_point begins{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
  runtime_options runtime = {};                                                       // procs is 1
};

// What a simulated run came to.
struct world_report {
  std::uint64_t seed = 0;
  nanoseconds elapsed{};        // virtual
  std::uint64_t switches = 0;   // of Gs
  std::uint64_t decisions = 0;  // in which the seed chose other than a plain queue
};

namespace detail {
using main_fn = void (*)(void*);
world_report simulate(const world_options& o, main_fn fn, void* arg);
void for_each_seed(unsigned seeds, const world_options& o, main_fn fn, void* arg);

}  // namespace detail

// Runs main as the first G of a world of its own. Throws what main throws. Not from inside a runtime.
template <class F>
world_report simulate(const world_options& o, F&& main) {
  auto call = [&main] { main(); };
  return detail::simulate(o, [](void* arg) { (*static_cast<decltype(call)*>(arg))(); }, &call);
}

// Seeds o.seed and up. The first that throws is reported on stderr with what it takes to run it again, and its exception
// comes out of here.
template <class F>
void for_each_seed(unsigned seeds, F&& main, const world_options& o = {}) {
  auto call = [&main] { main(); };
  detail::for_each_seed(seeds, o, [](void* arg) { (*static_cast<decltype(call)*>(arg))(); }, &call);
}

// In a world: until everybody else waits. Time does not move. Throws std::logic_error elsewhere.
void settle();

}  // namespace leat::testing
