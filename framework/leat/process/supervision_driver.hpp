// SPDX-License-Identifier: BSL-1.0
//
// Does what a supervision machine (supervision.hpp) wants done with real incarnations, and tells it what came
// of them. leat::supervisor has one of these, the host of services one for each service. What differs between
// them is behind `owner`: how an incarnation is made, what is its progress, what is counted and said.
//
// The owner has the loop:
//
//   wait for news of incarnations until next_deadline(); news came: hear(); the deadline is reached: pass()
//
// Contract
//   - All calls come from one G at a time, and all hooks are called from within these calls. A call does all
//     that is to be done by then before it returns.
//   - A child has at most one incarnation that is *in*. It is out when its end is heard, or its quarantine;
//     news of one that is out, or of an earlier one, change nothing.
//   - The first reason to ask an incarnation to stop (an overrun, silence, what `fault` is told) is its cause.
//     With a cause it has failed, however it ends.
//   - After `close` or `stop` nothing is started, and nobody is asked to stop for silence or an overrun: what
//     ends anyway needs no successor. An overrun is noted as its cause all the same.
//   - A hook may call `close` and `stop` of this driver and of others. `launch` may not.
//   - Nothing here allocates but `add`, `start`, `make_room`, `close` and `stop`, as in supervision.hpp: the owner's
//     hooks decide.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/deadlines.hpp>
#include <leat/base/format.hpp>
#include <leat/process/failure_cause.hpp>
#include <leat/process/incarnation.hpp>
#include <leat/process/supervision.hpp>

namespace leat {

class supervision_driver {
 public:
  using child = supervision::child;

  // How an incarnation went out, and what follows.
  struct ending {
    process_end how = process_end::returned;
    std::string_view why = {};  // what it threw
    failure_cause cause = {};   // why it was asked to stop, if it was for a failure
    bool quarantined = false;
    restart_decision next = {};
    bool again = false;        // there will be another one
    std::size_t together = 0;  // how many restart, with it

    // What stands before `why` in a report.
    void append_cause(text_buffer& to) const noexcept;
  };

  enum class limit : std::uint8_t {
    restarts,     // it has failed too often
    quarantines,  // it hangs, and max_quarantined is reached
    threads,      // it is quarantined, and no further thread can be had
  };

  class owner {
   public:
    // Makes and starts an incarnation with this number. `before` is the last one, if there is one: it is to be
    // taken, since to free it takes the heap. What it throws, with `before` where it was, is a failure of the child, which
    // has its restarts like any other; of the first one it is the caller's.
    virtual std::shared_ptr<incarnation> launch(child c, unsigned number,
                                                std::shared_ptr<incarnation>& before) = 0;
    // Values that have passed so far. Asked for children with a watchdog.
    virtual std::uint64_t progress(child c) const noexcept = 0;
    // Of one that has returned: there is nothing left that it could do.
    virtual bool finished(child c) const = 0;

    // A step of an overrun. `went_on`: it was put out because it swallowed its stop, not because it hung.
    virtual void overran(child c, const incarnation_news& n, bool went_on) = 0;
    // It was asked to stop and insisted on, and does not end; it is put out after this.
    virtual void lingers(child c) = 0;
    virtual void is_out(child c, const ending& e) = 0;
    // After is_out, if there is one.
    virtual void limit_reached(child c, limit which) = 0;

   protected:
    virtual ~owner() = default;
  };

  // The seed is for the jitter of pauses.
  supervision_driver(owner& o, std::uint64_t seed, const clock_source& time = system_clock_source()) noexcept
      : owner_(o), clock_(time), machine_(seed) {}
  supervision_driver(const supervision_driver&) = delete;
  supervision_driver& operator=(const supervision_driver&) = delete;

  // `watchdog`: the longest time without progress.
  child add(const supervision::limits& l, std::optional<nanoseconds> watchdog);
  std::size_t size() const noexcept { return children_.size(); }

  void start();
  void hear(child c, const incarnation_news& n);
  void pass();
  time_point next_deadline() const noexcept;
  // It has failed and still runs.
  void fault(child c, const failure_cause& why);
  // As supervision::renew.
  bool renew(child c);
  // As supervision::close and stop.
  std::vector<child> close();
  void stop();
  // As supervision::make_room: the owner knows when the heap may be used.
  void make_room(child c) { machine_.make_room(c); }

  bool all_over() const noexcept { return machine_.all_over(); }
  // The incarnation that is in, or null.
  incarnation* in(child c) const noexcept { return children_[c].in ? children_[c].last.get() : nullptr; }
  // The last one, in or out; null before the start.
  const incarnation* last(child c) const noexcept { return children_[c].last.get(); }
  const failure_cause& cause(child c) const noexcept { return children_[c].cause; }

 private:
  struct entry {
    std::optional<nanoseconds> watchdog = {};
    std::shared_ptr<incarnation> last = {};
    unsigned number = 0;  // of the last one
    bool in = false;
    failure_cause cause = {};
    std::uint64_t progress = 0;  // as last seen
    time_point progress_at = never;
  };

  void perform();
  void launch(child c);
  void overran(child c, const incarnation_news& n);
  void out(child c, process_end how, std::string_view why, bool quarantined);
  void look_at_watchdogs(time_point now);

  owner& owner_;
  const clock_source& clock_;
  supervision machine_;
  std::vector<entry> children_;
  deadlines watches_;  // when to look at whom
  bool closed_ = false;
};

}  // namespace leat
