// SPDX-License-Identifier: BSL-1.0
//
// One end at several channels: `merged` receives from all of them, fairly; `fan` sends to each of them. Made
// by merge<T> and fan_out<T> (merge.hpp); an end at one channel never comes here. An end that sends to one of
// several is in keyed.hpp.
//
// A merged end is closed when all its channels are. A fan skips those that are closed, and is closed when all
// are; each channel takes the value, waits or drops it by itself and one after the other, so a send that is
// stopped or timed out may have reached some of them. (One send to all or none is a broadcast channel.)
//
// A select looks at each channel of a merged end by itself (channel_base::parts). A send case of a fan waits
// for the first channel that is open; when that has taken the value, the others are sent to before the handler
// runs.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <leat/csp/channel_base.hpp>

namespace leat::csp {

using channel_list = std::vector<ref<channel_base>>;

class composite : public channel_base {
 public:
  ~composite() override;
  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override;
  channel_stats stats() const noexcept override;
  void close() noexcept override;  // those that are open

 protected:
  explicit composite(channel_list all);
  composite(channel_list all, std::size_t capacity, const channel_options& o);

  const channel_list parts_;
};

// The type is known to merged_channel<T>.
class merged : public composite {
 public:
  leat::flavour flavour() const noexcept override { return leat::flavour::merged; }

  std::span<const ref<channel_base>> parts(const op_case&) const noexcept override;
  // Never called for a receive: they are its parts'. There is nothing else to do here.
  ending try_case(entered&, op_case&) noexcept override { return ending::closed; }
  ending enroll(entered&, op_case&, wait&) noexcept override { return ending::closed; }
  void withdraw(op_case&) noexcept override {}

 protected:
  using composite::composite;

  // Where the next look at all channels begins. Whoever looks moves it on; a lost update does no harm.
  std::size_t next_start() noexcept { return start_.fetch_add(1, std::memory_order_relaxed) % parts_.size(); }

 private:
  std::atomic<std::size_t> start_{0};
};

// A send case waits at one of the channels.
class aiming : public composite {
 public:
  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;

 protected:
  using composite::composite;

  // What is kept for a case: which of the channels it waits for, and its case there.
  struct aim {
    explicit aim(std::size_t at) noexcept : part(at) { there.kind = op::send; }
    virtual ~aim() = default;
    aim(const aim&) = delete;
    aim& operator=(const aim&) = delete;
    const std::size_t part;
    op_case there;
  };
  using kept_aim = std::unique_ptr<aim>;
};

// The type is known to fan_channel<T>.
class fan : public aiming {
 public:
  leat::flavour flavour() const noexcept override { return leat::flavour::fan; }

 protected:
  using aiming::aiming;

  // The index of the first that is open, or of the first.
  std::size_t first_open() const noexcept;
};

}  // namespace leat::csp
