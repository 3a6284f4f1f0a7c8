// SPDX-License-Identifier: BSL-1.0
//
// What all flavours of channels have in common, and what select knows of them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <leat/csp/party.hpp>

namespace leat {

// What a send does when there is no room.
enum class full : std::uint8_t {
  block,        // waits
  drop_newest,  // drops the value it was to send
  drop_oldest,  // drops the value that has waited longest
  latest,       // keeps one value, the last sent
  fail,         // returns send_status::full
};

// full: there is no room, and the call does not wait. dropped: by the channel's policy; it is counted.
enum class send_status : std::uint8_t { sent, closed, stopped, timeout, full, dropped };
// empty: there is nothing, and the call does not wait.
enum class recv_status : std::uint8_t { received, closed, stopped, timeout, empty };
const char* to_string(send_status s) noexcept;
const char* to_string(recv_status s) noexcept;

struct channel_options {
  leat::full full = leat::full::block;
  // What the caller knows: how many Gs ever send and receive; 0: any number. One of each gets a ring without
  // locks. A G that breaks the promise is caught in debug builds.
  unsigned writers = 0, readers = 0;
  std::string name = {};  // for reports
};

// How it works inside; chosen at construction.
enum class flavour : std::uint8_t {
  rendezvous,
  many,
  latest,
  single,  // before it are many_channels, behind it what send_special and recv_special deal with
  broadcast,
  broadcast_reader,
  ticker,
  merged,  // an end that receives from several channels
  fan,     // an end that sends to several
  gated,   // an end that is looked at (gate.hpp)
};
const char* to_string(flavour f) noexcept;

// The first argument of a channel's constructor: every reader gets every value (channel::subscribe).
struct broadcast_t {
  explicit broadcast_t() = default;
};
inline constexpr broadcast_t broadcast{};

// sent = received + dropped + left, always.
struct channel_stats {
  std::uint64_t sent = 0, received = 0, dropped = 0, left = 0;
  std::uint64_t high_water = 0;  // most values at once; a `single` ring looks when a side runs into its end
  // How long senders and receivers were parked, by the coarse clock (sysmon's tick).
  nanoseconds send_blocked{0}, recv_blocked{0};
};

// A channel that cannot be made: no memory for its capacity, or options that do not go together.
class channel_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace csp {

inline constexpr std::size_t most_capacity = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t at_once = std::numeric_limits<std::int64_t>::min();

// What a claimer tells a waiter of a channel.
enum verdict : std::uint8_t {
  verdict_done = 1,    // the value has been moved
  verdict_closed = 2,  // the channel has been closed
  verdict_look = 3,    // there may be something now: try again
};

enum class op : std::uint8_t { recv, send };

// One case of a select, as channels see it. The slot is a std::optional<Cell>* for recv and a Cell* for send;
// evicted a std::optional<Cell>*, for what a send pushes out.
struct op_case {
  op_case() noexcept : kind(op::recv), place{} {}
  explicit op_case(op k) noexcept : kind(k) {}  // leaves `place` to be made
  op kind;
  void* slot = nullptr;
  void* evicted = nullptr;
  // Made when the select has to wait (select.cpp); most find a case that is ready.
  union {
    waiter place;
  };
};

enum class attempt : std::uint8_t {
  done,     // the value has been moved
  dropped,  // a send that the policy has dropped
  closed,   // it can never be done
  pending,  // not now. enroll: the case is linked
  lost,     // enroll: the select has been claimed through another case
  again,    // enroll: the select claimed itself in vain and must start over
};

// What a try_ call says, as select puts it.
constexpr attempt attempt_of(recv_status s) noexcept {
  switch (s) {
    case recv_status::received: return attempt::done;
    case recv_status::closed: return attempt::closed;
    default: return attempt::pending;
  }
}
constexpr attempt attempt_of(send_status s) noexcept {
  switch (s) {
    case send_status::sent: return attempt::done;
    case send_status::dropped: return attempt::dropped;
    case send_status::closed: return attempt::closed;
    default: return attempt::pending;
  }
}

class channel_base {
 public:
  // Throws channel_error when no channel can hold that many.
  channel_base(flavour kind, std::size_t capacity, const channel_options& o);
  virtual ~channel_base() = default;
  channel_base(const channel_base&) = delete;
  channel_base& operator=(const channel_base&) = delete;

  flavour kind() const noexcept { return kind_; }
  leat::full when_full() const noexcept { return full_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::string_view name() const noexcept { return name_ ? name_.get() : ""; }

  virtual std::size_t size() const noexcept = 0;
  virtual bool is_closed() const noexcept = 0;
  virtual channel_stats stats() const noexcept = 0;
  // What went through it, without waiting for a lock: for the handler of a program that dies. While others
  // use it, figures may be from before and after. False: somebody has the lock, or it keeps no such count.
  virtual bool try_count(channel_stats& to) const noexcept {
    (void)to;
    return false;
  }
  virtual void close() noexcept = 0;
  // Nobody will receive any more: closes it, if it is open. What it holds stays. A writer that closes it
  // later does so for the first time.
  void abandon() noexcept {
    abandoned_.store(true, std::memory_order_relaxed);
    if (!is_closed()) close();
  }

  // For select. try_case never waits. enroll does the same, but if the case is not ready it links it, so
  // that `me` is claimed when it may be; withdraw unlinks it if it still is.
  virtual attempt try_case(entered& in, op_case& c) noexcept = 0;
  virtual attempt enroll(entered& in, op_case& c, party& me) noexcept = 0;
  virtual void withdraw(op_case& c) noexcept = 0;
  // The Gs that wait here, as far as `to` has room, and how many there are.
  virtual std::size_t waiting(std::span<waiting_g> to) const noexcept {
    (void)to;
    return 0;
  }
  // When a case that is pending becomes ready by itself.
  virtual std::int64_t due() noexcept { return forever; }
  // Whoever received, or sent, here alone is out; another takes its place.
  virtual void change_user(op kind) noexcept { (void)kind; }

  void add_ref() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  // For somebody who knows of the channel without a handle, while it is kept from being freed. False: the
  // last handle has gone.
  bool add_ref_unless_gone() noexcept {
    std::uint32_t n = refs_.load(std::memory_order_relaxed);
    while (n != 0 && !refs_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) {
    }
    return n != 0;
  }
  void drop_ref() noexcept {
    // Release: what this handle did. Acquire: what all others did, before the end.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  void report_closed_twice() const noexcept;

  // As a wait is told; null: none.
  const char* c_name() const noexcept { return name_.get(); }

 private:
  // Little, and in this order, so that what a derived class uses with each value shares the line with it.
  const std::unique_ptr<const char[]> name_;  // null: none
  std::atomic<std::uint32_t> refs_{1};
  std::atomic<bool> abandoned_{false};  // ordered by the close

 protected:
  const flavour kind_;
  const leat::full full_;
  const std::uint32_t capacity_;
};

template <class Channel>
class ref {
 public:
  ref() noexcept = default;
  explicit ref(Channel* takes_over) noexcept : p_(takes_over) {}
  ref(const ref& other) noexcept : p_(other.p_) {
    if (p_) p_->add_ref();
  }
  ref(ref&& other) noexcept : p_(std::exchange(other.p_, nullptr)) {}
  ref& operator=(ref other) noexcept {
    std::swap(p_, other.p_);
    return *this;
  }
  ~ref() {
    if (p_) p_->drop_ref();
  }
  Channel* get() const noexcept { return p_; }
  Channel* operator->() const noexcept { return p_; }
  explicit operator bool() const noexcept { return p_ != nullptr; }

 private:
  Channel* p_ = nullptr;
};

// Slots for a ring of n: a power of two, so that indices wrap by masking. Throws channel_error.
std::size_t ring_size(std::size_t n, std::size_t cell_size);
void* allocate_ring(std::size_t slots, std::size_t cell_size, std::size_t align, std::size_t capacity);
void free_ring(void* ring, std::size_t align) noexcept;

// A nil end is never ready: waits for the deadline or a stop.
std::int32_t wait_on_nil(wait_reason why, std::int64_t until) noexcept;

// After a call that returned `stopped`, outside the runtime.
void throw_if_insisted();

}  // namespace csp
}  // namespace leat
