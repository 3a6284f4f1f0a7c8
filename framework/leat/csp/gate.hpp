// SPDX-License-Identifier: BSL-1.0
//
// An end that is looked at while values pass: it counts them, and an end that receives may keep the value
// that is in hand, so that it can be handed out again when whoever received it has failed. Made by gate_in<T>
// and gate_out<T> (gated.hpp); other ends never come here.
//
// What it notes is in a record that outlives the gate and its user: each incarnation of a process has a gate
// of its own on the same record.
//
// A value is in hand from its receipt until the next receive at the same end, which acknowledges it. A
// receive that is told to stop acknowledges nothing: what was in hand then may not have been done. `again`:
// the next receive gets a copy of the value in hand instead of a new one.
//
//   empty --received--> in_hand --next receive--> empty
//                       in_hand --the user is out, and another comes--> again --receive--> in_hand
//
// A record is used by one user at a time, and by its supervisor when that user is out. A user that was
// quarantined may run on behind its fence (sched/fence.hpp): its successor gets a record of its own, and the
// value in hand is copied from the old one (succeed). That value stays as it is: in_hand is written when it
// is whole, and to acknowledge it takes an entry into the runtime, which a fenced G does not survive.
//
// A case of a select goes on to the inner channel. While a value is to be handed out again, it does not: it is
// ready, and its slot is null.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include <leat/csp/channel_base.hpp>

namespace leat::csp {

// What is in hand; the value itself is in hold<T>.
class hold_base {
 public:
  enum class state : std::uint8_t { empty, in_hand, again };

  hold_base() = default;
  virtual ~hold_base() = default;
  hold_base(const hold_base&) = delete;
  hold_base& operator=(const hold_base&) = delete;

  state at() const noexcept { return at_.load(std::memory_order_acquire); }  // pairs with become
  // Release: the value is whole.
  void become(state s) noexcept { at_.store(s, std::memory_order_release); }
  virtual void acknowledge() noexcept = 0;
  // The supervisor, with a new hold: it stands where the old one does, and has a copy of what is in hand
  // there when that is asked for.
  virtual void succeed(std::shared_ptr<hold_base> old) noexcept = 0;

  unsigned failures = 0;  // with this value; the supervisor's

 private:
  std::atomic<state> at_{state::empty};
};

struct gate_record {
  // Values that passed. Users may be several Gs of one process: what one of them overwrites is not missed.
  std::atomic<std::uint64_t> passed{0};
  std::shared_ptr<hold_base> hold = {};  // null: nothing is kept
};

// The type is known to receiving_gate<T> and sending_gate<T>.
class gate : public channel_base {
 public:
  leat::flavour flavour() const noexcept override { return leat::flavour::gated; }
  hold_base* held() const noexcept { return record_->hold.get(); }

  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override { return inner_->is_closed(); }
  channel_stats stats() const noexcept override { return inner_->stats(); }
  void close() noexcept override { inner_->close(); }

  ending try_case(entered& in, op_case& c) noexcept override;
  ending enroll(entered& in, op_case& c, wait& me) noexcept override;
  void withdraw(op_case& c) noexcept override;
  void unstage(op_case& c, void* value) noexcept override;
  std::span<const ref<channel_base>> parts(const op_case& c) const noexcept override;
  std::int64_t due() noexcept override { return inner_->due(); }
  bool only_stores() const noexcept override { return inner_->only_stores(); }

 protected:
  gate(ref<channel_base> inner, std::shared_ptr<gate_record> record);

  void count() noexcept {
    record_->passed.store(record_->passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  bool hands_out_again() const noexcept { return held() && held()->at() == hold_base::state::again; }

  const ref<channel_base> inner_;

 private:
  const std::shared_ptr<gate_record> record_;
};

}  // namespace leat::csp
