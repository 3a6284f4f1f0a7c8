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
    become(state::empty);
    value.reset();
    failures = 0;
  }
};

template <class T>
recv_status recv_gated(gate& g, void* to, std::int64_t until) {
  auto& out = *static_cast<std::optional<T>*>(to);
  if constexpr (std::is_copy_constructible_v<T>) {
    if (auto* const h = static_cast<hold<T>*>(g.held())) {
      if (until != at_once && stop_requested()) {
        throw_if_insisted();
        return recv_status::stopped;
      }
      if (h->at() == hold_base::state::again) {
        g.hand_out(&out);
        return recv_status::received;
      }
      h->acknowledge();
      const recv_status s = recv_value(g.inner(), h->value, until);
      if (s != recv_status::received) return s;
      h->become(hold_base::state::in_hand);
      g.count();
      out.emplace(*h->value);
      return s;
    }
  }
  const recv_status s = recv_value(g.inner(), out, until);
  if (s == recv_status::received) g.count();
  return s;
}

template <class T>
send_status send_gated(gate& g, void* v, std::int64_t until) {
  const send_status s = send_value(g.inner(), *static_cast<T*>(v), until);
  if (s == send_status::sent || s == send_status::dropped) g.count();
  return s;
}

// If the record holds something, values can be copied.
template <class T>
ref<channel_base> gate_in(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  gate::keep_fn keep = nullptr;
  gate::hand_out_fn hand_out = nullptr;
  if constexpr (std::is_copy_constructible_v<T>) {
    keep = [](hold_base& h, void* v, void* to) {
      auto& mine = static_cast<hold<T>&>(h);
      mine.acknowledge();
      mine.value.emplace(std::move(*static_cast<T*>(v)));
      mine.become(hold_base::state::in_hand);
      static_cast<std::optional<T>*>(to)->emplace(*mine.value);
    };
    hand_out = [](hold_base& h, void* to) {
      auto& mine = static_cast<hold<T>&>(h);
      static_cast<std::optional<T>*>(to)->emplace(*mine.value);
      mine.become(hold_base::state::in_hand);
    };
  }
  return ref<channel_base>(new gate(std::move(inner), std::move(record), &recv_gated<T>, keep, hand_out));
}

template <class T>
ref<channel_base> gate_out(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  return ref<channel_base>(new gate(std::move(inner), std::move(record), &send_gated<T>));
}

}  // namespace leat::csp
