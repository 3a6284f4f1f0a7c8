// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace leat {
namespace sched {
class scheduler;
}

struct self_info {
  std::uint64_t id = 0;  // 0: the thread runs no G
  std::string_view name = {};
};
self_info self() noexcept;

struct runtime_stats {
  unsigned procs = 0, idle_procs = 0, threads = 0, idle_threads = 0, spinning = 0, most_spinning = 0;
  std::uint64_t live = 0, spawned = 0, finished = 0, switches = 0, parks = 0, readies = 0, steals = 0,
                stolen_gs = 0, retakes = 0, overflows = 0, wakes = 0, without_p = 0;
  std::uint64_t quarantined = 0;  // Gs that were; they count as finished. Their threads, not counted above:
  unsigned fenced = 0;            // run on behind a fence, or wait in a system call
  unsigned frozen = 0;            // stand still for good; the others are back and run other Gs
  std::size_t global_length = 0;
  std::vector<std::size_t> local_lengths;  // by P
};
// A snapshot, each figure by itself exact. All zero when no runtime runs.
runtime_stats stats();

// Changes the number of Ps while running. Throws std::invalid_argument out of 1..1024.
void set_procs(unsigned n);

// Every G with status, what it waits for and since when, and where it stands, to a file descriptor. Also
// on SIGQUIT.
void dump(int fd) noexcept;
// As SIGQUIT does: with the names of all functions, demangled, and, of processes of a service, the channels they
// wait at. It allocates, reads files and takes locks: on a thread that may do so (leat::blocking).
void dump_in_full(int fd) noexcept;

// While one lives, "all Gs wait" is no deadlock: a plain thread is going to wake one of them.
class keep_alive {
 public:
  keep_alive();
  ~keep_alive();
  keep_alive(const keep_alive&) = delete;
  keep_alive& operator=(const keep_alive&) = delete;

 private:
  sched::scheduler* runtime_ = nullptr;
};

}  // namespace leat
