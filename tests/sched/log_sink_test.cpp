// SPDX-License-Identifier: BSL-1.0
//
// Sinks of the program's own behind the log (base/log_aside.hpp), and those who hang or watch.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>

#include <doctest/doctest.h>
#include <leat/sched/heartbeat.hpp>

#include "fixture.hpp"
#include "hang_guard.hpp"
#include "overrun_fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

TEST_CASE("a sink of the log that does not return does not stop sysmon") {
  static std::atomic<bool> open{false}, taken{false};
  set_log_sink(
      [](void*, log_level, std::string_view, std::string_view) {
        static std::mutex lock;
        const std::lock_guard hold(lock);
        taken = true;
        while (!open) std::this_thread::sleep_for(1ms);
      },
      nullptr);
  std::thread logs([] { log_info("test", "what takes so long"); });
  while (!taken) std::this_thread::yield();
  run_clean(with_procs(2), [] {
    static std::atomic<bool> goes_on{false};
    auto resists = spawn({.guard = guard_of(5ms, 5ms)}, [] {
      const sched::lasting_no_quarantine unbroken;
      while (!goes_on) cpu_pause();
    });
    // sysmon says that it is not quarantined yet.
    CHECK(eventually([] { return !leat::detail::wait_for_log_aside(0); }));
    auto hangs = spawn({.guard = guard_of(5ms, 5ms)}, [] { spin_for(1h); });
    CHECK_THROWS_AS(hangs.get(), quarantined);
    goes_on = true;
    (void)resists.join();
    open = true;
  });
  logs.join();
  set_log_sink(nullptr, nullptr);
}

TEST_CASE("a quarantined G that logs ends there, whatever the log does with its lines") {
  static std::atomic<int> lines{0};
  run_clean(with_procs(2), [] {
    // Comes into the runtime, as one does that passes lines on.
    set_log_sink(
        [](void*, log_level, std::string_view, std::string_view text) {
          if (text == "still here") ++lines;
          checkpoint();
        },
        nullptr);
    static std::atomic<bool> held_up{true};
    auto t = spawn({.guard = guard_of(5ms, 5ms)}, [] {
      // Below a frame of the C library, so that its thread is neither left nor stopped.
      int two[] = {2, 1};
      std::qsort(two, 2, sizeof two[0], [](const void*, const void*) {
        while (held_up) {
        }
        for (;;) log_info("test", "still here");
        return 0;
      });
    });
    CHECK_THROWS_AS(t.get(), quarantined);
    held_up = false;
    CHECK(eventually([] { return stats().fenced == 0; }));
    CHECK(lines == 0);
    set_log_sink(nullptr, nullptr);  // waits until nobody is inside
  });
}

TEST_CASE("what a watcher has logged reaches the sink before the runtime has ended, however slow it is") {
  static std::atomic<int> lines{0};
  set_log_sink(
      [](void*, log_level, std::string_view, std::string_view text) {
        if (text != "a line") return;
        std::this_thread::sleep_for(1ms);
        ++lines;
      },
      nullptr);
  constexpr int many = 20;
  run_clean(with_procs(2), [] {
    const sched::watching watches;
    for (int i = 0; i < many; ++i) log_info("test", "a line");
  });
  CHECK(lines == many);
  set_log_sink(nullptr, nullptr);
}
