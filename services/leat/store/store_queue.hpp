// SPDX-License-Identifier: BSL-1.0
//
// What a stored channel has of its values, where each of them is, and what is to be done with the file next. No locks,
// threads, clocks or files, nothing is allocated, and no user code runs: values that die are handed out (`dead`), to
// die where that may be.
//
// A value goes two ways at once. It is unwritten until the file has it, or until it is settled, which may come first:
// what a quick reader has dealt with never gets to the disk. And it is in memory, in hand, and settled:
//
//   put -> ready -> in hand -> settled          there is room in the window
//   put -> behind ... loaded -> ready -> ...    there is none, or others are behind already: only the file has it
//
// Invariants:
//   what is ready is older than what is behind; both are received in the order of their numbers
//   what is behind is in the file alone, or unwritten: all numbers from behind_from_ on. Readers get it from the file;
//   while that fails, what it does not have from its bytes in memory (work::decode)
//   sent = received + dropped + ready + behind
//   bytes = the sizes of all that are neither settled nor dropped
//
// Room. `block`: while bytes <= max. `drop_oldest`: the oldest that nobody has received go; those that are behind go
// with the next write, so bytes may be above max by what is unwritten. In either case no more than `buffer` is
// unwritten; while the file fails, `drop_oldest` drops the oldest of these.
//
// Work, one at a time: take_work -> the file -> written or failed; then loaded, if values were read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <leat/csp/latest_by_key.hpp>

namespace leat::store {

struct stored_value {
  std::uint64_t number = 0, size = 0;
  std::uint64_t last = 0;                       // to be removed: the last number of a row of them
  std::vector<std::uint8_t> body = {};          // CBOR, until it is written
  std::unique_ptr<csp::kept_value> value = {};  // none: it is behind, or was handed out
  stored_value* next_to_write = nullptr;        // also among the dead
  stored_value* next_to_read = nullptr;         // also among those to be removed, and those in hand
  bool to_write = false;                        // in the list, or with the work
  bool being_written = false;                   // with the work
  bool being_decoded = false;                   // the same: it stays where it is
  bool is_behind = false;                       // unwritten, with no value: the file is to have it
  bool to_read = false;                         // ready, or in hand
  bool in_hand = false;                         // a receiver has it
  bool in_file = false;                         // as far as is known here
  bool is_gone = false;                         // settled or dropped
};

// First in, first out, by one of the links.
template <stored_value* stored_value::* Next>
class value_list {
 public:
  bool empty() const noexcept { return !first_; }
  stored_value* front() const noexcept { return first_; }
  void push_back(stored_value* v) noexcept {
    v->*Next = nullptr;
    (last_ ? last_->*Next : first_) = v;
    last_ = v;
  }
  void push_front(stored_value* v) noexcept {
    v->*Next = first_;
    first_ = v;
    if (!last_) last_ = v;
  }
  stored_value* pop_front() noexcept {
    stored_value* const v = first_;
    first_ = v->*Next;
    if (!first_) last_ = nullptr;
    return v;
  }
  // After one of them; null: in front.
  void insert_after(stored_value* before, stored_value* v) noexcept {
    if (!before) return push_front(v);
    v->*Next = before->*Next;
    before->*Next = v;
    if (last_ == before) last_ = v;
  }
  // The one after `before`; null: the first.
  stored_value* pop_after(stored_value* before) noexcept {
    if (!before) return pop_front();
    stored_value* const v = before->*Next;
    before->*Next = v->*Next;
    if (last_ == v) last_ = before;
    return v;
  }
  stored_value* back() const noexcept { return last_; }
  // All of it, in front of what is there.
  void prepend(value_list&& other) noexcept {
    if (other.empty()) return;
    other.last_->*Next = first_;
    if (!last_) last_ = other.last_;
    first_ = other.first_;
    other.first_ = other.last_ = nullptr;
  }

 private:
  stored_value *first_ = nullptr, *last_ = nullptr;
};
using write_list = value_list<&stored_value::next_to_write>;
using read_list = value_list<&stored_value::next_to_read>;

// Ends with its values: outside locks and the runtime.
class dead_values {
 public:
  dead_values() = default;
  ~dead_values() {
    while (!all_.empty()) delete all_.pop_front();
  }
  dead_values(const dead_values&) = delete;
  dead_values& operator=(const dead_values&) = delete;
  void add(stored_value* v) noexcept { all_.push_back(v); }

 private:
  write_list all_;
};

class store_queue {
 public:
  struct limits {
    std::uint64_t max = 64 << 20, buffer = 1 << 20;  // bytes
    // So many values are ready at most, or so many bytes.
    std::size_t window = 64;
    std::uint64_t window_bytes = 1 << 18;
    bool drop_oldest = false;
  };
  struct work {
    write_list write = {};
    read_list remove = {};   // rows of numbers
    read_list decode = {};   // behind, and the file cannot be asked: a value for each body
    std::uint64_t upto = 0;  // after it, all numbers up to this are in the file
    std::uint64_t drop_from = 0, drop_bytes = 0;  // store_file::batch
    std::uint64_t load_from = 0;
    std::size_t load = 0;  // values; 0: none
    std::uint64_t load_bytes = 0;
    std::uint64_t writes = 0, removes = 0;
  };
  enum class taken : std::uint8_t { back, not_now, too_late };
  enum class room : std::uint8_t { there_is, wait_for_it, never };

  // With what the file had at first.
  store_queue(limits l, std::uint64_t values, std::uint64_t bytes, std::uint64_t first,
              std::uint64_t last) noexcept;
  ~store_queue();
  store_queue(const store_queue&) = delete;
  store_queue& operator=(const store_queue&) = delete;

  // What a value of this size meets.
  room room_for(std::uint64_t size) const noexcept;
  // There is room. Takes it over, and gives it a number; in_hand: to a receiver that waits, when nothing is left.
  // False: it is behind, and its value is not needed any more.
  bool put(stored_value* v, bool in_hand, dead_values& dead) noexcept;
  // What a value that is never to fit is counted as.
  void refuse() noexcept { ++counted_.sent, ++counted_.dropped; }
  // The next one, in hand from now on. Null: none is ready.
  stored_value* take() noexcept;
  // A sender no longer wants what it has put; its value goes to `to`, if it was not behind. not_now: the work has it.
  // too_late: the file has it, or a receiver.
  taken take_back(std::uint64_t number, std::unique_ptr<csp::kept_value>& to, dead_values& dead) noexcept;
  // A receiver could not take what it got.
  void give_back(stored_value* v) noexcept;
  // It is in hand, and has been dealt with. True: the file has it, or is about to, and it is to be removed there.
  bool settle(stored_value* v, dead_values& dead) noexcept;

  // The program ends, or the user does: it is in hand no more, and not settled. The file keeps it.
  void let_go(stored_value* v, dead_values& dead) noexcept;

  bool is_ready() const noexcept { return ready_count_ > 0; }
  bool has_unwritten() const noexcept { return unwritten_bytes_ > 0; }
  bool has_work() const noexcept { return !unwritten_.empty() || !to_remove_.empty() || wants_to_drop(); }
  // Readers will soon have nothing, and there is more in the file.
  bool wants_to_load() const noexcept {
    return behind_ > 0 && (ready_count_ <= limits_.window / 2 || ready_bytes_ <= limits_.window_bytes / 2) &&
           (!failing_ || behind_from_ <= written_upto_ || behind_unwritten_ > 0);
  }
  bool buffer_is_half_full() const noexcept { return unwritten_bytes_ > limits_.buffer / 2; }
  // Without `writes`, what there is to load alone.
  work take_work(bool writes, dead_values& dead) noexcept;
  // What the file has dropped for it.
  void written(work& w, std::uint64_t dropped, std::uint64_t dropped_bytes, std::uint64_t last_dropped,
               dead_values& dead) noexcept;
  void failed(work& w) noexcept;
  // Of those that were behind, up to this number: these are ready, and so many could not be read.
  void loaded(read_list& values, std::uint64_t upto, std::uint64_t unreadable,
              std::uint64_t unreadable_bytes) noexcept;
  // Those of work::decode, as far as they have a value, are ready.
  void decoded(work& w) noexcept;
  // The file has none of them up to this number, although they were written: somebody else took them out. How many.
  std::uint64_t missing(std::uint64_t upto) noexcept;

  bool failing() const noexcept { return failing_; }
  std::uint64_t left() const noexcept { return ready_count_ + behind_; }
  std::uint64_t kept() const noexcept { return kept_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  std::uint64_t sent() const noexcept { return counted_.sent; }
  std::uint64_t received() const noexcept { return counted_.received; }
  std::uint64_t dropped() const noexcept { return counted_.dropped; }
  std::uint64_t restored() const noexcept { return counted_.restored; }
  std::uint64_t written() const noexcept { return counted_.written; }
  std::uint64_t unreadable() const noexcept { return counted_.unreadable; }
  std::uint64_t high() const noexcept { return counted_.high; }
  std::uint64_t last_number() const noexcept { return next_ - 1; }
  std::uint64_t written_upto() const noexcept { return written_upto_; }

 private:
  struct counts {
    std::uint64_t sent = 0, received = 0, dropped = 0, restored = 0, written = 0, unreadable = 0, high = 0;
  };

  bool wants_to_drop() const noexcept { return limits_.drop_oldest && behind_ > 0 && bytes_ > limits_.max; }
  bool has_window() const noexcept {
    return ready_count_ < limits_.window || ready_bytes_ < limits_.window_bytes;
  }
  void count_ready(const stored_value* v) noexcept { ++ready_count_, ready_bytes_ += v->size; }
  void count_unready(const stored_value* v) noexcept { --ready_count_, ready_bytes_ -= v->size; }
  // It counts no more, however it ended.
  void leave(stored_value* v) noexcept;
  void drop_ready(dead_values& dead) noexcept;
  void drop_unwritten(dead_values& dead) noexcept;
  // Gone ones that are still among the ready.
  void note_gone_ready() noexcept;
  void drop_above_max(dead_values& dead) noexcept;
  // Its number is to be removed from the file; it is needed no more, or stands for a row of numbers.
  void remove_later(stored_value* v) noexcept;
  void decode_later(work& w, std::size_t values, std::uint64_t bytes) noexcept;
  void bury(dead_values& dead) noexcept {
    while (!trash_.empty()) dead.add(trash_.pop_front());
  }
  void sweep(dead_values& dead) noexcept;

  const limits limits_;
  write_list unwritten_;
  read_list ready_;      // with some that are gone
  read_list to_remove_;  // in the file, and gone: rows of numbers, in order
  read_list trash_;      // to die with the next dead
  bool failing_ = false, writing_ = false;
  std::uint64_t next_, behind_, behind_from_, written_upto_;
  std::uint64_t gone_ready_ = 0, behind_unwritten_ = 0;
  std::uint64_t ready_count_ = 0, ready_bytes_ = 0, unwritten_bytes_ = 0;
  std::uint64_t bytes_, behind_bytes_, kept_;
  counts counted_;
};

}  // namespace leat::store
