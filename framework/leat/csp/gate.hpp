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
// A record is used by one user at a time, and by its supervisor when that user is out; the last news of a
// user that was quarantined is the state, so that is written when the value is whole.
//
// Select is aimed at the inner channel, or, while a value is to be handed out again, at the gate itself,
// which is ready then.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

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

  unsigned failures = 0;  // with this value; the supervisor's

 private:
  std::atomic<state> at_{state::empty};
};

struct gate_record {
  // Values that passed. Users may be several Gs of one process: what one of them overwrites is not missed.
  std::atomic<std::uint64_t> passed{0};
  std::shared_ptr<hold_base> hold = {};  // null: nothing is kept
};

class gate final : public channel_base {
 public:
  using recv_fn = recv_status (*)(gate& g, void* to, std::int64_t until);  // to: std::optional<T>*
  using send_fn = send_status (*)(gate& g, void* v, std::int64_t until);   // v: T*
  using keep_fn = void (*)(hold_base& h, void* v, void* to);               // v: T*, to: std::optional<T>*
  using hand_out_fn = void (*)(hold_base& h, void* to);                    // to: std::optional<T>*

  gate(ref<channel_base> inner, std::shared_ptr<gate_record> record, recv_fn receives, keep_fn keeps,
       hand_out_fn hands_out);
  gate(ref<channel_base> inner, std::shared_ptr<gate_record> record, send_fn sends);

  channel_base* inner() const noexcept { return inner_.get(); }
  hold_base* held() const noexcept { return record_->hold.get(); }

  const recv_fn recv = nullptr;
  const send_fn send = nullptr;

  void count() noexcept {
    record_->passed.store(record_->passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // For select: before it looks, and when it has a value. `aim` is the channel to look at.
  channel_base* aim() noexcept;
  // When values are kept, this one is put in hand first and a copy of it into `to`: one whose copy throws is
  // not lost. False: it is still the caller's.
  bool passed(void* v, void* to) {
    count();
    if (!held()) return false;
    keep_(*held(), v, to);
    return true;
  }
  void hand_out(void* to) {
    count();
    hand_out_(*held(), to);
  }

  std::size_t size() const noexcept override;
  bool is_closed() const noexcept override { return inner_->is_closed(); }
  channel_stats stats() const noexcept override { return inner_->stats(); }
  void close() noexcept override { inner_->close(); }

  // A value is to be handed out again: the select takes it from the gate.
  attempt try_case(entered& in, op_case& c) noexcept override;
  attempt enroll(entered& in, op_case& c, party& me) noexcept override;
  void withdraw(op_case&) noexcept override {}

 private:
  const ref<channel_base> inner_;
  const std::shared_ptr<gate_record> record_;
  const keep_fn keep_ = nullptr;
  const hand_out_fn hand_out_ = nullptr;
};

}  // namespace leat::csp
