// SPDX-License-Identifier: BSL-1.0
//
// The latest value of each key: a send never waits. It takes the place of a value of the same key that nobody has
// received yet, and that one is dropped. Keys are received in the order in which they came to have a value, so that a
// busy one does not keep others from their turn.
//
// It holds `capacity` keys at most. A value of one more drops the value of the key that has waited longest.
//
// A value is put into a node, and taken out of it, outside the runtime; under the lock nodes are linked, and keys are
// compared, which is no user code (key_of). Nodes that were pushed out are the sender's, and die outside.
//
// Invariants, whenever the lock is free:
//   receivers_ not empty  =>  there is no value
//   closed_               =>  nobody waits
//   each node that is held is in the list and in the chain of its hash, and no key is there twice
//   sent = received + dropped + held
//
//   send:  1 closed: tell. 2 a receiver waits: it gets the node. 3 the key is held: the node takes the other's place.
//          4 there is no room for one more: the first of the list goes. 5 the node is the last of the list.
//   recv:  1 there is a value: the first of the list. 2 closed: tell. 3 wait.
//   close: claims everybody, and tells them `closed`. What it holds stays.
//
// A value whose move throws when it is received goes back to the front, unless a later one of its key has come.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <leat/csp/channel_base.hpp>
#include <leat/csp/kept_value.hpp>
#include <leat/csp/keyed.hpp>

namespace leat::csp {

class latest_by_key final : public channel_base {
 public:
  // All that depends on the type: keep_value<T>, and what the key is of.
  using keep_fn = std::unique_ptr<kept_value> (*)(void* value);
  latest_by_key(std::size_t keys, const channel_options& o, std::shared_ptr<const key_of> key, keep_fn keep);
  ~latest_by_key() override;

  leat::flavour flavour() const noexcept override { return leat::flavour::latest_by_key; }
  std::size_t size() const noexcept override;  // keys
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  bool try_count(channel_stats& to) const noexcept override;
  void close() noexcept override;

  send_status send(void* value, std::int64_t until) override;
  recv_status recv(void* value, std::int64_t until) override;
  void stage(op_case& c, void* value) override;
  void finish(op_case& c, void* value) override;
  void unstage(op_case& c, void* value) noexcept override;
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  std::size_t waiting(std::span<waiting_g> to) const noexcept override;

 private:
  using node = std::unique_ptr<kept_value>;
  struct sending {
    ~sending();
    node packed;
    kept_value* evicted = nullptr;  // a chain
  };

  node packed(void* value) const;
  // Takes s.packed if it returns done.
  ending put(entered& in, sending& s, wait* me, const op_case* c) noexcept;
  kept_value** find_locked(const kept_value& like) noexcept LEAT_REQUIRES(lock_);
  node take_first_locked() noexcept LEAT_REQUIRES(lock_);
  // It is in no list any more; it dies with what `by` keeps.
  void evict_locked(sending& by, kept_value* old) noexcept LEAT_REQUIRES(lock_);
  // Links it between two neighbours in the list; null: the end.
  void link_locked(kept_value* before, kept_value* fresh, kept_value* after) noexcept LEAT_REQUIRES(lock_);
  // `held` keeps this channel if it waits: everybody else may have let go of it when that is over.
  recv_status recv_inside(entered& in, node& to, std::int64_t until, ref<channel_base>& held) noexcept;
  void take_out(node&& n, void* value);
  void give_back(node&& n) noexcept;
  kept_value*& bucket_locked(std::uint64_t hash) noexcept LEAT_REQUIRES(lock_) {
    return buckets_[hash & (buckets_.size() - 1)];
  }

  const std::shared_ptr<const key_of> key_;
  const keep_fn keep_;
  mutable ranked_spinlock lock_{lock_rank::channel, "latest by key"};
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  // The list: the one that has waited longest, and the last.
  kept_value* first_ LEAT_GUARDED_BY(lock_) = nullptr;
  kept_value* last_ LEAT_GUARDED_BY(lock_) = nullptr;
  std::vector<kept_value*> buckets_ LEAT_GUARDED_BY(lock_);  // a power of two
  std::size_t held_ LEAT_GUARDED_BY(lock_) = 0;
  wait_queue receivers_ LEAT_GUARDED_BY(lock_);
  std::uint64_t sent_ LEAT_GUARDED_BY(lock_) = 0, received_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t dropped_ LEAT_GUARDED_BY(lock_) = 0, refused_ LEAT_GUARDED_BY(lock_) = 0;
  std::uint64_t high_ LEAT_GUARDED_BY(lock_) = 0;
};

}  // namespace leat::csp
