// SPDX-License-Identifier: BSL-1.0
//
// Gs that end together: the group's destructor asks those it started to stop, and waits for them.
//
//   leat::task_group group;
//   group.go([&] { ... });
//   group.go("reader", [&] { ... });
//   group.wait();                    // throws what the first member that failed threw
//
// The first exception out of a member asks all others to stop, and comes out of wait(); later ones are
// logged. leat::stopped out of a member is no failure. Members may start more members.
//
// The life of a member: counted (go) -> its G is started as a member of the group's stop source -> its
// function ends, its exception is kept -> its closure is destroyed -> counted off (membership's destructor).
// So when wait() has returned, no closure of a member is left, though its G may still be on its last steps
// in the runtime. One that never gets to run is counted off by the same destructor, as a failure.
//
// A round ends when wait() or the destructor has found the count at zero; a failure and a stop belong to the
// round in which they came. Several may wait: the first of them that finds the count at zero tells the
// failure to all others that wait then. Counting is wait_group's protocol; everything else is under lock_.
#pragma once
#include <concepts>
#include <cstddef>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/wait_group.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/stop_callback.hpp>

namespace leat {

class task_group {
 public:
  task_group() : task_group(stop_token()) {}
  // Its members are asked to stop when that is asked for, in every round: for a group with a deadline
  // (sched/context.hpp), or within something larger.
  explicit task_group(const stop_token& parent) : parent_(parent), from_parent_(parent, relay{this}) {}
  // Stops and joins, also when the caller has itself been asked to stop, however firmly: what members use may
  // be about to go. Members that go on past the runtime's grace are insisted on. A failure that nobody
  // fetched with wait() is logged.
  ~task_group();
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Any G or thread, while the group lives. After stop(), and until the round ends, members start as stopped.
  // Throws spawn_error like leat::go, and std::invalid_argument for options with a stop source, since members
  // have the group's; the group is then as before.
  template <spawnable F>
  void go(const spawn_options& options, F&& f) {
    using body = member<std::decay_t<F>>;
    membership in(*this);  // first: the round cannot end between here and the choice of its stop source
    spawn_options o = with_stop_source(options);
    if (o.guard) o.guard = in.guarded_by(std::move(o.guard));
    sched::G& g = sched::make_g(o);
    sched::emplace_body<body>(g, std::move(in), std::forward<F>(f));
    sched::body_of<body>(g).in.expect_run();
    g.join.store(sched::join_detached, std::memory_order_relaxed);
    g.body = [](sched::G& self) {
      sched::body_of<body>(self).run();
      // Before it is counted off: who has waited may rely on it that nothing of the member runs any more.
      if (self.extras & sched::g_has_locals) sched::destroy_locals(self);
      sched::destroy_body<body>(self);
    };
    sched::start_g(g);
  }
  template <spawnable F>
  void go(F&& f) {
    go(spawn_options{}, std::forward<F>(f));
  }
  template <class F>
  void go(std::string_view name, F&& f) {
    go(spawn_options{.name = name}, std::forward<F>(f));
  }

  // Until all members have ended, also those that members start. Throws what the first that failed threw, to
  // all who wait; then, and after `done`, the group can be used again. `stopped`: the caller was asked to
  // stop; nothing is joined yet, a failure is kept, and members go on until they are stopped (the destructor
  // does it). Throws leat::stopped instead when that was insisted on. Throws std::logic_error when called by
  // a member: it would wait for itself.
  wait_status wait() { return wait_until(deadline::never()); }
  wait_status wait_until(deadline until);
  wait_status wait_for(deadline in) { return wait_until(in); }

  // Asks all members to stop, and those started later in this round. Does not wait.
  void stop() noexcept;
  // The next entry of each into the runtime throws leat::stopped.
  void insist() noexcept;

  // Members that have not ended; may be out of date when it returns.
  std::size_t size() const noexcept { return members_.count(); }

 private:
  // One count of the group, given back when it dies.
  class membership {
   public:
    explicit membership(task_group& group) : group_(&group) { group.members_.add(1); }
    membership(membership&& other) noexcept
        : group_(std::exchange(other.group_, nullptr)), settled_(std::move(other.settled_)) {}
    membership& operator=(membership&&) = delete;
    ~membership();

    // From now on, to die without having run is a failure.
    void expect_run() noexcept { to_run_ = true; }
    void runs() noexcept { to_run_ = false; }
    task_group& group() const noexcept { return *group_; }
    // A guard that passes news on, and counts the member off when it is quarantined: a failure.
    std::shared_ptr<overrun_guard> guarded_by(std::shared_ptr<overrun_guard> guard);

   private:
    class guard;
    task_group* group_;
    std::shared_ptr<std::atomic<bool>> settled_;  // of a guarded member: it has been counted off
    bool to_run_ = false;
  };

  template <class F>
  struct member {
    template <class Fn>
    member(membership&& m, Fn&& fn) : in(std::move(m)), f(std::forward<Fn>(fn)) {}
    void run() noexcept {
      in.runs();
      try {
        f();
      } catch (const stopped&) {
      } catch (...) {
        in.group().failed(std::current_exception());
      }
    }
    membership in;  // before f: dies after it
    F f;
  };

  spawn_options with_stop_source(const spawn_options& options) const;
  stop_source source() const;
  void failed(const std::exception_ptr& e) noexcept;
  bool keep_failure(const std::exception_ptr& e) noexcept;  // false: another one failed first
  // One who waits for the group.
  struct waiting_one;
  std::exception_ptr end_round(waiting_one& me);

  wait_group members_;
  mutable ranked_spinlock lock_{lock_rank::channel, "task_group"};
  stop_source stop_ LEAT_GUARDED_BY(lock_);
  std::exception_ptr first_failure_ LEAT_GUARDED_BY(lock_);
  waiting_one* waiting_ LEAT_GUARDED_BY(lock_) = nullptr;  // linked through themselves
  const stop_token parent_;
  struct relay {
    task_group* to;
    void operator()() const noexcept { to->stop(); }
  };
  stop_callback<relay> from_parent_;  // last: the rest is there when it is called
};

}  // namespace leat
