// SPDX-License-Identifier: BSL-1.0
//
// The general channel: any number of senders and receivers, any policy, capacity 0 (rendezvous) and up.
//
// One spinlock (biased_lock.hpp) guards everything; it is held for a few dozen instructions, never around
// user code (cell.hpp), a ready() or a switch, but for a plain wait, which drops it on the far side of its
// switch (wait.hpp).
//
// Invariants, whenever the lock is free:
//   receivers_ not empty  =>  count_ and count_given_back_ are 0, and senders_ holds nobody but members of the
//                             receivers' own selects
//   senders_ not empty    =>  count_ is capacity, the policy is block (or fail, in a select)
//   closed_               =>  both queues are empty
//   sent_ = received_ + dropped_ + count_ + count_given_back_
// Hence a value never waits beside a receiver, order is first in first out on both sides, and nobody waits
// for what is there. Contested waiters that have been claimed elsewhere may linger in a queue until their
// owner takes the lock; claim_first passes over them.
//
//   send:  1 closed: returns that. 2 a receiver waits: claim it, move the value into its slot, wake it after the
//          unlock. 3 room: into the ring. 4 the policy.
//   recv:  1 a value is there: take it; if a sender waits, claim it and move its value into the ring.
//          2 capacity 0 and a sender waits: claim it and take its value. 3 closed: returns that. 4 wait.
//   close: claims everybody, with `closed`. What is in the ring stays.
//
// Checked by tests/csp/property_test.cpp (against a sequential model) and tests/models/many.pml.
#pragma once
#include <cstddef>
#include <new>
#include <optional>

#include <leat/csp/biased_lock.hpp>
#include <leat/csp/cell.hpp>
#include <leat/csp/channel_base.hpp>

namespace leat::csp {

// What does not depend on the type, and who waits.
class many_base : public channel_base {
 public:
  leat::flavour flavour() const noexcept override {
    if (full_ == leat::full::latest) return leat::flavour::latest;
    return capacity_ == 0 ? leat::flavour::rendezvous : leat::flavour::many;
  }

  // The end of a receive, or of a send, that must wait: waits, with the lock held at first; leaves the
  // runtime; throws leat::stopped if that is insisted on.
  recv_status wait_to_receive(entrance in, void* to, without_end);
  recv_status wait_to_receive(entrance in, void* to, std::int64_t until);
  send_status wait_to_send(entrance in, void* from, without_end);
  send_status wait_to_send(entrance in, void* from, std::int64_t until);
  // They would leave again.
  template <class Until>
  recv_status wait_to_receive(const entered& in, void* to, Until until) = delete;
  template <class Until>
  send_status wait_to_send(const entered& in, void* from, Until until) = delete;

  // Not by the aligned allocation of the C library, which keeps no free pieces at hand for each thread, and
  // takes several times as long.
  static void* operator new(std::size_t size, std::align_val_t alignment);
  static void operator delete(void* p, std::align_val_t alignment) noexcept;

 protected:
  many_base(inlined as, std::size_t capacity, const channel_options& o);

  recv_status wait_to_receive_inside(entrance& in, void* to, std::int64_t until) noexcept LEAT_RELEASE(lock_);
  send_status wait_to_send_inside(entrance& in, void* from, std::int64_t until) noexcept LEAT_RELEASE(lock_);

  // In the order of use, by cache lines: the first has what channel_base has, too, the second the queues and
  // what the derived class counts. A rendezvous touches no more than these two.
  std::uint32_t count_ = 0;
  [[no_unique_address]] mutable biased_lock lock_;  // closed_ lies in its last bytes
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  alignas(64) wait_queue receivers_ LEAT_GUARDED_BY(lock_);
  wait_queue senders_ LEAT_GUARDED_BY(lock_);
};
static_assert(sizeof(void*) != 8 || sizeof(many_base) == 128);

template <class Cell>
class many_channel : public many_base {
 public:
  many_channel(std::size_t capacity, const channel_options& o)
      : many_base(is_boxed<Cell> ? inlined::no : inlined::many, o.full == leat::full::latest ? 1 : capacity,
                  o),
        mask_(ring_size(capacity_, sizeof(Cell)) - 1),
        ring_(static_cast<Cell*>(
            allocate_ring(capacity_ ? mask_ + 1 : 0, sizeof(Cell), alignof(Cell), capacity_))) {}

  ~many_channel() override {
    while (count_ > 0) {
      front()->~Cell();
      ++head_;
      --count_;
    }
    free_ring(ring_, alignof(Cell));
  }

  // Moves v only if it is sent. False: there is no room; the lock is held, for wait_to_send if must_wait says
  // so, else for apply_policy_and_unlock.
  [[gnu::always_inline]] bool send_now(entrance& in, Cell& v, std::int64_t until,
                                       send_status& s) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (until != at_once && in.stop_asked()) [[unlikely]] {
      s = send_status::stopped;
      return true;
    }
    lock_.lock_standing_back(seat_of(in));
    if (closed_) [[unlikely]] {
      ++refused_;
      s = unlock_and(send_status::closed);
      return true;
    }
    s = send_status::sent;
    if (!receivers_.empty()) {
      bool wake_it = false;
      if (waiter* const w = claim_first(receivers_, wake_it)) {
        give_locked(*w, v);
        lock_.unlock();
        if (wake_it) w->who->wake(in.m);
        return true;
      }
    }
    if (count_ >= capacity_) [[unlikely]]
      return false;
    push_locked(v);
    lock_.unlock();
    return true;
  }
  bool must_wait(std::int64_t until) const noexcept { return full_ == leat::full::block && until != at_once; }
  // By the policy; drops the lock. `evicted` gets what was pushed out, to be destroyed outside the runtime.
  [[gnu::noinline]] send_status apply_policy_and_unlock(Cell& v, std::optional<Cell>& evicted) noexcept
      LEAT_NO_THREAD_SAFETY_ANALYSIS {
    switch (full_) {
      case leat::full::block:
      case leat::full::fail: return unlock_and(send_status::full);
      case leat::full::drop_oldest:
      case leat::full::latest:
        if (capacity_ > 0) {
          pop_locked(evicted);
          ++dropped_;
          push_locked(v);
          return unlock_and(send_status::sent);
        }
        [[fallthrough]];
      case leat::full::drop_newest: break;
    }
    ++sent_;
    ++dropped_;
    return unlock_and(send_status::dropped);
  }
  [[gnu::always_inline]] send_status send_inside(entered& in, Cell& v, std::optional<Cell>& evicted,
                                                 std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    send_status s{};
    if (send_now(in, v, until, s)) return s;
    return must_wait(until) ? wait_to_send_inside(in, &v, until) : apply_policy_and_unlock(v, evicted);
  }

  // False: it must wait, and the lock is held.
  [[gnu::always_inline]] bool recv_now(entrance& in, std::optional<Cell>& out, std::int64_t until,
                                       recv_status& s) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (until != at_once && in.stop_asked()) [[unlikely]] {
      s = recv_status::stopped;
      return true;
    }
    lock_.lock_standing_back(seat_of(in));
    waiter* woken = nullptr;
    if (take_locked(out, woken, nullptr)) [[likely]] {
      lock_.unlock();
      if (woken) woken->who->wake(in.m);
      s = recv_status::received;
      return true;
    }
    if (!closed_ && until != at_once) return false;
    s = unlock_and(closed_ ? recv_status::closed : recv_status::empty);
    return true;
  }
  [[gnu::always_inline]] recv_status recv_inside(entered& in, std::optional<Cell>& out,
                                                 std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    recv_status s{};
    return recv_now(in, out, until, s) ? s : wait_to_receive_inside(in, &out, until);
  }

  send_status send(void* value, std::int64_t until) override {
    std::optional<Cell> evicted;  // destroyed outside the runtime
    entered in;
    return send_inside(in, *static_cast<Cell*>(value), evicted, until);
  }
  recv_status recv(void* value, std::int64_t until) override {
    entered in;
    return recv_inside(in, *static_cast<std::optional<Cell>*>(value), until);
  }

  // The receiver could not take its value: it goes to the next one, or back to the front. Boxed values only.
  void give_back(entered& in, Cell&& v) noexcept
    requires is_boxed<Cell>
  {
    waiter* w = nullptr;
    bool wake_it = false;
    {
      lock_guard hold(lock_);
      w = claim_first(receivers_, wake_it);
      if (w) {
        static_cast<std::optional<Cell>*>(w->slot)->emplace(std::move(v));
      } else {
        v.node->next = std::move(given_back_);
        given_back_ = std::move(v.node);
        --received_;
        ++count_given_back_;
      }
    }
    if (w && wake_it) w->who->wake(in.m);
  }

  std::size_t size() const noexcept override {
    const sched::unbroken_look unbroken;
    const look_guard hold(lock_);
    return count_ + count_given_back_;
  }
  bool is_closed() const noexcept override {
    const sched::unbroken_look unbroken;
    const look_guard hold(lock_);
    return closed_;
  }
  channel_stats stats() const noexcept override {
    const sched::unbroken_look unbroken;
    const look_guard hold(lock_);
    return {sent_,
            received_,
            dropped_,
            count_ + count_given_back_,
            high_,
            nanoseconds(senders_.blocked_ns),
            nanoseconds(receivers_.blocked_ns),
            refused_};
  }
  // Not with the lock: a handler must not touch what its M holds (biased_lock.hpp).
  LEAT_UNWATCHED bool try_count(channel_stats& to) const noexcept override LEAT_NO_THREAD_SAFETY_ANALYSIS {
    to.sent = sent_;
    to.received = received_;
    to.dropped = dropped_;
    to.left = count_ + count_given_back_;
    return true;
  }

  std::size_t waiting(std::span<waiting_g> to) const noexcept override {
    const sched::unbroken_look unbroken;
    const look_guard hold(lock_);
    return note_waiting(senders_, true, to, note_waiting(receivers_, false, to, 0));
  }

  void close() noexcept override {
    if (!close_inside()) report_closed_twice();  // outside the runtime: the log's sink is user code
  }

  // --- select --------------------------------------------------------------------------------------

  ending try_case(entered& in, op_case& c) noexcept override {
    if (c.kind == op::recv)
      return ending_of(recv_inside(in, *static_cast<std::optional<Cell>*>(c.slot), at_once));
    return ending_of(
        send_inside(in, *static_cast<Cell*>(c.slot), *static_cast<std::optional<Cell>*>(c.evicted), at_once));
  }

  ending enroll(entered& in, op_case& c, wait& me) noexcept override LEAT_NO_THREAD_SAFETY_ANALYSIS {
    lock_.lock(seat_of(in));
    waiter* woken = nullptr;
    const ending result =
        c.kind == op::recv ? enroll_recv_locked(c, me, woken) : enroll_send_locked(c, me, woken);
    lock_.unlock();
    if (woken) woken->who->wake(in.m);
    return result;
  }

  void withdraw(op_case& c) noexcept override {
    lock_guard hold(lock_);
    if (waiter_list::linked(&c.entry)) (c.kind == op::recv ? receivers_ : senders_).unlink(c.entry);
  }

 private:
  // False: it was closed already.
  bool close_inside() noexcept {
    waiter_list woken;
    const entered in;
    bool first = false;
    {
      lock_guard hold(lock_);
      first = !closed_;
      closed_ = true;
      claim_all(receivers_, ending::closed, woken);
      claim_all(senders_, ending::closed, woken);
    }
    wake_all(in.m, woken);
    return first;
  }

  template <class Status>
  Status unlock_and(Status s) noexcept LEAT_RELEASE(lock_) {
    lock_.unlock();
    return s;
  }

  Cell* front() noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS { return ring_ + (head_ & mask_); }

  void push_locked(Cell& v) noexcept LEAT_REQUIRES(lock_) {
    new (ring_ + ((head_ + count_) & mask_)) Cell(std::move(v));
    if (++count_ > high_) high_ = count_;
    ++sent_;
  }

  void pop_locked(std::optional<Cell>& out) noexcept LEAT_REQUIRES(lock_) {
    Cell* const at = front();
    out.emplace(std::move(*at));
    at->~Cell();
    ++head_;
    --count_;
  }

  void give_locked(waiter& w, Cell& v) noexcept LEAT_REQUIRES(lock_) {
    static_cast<std::optional<Cell>*>(w.slot)->emplace(std::move(v));
    ++sent_;
    ++received_;
  }

  bool ready_to_recv_locked(const wait* except) const noexcept LEAT_REQUIRES(lock_) {
    if (count_ > 0 || count_given_back_ > 0) return true;
    for (const waiter& w : senders_.list)
      if (w.who != except) return true;
    return false;
  }

  // False: there is nothing to take. `woken` is a sender to be woken outside the lock.
  [[gnu::always_inline]] bool take_locked(std::optional<Cell>& out, waiter*& woken,
                                          const wait* except) noexcept LEAT_REQUIRES(lock_) {
    if constexpr (is_boxed<Cell>) {
      if (given_back_) [[unlikely]] {
        auto rest = std::move(given_back_->next);
        out.emplace(Cell(std::move(given_back_)));
        given_back_ = std::move(rest);
        --count_given_back_;
        ++received_;
        return true;
      }
    }
    bool popped = false;
    if (count_ > 0) [[likely]] {
      popped = true;
      pop_locked(out);
      ++received_;
      if (senders_.empty()) [[likely]]
        return true;
    } else if (senders_.empty()) {
      return false;
    }
    bool wake_it = false;
    waiter* const s = claim_first(senders_, wake_it, except);
    if (!s) return popped;
    Cell& v = *static_cast<Cell*>(s->slot);
    if (popped) {
      push_locked(v);
    } else {
      out.emplace(std::move(v));
      ++sent_;
      ++received_;
    }
    if (wake_it) woken = s;
    return true;
  }

  ending enroll_recv_locked(op_case& c, wait& me, waiter*& woken) noexcept LEAT_REQUIRES(lock_) {
    if (ready_to_recv_locked(&me)) {
      if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
      auto& out = *static_cast<std::optional<Cell>*>(c.slot);
      return take_locked(out, woken, &me) ? ending::done : ending::look;
    }
    if (closed_) return ending::closed;
    receivers_.link(c.entry);
    return ending::pending;
  }

  ending enroll_send_locked(op_case& c, wait& me, waiter*& woken) noexcept LEAT_REQUIRES(lock_) {
    if (closed_) return ending::closed;
    Cell& v = *static_cast<Cell*>(c.slot);
    bool other = false;
    for (const waiter& w : receivers_.list) other |= w.who != &me;
    if (other) {
      if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
      bool wake_it = false;
      waiter* const w = claim_first(receivers_, wake_it, &me);
      if (!w) return ending::look;
      give_locked(*w, v);
      if (wake_it) woken = w;
      return ending::done;
    }
    if (count_ < capacity_) {
      if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
      push_locked(v);
      return ending::done;
    }
    // Under a dropping policy try_case never says pending, so nobody should come here: the select looks again.
    // `fail` waits here: a select has said that it wants to.
    if (full_ != leat::full::block && full_ != leat::full::fail)
      return me.try_claim(c.entry.index) == wait::claimed::lost ? ending::lost : ending::look;
    senders_.link(c.entry);
    return ending::pending;
  }

  // A buffer's come first, the rest is seldom needed.
  kept_count sent_ LEAT_GUARDED_BY(lock_) = 0;
  kept_count received_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t head_ = 0;
  const std::size_t mask_;
  Cell* const ring_;
  kept_count high_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t dropped_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t refused_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t count_given_back_ LEAT_GUARDED_BY(lock_) = 0;
  struct nothing {};
  template <class C>
  struct holder_of {
    using type = nothing;
  };
  template <class T>
  struct holder_of<boxed<T>> {
    using type = std::unique_ptr<typename boxed<T>::holder>;
  };
  [[no_unique_address]] typename holder_of<Cell>::type given_back_;
};

}  // namespace leat::csp
