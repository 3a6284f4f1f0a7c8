// SPDX-License-Identifier: BSL-1.0
//
// The broadcast channel: every reader gets every value, and has its own ring, capacity and policy.
//
// A hub (what channel<T> and out<T> hold) knows its readers (what in<T> holds). A value is made once, outside
// the runtime, as a counted node; rings hold pointers to it, so a ring of pointers is all that a reader
// costs. Each receiver copies the value out of the node, outside the runtime; the last one moves it. One
// spinlock, the hub's, guards the rings of all readers and all who wait.
//
// Invariants, whenever the lock is free:
//   a reader's receivers_ not empty =>  it has nothing to read
//   senders_ not empty              =>  a reader that blocks is full (or, for a select, one that fails)
//   closed_                         =>  nobody waits
//   for each reader: offered_ = received_ + dropped_ + what it has
// A send is atomic over the readers: all take it, or drop it by their policy, or nobody gets it.
//
//   send:  1 closed: tell. 2 a reader that fails is full: `full`. 3 a reader that blocks is full: wait.
//          4 offers it to each reader: straight to a receiver that waits, else into the ring, else by the
//            policy.
//   recv:  1 a value is there: takes it; while all readers have room and senders wait, claims the first and
//          does its step 4 for it (serve). 2 closed: tell. 3 wait.
//   leave: a reader whose last in<T> goes, or that closes, no longer holds anybody up: serve.
//   close: claims everybody, and tells them `closed`. What is in the rings stays.
//
// A waiting sender that meets a full reader that fails is told so, with its value given back; in a select
// it waits on.
//
// The value is handed over by the claimer in every case, never by waking somebody to look: a select that was
// woken to look may take another case, and what it was woken for would wait beside others who want it.
//
// User code (constructors, copies, destructors) runs outside the runtime. A copy that throws puts the node
// back in front of the reader's ring, in a wrapper that has a link of its own; a node has none, since it is
// in several rings. What a policy pushes out is collected in evicted_nodes, the sender's, which dies outside.
//
// Reader capacity: at least 1; `latest` always has 1.
// Stress: tests/csp/broadcast_storm_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <leat/csp/channel_base.hpp>

namespace leat::csp {

// A counted value. Whoever holds the last reference destroys it.
struct broadcast_item {
  broadcast_item() = default;
  explicit broadcast_item(broadcast_item* inner) noexcept : wraps(inner) {}
  virtual ~broadcast_item() = default;
  broadcast_item(const broadcast_item&) = delete;
  broadcast_item& operator=(const broadcast_item&) = delete;

  // What depends on the type, outside the runtime: here and not at the hub, which may be gone when a wait is over.
  // Back to the T* from which it was made, after a send that did not take it.
  virtual void restore(void* value) { wraps->restore(value); }
  // Into a std::optional<T>*. If it throws, the item has its value still.
  virtual void unpack(void* value) { wraps->unpack(value); }

  // True: it was the last, and the caller owns the item.
  bool drop() noexcept {
    // Release: this reader has done copying. Acquire: so have all others, before the end.
    return refs.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  std::atomic<std::uint32_t> refs{1};
  broadcast_item* next = nullptr;         // its one owner's: among evicted_nodes, or those given back
  broadcast_item* const wraps = nullptr;  // of one that was given back: the item with the value
};

template <class T>
struct item_of final : broadcast_item {
  explicit item_of(T&& v) : held(std::move(v)) {}

  void restore(void* value) override {
    T& v = *static_cast<T*>(value);
    if constexpr (std::is_nothrow_move_assignable_v<T> || !std::is_nothrow_move_constructible_v<T>) {
      v = std::move(held);
    } else {
      std::destroy_at(&v);
      std::construct_at(&v, std::move(held));
    }
  }
  // Copies the value, or moves it when nobody else can.
  void unpack(void* value) override {
    auto& to = *static_cast<std::optional<T>*>(value);
    if constexpr (std::is_nothrow_move_constructible_v<T>) {
      // Acquire: the other readers have done copying; pairs with drop.
      if (refs.load(std::memory_order_acquire) == 1) {
        to.emplace(std::move(held));
        return;
      }
    }
    to.emplace(std::as_const(held));
  }

  T held;
};

// One reference. Its end may run the value's destructor: outside the runtime.
class node_ref {
 public:
  node_ref() noexcept = default;
  explicit node_ref(broadcast_item* takes_over) noexcept : item_(takes_over) {}
  node_ref(node_ref&& other) noexcept : item_(other.release()) {}
  node_ref& operator=(node_ref&& other) noexcept {
    node_ref old(std::exchange(item_, other.release()));
    return *this;
  }
  ~node_ref() {
    if (item_ && item_->drop()) delete item_;
  }

  explicit operator bool() const noexcept { return item_ != nullptr; }
  broadcast_item* get() const noexcept { return item_; }
  // The one with the value.
  broadcast_item& item() const noexcept { return item_->wraps ? *item_->wraps : *item_; }
  broadcast_item* release() noexcept { return std::exchange(item_, nullptr); }

 private:
  broadcast_item* item_ = nullptr;
};

// What a send pushed out of rings. Dies outside the runtime.
class evicted_nodes {
 public:
  evicted_nodes() noexcept = default;
  evicted_nodes(evicted_nodes&& other) noexcept : first_(std::exchange(other.first_, nullptr)) {}
  evicted_nodes& operator=(evicted_nodes&&) = delete;
  ~evicted_nodes() { clear(); }
  void clear() noexcept {
    while (first_) delete std::exchange(first_, first_->next);
  }
  // Under the hub's lock. Takes over one reference.
  void add(broadcast_item* it) noexcept {
    if (!it->drop()) return;
    it->next = first_;
    first_ = it;
  }

 private:
  broadcast_item* first_ = nullptr;
};

class broadcast_reader;

// All but what depends on the type, which broadcast_channel<T> has.
class broadcast_hub : public channel_base {
 public:
  // The capacity is that of readers who ask for none: it need not be one that a channel can have.
  broadcast_hub(std::size_t capacity, const channel_options& o)
      : channel_base(capacity < most_capacity ? capacity : most_capacity, o) {}

  // Outside the runtime. From a T*.
  virtual node_ref pack(void* value) const = 0;

  leat::flavour flavour() const noexcept override { return leat::flavour::broadcast; }
  bool each_reader_gets_all() const noexcept override { return true; }
  ref<channel_base> subscribe(std::size_t capacity, leat::full when_full) override;

  send_status send(void* value, std::int64_t until) override;
  recv_status recv(void*, std::int64_t) override { refuse_to_receive(*this); }
  // Takes v if it returns sent. dropped: there is no reader, or none of them kept it.
  send_status send_inside(entered& in, node_ref& v, evicted_nodes& evicted, std::int64_t until) noexcept;

  std::size_t size() const noexcept override;  // of the reader that has most
  bool is_closed() const noexcept override;
  // sent: sends that were not refused; dropped: those that no reader kept; received: all others.
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  void close() noexcept override;

  // Sends only: slot is a node_ref*, evicted an evicted_nodes*. There is nothing to receive here.
  void stage(op_case& c, void* value) override;
  void finish(op_case& c, void* value) override;
  void unstage(op_case& c, void* value) noexcept override;
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;

 private:
  friend class broadcast_reader;
  enum class room : std::uint8_t { there_is, wait_for_it, refused };
  struct sending {
    node_ref node;
    evicted_nodes evicted = {};
  };

  room room_locked() const noexcept LEAT_REQUIRES(lock_);
  // Step 4. There is room.
  void deliver_locked(node_ref& v, evicted_nodes& evicted, waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void serve_locked(waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void refuse_locked(waiter_list& woken) noexcept LEAT_REQUIRES(lock_);

  mutable ranked_spinlock lock_{lock_rank::channel, "broadcast channel"};
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  wait_queue senders_ LEAT_GUARDED_BY(lock_);  // the slot is the op_case
  std::uint64_t sent_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t dropped_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t refused_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t high_ LEAT_GUARDED_BY(lock_) = 0;
  broadcast_reader* first_ LEAT_GUARDED_BY(lock_) = nullptr;  // readers, in no order
};

// Everything but what is const is under the hub's lock.
class broadcast_reader final : public channel_base {
 public:
  broadcast_reader(ref<channel_base> hub, std::size_t capacity, const channel_options& o);
  ~broadcast_reader() override;

  leat::flavour flavour() const noexcept override { return leat::flavour::broadcast_reader; }
  recv_status recv(void* value, std::int64_t until) override;
  // `held` keeps this reader if it waits: everybody else may have let go of it when that is over.
  recv_status recv_inside(entered& in, std::optional<node_ref>& out, std::int64_t until,
                          ref<channel_base>& held) noexcept;

  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  // This reader gets nothing more, and no sender waits for it. What it has stays.
  void close() noexcept override;

  // Receives only: slot is a std::optional<node_ref>*.
  void stage(op_case& c, void* value) override;
  void finish(op_case& c, void* value) override;
  void unstage(op_case& c, void* value) noexcept override;
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;

 private:
  friend class broadcast_hub;

  std::size_t held() const noexcept { return count_ + count_given_back_; }
  bool is_full() const noexcept { return held() >= capacity_; }
  // False: dropped.
  bool offer_locked(broadcast_item* it, evicted_nodes& evicted, waiter_list& woken) noexcept;
  broadcast_item* pop_locked() noexcept;
  // False: there is nothing.
  bool take_locked(std::optional<node_ref>& out, waiter_list& woken) noexcept;
  void leave_locked(waiter_list& woken) noexcept;
  // Outside the runtime, after a receive. If the copy throws, the value goes back.
  void take_out(node_ref&& n, void* value);
  // The receiver could not copy the value: it goes to the next one, or back to the front.
  void give_back(node_ref&& v) noexcept;

  const ref<channel_base> keeps_;  // the hub
  broadcast_hub& hub_;
  const std::size_t mask_;
  broadcast_item** const ring_;
  std::size_t head_ = 0, count_ = 0;
  broadcast_item* given_back_ = nullptr;  // wrappers; the front of what it has
  std::size_t count_given_back_ = 0;
  broadcast_reader *next_ = nullptr, **link_ = nullptr;  // among the hub's readers; link_ null: it has left
  wait_queue receivers_;
  std::uint64_t offered_ = 0, received_ = 0, dropped_ = 0, high_ = 0;
};

// A class of its own, so that only those types must have a copy that are broadcast: of many one cannot know
// before one tries, and fails.
template <class T>
class broadcast_channel final : public broadcast_hub {
  static_assert(std::is_copy_constructible_v<T>, "a broadcast channel copies its values");

 public:
  using broadcast_hub::broadcast_hub;

  node_ref pack(void* value) const override {
    return node_ref(new item_of<T>(std::move(*static_cast<T*>(value))));
  }
};

}  // namespace leat::csp
