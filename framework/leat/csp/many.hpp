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

// The whole channel, in terms of four moves, which know the type. Where a handle inlines a send or a receive, so are the
// moves; all others (select, gates, several channels behind one end) make them through the interface, and that
// code is there once, not once for each type.
class many_base : public channel_base {
 public:
  leat::flavour flavour() const noexcept override;

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

  bool must_wait(std::int64_t until) const noexcept { return full_ == leat::full::block && until != at_once; }
  // By the policy; drops the lock. `evicted`, an empty std::optional<Cell>*, gets what was pushed out, to be
  // destroyed outside the runtime.
  send_status apply_policy_and_unlock(void* cell, void* evicted) noexcept;

  recv_status recv(void* value, std::int64_t until) override;
  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;
  void close() noexcept override;
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;

  // The moves, with the lock held: a cell is a Cell*, `to` an empty std::optional<Cell>*.
  virtual void move_in(void* cell) noexcept = 0;              // into the free slot behind the last value
  virtual void move_out(void* to) noexcept = 0;               // the first value; its slot is free then
  virtual void move_over(void* to, void* cell) noexcept = 0;  // past the ring
  virtual void move_given_back(void* to) noexcept = 0;        // the first of those that came back

  // Not by the aligned allocation of the C library, which keeps no free pieces at hand for each thread, and
  // takes several times as long.
  static void* operator new(std::size_t size, std::align_val_t alignment);
  static void operator delete(void* p, std::align_val_t alignment) noexcept;

 protected:
  struct cell_layout {
    std::size_t size, align;
  };
  many_base(inlined as, std::size_t capacity, const channel_options& o, cell_layout cell);
  ~many_base() override;

  // Self makes the moves: a class that knows the type, or this one.
  //
  // Moves from the cell only if it is sent. False: there is no room; the lock is held, for wait_to_send if
  // must_wait says so, else for apply_policy_and_unlock.
  template <class Self>
  [[gnu::always_inline]] static bool send_now(Self& self, entrance& in, void* cell, std::int64_t until,
                                              send_status& s) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (until != at_once && in.stop_asked()) [[unlikely]] {
      s = send_status::stopped;
      return true;
    }
    self.lock_.lock_standing_back(seat_of(in));
    if (self.closed_) [[unlikely]] {
      ++self.refused_;
      s = self.unlock_and(send_status::closed);
      return true;
    }
    s = send_status::sent;
    if (!self.receivers_.empty()) {
      bool wake_it = false;
      if (waiter* const w = claim_first(self.receivers_, wake_it)) {
        give_locked(self, *w, cell);
        self.lock_.unlock();
        if (wake_it) w->who->wake(in.m);
        return true;
      }
    }
    if (self.count_ >= self.capacity_) [[unlikely]]
      return false;
    push_locked(self, cell);
    self.lock_.unlock();
    return true;
  }
  // False: it must wait, and the lock is held.
  template <class Self>
  [[gnu::always_inline]] static bool recv_now(Self& self, entrance& in, void* to, std::int64_t until,
                                              recv_status& s) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (until != at_once && in.stop_asked()) [[unlikely]] {
      s = recv_status::stopped;
      return true;
    }
    self.lock_.lock_standing_back(seat_of(in));
    waiter* woken = nullptr;
    if (take_locked(self, to, woken, nullptr)) [[likely]] {
      self.lock_.unlock();
      if (woken) woken->who->wake(in.m);
      s = recv_status::received;
      return true;
    }
    if (!self.closed_ && until != at_once) return false;
    s = self.unlock_and(self.closed_ ? recv_status::closed : recv_status::empty);
    return true;
  }

  // Through the interface. `evicted` as above. The first of these waits, leaves the runtime, and throws as wait_to_send does.
  send_status send_untyped(void* cell, void* evicted, std::int64_t until);
  send_status send_inside(entered& in, void* cell, void* evicted, std::int64_t until) noexcept;
  recv_status recv_inside(entered& in, void* to, std::int64_t until) noexcept;

  std::size_t first_slot() const noexcept { return head_ & mask_; }
  std::size_t free_slot() const noexcept { return (head_ + count_) & mask_; }

  // In the order of use, by cache lines: the first has what channel_base has, too, the second the queues, the
  // third what is counted. A rendezvous touches no more than these.
  std::uint32_t count_ = 0;
  [[no_unique_address]] mutable biased_lock lock_;  // closed_ lies in its last bytes
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  alignas(64) wait_queue receivers_ LEAT_GUARDED_BY(lock_);
  wait_queue senders_ LEAT_GUARDED_BY(lock_);
  // A buffer's come first, the rest is seldom needed.
  kept_count sent_ LEAT_GUARDED_BY(lock_) = 0;
  kept_count received_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t head_ = 0;
  const std::size_t mask_;
  void* const ring_;
  kept_count high_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t dropped_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t refused_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t count_given_back_ LEAT_GUARDED_BY(lock_) = 0;

 private:
  const std::size_t cell_align_;

  recv_status wait_to_receive_inside(entrance& in, void* to, std::int64_t until) noexcept LEAT_RELEASE(lock_);
  send_status wait_to_send_inside(entrance& in, void* from, std::int64_t until) noexcept LEAT_RELEASE(lock_);
  // False: it was closed already.
  bool close_inside() noexcept;
  bool ready_to_recv_locked(const wait* except) const noexcept LEAT_REQUIRES(lock_);
  ending enroll_recv_locked(op_case& c, wait& me, waiter*& woken) noexcept LEAT_REQUIRES(lock_);
  ending enroll_send_locked(op_case& c, wait& me, waiter*& woken) noexcept LEAT_REQUIRES(lock_);

  template <class Status>
  Status unlock_and(Status s) noexcept LEAT_RELEASE(lock_) {
    lock_.unlock();
    return s;
  }

  template <class Self>
  static void push_locked(Self& self, void* cell) noexcept LEAT_REQUIRES(self.lock_) {
    self.move_in(cell);
    if (++self.count_ > self.high_) self.high_ = self.count_;
    ++self.sent_;
  }
  template <class Self>
  static void pop_locked(Self& self, void* to) noexcept LEAT_REQUIRES(self.lock_) {
    self.move_out(to);
    ++self.head_;
    --self.count_;
  }
  template <class Self>
  static void give_locked(Self& self, waiter& w, void* cell) noexcept LEAT_REQUIRES(self.lock_) {
    self.move_over(w.slot, cell);
    ++self.sent_;
    ++self.received_;
  }
  // False: there is nothing to take. `woken` is a sender to be woken outside the lock.
  template <class Self>
  [[gnu::always_inline]] static bool take_locked(Self& self, void* to, waiter*& woken,
                                                 const wait* except) noexcept LEAT_REQUIRES(self.lock_) {
    if constexpr (!Self::never_given_back) {
      if (self.count_given_back_ > 0) [[unlikely]] {
        self.move_given_back(to);
        --self.count_given_back_;
        ++self.received_;
        return true;
      }
    }
    bool popped = false;
    if (self.count_ > 0) [[likely]] {
      popped = true;
      pop_locked(self, to);
      ++self.received_;
      if (self.senders_.empty()) [[likely]]
        return true;
    } else if (self.senders_.empty()) {
      return false;
    }
    bool wake_it = false;
    waiter* const s = claim_first(self.senders_, wake_it, except);
    if (!s) return popped;
    if (popped) {
      push_locked(self, s->slot);
    } else {
      self.move_over(to, s->slot);
      ++self.sent_;
      ++self.received_;
    }
    if (wake_it) woken = s;
    return true;
  }

 public:
  static constexpr bool never_given_back = false;
};
static_assert(sizeof(void*) != 8 || sizeof(many_base) == 192);

template <class Cell>
class many_channel : public many_base {
 public:
  static constexpr bool never_given_back = !is_boxed<Cell>;

  many_channel(std::size_t capacity, const channel_options& o)
      : many_base(is_boxed<Cell> ? inlined::no : inlined::many, capacity, o, {sizeof(Cell), alignof(Cell)}) {}
  ~many_channel() override {
    for (; count_ > 0; ++head_, --count_) ring()[first_slot()].~Cell();
  }

  // As in many_base.
  [[gnu::always_inline]] bool send_now(entrance& in, Cell& v, std::int64_t until, send_status& s) noexcept {
    return many_base::send_now(*this, in, &v, until, s);
  }
  [[gnu::always_inline]] bool recv_now(entrance& in, std::optional<Cell>& to, std::int64_t until,
                                       recv_status& s) noexcept {
    return many_base::recv_now(*this, in, &to, until, s);
  }

  send_status send(void* value, std::int64_t until) override {
    std::optional<Cell> evicted;  // destroyed outside the runtime
    return send_untyped(value, &evicted, until);
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
        move_over(w->slot, &v);
      } else {
        v.node->next = std::move(given_back_);
        given_back_ = std::move(v.node);
        --received_;
        ++count_given_back_;
      }
    }
    if (w && wake_it) w->who->wake(in.m);
  }

  void move_in(void* cell) noexcept final {
    new (ring() + free_slot()) Cell(std::move(*static_cast<Cell*>(cell)));
  }
  void move_out(void* to) noexcept final {
    Cell* const at = ring() + first_slot();
    static_cast<std::optional<Cell>*>(to)->emplace(std::move(*at));
    at->~Cell();
  }
  void move_over(void* to, void* cell) noexcept final {
    static_cast<std::optional<Cell>*>(to)->emplace(std::move(*static_cast<Cell*>(cell)));
  }
  void move_given_back(void* to) noexcept final {
    if constexpr (is_boxed<Cell>) {
      auto rest = std::move(given_back_->next);
      static_cast<std::optional<Cell>*>(to)->emplace(Cell(std::move(given_back_)));
      given_back_ = std::move(rest);
    } else {
      (void)to;
    }
  }

 private:
  Cell* ring() const noexcept { return static_cast<Cell*>(ring_); }

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
