// SPDX-License-Identifier: BSL-1.0
//
// A channel whose values go by a key: those of one key go to one reader, in the order in which they were sent.
// Each reader has a queue of its own, a channel with a capacity and a policy; this is the end that sends to them.
//
// Roles: senders, any number, here; for each queue its reader, there; and whoever knows that a reader has gone for
// good (leave).
//
//   send:   1 the key is read from the value, outside the runtime
//           2 the queue is chosen: of those that nobody has left, the one with the greatest weight for this key
//             (rendezvous hashing). Nothing is stored for a key, and all senders choose alike
//           3 it is sent to that queue, and waits or is dropped there, by its policy
//           4 that was closed, because its reader has left meanwhile: from 2
//   leave:  marks the queue, then whoever calls closes it
//   close:  closes all queues
//
// - Order: one sender's values of one key go through one queue, one after the other. A reader that is restarted
//   comes back to its queue, which has kept what it held; so a restart changes neither the choice nor the order.
// - A reader that is slow holds up those who send what is its own, and nobody else: a sender that waits at 3 waits at
//   that queue. (A process that sends one value after the other is held up as a whole by the first that must wait.)
// - Forbidden: two values of a key at two readers at once. Only `leave` changes a choice, and a reader that has left
//   handles nothing any more. What its queue still holds stays there and counts as left; its keys go to the others
//   from then on, and each other key stays where it was.
// - A case of a select chooses when it is staged, and again if the reader of that queue leaves while it waits.
//
// sent = received + dropped + left holds in each queue, and so in their sum. size() is that of the fullest queue and
// capacity() that of each: full means that somebody may have to wait. `refused` is counted here: a send that a queue
// has refused may go to another.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <leat/csp/composite.hpp>

namespace leat::csp {

// Reads the key of a value of the channel's type. No user code: it may be called under a lock.
class key_of {
 public:
  key_of() = default;
  virtual ~key_of() = default;
  key_of(const key_of&) = delete;
  key_of& operator=(const key_of&) = delete;

  virtual std::uint64_t hash(const void* value) const noexcept = 0;
  virtual bool same(const void* a, const void* b) const noexcept = 0;
};

class keyed final : public aiming {
 public:
  // One queue for each reader, at least one.
  keyed(channel_list queues, std::shared_ptr<const key_of> key, const channel_options& o);

  leat::flavour flavour() const noexcept override { return leat::flavour::keyed; }
  std::size_t size() const noexcept override;
  channel_stats stats() const noexcept override;
  void close() noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;

  send_status send(void* value, std::int64_t until) override;
  recv_status recv(void*, std::int64_t) override { refuse_to_receive(*this); }
  void stage(op_case& c, void* value) override;
  bool would_go_elsewhere(const op_case& c) const noexcept override;
  void finish(op_case& c, void* value) override;
  void unstage(op_case& c, void* value) noexcept override;

  // The queue for this value.
  std::size_t choose(const void* value) const noexcept;
  // Nobody will read this queue any more. Any G.
  void leave(std::size_t queue) noexcept { left_[queue].store(true, std::memory_order_release); }

 private:
  const std::shared_ptr<const key_of> key_;
  std::vector<std::atomic<bool>> left_;  // by queue; never taken back. Pairs: leave and choose
  std::atomic<bool> closing_{false};
  std::atomic<std::uint64_t> refused_{0};  // sends that began when there was no queue left
};

}  // namespace leat::csp
