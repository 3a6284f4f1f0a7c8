// SPDX-License-Identifier: BSL-1.0
#include <leat/base/mutex.hpp>

#include <sched.h>
#include <unistd.h>

#include <cstddef>

namespace leat {

const char* to_string(lock_rank rank) noexcept {
  static constexpr const char* names[] = {
#define LEAT_RANK_NAME(name) #name,
      LEAT_LOCK_RANKS(LEAT_RANK_NAME)
#undef LEAT_RANK_NAME
  };
  const auto index = static_cast<std::size_t>(rank);
  return index < sizeof names / sizeof names[0] ? names[index] : "?";
}

namespace {

// The kernel has put the holder aside. sched_yield does not let it run if it is of lower real-time priority
// than the caller; sleeping does.
void let_holder_run(int waits) noexcept {
  constexpr int yields = 20;
  if (waits < yields) {
    ::sched_yield();
  } else {
    ::usleep(20);
  }
}

}  // namespace

namespace detail {

void lock_slow(std::atomic<std::uint32_t>& word) noexcept {
  constexpr int spins_before_yield = 100;
  int waits = 0;
  do {
    int spins = 0;
    // Spinning on a plain load keeps the line shared until the holder writes it.
    while (word.load(std::memory_order_relaxed) != 0) {
      if (++spins < spins_before_yield) {
        cpu_pause();
      } else {
        let_holder_run(++waits);
        spins = 0;
      }
    }
    // Acquire pairs with the release in unlock.
  } while (word.exchange(1, std::memory_order_acquire) != 0);
}

void lock_slow_standing_back(std::atomic<std::uint32_t>& word) noexcept {
  constexpr int pauses = 200, tries_before_yield = 10;
  for (int tries = 0;; ++tries) {
    for (int i = 0; i < pauses; ++i) cpu_pause();
    // Acquire pairs with the release in unlock.
    if (word.load(std::memory_order_relaxed) == 0 && word.exchange(1, std::memory_order_acquire) == 0) return;
    if (tries >= tries_before_yield) let_holder_run(tries - tries_before_yield);
  }
}

namespace {
thread_local constinit volatile int held_mutexes = 0;
}
// Not inlined: where a fiber may be, the address of a thread_local must not be kept.
[[gnu::noinline]] void count_mutex(int by) noexcept { held_mutexes = held_mutexes + by; }
[[gnu::noinline, gnu::no_sanitize_thread]] int mutexes_held() noexcept { return held_mutexes; }

const bool lock_order_checked = LEAT_DEBUG_CHECKS_ON != 0;
constinit std::atomic<bool> locks_watched{LEAT_DEBUG_CHECKS_ON != 0};

namespace {

struct held_lock {
  const void* lock;
  lock_info info;
};

struct held_locks {
  static constexpr std::size_t capacity = 16;
  held_lock at[capacity];
  std::size_t count;
};

thread_local constinit held_locks this_thread_holds{};

// Out of line and opaque: callers run on fibers that move between threads, and a compiler that sees
// through this would keep one thread's address across the move.
[[gnu::noinline]] held_locks& held() noexcept {
  asm volatile("" ::: "memory");
  return this_thread_holds;
}

}  // namespace

void check_lock_order(const void* lock, lock_info info) noexcept {
  const held_locks& mine = held();
  for (std::size_t i = 0; i < mine.count; ++i) {
    const held_lock& other = mine.at[i];
    LEAT_CHECK(other.lock != lock, "self-deadlock: this thread waits for a lock that it holds", "lock",
               info.name, "rank", to_string(info.rank), "address", lock);
    LEAT_CHECK(other.info.rank < info.rank,
               "lock order: a thread may only lock a higher rank than any it holds", "locking", info.name,
               "rank", to_string(info.rank), "rank_number", info.rank, "holding", other.info.name,
               "held_rank", to_string(other.info.rank), "held_rank_number", other.info.rank);
  }
}

void note_locked(const void* lock, lock_info info) noexcept {
  held_locks& mine = held();
  LEAT_CHECK(mine.count < held_locks::capacity, "a thread holds too many locks for the order checker",
             "locking", info.name, "held", mine.count);
  mine.at[mine.count++] = {lock, info};
}

void note_unlocked(const void* lock, lock_info info) noexcept {
  held_locks& mine = held();
  std::size_t i = mine.count;
  while (i > 0 && mine.at[i - 1].lock != lock) --i;
  LEAT_CHECK(i > 0, "unlocking a lock that this thread does not hold", "lock", info.name, "rank",
             to_string(info.rank), "address", lock, "held", mine.count);
  for (; i < mine.count; ++i) mine.at[i - 1] = mine.at[i];
  --mine.count;
}

void check_locks_held(const void* allowed, const char* where) noexcept {
  const held_locks& mine = held();
  for (std::size_t i = 0; i < mine.count; ++i) {
    const held_lock& other = mine.at[i];
    LEAT_CHECK(other.lock == allowed, "a lock is held where none may be", "where", where, "lock",
               other.info.name, "rank", to_string(other.info.rank), "held", mine.count);
  }
}

}  // namespace detail
}  // namespace leat
