// SPDX-License-Identifier: BSL-1.0
//
// Makes ends that are looked at (gate.hpp).
#pragma once
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/csp/gate.hpp>

namespace leat::csp {

template <class T>
class hold final : public hold_base {
 public:
  std::optional<T> value;

  void acknowledge() noexcept override {
    if (at() == state::empty) return;
    {
      const sched::unfenced in;
      become(state::empty);
    }
    value.reset();
    before_.reset();
    failures = 0;
  }
  void succeed(std::shared_ptr<hold_base> old) noexcept override {
    failures = old->failures;
    const state left = old->at();
    auto last = std::static_pointer_cast<hold>(std::move(old));
    // One that was cut short in `again` may still be making its copy.
    before_ = last->before_ ? last->before_ : std::move(last);
    become(left);
  }
  // What is in hand, or to be handed out again. A predecessor's is copied here first.
  const T& again() {
    if (before_) {
      value.emplace(*before_->value);
      std::shared_ptr<hold> copied;
      const sched::unfenced in;  // ends first; a fenced one leaves before_ to its successor
      copied.swap(before_);
    }
    return *value;
  }

 private:
  std::shared_ptr<hold> before_;  // which has the value, and none before it
};

template <class T>
class receiving_gate final : public gate {
 public:
  receiving_gate(ref<channel_base> inner, std::shared_ptr<gate_record> record)
      : gate(std::move(inner), std::move(record)) {}

  recv_status recv(void* value, std::int64_t until) override {
    auto& to = *static_cast<std::optional<T>*>(value);
    if constexpr (std::is_copy_constructible_v<T>) {
      if (hold<T>* const h = holds()) {
        if (until != at_once && stop_requested()) return recv_status::stopped;
        if (hands_out_again()) {
          hand_out(*h, to);
          return recv_status::received;
        }
        h->acknowledge();
        const recv_status s = recv_value(inner_.get(), h->value, until);
        if (s == recv_status::received) put_in_hand(*h, to);
        return s;
      }
    }
    const recv_status s = recv_value(inner_.get(), to, until);
    if (s == recv_status::received) count();
    return s;
  }

  void stage(op_case& c, void* value) override {
    if (hands_out_again()) {
      c.slot = nullptr;
      return;
    }
    if (held() && !stop_requested()) held()->acknowledge();
    inner_->stage(c, value);
  }
  void finish(op_case& c, void* value) override {
    auto& to = *static_cast<std::optional<T>*>(value);
    if (c.slot) inner_->finish(c, value);
    if constexpr (std::is_copy_constructible_v<T>) {
      if (hold<T>* const h = holds()) {
        if (!c.slot) return hand_out(*h, to);
        // In hand first: one whose copy throws is not lost.
        h->acknowledge();
        h->value.emplace(std::move(*to));
        to.reset();
        return put_in_hand(*h, to);
      }
    }
    count();
  }

 private:
  // If the record holds something, values can be copied.
  hold<T>* holds() const noexcept { return static_cast<hold<T>*>(held()); }
  void put_in_hand(hold<T>& h, std::optional<T>& to) {
    h.become(hold_base::state::in_hand);
    count();
    to.emplace(*h.value);
  }
  void hand_out(hold<T>& h, std::optional<T>& to) {
    count();
    to.emplace(h.again());
    h.become(hold_base::state::in_hand);
  }
};

template <class T>
class sending_gate final : public gate {
 public:
  sending_gate(ref<channel_base> inner, std::shared_ptr<gate_record> record)
      : gate(std::move(inner), std::move(record)) {}

  send_status send(void* value, std::int64_t until) override {
    const send_status s = send_value(inner_.get(), *static_cast<T*>(value), until);
    if (s == send_status::sent || s == send_status::dropped) count();
    return s;
  }
  void stage(op_case& c, void* value) override { inner_->stage(c, value); }
  void finish(op_case& c, void* value) override {
    count();
    inner_->finish(c, value);
  }
};

template <class T>
ref<channel_base> gate_in(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  return ref<channel_base>(new receiving_gate<T>(std::move(inner), std::move(record)));
}

template <class T>
ref<channel_base> gate_out(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  return ref<channel_base>(new sending_gate<T>(std::move(inner), std::move(record)));
}

}  // namespace leat::csp
