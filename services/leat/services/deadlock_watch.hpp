// SPDX-License-Identifier: BSL-1.0
//
// Finds processes of a running plan that wait only for one another, while others go on.
//
// A look asks each channel who waits at it, one channel after the other. A set counts only if a second look,
// a while later, finds all its members in the same waits: then there was a moment between the two at which
// all of them waited at once, and nothing that can end their waits was on its way.
//
// What is not seen: Gs that a process has started itself, and waits for answers to requests. A process that
// waits for anything but the channels of the plan, or with a deadline, is taken for one that goes on.
//
// Looks take place about once a second, and not at all where the plan has no circle.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/config/plan.hpp>
#include <leat/csp/wait.hpp>
#include <leat/services/deadlock.hpp>
#include <leat/services/wiring.hpp>

namespace leat::services {

// A replica, as its host knows it.
struct replica_sight {
  config::index process = 0;
  const void* stop = nullptr;  // the state of its G's stop_source; null: it has no G now, but will
  bool ended = false;          // for good
};

struct deadlock_set {
  std::vector<std::size_t> members = {};  // indices of replicas
  std::vector<std::size_t> behind = {};   // those that wait for them
  std::vector<std::string> text = {};     // lines for the log
};

class deadlock_watch {
 public:
  deadlock_watch(const config::plan& plan, const wiring& wires);

  // never: nothing is to be watched.
  time_point next_look() const noexcept { return next_; }
  // What has come to be stuck and was not told before. `name_of`: of a replica, by its index.
  std::vector<deadlock_set> look(const std::vector<replica_sight>& replicas,
                                 const std::vector<std::string>& names, time_point now);

 private:
  struct seen_wait {
    const void* wait = nullptr;
    std::int64_t since = 0;
    std::size_t places = 0, found = 0;
  };
  struct suspicion {
    std::vector<std::size_t> members;
    std::vector<seen_wait> waits;
    std::uint64_t moved = 0;  // by the channels at which they wait
    bool told = false;
    bool same(const suspicion& other) const;
  };
  struct picture {
    std::vector<replica_view> replicas;
    std::vector<seen_wait> waits;
    std::uint64_t moved = 0;
  };

  picture take(const std::vector<replica_sight>& replicas);
  void ask(const any_channel& end, std::vector<csp::waiting_g>& to) const;
  std::vector<std::vector<config::index>> helpers(config::index channel, bool sends, std::size_t share) const;
  std::vector<std::string> describe(const stuck_set& s, const picture& now,
                                    const std::vector<std::string>& names) const;

  const config::plan& plan_;
  const wiring& wires_;
  std::vector<suspicion> suspicions_;
  std::uint64_t moved_ = 0;
  time_point next_ = never;
};

}  // namespace leat::services
