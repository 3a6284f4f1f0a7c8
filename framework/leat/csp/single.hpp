// SPDX-License-Identifier: BSL-1.0
//
// The channel of one writer and one reader: a ring without locks.
//
// Variables: tail_ (values ever put in; written by the writer), head_ (values ever taken; the reader); each
// side keeps the last it saw of the other's. to_writer_: a word for the writer, with two bits: `waits`, the
// reader is about to park or has parked; `cautious`, the writer must pass a full barrier after each put.
// to_reader_ is its mirror image. lock_ guards the queues of waiters and the close; it is not touched while
// nobody waits.
//
//   writer                                         reader
//    a puts the value, tail_ + 1 (release)          1 finds head_ = tail_
//    b reads to_writer_; 0: done                    2 to_writer_ |= waits, cautious; full barrier; if it was
//    c full barrier; reads it again                   not cautious before: heavy barrier
//    d waits is set: takes the lock, claims the     3 takes the lock; reads tail_ again: there is something:
//      reader if it is linked, clears waits,          clears waits, unlocks, takes it
//      unlocks, wakes it                            4 links itself, parks, the far side unlocks; woken: to 1
//    e now and then: nobody has parked for long:
//      clears cautious; if waits was set: d
// The writer waits for room by the same steps with the sides exchanged.
//
// Forbidden: the reader parks while a value is in the ring and the writer has gone on.
// - The writer's b read cautious: c against 2 is Dekker's handshake; one of them sees the other.
// - b read 0, and 2 found the bit not set: the heavy barrier falls between two instructions of the writer.
//   A put before it is visible to 3. One after it reads the word after it, and sees waits.
// - b read 0, and 2 found cautious set: it was set by an earlier 2, whose heavy barrier has passed; all reads
//   of the word since then see it, unless e has cleared it, which 2 would have found.
// - d found nobody linked: the reader takes the lock later, and sees the value in 3.
// So a ring that is rarely empty or full pays no barrier per value, one at which somebody waits all the time
// pays a cheap one, and the expensive one (it interrupts the other cores, 2 us) is paid when the first becomes the
// second. A side whose P has other Gs to run first lets those run, once, before it parks at all.
//
// Every so many operations a side goes through the runtime even if it need not: there it notices a stop, and
// that its time slice is over. In between it touches nothing but the ring, unless sysmon asks everybody in
// (sched/no_quarantine.hpp, come_in).
//
// A close by a third side may overlap a send: that value counts as sent, and stays in the ring (`left`) if
// the reader has been told "closed" by then. A close by the writer itself loses nothing.
//
// Model: tests/models/single.pml. Stress: tests/csp/single_test.cpp.
#pragma once
#include <new>
#include <optional>
#include <string>
#include <type_traits>

#include <leat/base/atom.hpp>
#include <leat/base/random.hpp>
#include <leat/csp/cell.hpp>
#include <leat/csp/channel_base.hpp>
#include <leat/csp/policy/ring_calm.hpp>
#include <leat/csp/policy/ring_spin.hpp>

namespace leat::csp {

// Before a G parks at rings alone: lets the other Gs of its P run, and the other side of a ring may be among
// them. False: there are none, or it has no P to let them run on.
bool let_others_run_first(entered& in) noexcept;

// The whole ring, in terms of two moves, which know the type; as many_base is of four.
class single_base : public channel_base {
 public:
  leat::flavour flavour() const noexcept override { return leat::flavour::single; }
  bool only_stores() const noexcept override { return true; }
  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override { return closed_.load(std::memory_order_acquire) != 0; }
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  void close() noexcept override;
  send_status send(void* value, std::int64_t until) override;
  recv_status recv(void* value, std::int64_t until) override;
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  void change_user(op kind) noexcept override {
    (kind == op::recv ? reading_ : writing_).user.store(0, std::memory_order_relaxed);
  }
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;

  // The moves: a cell is a Cell*, `to` an empty std::optional<Cell>*.
  virtual void move_in(void* cell, std::uint64_t index) noexcept = 0;  // the writer, at tail_
  virtual void move_out(void* to, std::uint64_t index) noexcept = 0;   // the reader, at head_

  // put and take of single_channel, for who does not know the type.
  bool put_untyped(void* cell) noexcept;
  bool take_untyped(void* to) noexcept;

  // For the reader, outside the runtime: what there is to take. unclear: a visit to the runtime would tell.
  enum class sight : std::uint8_t { value, nothing, closed, unclear };
  [[gnu::always_inline]] sight look() const noexcept {
    const std::uint64_t h = head_.load(std::memory_order_relaxed);
    if (h != take_until_) return sight::value;
    const bool over = is_closed();  // first: what was put before the close is then seen
    if (tail_.load(std::memory_order_acquire) != h) return sight::unclear;
    return over ? sight::closed : sight::nothing;
  }
  // For the reader.
  std::uint32_t random() noexcept { return next_random(random_); }

 protected:
  using count = atom<std::uint64_t>;
  using word = atom<std::uint32_t>;
  enum bits : std::uint32_t { waits = 1, cautious = 2 };

  struct cell_layout {
    std::size_t size, align;
    bool moves_plainly;  // no code of the value's own, which may wait for somebody
  };
  single_base(std::size_t capacity, const channel_options& o, cell_layout cell);
  ~single_base() override;

  // Step a. Self makes the moves: a class that knows the type, or this one. False: not before a look at the other side.
  template <class Self>
  [[gnu::always_inline]] static bool put_here(Self& self, void* cell) noexcept {
    const std::uint64_t t = self.tail_.load(std::memory_order_relaxed);
    if (t == self.put_until_ || self.closed_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      return false;
    self.move_in(cell, t);
    self.tail_.store(t + 1, std::memory_order_release);   // pairs with find_value and empty
    std::atomic_signal_fence(std::memory_order_seq_cst);  // b comes after a
    return true;
  }
  template <class Self>
  [[gnu::always_inline]] static bool take_here(Self& self, void* to) noexcept {
    const std::uint64_t h = self.head_.load(std::memory_order_relaxed);
    if (h == self.take_until_) [[unlikely]]
      return false;
    self.move_out(to, h);
    self.taken_up_to(h + 1);
    return true;
  }
  void taken_up_to(std::uint64_t h) noexcept {
    head_.store(h, std::memory_order_release);  // the slot is free; pairs with make_room and used
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // Outside the runtime. Amid the move of a value with code of its own a G is not put behind the fence (sched/fence.hpp,
  // e): its successor uses the same slot.
  template <class Self, class F>
  [[gnu::always_inline]] static bool outside(const Self& self, F move) noexcept {
    if (!safety::overrun || self.moves_plainly()) return !sched::must_come_in() && move();
    sched::G* const g = sched::count_outside();
    if (!g) [[unlikely]]
      return false;
    const bool done = !sched::must_come_in() && move();
    sched::end_count_outside(*g);
    return done;
  }
  bool moves_plainly() const noexcept { return moves_plainly_; }

  template <class Self>
  [[gnu::always_inline]] static bool put_from_outside(Self& self, void* cell) noexcept {
    if (!outside(self, [&]() noexcept { return put_here(self, cell); })) [[unlikely]]
      return false;
    if (self.to_writer_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      self.attend_from_outside(side::reader);
    return true;
  }
  template <class Self>
  [[gnu::always_inline]] static bool take_from_outside(Self& self, void* to) noexcept {
    if (!outside(self, [&]() noexcept { return take_here(self, to); })) [[unlikely]]
      return false;
    if (self.to_reader_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      self.attend_from_outside(side::writer);
    return true;
  }

  // Steps c and d, when b has read something.
  enum class side : std::uint8_t { reader, writer };
  void attend_from_outside(side other) noexcept;

  bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_acquire);  // pairs with a
  }
  // For the writer.
  std::uint64_t used() const noexcept {
    return tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire);
  }
  bool is_full() const noexcept { return used() >= capacity_; }

  // Written when somebody starts or ceases to wait, read with each value.
  alignas(64) word to_writer_{cautious};
  word to_reader_{cautious};
  word closed_{0};  // or 1

  // The writer's.
  alignas(64) count tail_{0};
  std::uint64_t put_until_ = 0;  // up to here there is room, and no need to look at anything else

  // The reader's.
  alignas(64) count head_{0};
  std::uint64_t take_until_ = 0;
  std::uint32_t random_ = first_random(this);

 private:
  // What a side keeps for its visits to the runtime.
  struct visits {
    std::uint64_t next = 0;  // the index at which it is due
    ring_calm_policy calm;
    ring_spin_policy spin;
    count most{0};  // most values seen in the ring
    count user{0};  // debug builds: who uses this side
  };
  // The word by which `waiting` tells the other side that it waits.
  word& word_of(side waiting) noexcept { return waiting == side::reader ? to_writer_ : to_reader_; }
  count& parks_of(side waiting) noexcept { return waiting == side::reader ? reader_parks_ : writer_parks_; }
  wait_queue& queue_of(side waiting) noexcept LEAT_REQUIRES(lock_) {
    return waiting == side::reader ? readers_ : writers_;
  }
  bool must_wait(side s) const noexcept { return s == side::reader ? empty() : is_full(); }
  send_status send_inside(entered& in, void* cell, std::int64_t until) noexcept;
  recv_status recv_inside(entered& in, void* to, std::int64_t until) noexcept;
  // `sent`: there is room until put_until_. `received`: there are values until take_until_.
  send_status make_room(entered& in, std::int64_t until) noexcept;
  recv_status find_value(entered& in, std::int64_t until) noexcept;
  void attend(m_front* m, side other) noexcept;
  // Steps 2 to 4 but for the parking. look: it is ready; closed; both: not linked.
  ending enroll_side(op_case& c) noexcept;
  void visit(entered& in, visits& v, std::uint64_t index, side other, const char* does) noexcept;
  void wake_side(m_front* m, side other) noexcept;
  void announce(side me) noexcept;
  ending wait_side(entered& in, side me, std::int64_t until) noexcept;
  void check_user(const entered& in, count& user, const char* does) const noexcept;

  alignas(64) visits writing_;
  count dropped_{0};
  count refused_{0};  // the writer's, as the rest of this line
  alignas(64) visits reading_;
  alignas(64) mutable ranked_spinlock lock_{lock_rank::channel, "single channel"};
  wait_queue readers_ LEAT_GUARDED_BY(lock_);
  wait_queue writers_ LEAT_GUARDED_BY(lock_);
  count reader_parks_{0}, writer_parks_{0};

 protected:
  alignas(64) const std::size_t mask_;  // apart from what parkers write
  void* const ring_;

 private:
  const std::size_t cell_align_;
  const bool moves_plainly_;
};

// Its move runs no code of the program, which could wait for somebody, and leave the move undone for as long.
template <class Cell>
inline constexpr bool moves_plainly = std::is_trivially_copyable_v<Cell> || is_boxed<Cell>;
template <>
inline constexpr bool moves_plainly<std::string> = true;

// A value that another may take the place of, without an end and a beginning in between.
template <class T>
concept may_be_overwritten = std::is_trivially_copyable_v<T> && std::is_trivially_move_assignable_v<T>;

template <class Cell>
class single_channel final : public single_base {
 public:
  single_channel(std::size_t capacity, const channel_options& o)
      : single_base(capacity, o, {sizeof(Cell), alignof(Cell), csp::moves_plainly<Cell>}) {}
  ~single_channel() override {
    const std::uint64_t end = tail_.load(std::memory_order_relaxed);
    for (std::uint64_t i = head_.load(std::memory_order_relaxed); i != end; ++i) at(i)->~Cell();
  }

  // The writer, outside the runtime. False: not without a visit to it, by send.
  [[gnu::always_inline]] bool put(Cell& v) noexcept { return put_from_outside(*this, &v); }
  // The reader, outside the runtime.
  [[gnu::always_inline]] bool take(std::optional<Cell>& to) noexcept { return take_from_outside(*this, &to); }

  // The same, where there is a value already.
  [[gnu::always_inline]] bool take_over(Cell& to) noexcept
    requires may_be_overwritten<Cell>
  {
    const std::uint64_t h = head_.load(std::memory_order_relaxed);
    if (sched::must_come_in() || h == take_until_) [[unlikely]]
      return false;
    to = std::move(*at(h));
    taken_up_to(h + 1);
    if (to_reader_.load(std::memory_order_relaxed) != 0) [[unlikely]]
      attend_from_outside(side::writer);
    return true;
  }

  static constexpr bool moves_plainly() noexcept { return csp::moves_plainly<Cell>; }

  void move_in(void* cell, std::uint64_t index) noexcept override {
    new (at(index)) Cell(std::move(*static_cast<Cell*>(cell)));
  }
  void move_out(void* to, std::uint64_t index) noexcept override {
    Cell* const from = at(index);
    static_cast<std::optional<Cell>*>(to)->emplace(std::move(*from));
    from->~Cell();
  }

 private:
  Cell* at(std::uint64_t index) const noexcept { return static_cast<Cell*>(ring_) + (index & mask_); }
};

}  // namespace leat::csp
