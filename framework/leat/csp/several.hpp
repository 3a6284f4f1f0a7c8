// SPDX-License-Identifier: BSL-1.0
//
// One end at several channels: `merged` receives from all of them, fairly; `fan` sends to each of them. Made
// by merge<T> and fan_out<T> (merge.hpp); an end at one channel never comes here.
//
// A merged end is closed when all its channels are. A fan skips those that are closed, and is closed when all
// are; each channel takes the value, waits or drops it by itself and one after the other, so a send that is
// stopped or timed out may have reached some of them. (One send to all or none is a broadcast channel.)
//
// Select takes a merged end apart into its channels (select.cpp). A send case of a fan waits for the first
// channel that is open; when that has taken the value, the others are sent to before the handler runs.
#pragma once
#include <cstdint>
#include <vector>

#include <leat/csp/channel_base.hpp>

namespace leat::csp {

class several final : public channel_base {
 public:
  using parts = std::vector<ref<channel_base>>;
  using recv_fn = recv_status (*)(several& from, void* to, std::int64_t until);  // to: std::optional<T>*
  using send_fn = send_status (*)(const several& to, std::size_t begin, void* v,
                                  std::int64_t until);   // v: T*
  using copy_fn = void (*)(const void* from, void* to);  // T*, std::optional<T>*

  several(parts all, recv_fn receives);
  several(parts all, send_fn sends, copy_fn copies);

  const parts& all() const noexcept { return parts_; }
  const recv_fn recv = nullptr;
  const send_fn send = nullptr;
  const copy_fn copy = nullptr;

  // Where the next look at all channels begins. Whoever looks moves it on; a lost update does no harm.
  std::size_t next_start() noexcept { return start_.fetch_add(1, std::memory_order_relaxed) % parts_.size(); }
  // The index of the first that is open, or of the first.
  std::size_t first_open() const noexcept;

  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  void close() noexcept override;  // those that are open

  // Never called: select knows the parts.
  attempt try_case(entered& in, op_case& c) noexcept override;
  attempt enroll(entered& in, op_case& c, party& me) noexcept override;
  void withdraw(op_case& c) noexcept override;

 private:
  const parts parts_;
  std::atomic<std::size_t> start_{0};
};

}  // namespace leat::csp
