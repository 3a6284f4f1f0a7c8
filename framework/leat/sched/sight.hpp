// SPDX-License-Identifier: BSL-1.0
//
// What Gs do, for those who look from outside while they run: state, what they wait for, CPU time. Taken
// without stopping anybody and without locks, so a G that moves may be seen half before and half after.
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/sched/g.hpp>

namespace leat::sched {

struct g_sight {
  std::uint64_t g = 0;  // self().id, which no other G ever has
  g_status status = g_status::idle;
  wait_reason reason = wait_reason::none;  // of a G that waits, as what follows
  std::int64_t since = 0;                  // coarse time; of a blocking call too
  const char* operation = nullptr;         // at the network; a literal
  int fd = -1;                             // and the descriptor, if it is known
  pid_t tid = 0;                           // of a G that runs, or is in a blocking call: its thread
  // In us, modulo 2^32. Of this G's memory, which others have used before: only differences between two sights
  // of the same G tell anything. Counts while watch_cpu is in force.
  std::uint32_t cpu_us = 0;
};

// All Gs of the runtime that runs. Throws std::bad_alloc.
std::vector<g_sight> look_at_gs();

// CPU times are sampled for so long, to about 5 points in 100 over some seconds.
void watch_cpu(nanoseconds time) noexcept;

// "10.0.0.7:443", or "". The descriptor may have been closed meanwhile, or be another's: a hint for people.
std::string peer_of(const g_sight& s);
// Of a G that runs: "read", "futex", the system call that its thread waits in; "" if it waits in none, or that
// cannot be seen.
std::string call_of(const g_sight& s);

// Where a G stands that waits; innermost first. 0: it does not wait.
std::size_t frames_of(std::uint64_t g, std::span<void*> to) noexcept;

}  // namespace leat::sched
