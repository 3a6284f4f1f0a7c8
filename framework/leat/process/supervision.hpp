// SPDX-License-Identifier: BSL-1.0
//
// What a supervisor does next, as a machine without threads, clocks or Gs: it is told what happened and what
// time it is, and says which child is to be started, asked to stop, insisted on. Whoever drives it
// (supervision_driver.hpp) does so and tells it what came of it.
//
//   fresh -> due -> running -> (asked -> insisted -> lingering ->) out: waiting -> due ... or ended
//
// A child is *out* when its body has ended or will never run again (quarantined). Only then may a new one
// take its place: two at once would share its ports. One that neither ends nor is quarantined lingers, and
// holds up its own restart and that of those restarted with it, nothing else.
//
// Those that restart together are stopped one after the other, the last started first, and started again in
// their order when all are out and the pause is over. What fails meanwhile among them is part of it.
//
// Only `add`, `start`, `make_room` and what ends everything (`close`, `stop`) allocate: between a hang and
// the start of a successor nothing must need the heap.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/deadlines.hpp>
#include <leat/process/restart_policy.hpp>

namespace leat {

class supervision {
 public:
  using child = std::size_t;  // in the order of starting

  struct limits {
    restart_policy restart = {};
    nanoseconds grace = std::chrono::milliseconds(200);     // from asked to insisted on
    nanoseconds patience = std::chrono::milliseconds(200);  // from then until it lingers
  };
  enum class status : std::uint8_t { fresh, due, running, asked, insisted, lingering, waiting, ended };
  enum class order : std::uint8_t {
    start,
    ask,     // to stop
    insist,  // its next entry into the runtime throws
    linger,  // it does not end: to be reported
    limit,   // it has failed too often and stays ended: the supervisor has failed
  };
  struct step {
    order what;
    child who;
  };

  // The seed is for the jitter of pauses.
  explicit supervision(std::uint64_t seed = 1) noexcept : random_(seed) {}

  child add(const limits& l);
  std::size_t size() const noexcept { return children_.size(); }

  void start(time_point now);
  // The next thing to do, if there is one: after each of the calls below.
  bool next(step& s);
  void pass(time_point now);
  time_point next_deadline() const noexcept;

  // Some time after a child was started: room to note its next restart.
  void make_room(child c) { children_[c].history.make_room(children_[c].l.restart); }

  // It is out.
  restart_decision over(child c, process_end how, time_point now);
  // It has failed and still runs: it is asked to stop, and its end will count as a failure.
  void fault(child c, time_point now);
  // It is to be replaced by a new one, which is no failure: asked to stop if it runs, started at once when it
  // is out. False: it has ended for good.
  bool renew(child c, time_point now);
  // No restarts from now on, nor anything else by itself, but that those who have been asked to stop are
  // insisted on in their time. Returns those that were to be started; they have ended.
  std::vector<child> close();
  // All are stopped, the last started first, one after the other. One that lingers is passed over.
  void stop(time_point now);

  status at(child c) const noexcept { return children_[c].at; }
  bool restarting_together(child c) const noexcept { return children_[c].together; }
  std::size_t together() const noexcept { return together_; }
  // All have ended, but for those that linger after a stop.
  bool all_over() const noexcept { return open_ == 0; }

 private:
  struct entry {
    limits l;
    status at = status::fresh;
    bool faulty = false;
    bool renewed = false;  // to be started when it is out, whatever its policy says
    bool together = false;
    bool goes_down = false;  // it is one of the group, or of all, and still to be brought down
    restart_history history = {};
  };
  static constexpr child group = static_cast<child>(-1);

  static bool is_in(status s) noexcept {
    return s == status::running || s == status::asked || s == status::insisted || s == status::lingering;
  }
  void push(order what, child who);
  void push_first(order what, child who);
  void clear_group() noexcept;
  void must_go_down(child c) noexcept;
  void start_group();
  void ask(child c, time_point now);
  void end(child c);
  void restart_together(child first, child failed, time_point start_at, time_point now);
  void bring_down(time_point now);
  double random() noexcept;

  std::vector<entry> children_;
  std::vector<step> steps_;  // from first_step_ on
  std::size_t first_step_ = 0;
  deadlines timers_;           // by child
  child down_below_ = 0;       // those that must go down are below it
  child coming_down_ = group;  // the one that was asked last; `group`: none
  std::size_t together_ = 0;   // members of the group
  time_point group_at_ = never;
  bool group_waits_ = false;  // all are out: the group's time counts
  std::size_t open_ = 0;
  bool closed_ = false, stops_ = false;
  std::uint64_t random_;
};

}  // namespace leat
