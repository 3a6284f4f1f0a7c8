// SPDX-License-Identifier: BSL-1.0
//
// An end that is looked at while values pass: it counts them, and an end that receives may keep the value
// that is in hand, so that it can be handed out again when whoever received it has failed. Made by gate_in and
// gate_out; other ends never come here.
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
#include <optional>
#include <utility>

#include <leat/csp/channel_base.hpp>

namespace leat::csp {

// What is in hand. hold<T> has the value.
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
  // Returns place(), which is empty then.
  void* acknowledge() noexcept;
  // The supervisor, which runs no code of the value: it is done with, and is destroyed by the next who receives here.
  void forget() noexcept;
  // The supervisor, with a new hold: it stands where the old one does, and has a copy of what is in hand
  // there when that is asked for.
  void succeed(std::shared_ptr<hold_base> old) noexcept;
  // A T*: what is in hand, or to be handed out again. A predecessor's is copied here first.
  void* again();

  // All that depends on the type. place, `to` and `from` are std::optional<T>*.
  virtual void* place() noexcept = 0;  // where the value is, if there is one
  virtual void* value() noexcept = 0;  // a T*; there is one
  virtual void copy(void* to) const = 0;
  virtual void take(void* from) = 0;
  virtual void* drop() noexcept = 0;  // place(), which is empty then

  unsigned failures = 0;  // with this value; the supervisor's

 private:
  std::atomic<state> at_{state::empty};
  bool forgotten_ = false;                  // empty, but for a value that nobody needs
  std::shared_ptr<hold_base> before_ = {};  // which has the value, and none before it
};

template <class T>
class hold final : public hold_base {
 public:
  void* place() noexcept override { return &value_; }
  void* value() noexcept override { return &*value_; }
  void copy(void* to) const override { static_cast<std::optional<T>*>(to)->emplace(*value_); }
  void take(void* from) override {
    auto& v = *static_cast<std::optional<T>*>(from);
    value_.emplace(std::move(*v));
    v.reset();
  }
  void* drop() noexcept override {
    value_.reset();
    return &value_;
  }

 private:
  std::optional<T> value_;
};

struct gate_record {
  // Values that passed. Users may be several Gs of one process: what one of them overwrites is not missed.
  std::atomic<std::uint64_t> passed{0};
  std::shared_ptr<hold_base> hold = {};  // null: nothing is kept
};

// Without a hold in its record no type need be known: then nothing is kept.
ref<channel_base> gate_in(ref<channel_base> inner, std::shared_ptr<gate_record> record);
ref<channel_base> gate_out(ref<channel_base> inner, std::shared_ptr<gate_record> record);

// What an end made by gate_in keeps; null: nothing, or it is another end.
hold_base* held_at(channel_base& end) noexcept;

// Sends what is in hand there; it is in hand no more if it was sent.
send_status send_held(hold_base& h, channel_base& c, std::int64_t until);

}  // namespace leat::csp
