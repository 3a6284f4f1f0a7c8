// SPDX-License-Identifier: BSL-1.0
//
// What all kinds of channels have in common: the interface by which handles (channel.hpp) and select
// (select.cpp) use them. A kind is a class that derives from channel_base, in a file of its own; nobody knows
// it but whoever makes such channels. Two kinds are recognised and inlined for speed, many_channel<T> and
// single_channel<T> (inlined_as); all others are called through the interface.
//
// Values. Handles know the type, the interface does not: `value` is a T* in a send, moved from only if it is
// sent, and a std::optional<T>* in a receive, empty at first.
//
// send and recv wait until a moment, forever, or not at all (at_once). They are called outside the runtime,
// where user code may run. Their defaults are a select of one case.
//
// A case of a select goes through a channel like this:
//   outside the runtime   1 stage      says where the value lies or goes: c.slot
//   inside                2 try_case   does it, if it can be done now
//                         3 enroll     the same under the lock; else links c.entry, so that who makes it
//                                      possible finds it
//                         4 the select waits, and is claimed, through this case or another (wait.hpp)
//                         5 withdraw   unlinks it, if it still is; then perhaps 2 to 5 again
//   outside               6 finish     it has been done, or dropped; else: unstage
//
// Who makes a case possible, a sender for a receiver or the other way round, is its claimer: with the lock
// held it unlinks the waiter and claims it (claim_first, claim_all), moves the value through waiter::slot,
// says how it ended, drops the lock, and wakes the waiting side.
//
// What a kind must keep to, and what goes wrong otherwise:
// - enroll looks and links under one lock, which every claimer takes too. Else a value comes in between, and
//   the select sleeps beside it.
// - enroll claims `me` before it moves a value, and moves none if that is lost. Else the value goes to a
//   select that has taken another case.
// - withdraw takes that lock, too. Else a claimer still writes into the slot when 6 reads it.
// - close claims all who wait and tells them `closed`; an enroll that comes later says so itself. What is
//   there to receive comes first.
// - Nothing of the user's runs inside, or under a lock: no copy, no destructor, no move that may throw. A kind
//   of such values packs them in 1 and unpacks them in 6, as boxed.hpp and broadcast.hpp do.
// - Nobody is woken under the lock.
// - Whoever waits in one queue alone, in send or recv, uses wait_and_unlock. What it waited at may be gone
//   when that returns, unless a timer or a stop has ended the wait; who needs it then holds a reference meanwhile.
// - Who only looks (size, is_closed, stats, waiting) holds a sched::unbroken_look around the lock; whatever else
//   takes it and has no `entered`, a sched::no_quarantine. Else a G is fenced with the lock in its hand, and with
//   the wrong one a G that looks in a loop is taken for one that does something.
// - Beyond these a kind may say who waits (waiting), count for a program that dies (try_count), and hear of a new
//   incarnation of its user (change_user).
//
// A small kind, whole: tests/csp/new_kind_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <leat/base/atom.hpp>
#include <leat/base/flavour.hpp>
#include <leat/base/full.hpp>
#include <leat/csp/wait.hpp>

namespace leat {

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
  std::uint64_t refused = 0;  // sends that found it closed; they are not among `sent`
};

// A channel that cannot be made: no memory for its capacity, or options that do not go together.
class channel_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace csp {

inline constexpr std::size_t most_capacity = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t at_once = std::numeric_limits<std::int64_t>::min();

enum class op : std::uint8_t { recv, send };

// One case of a select, as channels see it.
struct op_case {
  op_case() noexcept : kind(op::recv), entry{} {}
  explicit op_case(op k) noexcept : kind(k) {}  // leaves `entry` to be made

  op kind;
  void* slot = nullptr;  // stage sets it: what try_case, enroll and claimers move from or into
  // A std::optional<T>*, for what a send pushes out; null if it comes from channel_base::send. So a kind that
  // hands its cases on to a channel which pushes out has a send of its own.
  void* evicted = nullptr;
  // Made when the select has to wait (select.cpp); most find a case that is ready.
  union {
    waiter entry;
  };

  // What a kind keeps for the case from stage to finish or unstage.
  template <class State, class... Args>
  State& keep(Args&&... args) {
    static_assert(sizeof(State) <= sizeof(room_) && alignof(State) <= alignof(void*));
    return *new (room_) State{std::forward<Args>(args)...};
  }
  template <class State>
  State& kept() noexcept {
    return *std::launder(reinterpret_cast<State*>(room_));
  }
  template <class State>
  const State& kept() const noexcept {
    return *std::launder(reinterpret_cast<const State*>(room_));
  }

 private:
  alignas(void*) std::byte room_[3 * sizeof(void*)];
};

// What a kind has kept for a case, for the last time: it ends with this.
template <class State>
class last_use {
 public:
  explicit last_use(op_case& c) noexcept : kept_(c.kept<State>()) {}
  ~last_use() { std::destroy_at(&kept_); }
  last_use(const last_use&) = delete;
  last_use& operator=(const last_use&) = delete;
  State& operator*() const noexcept { return kept_; }
  State* operator->() const noexcept { return &kept_; }

 private:
  State& kept_;
};

// What a try_ call says, as select puts it.
constexpr ending ending_of(recv_status s) noexcept {
  switch (s) {
    case recv_status::received: return ending::done;
    case recv_status::closed: return ending::closed;
    default: return ending::pending;
  }
}
constexpr ending ending_of(send_status s) noexcept {
  switch (s) {
    case send_status::sent: return ending::done;
    case send_status::dropped: return ending::dropped;
    case send_status::closed: return ending::closed;
    default: return ending::pending;
  }
}

// The kinds that channel.hpp and case.hpp do not call through the interface.
// A bit each, which takes one instruction to test.
enum class inlined : std::uint8_t {
  no = 0,
  many = 64,         // a many_channel<T>
  one_to_one = 128,  // a single_channel<T>
};

class channel_base;
class tap;  // tap.hpp
template <class Channel>
class ref;

class channel_base {
 public:
  // Throws channel_error when no channel can hold that many.
  channel_base(std::size_t capacity, const channel_options& o) : channel_base(inlined::no, capacity, o) {}
  virtual ~channel_base() = default;
  channel_base(const channel_base&) = delete;
  channel_base& operator=(const channel_base&) = delete;

  // Whether it may be used as this kind now: not while somebody looks into it (tap.hpp).
  bool inlined_as(inlined kind) const noexcept {
    return (way_.load(std::memory_order_relaxed) & static_cast<std::uint8_t>(kind)) != 0;
  }
  bool is_inlined() const noexcept { return way_.load(std::memory_order_relaxed) != 0; }
  // One side sends and one receives, so its counts are those of its writer and its reader.
  bool one_to_one() const noexcept { return kind_ == static_cast<std::uint8_t>(inlined::one_to_one); }
  leat::full when_full() const noexcept { return full_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::string_view name() const noexcept { return name_ ? name_.get() : ""; }
  // Null: nobody has ever looked. Once there, it stays.
  csp::tap* tap() const noexcept;
  // A channel with a name; takes over the reference. False: it has one.
  bool set_tap(csp::tap* t) noexcept;
  // Whether all who use it go through the interface.
  void be_looked_into(bool on) noexcept {
    way_.store(on ? std::uint8_t{0} : kind_, std::memory_order_relaxed);
  }

  virtual leat::flavour flavour() const noexcept { return leat::flavour::other; }
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

  // Outside the runtime. A `stopped` is returned, or thrown if that is insisted on: by the channel or by who called.
  virtual send_status send(void* value, std::int64_t until);
  virtual recv_status recv(void* value, std::int64_t until);

  // The way of a case, as above. try_case and enroll: done, dropped, closed or pending; enroll also lost, or
  // look when it has claimed the select in vain, which must start over then. What cannot ever be done, as to
  // receive where one can only send, is closed. stage may throw: then nothing has been staged. So may finish,
  // when it has ended what was kept; it may wait, too.
  virtual void stage(op_case& c, void* value) { c.slot = value; }
  virtual ending try_case(entered& in, op_case& c) noexcept = 0;
  virtual ending enroll(entered& in, op_case& c, wait& me) noexcept = 0;
  virtual void withdraw(op_case& c) noexcept = 0;
  virtual void finish(op_case& c, void* value) {
    (void)c;
    (void)value;
  }
  virtual void unstage(op_case& c, void* value) noexcept {
    (void)c;
    (void)value;
  }
  // Of an end that sends to one of several channels: a case that was told `closed` was told so by the one that it
  // had chosen when it was staged, and may choose another now. The select stages it anew then. Inside the runtime.
  virtual bool would_go_elsewhere(const op_case& c) const noexcept {
    (void)c;
    return false;
  }
  // Of an end that receives from several channels: those. A select looks at each of them by itself, so that
  // each has its chance, and does steps 2 to 5 there.
  virtual std::span<const ref<channel_base>> parts(const op_case& c) const noexcept;

  // When a case that is pending becomes ready by itself.
  virtual std::int64_t due() noexcept { return forever; }
  // What the other side does is kept here, and never handed to one who waits: who comes a little later misses
  // nothing, and lets other Gs run before it parks.
  virtual bool only_stores() const noexcept { return false; }

  // Nobody receives here: each reader gets all, at an end of its own (subscribe).
  virtual bool each_reader_gets_all() const noexcept { return false; }
  // Such an end, for one more reader; subscribe_to. Throws channel_error.
  virtual ref<channel_base> subscribe(std::size_t capacity, leat::full when_full);

  // The Gs that wait here, as far as `to` has room, and how many there are.
  virtual std::size_t waiting(std::span<waiting_g> to) const noexcept {
    (void)to;
    return 0;
  }
  // The only receiver, or sender, has been replaced by a new incarnation.
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
  // False: it is the last, and the caller still has it.
  bool drop_ref_unless_last() noexcept {
    std::uint32_t n = refs_.load(std::memory_order_acquire);
    while (n != 1) {
      // Release: as in drop_ref.
      if (refs_.compare_exchange_weak(n, n - 1, std::memory_order_release, std::memory_order_acquire))
        return true;
    }
    return false;
  }
  void drop_ref() noexcept {
    // Release: what this handle did. Acquire: what all others did, before the end.
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 protected:
  channel_base(inlined as, std::size_t capacity, const channel_options& o);

  void report_closed_twice() const noexcept;

  // As a wait is reported; null: none.
  const char* c_name() const noexcept { return name_.get(); }

 private:
  // What is needed rarely stands before the name, of a channel that has one.
  struct label;
  struct label_deleter {
    void operator()(const char* name) const noexcept;
  };
  using label_text = std::unique_ptr<const char[], label_deleter>;
  static label_text label_of(const std::string& name);
  static label& before(const char* name) noexcept;

  // Little, and in this order, so that what a derived class uses with each value shares the line with it.
  const label_text name_;  // null: none
  std::atomic<std::uint32_t> refs_{1};
  std::atomic<bool> abandoned_{false};  // ordered by the close
  atom<std::uint8_t> way_;              // kind_, or 0
  const std::uint8_t kind_;             // an inlined

 protected:
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

// An end of its own for one more reader of c. Throws channel_error.
ref<channel_base> subscribe_to(const ref<channel_base>& c, std::size_t capacity, leat::full when_full);
// What an in<T> made of c reads: c, or such an end.
ref<channel_base> reading_side(const ref<channel_base>& c);
// A receive where nobody can.
[[noreturn]] void refuse_to_receive(const channel_base& c);

// Slots for a ring of n: a power of two, so that indices wrap by masking. Throws channel_error.
std::size_t ring_size(std::size_t n, std::size_t cell_size);
void* allocate_ring(std::size_t slots, std::size_t cell_size, std::size_t align, std::size_t capacity);
void free_ring(void* ring, std::size_t align) noexcept;

// For who does not know the type, outside the runtime. As a handle does it: past a tap, and `stopped` is thrown if that is
// insisted on.
send_status send_untyped(channel_base& c, void* value, std::int64_t until);
recv_status recv_untyped(channel_base& c, void* value, std::int64_t until);

// A nil end is never ready: waits for the deadline or a stop.
ending wait_on_nil(wait_reason why, std::int64_t until) noexcept;

// After a call that returned `stopped`, outside the runtime.
void throw_if_insisted();

}  // namespace csp
}  // namespace leat
