// SPDX-License-Identifier: BSL-1.0
//
// What a program that dies by a signal tells of its processes (sched/crash.hpp): which one was running, in
// which incarnation, and what went through its channels.
//
// Everything that the signal handler reads is made before the first process starts and lives as long as the
// host; only the words that say who runs change, and they are atomic.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

class crash_account {
 public:
  // One at a time tells; those made while it lives say nothing.
  crash_account() noexcept;
  ~crash_account();
  crash_account(const crash_account&) = delete;
  crash_account& operator=(const crash_account&) = delete;

  // Before anything runs, in the order of the replicas. `who` as in the log.
  void add(std::string who, const config::plan& plan, const wiring& wires, config::index process);
  void started(std::size_t replica, unsigned incarnation, const void* stop_state) noexcept;
  void ended(std::size_t replica) noexcept;

 private:
  struct counted {
    std::string name;
    any_channel channel;
  };
  struct entry {
    entry(std::string w, std::vector<counted> c) : who(std::move(w)), channels(std::move(c)) {}
    const std::string who;
    const std::vector<counted> channels;
    std::atomic<unsigned> incarnation{0};
    std::atomic<const void*> stop_state{nullptr};  // tells its Gs from others
  };
  static void tell(int fd, std::uint64_t g) noexcept;
  static void tell_counts(int fd, const entry& e) noexcept;

  std::deque<entry> replicas_;
};

}  // namespace leat::services
