// SPDX-License-Identifier: BSL-1.0
//
// Gs that never come back, each in its own way, and what the tests of quarantine share.
#pragma once
#include <poll.h>
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/sched/quarantine.hpp>

#include "fixture.hpp"
#include "overrun_fixture.hpp"

namespace leat::sched::test {

inline std::atomic<std::uint64_t> sink{0};

inline void loops() {
  for (;;) asm volatile("" ::: "memory");
}
inline void mallocs() {
  for (std::size_t i = 0;; ++i) {
    void* const p = std::malloc(i * 2654435761u % 8000 + 1);
    asm volatile("" : : "r"(p) : "memory");
    std::free(p);
  }
}
inline void throws() {
  for (int i = 0;; ++i) {
    try {
      throw i;
    } catch (int x) {
      sink.store(static_cast<std::uint64_t>(x), std::memory_order_relaxed);
    }
  }
}
inline void hangs_in_a_catch() {
  try {
    throw std::runtime_error("it hangs here");
  } catch (const std::exception&) {
    loops();
  }
}
inline void prints() {
  char text[100];
  for (int i = 0;; ++i) {
    std::snprintf(text, sizeof text, "%d %f", i, i * 0.5);
    sink.store(static_cast<std::uint64_t>(text[0]), std::memory_order_relaxed);
  }
}
inline void builds_strings() {
  for (;;) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < 200; ++i) {
      all.emplace_back(i % 100, 'x');
      std::uint64_t h = 0;
      for (const char c : all.back()) h = h * 31 + static_cast<std::uint64_t>(c);
      sink.store(h, std::memory_order_relaxed);
    }
  }
}
inline void reads() {
  static const int end = [] {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) std::abort();
    return ends[0];
  }();
  char byte;
  (void)!::read(end, &byte, 1);
}
inline void polls() {
  for (;;) (void)::poll(nullptr, 0, -1);
}
inline void sleeps() {
  for (;;) (void)::sleep(1'000'000);
}
inline void hangs_under_qsort() {
  int few[] = {3, 1, 2, 5, 4};
  std::qsort(few, 5, sizeof few[0], [](const void*, const void*) {
    loops();
    return 0;
  });
}

// What becomes of its thread. fencing: it runs on for ever, since nobody can know that it holds no lock.
enum class ends_by { leaving, freezing, fencing, either };
struct victim {
  const char* name;
  void (*body)();
  ends_by how;
};
inline constexpr victim victims[] = {
    {"an endless loop", loops, ends_by::leaving}, {"malloc", mallocs, ends_by::either},
    {"exceptions", throws, ends_by::either},      {"a catch block", hangs_in_a_catch, ends_by::leaving},
    {"snprintf", prints, ends_by::either},        {"strings", builds_strings, ends_by::either},
    {"read", reads, ends_by::freezing},           {"poll", polls, ends_by::freezing},
    {"sleep", sleeps, ends_by::freezing},         {"qsort", hangs_under_qsort, ends_by::fencing},
};

// With a sanitizer inside, malloc and its like must not be stopped anywhere.
inline bool is_fair(const victim& v) {
#if defined(LEAT_ASAN) || defined(LEAT_TSAN)
  return v.how != ends_by::either;
#else
  (void)v;
  return true;
#endif
}

// One G has been quarantined: is its thread where it should be, or soon?
inline bool settled_as_it_should(const victim& v) {
  const auto is = [&] {
    const runtime_stats s = stats();
    const bool back = s.fenced == 0 && s.frozen == 0, still = s.fenced == 0 && s.frozen == 1;
    if (v.how == ends_by::either) return true;
    // A sanitizer stands between the program and its system calls, with locks of its own.
    if (v.how == ends_by::freezing && (fiber::under_asan || fiber::under_tsan))
      return s.fenced + s.frozen == 1;
    if (v.how == ends_by::fencing || !can_freeze()) return s.fenced == 1;
    if (v.how == ends_by::leaving && can_leave()) return back;
    // A call that a question has ended is made again, and the next question may come in between.
    if (v.how == ends_by::freezing && can_leave()) return still || back;
    return still;
  };
  return eventually(is);
}

// Runs beside, and wants to every millisecond.
class neighbour {
 public:
  neighbour()
      : g_(spawn("neighbour", [this] {
          while (sleep_for(1ms) == sleep_result::elapsed) beats_.fetch_add(1);
        })) {}
  int beats() const { return beats_.load(); }
  bool goes_on() {
    const int before = beats();
    return eventually([&] { return beats() > before + 3; });
  }
  void stop() {
    g_.request_stop();
    g_.get();
  }

 private:
  std::atomic<int> beats_{0};
  task<void> g_;
};

// In children.
inline void expect(bool well, const char* what) {
  if (well) return;
  std::printf("WRONG: %s\n", what);
  std::fflush(stdout);
  ::_exit(1);
}

}  // namespace leat::sched::test
