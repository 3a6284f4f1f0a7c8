// SPDX-License-Identifier: BSL-1.0
//
// Channels: typed, bounded, first in first out. A channel<T> is a shared handle; in<T> and out<T> are its two
// ends, which is what a process holds.
#pragma once
#include <cstddef>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/csp/boxed.hpp>
#include <leat/csp/broadcast.hpp>
#include <leat/csp/cell.hpp>
#include <leat/csp/channel_base.hpp>
#include <leat/csp/many.hpp>
#include <leat/csp/single.hpp>

namespace leat {

template <class T>
class channel;
template <class T>
class in;
template <class T>
class out;

namespace csp {

// Not inlined: it is long, and the compiler would warn of accesses to the kinds that it sees are not made.
template <class T>
[[gnu::noinline]] channel_base* make_channel(std::size_t capacity, const channel_options& o) {
  static_assert(kept_inline<T> || (std::is_move_constructible_v<T> && std::is_move_assignable_v<T>),
                "a type whose move may throw must be movable and assignable, so that a failed send can give "
                "the value back");
  if constexpr (kept_inline<T>) {
    const bool keeps_order = o.full == full::block || o.full == full::drop_newest ||
                             o.full == full::fail;  // the reader alone takes
    if (o.writers == 1 && o.readers == 1 && capacity > 0 && keeps_order)
      return new single_channel<T>(capacity, o);
    return new many_channel<T>(capacity, o);
  } else {
    return new boxed_channel<T>(capacity, o);
  }
}

// Is c a many_channel<T>, or a single_channel<T>?
template <class T>
bool is_inlined(const channel_base& c) noexcept {
  return kept_inline<T> && c.is_inlined();
}

// Is c a single_channel<T> whose reader and writer may use it directly?
inline bool is_ring(const channel_base* c) noexcept { return c && c->inlined_as(inlined::one_to_one); }

// A send to a channel that somebody looks into (tap.hpp): as channel_base::send.
send_status send_tapped(channel_base& c, void* value, std::int64_t until);

// The end of a send that found no room and does not wait.
template <class T>
[[gnu::noinline]] send_status send_by_policy(many_channel<T>& to, sched::entrance in, T& v) noexcept {
  std::optional<T> evicted;  // destroyed outside the runtime
  const sched::entered inside(in);
  return to.apply_policy_and_unlock(&v, &evicted);
}

// Leaves v alone unless it returns sent. Until is without_end, or a moment.
template <class T, class Until>
[[gnu::noinline]] send_status send_slowly(channel_base* c, T& v, Until until) {
  send_status s{};
  if (!c) [[unlikely]] {
    s = wait_on_nil(wait_reason::send, until) == ending::stopped ? send_status::stopped
        : until == at_once                                       ? send_status::full
                                                                 : send_status::timeout;
  } else if (!kept_inline<T> || !c->inlined_as(inlined::many)) {
    s = !c->is_inlined() && c->tap() ? send_tapped(*c, &v, until) : c->send(&v, until);
  } else if constexpr (kept_inline<T>) {
    auto& many = *static_cast<many_channel<T>*>(c);
    sched::entrance in;
    if (!many.send_now(in, v, until, s)) {
      if (many.must_wait(until)) return many.wait_to_send(in, &v, until);
      return send_by_policy(many, in, v);
    }
    in.leave();
  }
  if (s == send_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

template <class T, class Until>
[[gnu::noinline]] recv_status recv_slowly(channel_base* c, std::optional<T>& to, Until until) {
  recv_status s{};
  if (!c) [[unlikely]] {
    s = wait_on_nil(wait_reason::receive, until) == ending::stopped ? recv_status::stopped
        : until == at_once                                          ? recv_status::empty
                                                                    : recv_status::timeout;
  } else if (!kept_inline<T> || !c->inlined_as(inlined::many)) {
    s = c->recv(&to, until);
  } else if constexpr (kept_inline<T>) {
    auto& many = *static_cast<many_channel<T>*>(c);
    sched::entrance in;
    if (!many.recv_now(in, to, until, s)) return many.wait_to_receive(in, &to, until);
    in.leave();
  }
  if (s == recv_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

// The one-to-one ring is inlined into the caller as far as it needs nothing but itself.
template <class T, class Until>
[[gnu::always_inline]] inline send_status send_value(channel_base* c, T& v, Until until) {
  if constexpr (kept_inline<T>)
    if (is_ring(c) && static_cast<single_channel<T>*>(c)->put(v)) return send_status::sent;
  return send_slowly(c, v, until);
}
template <class T, class Until>
[[gnu::always_inline]] inline recv_status recv_value(channel_base* c, std::optional<T>& to, Until until) {
  if constexpr (kept_inline<T>)
    if (is_ring(c) && static_cast<single_channel<T>*>(c)->take(to)) return recv_status::received;
  return recv_slowly(c, to, until);
}

// for (T v : channel) until it is closed and drained, or the G is stopped.
template <class T>
class received_iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = T;
  using difference_type = std::ptrdiff_t;
  using pointer = T*;
  using reference = T&;

  explicit received_iterator(ref<channel_base> c) : channel_(std::move(c)) { receive(); }
  T& operator*() noexcept { return *value_; }
  [[gnu::always_inline]] received_iterator& operator++() {
    if constexpr (kept_inline<T> && may_be_overwritten<T>) {
      if (value_ && is_ring(channel_.get()) &&
          static_cast<single_channel<T>*>(channel_.get())->take_over(*value_))
        return *this;
    }
    receive();
    return *this;
  }
  void operator++(int) { ++*this; }
  bool operator==(std::default_sentinel_t) const noexcept { return !value_; }

 private:
  // Not in place of a value: where that could be done, it has been tried.
  [[gnu::noinline]] void receive() {
    value_.reset();
    if constexpr (kept_inline<T> && may_be_overwritten<T>) {
      (void)recv_slowly(channel_.get(), value_, without_end{});
    } else {
      (void)recv_value(channel_.get(), value_, without_end{});
    }
  }

  // In this order: with the pointer right before the value, GCC reads both at once, which waits for the store
  // of a value that has just been taken (1.5 ns a value).
  std::optional<T> value_;
  ref<channel_base> channel_;  // the body of the loop may let go of the handle
};

// The sending half of a channel's interface. Derived has base(). What takes a copy is a template: T may be a message that holds
// a channel of its own kind, and is not known yet when this class is (Clang 14 and 15 look at the constraint that early).
template <class Derived, class T>
class sender_api {
 public:
  // Waits for room if the policy is to block. sent, closed, stopped, or what the policy says (full, dropped).
  // Unless it was sent, v keeps its value.
  send_status send(T&& v) const { return send_value(base(), v, without_end{}); }
  template <class U = T>
  send_status send(const std::type_identity_t<U>& v) const
    requires std::copy_constructible<U>
  {
    T copy(v);
    return send_value(base(), copy, without_end{});
  }
  // Never waits: full instead. v keeps its value unless it was sent.
  send_status try_send(T& v) const { return send_value(base(), v, at_once); }
  send_status try_send(T&& v) const { return send_value(base(), v, at_once); }
  template <class U = T>
  send_status try_send(const std::type_identity_t<U>& v) const
    requires std::copy_constructible<U>
  {
    T copy(v);
    return send_value(base(), copy, at_once);
  }
  // timeout when the deadline has passed first.
  send_status send_until(T&& v, deadline d) const { return send_value(base(), v, until_ns(d)); }
  template <class U = T>
  send_status send_until(const std::type_identity_t<U>& v, deadline d) const
    requires std::copy_constructible<U>
  {
    T copy(v);
    return send_value(base(), copy, until_ns(d));
  }
  // No more sends. What has been sent is still received. Closing twice is a bug, and is logged.
  void close() const noexcept {
    if (base()) base()->close();
  }

 private:
  channel_base* base() const noexcept { return static_cast<const Derived*>(this)->base(); }
};

// The receiving half.
template <class Derived, class T>
class receiver_api {
 public:
  // Empty: closed and drained, or this G has been asked to stop.
  std::optional<T> recv() const { return recv_with(without_end{}); }
  // Never waits. Empty: nothing there.
  std::optional<T> try_recv() const { return recv_with(at_once); }
  std::optional<T> recv_until(deadline d) const { return recv_with(until_ns(d)); }
  // The same, telling why there is no value.
  recv_status recv(std::optional<T>& to, deadline d = deadline::never()) const {
    to.reset();
    return recv_value(base(), to, until_ns(d));
  }
  recv_status try_recv(std::optional<T>& to) const {
    to.reset();
    return recv_value(base(), to, at_once);
  }

  received_iterator<T> begin() const {
    if (base()) base()->add_ref();
    return received_iterator<T>(ref<channel_base>(base()));
  }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  template <class Until>
  std::optional<T> recv_with(Until until) const {
    std::optional<T> v;
    (void)recv_value(base(), v, until);
    return v;
  }
  channel_base* base() const noexcept { return static_cast<const Derived*>(this)->base(); }
};

// What every handle tells. A nil end is empty, of capacity 0, and open for ever.
template <class Derived>
class channel_info {
 public:
  // Handles of one kind are equal if they are of the same channel; nil ones are equal. Two readers of a
  // broadcast channel are two. Hashed alike (std::hash).
  friend bool operator==(const Derived& a, const Derived& b) noexcept { return a.base() == b.base(); }
  std::size_t size() const noexcept { return base() ? base()->size() : 0; }
  std::size_t capacity() const noexcept { return base() ? base()->capacity() : 0; }
  bool closed() const noexcept { return base() && base()->is_closed(); }
  channel_stats stats() const noexcept { return base() ? base()->stats() : channel_stats{}; }
  leat::flavour flavour() const noexcept { return base() ? base()->flavour() : leat::flavour::rendezvous; }

 private:
  channel_base* base() const noexcept { return static_cast<const Derived*>(this)->base(); }
};

}  // namespace csp

// Copies share one channel; it lives as long as any handle or end. T may be incomplete until the channel is
// made or used: a message may hold a channel of its own kind, for the answer.
template <class T>
class channel : public csp::sender_api<channel<T>, T>,
                public csp::receiver_api<channel<T>, T>,
                public csp::channel_info<channel<T>> {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>, "a channel carries values");

 public:
  using value_type = T;

  // A rendezvous channel: a send waits for its receiver.
  channel() : channel(0) {}
  // Holds `capacity` values. Throws channel_error when there is no memory for them.
  explicit channel(std::size_t capacity, const channel_options& options = {})
      : state_(csp::make_channel<T>(capacity, options)) {}
  // A broadcast channel; `capacity` and the policy are those of each reader that does not ask for its own.
  channel(broadcast_t, std::size_t capacity, const channel_options& options = {})
      : state_(new csp::broadcast_channel<T>(capacity, options)) {}

  // A reader of its own on a broadcast channel, which misses nothing from now on but what its policy drops.
  in<T> subscribe(std::size_t capacity, leat::full when_full = leat::full::block) const;

  csp::channel_base* base() const noexcept { return state_.get(); }

 private:
  friend class in<T>;
  friend class out<T>;
  csp::ref<csp::channel_base> state_;
};

// The reading end. Default-constructed it is nil: never ready, never closed. Made from a broadcast channel it
// subscribes, with the channel's own capacity and policy.
template <class T>
class in : public csp::receiver_api<in<T>, T>, public csp::channel_info<in<T>> {
 public:
  using value_type = T;
  in() = default;
  in(const channel<T>& c) : state_(csp::reading_side(c.state_)) {}
  explicit in(csp::ref<csp::channel_base> state) noexcept : state_(std::move(state)) {}
  // A port: nil until its owner connects it. The owner's layer says what a port is, by register_port.
  template <class Owner, class... Options>
  in(Owner* owner, std::string_view name, const Options&... options) {
    register_port(owner, *this, name, options...);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  csp::channel_base* base() const noexcept { return state_.get(); }

 private:
  csp::ref<csp::channel_base> state_;
};

// The writing end. Default-constructed it is nil: a send never succeeds.
template <class T>
class out : public csp::sender_api<out<T>, T>, public csp::channel_info<out<T>> {
 public:
  using value_type = T;
  out() = default;
  out(const channel<T>& c) : state_(c.state_) {}
  explicit out(csp::ref<csp::channel_base> state) noexcept : state_(std::move(state)) {}
  // A port, as with in<T>.
  template <class Owner, class... Options>
  out(Owner* owner, std::string_view name, const Options&... options) {
    register_port(owner, *this, name, options...);
  }
  explicit operator bool() const noexcept { return static_cast<bool>(state_); }
  csp::channel_base* base() const noexcept { return state_.get(); }

 private:
  csp::ref<csp::channel_base> state_;
};

template <class T>
in<T> channel<T>::subscribe(std::size_t capacity, leat::full when_full) const {
  return in<T>(csp::subscribe_to(state_, capacity, when_full));
}

}  // namespace leat

template <class T>
struct std::hash<leat::channel<T>> {
  std::size_t operator()(const leat::channel<T>& c) const noexcept {
    return std::hash<const void*>()(c.base());
  }
};
template <class T>
struct std::hash<leat::in<T>> {
  std::size_t operator()(const leat::in<T>& c) const noexcept { return std::hash<const void*>()(c.base()); }
};
template <class T>
struct std::hash<leat::out<T>> {
  std::size_t operator()(const leat::out<T>& c) const noexcept { return std::hash<const void*>()(c.base()); }
};
