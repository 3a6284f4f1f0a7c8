// SPDX-License-Identifier: BSL-1.0
//
// Gs whose results are fetched in the order in which they end.
//
//   leat::task_set<page> fetched;
//   for (const std::string& u : urls) fetched.go([u] { return fetch(u); });   // numbers 0, 1, 2 ...
//   while (auto e = fetched.join_next()) {                                     // until all have been fetched
//     if (e->failed()) complain(urls[e->which], e->failure);
//     else use(urls[e->which], e->get());
//   }
//
// A task_group asks all to stop at the first failure; here a failure is a result like another, and who
// fetches it decides (stop()). The destructor stops and joins what is left; results that nobody fetched go
// with it.
//
// The life of a member: its ticket is made with its number (go) -> its function ends; its value or exception
// is put into the ticket -> its closure goes, and the ticket's last act is to hang itself into a list and to
// release one permit of arrived_ -> one join_next gets the permit, and with it the oldest ticket. A member
// that never got to run goes the same way, as a failure.
//
// Variables: the list of those that have ended, in that order, and unclaimed_ (members that no join_next
// waits for or has fetched), under lock_; arrived_, a semaphore with a permit for each ticket in the list
// that no join_next has claimed.
//
//   join_next                                    the end of a member
//    1 unclaimed_ - 1, unless it is 0: none       a ticket to the end of the list, under lock_
//    2 waits for a permit; if that is ended by    b releases a permit
//      a stop or a deadline: unclaimed_ + 1
//    3 takes the first of the list
//
// Forbidden: a join_next waits for what never comes: by 1 there are never more of them than members left to
// end.
//
// Forbidden: 3 finds nothing: a comes before b, and each permit is for one ticket.
//
// Forbidden: the set goes while a member is in b: the group's count is given back after the closure has gone.
//
// Stress: tests/csp/task_set_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/semaphore.hpp>
#include <leat/csp/task_group.hpp>

namespace leat {

enum class next_status : std::uint8_t {
  ended,
  none,     // all have been fetched, or others wait for those that are left
  stopped,  // the caller was asked to stop
  timeout,
};
const char* to_string(next_status s) noexcept;

namespace csp {

struct ended_link {
  ended_link* next = nullptr;
};

// What does not depend on the type of the results.
class task_set_base {
 public:
  task_set_base() = default;
  task_set_base(const task_set_base&) = delete;
  task_set_base& operator=(const task_set_base&) = delete;

  std::size_t begin() noexcept;                       // a new member: its number
  void end(ended_link& t) noexcept;                   // a and b
  next_status next(ended_link*& to, deadline until);  // 1 to 3
  ended_link* take_all() noexcept;
  std::size_t left() const noexcept;

 private:
  void give_back() noexcept;

  mutable ranked_spinlock lock_{lock_rank::channel, "task_set"};
  ended_link* first_ LEAT_GUARDED_BY(lock_) = nullptr;
  ended_link** last_ LEAT_GUARDED_BY(lock_) = &first_;
  std::size_t begun_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t unclaimed_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t unfetched_ LEAT_GUARDED_BY(lock_) = 0;
  semaphore arrived_{0};
};

}  // namespace csp

// A member that has ended.
template <class T>
struct ended_task {
  std::size_t which = 0;       // what go returned for it
  std::exception_ptr failure;  // what it threw
  bool stopped = false;        // it ended by leat::stopped
  std::conditional_t<std::is_void_v<T>, char, std::optional<T>> value{};

  bool failed() const noexcept { return failure != nullptr || stopped; }
  // The result, once; or throws what the member threw, leat::stopped too.
  T get() {
    if (failure) std::rethrow_exception(failure);
    if (stopped) throw leat::stopped{};
    if constexpr (!std::is_void_v<T>) return std::move(*value);
  }
};

template <class T>
class task_set {
  static_assert(!std::is_reference_v<T>, "a task_set holds values; let the members return pointers");

 public:
  task_set() : task_set(stop_token()) {}
  // As for a task_group: members are asked to stop with the parent.
  explicit task_set(const stop_token& parent) : group_(std::in_place, parent) {}
  // As that of a task_group.
  ~task_set() {
    group_.reset();
    for (csp::ended_link* t = base_.take_all(); t;) delete static_cast<ticket*>(std::exchange(t, t->next));
  }
  task_set(const task_set&) = delete;
  task_set& operator=(const task_set&) = delete;

  // Any G or thread, while the set lives; a member too. Returns the member's number: 0, 1, 2 ... One that
  // cannot be started has failed with spawn_error, and join_next tells so. Throws std::invalid_argument for
  // options with a stop source, since members have the set's, or with a guard: one that is quarantined would
  // never end.
  template <class F>
    requires std::is_invocable_r_v<T, std::decay_t<F>&>
  std::size_t go(const spawn_options& options, F&& f) {
    if (options.guard || options.stop)
      throw std::invalid_argument("task_set::go: members have the set's stop source, and no guard");
    auto fn = std::decay_t<F>(std::forward<F>(f));
    holder mine(base_);
    const std::size_t which = mine->which;
    try {
      group_->go(options, [t = std::move(mine), run = std::move(fn)]() mutable {
        t->ran = true;
        try {
          if constexpr (std::is_void_v<T>) {
            run();
          } else {
            t->value.emplace(run());
          }
        } catch (const leat::stopped&) {
          t->stopped = true;
        } catch (...) {
          t->failure = std::current_exception();
        }
      });
    } catch (const spawn_error&) {  // the holder has told
    } catch (const std::bad_alloc&) {
    }
    return which;
  }
  template <class F>
    requires std::is_invocable_r_v<T, std::decay_t<F>&>
  std::size_t go(F&& f) {
    return go(spawn_options{}, std::forward<F>(f));
  }
  template <class F>
  std::size_t go(std::string_view name, F&& f) {
    return go(spawn_options{.name = name}, std::forward<F>(f));
  }

  // The next one that ends, or has ended and was not fetched yet: the one that ended first. Empty: none is
  // left, or the caller was asked to stop. Throws leat::stopped instead when that was insisted on. Several
  // may call it: each member is fetched by one of them.
  std::optional<ended_task<T>> join_next() { return join_next_until(deadline::never()); }
  std::optional<ended_task<T>> join_next_until(deadline until) {
    std::optional<ended_task<T>> e;
    (void)join_next(e, until);
    return e;
  }
  // The same, and says why it is empty.
  next_status join_next(std::optional<ended_task<T>>& to, deadline until = deadline::never()) {
    to.reset();
    csp::ended_link* t = nullptr;
    const next_status s = base_.next(t, until);
    if (s != next_status::ended) return s;
    const std::unique_ptr<ticket> mine(static_cast<ticket*>(t));
    to.emplace(std::move(static_cast<ended_task<T>&>(*mine)));
    return s;
  }

  // Asks all members to stop, and those that are started later.
  void stop() noexcept { group_->stop(); }
  // The next entry of each into the runtime throws leat::stopped.
  void insist() noexcept { group_->insist(); }
  // Members that were not fetched yet, whether or not they have ended.
  std::size_t size() const noexcept { return base_.left(); }

 private:
  struct ticket : csp::ended_link, ended_task<T> {
    bool ran = false;
  };
  // Owns the ticket on its way with the closure; its end is the member's.
  class holder {
   public:
    explicit holder(csp::task_set_base& b) : base_(&b), t_(new ticket) { t_->which = b.begin(); }
    holder(holder&& other) noexcept : base_(other.base_), t_(std::move(other.t_)) {}
    holder& operator=(holder&&) = delete;
    ~holder() {
      if (!t_) return;
      if (!t_->ran) {
        try {
          t_->failure = std::make_exception_ptr(spawn_error("a member of a task set could not be started"));
        } catch (...) {
          t_->failure = std::current_exception();
        }
      }
      base_->end(*t_.release());
    }
    ticket* operator->() const noexcept { return t_.get(); }

   private:
    csp::task_set_base* base_;
    std::unique_ptr<ticket> t_;
  };

  csp::task_set_base base_;
  std::optional<task_group> group_;  // goes first: then all closures have
};

}  // namespace leat
