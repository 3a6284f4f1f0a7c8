// SPDX-License-Identifier: BSL-1.0
//
// What a program that dies by a signal tells of its processes (sched/crash.hpp): which one was running, in
// which incarnation, and what went through its channels. And what a dump of all Gs tells of them
// (sched/report.hpp): which G is which process, and the channel that it waits at.
//
// Everything that the signal handler reads is made before the first process starts and lives as long as the
// host; only the words that say who runs change, and they are atomic. A dump may be under way when the host
// ends: that waits until nobody looks any more, which takes no longer than to describe one G.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/sched/report.hpp>
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
    entry(config::index p, std::string w, std::string n, std::vector<counted> c)
        : process(p), who(std::move(w)), full_name(std::move(n)), channels(std::move(c)) {}
    const config::index process;
    const std::string who;
    const std::string full_name;  // "'climate/filter/1' (smooth, climate.toml:12)"
    const std::vector<counted> channels;
    std::atomic<unsigned> incarnation{0};
    std::atomic<const void*> stop_state{nullptr};  // tells its Gs from others
  };
  static void tell(int fd, std::uint64_t g) noexcept;
  static void tell_counts(int fd, const entry& e) noexcept;
  static void describe(const sched::dumped_g& g, bool may_wait, text_buffer& who,
                       text_buffer& where) noexcept;
  static void append_places(const entry& e, const sched::dumped_g& g, bool may_wait,
                            text_buffer& to) noexcept;

  std::deque<entry> replicas_;
  std::atomic<bool> complete_{false};  // from the first start on
};

}  // namespace leat::services
