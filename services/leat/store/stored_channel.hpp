// SPDX-License-Identifier: BSL-1.0
//
// A channel whose values outlive the program. What is where is store_queue's, the file is store_file's; this is the
// channel around them: a lock, those who wait, and the keeper, a G that alone uses the file.
//
// Roles
//   sender     puts a value, or waits for room, first come first served. With `each` it then waits until the file has
//              it, or nobody needs that any more; if that takes too long for it, it takes the value back, unless a write
//              or a receiver has it. While the file fails it waits before it puts. A try does not wait for the file, a
//              select no longer than that works.
//   receiver   takes the oldest. At the channel itself that settles it; at a stored_reader (an end of one user that
//              is delivered at least once) the user's next receive there does, or acknowledge().
//   keeper     writes what is unwritten, removes what is settled, loads what is behind. It waits at most `linger` for
//              more to write in the same transaction, not at all when readers run dry, the buffer is half full, or
//              somebody waits for the write; and syncs after three quarters of `sync`, so that with the time of the write
//              the promise holds. With `each` what is removed alone is synced after a second.
//
// Invariants, whenever the lock is free:
//   receivers_ not empty  =>  nothing is ready
//   senders_ not empty    =>  there was no room for the first of them
//   closed_ or ends_      =>  no sender waits; a receiver does only while values are behind
//
// Forbidden: a value that overtakes others. It goes straight to a receiver only when nothing is left.
// Forbidden: the file is used by two. Only the keeper does, from start to finish; nobody else has it.
// Forbidden: a P waits for the disk. The keeper's calls are declared blocking; senders and receivers wait parked.
// Forbidden: user code under the lock or inside the runtime. Values are packed in stage, unpacked in finish, read back
// by the keeper outside; what dies is collected and dies outside.
//
// A file that cannot be written is reported once, tried again each second, and reported again when it could be. Meanwhile the
// policy holds: senders wait, or the oldest of what is not in the file is dropped.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <semaphore>
#include <string>

#include <leat/csp/channel_base.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/store/store_file.hpp>
#include <leat/store/store_queue.hpp>

namespace leat::store {

struct store_stats {
  std::uint64_t kept = 0, bytes = 0;  // neither settled nor dropped
  std::uint64_t restored = 0;         // found at the start
  std::uint64_t written = 0;          // into the file
  std::uint64_t unreadable = 0;       // could not be read back; among the dropped
  std::uint64_t failures = 0;         // of writes and reads
  bool failing = false;
  bool finish_failed = false;  // at the end something could not be written
};

// What a case that receives keeps.
struct received_value {
  stored_value* got = nullptr;
};

class stored_channel final : public csp::channel_base {
 public:
  static constexpr std::chrono::milliseconds linger{20};
  static constexpr std::chrono::seconds retry{1}, patience{10}, sync_of_removes{1};

  struct settings {
    std::uint64_t max = 64 << 20;
    // How old a value may get before it is on the disk; zero: before its send returns; max(): as the system likes.
    nanoseconds sync = std::chrono::seconds(1);
  };

  // folder: held until the file is closed. The policy is block or drop_oldest. Throws store_error if values of
  // the type cannot be kept.
  stored_channel(const port_type& type, std::size_t capacity, const channel_options& o, const settings& s,
                 std::unique_ptr<store_file> file, std::shared_ptr<void> folder = {});
  ~stored_channel() override;

  // Empty: values of the type come back as they were.
  static std::string why_not_kept(const port_type& type);

  // On a G: starts the keeper. Until then values are taken, and none is written or loaded.
  void start();
  // When nobody uses it any more: writes and syncs all that is left, and closes the file. Blocks the thread. False: it
  // could not, or took longer than `patience`.
  bool finish();
  // The same without waiting for it.
  void end() noexcept;

  store_stats stats_of_store() const noexcept;

  leat::flavour flavour() const noexcept override { return leat::flavour::stored; }
  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  void close() noexcept override;
  send_status send(void* value, std::int64_t until) override;

  void stage(csp::op_case& c, void* value) override;
  csp::ending try_case(csp::entered& in, csp::op_case& c) noexcept override;
  csp::ending enroll(csp::entered& in, csp::op_case& c, csp::wait& me) noexcept override;
  void withdraw(csp::op_case& c) noexcept override;
  void finish(csp::op_case& c, void* value) override;
  void unstage(csp::op_case& c, void* value) noexcept override;
  std::size_t waiting(std::span<csp::waiting_g> to) const noexcept override;

  // Of a receive, for its ends. Outside the runtime: the value goes to a std::optional<T>*; it goes back if
  // that throws.
  void unpack(stored_value* v, void* to);
  // What an end has in hand is changed under the lock: its user may be frozen there, and its supervisor looks.
  void hold(read_list& in_hand, stored_value* v) noexcept;
  bool holds(const read_list& in_hand) const noexcept;
  void let_go(read_list& in_hand) noexcept;
  // The round of writes after which the file has none of it any more; 0: it never had.
  std::uint64_t settle(read_list& in_hand) noexcept;
  // With `each`: until that round is over, a moment has come, or the file fails.
  void wait_for_round(std::uint64_t round, std::int64_t until) noexcept;

 private:
  class each_send;
  struct sending {
    std::unique_ptr<stored_value> node = {};         // until it is put
    std::unique_ptr<csp::kept_value> leftover = {};  // this and the dead die outside
    dead_values dead = {};
    std::uint64_t number = 0;
  };
  using kept_sending = std::unique_ptr<sending>;
  struct rounds {  // of writes
    std::uint64_t begun = 0, done = 0;
    std::uint64_t wanted = 0;  // that somebody waits for
  };
  struct due_times {
    std::int64_t dirty_since = 0;     // 0: there is nothing to write
    std::int64_t unsynced_since = 0;  // 0: all that is written is on the disk
    std::int64_t retry_at = 0;
  };
  struct task;

  std::unique_ptr<csp::kept_value> decoded(const std::vector<std::uint8_t>& body) const;
  bool syncs_each() const noexcept { return settings_.sync == nanoseconds::zero(); }
  void put_locked(sending& s, csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  store_queue::room room_locked(std::uint64_t size) const noexcept LEAT_REQUIRES(lock_);
  csp::ending enroll_receive_locked(csp::op_case& c, csp::wait& me, csp::waiter_list& woken) noexcept
      LEAT_REQUIRES(lock_);
  csp::ending enroll_send_locked(csp::op_case& c, csp::wait& me, csp::waiter_list& woken) noexcept
      LEAT_REQUIRES(lock_);
  // Senders that there is room for now.
  void serve_senders_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void serve_receivers_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void end_receivers_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void end_all_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  bool is_written_locked(std::uint64_t number) const noexcept LEAT_REQUIRES(lock_);
  send_status wait_until_written(sending& s, std::int64_t until) noexcept;
  void wait_while_it_works(std::uint64_t number) noexcept;

  // The keeper.
  void keep();
  bool is_urgent_locked() const noexcept LEAT_REQUIRES(lock_);
  std::int64_t linger_ns() const noexcept;
  std::int64_t due_locked(std::int64_t now) const noexcept LEAT_REQUIRES(lock_);
  std::int64_t sync_due_locked() const noexcept LEAT_REQUIRES(lock_);
  // After a change: wakes it if it has to look at the clock, or to work at once.
  void kick_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void wait_for_work(task& t) noexcept;
  void use_file(task& t);
  void decode(task& t);
  void take_in(task& t) noexcept;
  void tell(const task& t);

  const port_type& type_;
  const settings settings_;
  std::shared_ptr<void> folder_;          // outlives the file
  std::unique_ptr<store_file> file_;      // the keeper's
  bool told_ = false;                     // the keeper's
  std::vector<std::uint64_t> set_aside_;  // the keeper's: rows that could not be read, not yet moved

  mutable ranked_spinlock lock_{lock_rank::channel, "stored channel"};
  store_queue queue_ LEAT_GUARDED_BY(lock_);
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  bool ends_ LEAT_GUARDED_BY(lock_) = false;  // finish was called: nothing is taken any more
  bool over_ LEAT_GUARDED_BY(lock_) = false;  // the last write has been tried
  bool read_fails_ LEAT_GUARDED_BY(lock_) = false;
  csp::wait_queue senders_ LEAT_GUARDED_BY(lock_);    // slot: a sending*
  csp::wait_queue receivers_ LEAT_GUARDED_BY(lock_);  // slot: a stored_value**
  rounds rounds_ LEAT_GUARDED_BY(lock_);
  csp::wait_queue for_write_ LEAT_GUARDED_BY(lock_);  // with `each`
  csp::wait_queue keeper_ LEAT_GUARDED_BY(lock_);
  due_times due_ LEAT_GUARDED_BY(lock_);
  std::uint64_t refused_ LEAT_GUARDED_BY(lock_) = 0, failures_ LEAT_GUARDED_BY(lock_) = 0;
  bool started_ = false, all_written_ = true;  // the latter is ordered by done_
  std::atomic<bool> finish_failed_{false};
  std::binary_semaphore done_{0};
};

}  // namespace leat::store
