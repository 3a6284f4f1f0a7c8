// SPDX-License-Identifier: BSL-1.0
//
// Makes one end of several channels (composite.hpp).
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/csp/composite.hpp>
#include <leat/sched/stop.hpp>

namespace leat::csp {

template <class T>
class merged_channel final : public merged {
 public:
  explicit merged_channel(channel_list all) : merged(std::move(all)) {}

  recv_status recv(void* value, std::int64_t until) override {
    auto& to = *static_cast<std::optional<T>*>(value);
    if (until == at_once || !stop_requested()) {
      const std::size_t n = parts_.size(), start = next_start();
      std::size_t closed = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = start + k < n ? start + k : start + k - n;
        const recv_status s = recv_value(parts_[i].get(), to, at_once);
        if (s == recv_status::received) return s;
        if (s == recv_status::closed) ++closed;
      }
      if (closed == n) return recv_status::closed;
      if (until == at_once) return recv_status::empty;
    }
    return channel_base::recv(value, until);
  }
};

template <class T>
class fan_channel final : public fan {
  static_assert(std::is_copy_constructible_v<T>, "to send to several channels is to copy");

 public:
  explicit fan_channel(channel_list all) : fan(std::move(all)) {}

  send_status send(void* value, std::int64_t until) override {
    return send_from(0, *static_cast<const T*>(value), until);
  }

  void stage(op_case& c, void* value) override {
    if (c.kind == op::recv) return;
    auto a = std::make_unique<aim_with_copy>(first_open(), *static_cast<const T*>(value));
    c.slot = a->there.slot = value;
    a->there.evicted = c.evicted;
    parts_[a->part]->stage(a->there, value);
    c.keep<kept_aim>(std::move(a));
  }
  void finish(op_case& c, void* value) override {
    const last_use<kept_aim> kept(c);
    auto& a = static_cast<aim_with_copy&>(**kept);
    parts_[a.part]->finish(a.there, value);
    (void)send_from(a.part + 1, a.for_the_rest, forever);
  }
  void unstage(op_case& c, void* value) noexcept override {
    if (c.kind == op::recv) return;
    const last_use<kept_aim> kept(c);
    parts_[(*kept)->part]->unstage((*kept)->there, value);
  }

 private:
  struct aim_with_copy final : aim {
    aim_with_copy(std::size_t at, const T& v) : aim(at), for_the_rest(v) {}
    const T for_the_rest;  // the first may take the value itself
  };

  // To those from `begin` on. v is left as it was: each gets a copy.
  send_status send_from(std::size_t begin, const T& v, std::int64_t until) const {
    // The worst of all: what a caller must know first.
    constexpr auto rank = [](send_status s) {
      switch (s) {
        case send_status::closed: return 0;
        case send_status::sent: return 1;
        case send_status::dropped: return 2;
        case send_status::full: return 3;
        case send_status::timeout: return 4;
        case send_status::stopped: return 5;
      }
      return 0;
    };
    send_status worst = send_status::closed;
    for (std::size_t i = begin; i < parts_.size(); ++i) {
      T copy(v);
      const send_status s = send_value(parts_[i].get(), copy, until);
      if (rank(s) > rank(worst)) worst = s;
      if (s == send_status::stopped) break;
    }
    return worst;
  }
};

// `all` is not empty.
template <class T>
ref<channel_base> merge(channel_list all) {
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new merged_channel<T>(std::move(all)));
}

template <class T>
ref<channel_base> fan_out(channel_list all) {
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new fan_channel<T>(std::move(all)));
}

}  // namespace leat::csp
