// SPDX-License-Identifier: BSL-1.0
//
// Waiting for one of several things:
//
//   leat::select(leat::on_recv(a, [&](int n) { ... }), leat::on_send(b, v, [&] { ... }),
//                leat::on_timeout(5ms, [&] { ... }));
//
// runs the handler of the case that came first and returns its index. With `otherwise` it does not wait. The
// cases are looked at from a random one on; select_ordered begins with the first. A handler runs in the
// calling G, outside the runtime, and may do what it likes.
//
// A closed channel: a handler that takes T is not told, the case just never runs; one that takes
// std::optional<T> is run with nothing, and so is a send's handler that takes a send_status. When no case is
// left that could ever run, because all channels are closed or nil, select returns select_closed.
#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include <leat/csp/case.hpp>
#include <leat/csp/channel.hpp>

namespace leat {

namespace csp {

// What a handler takes, for those whose call operator is not a template; others are given a T.
template <class F>
struct first_parameter : std::type_identity<void> {};
template <class C, class R, class A>
struct first_parameter<R (C::*)(A)> : std::type_identity<std::remove_cvref_t<A>> {};
template <class C, class R, class A>
struct first_parameter<R (C::*)(A) const> : std::type_identity<std::remove_cvref_t<A>> {};
template <class C, class R, class A>
struct first_parameter<R (C::*)(A) noexcept> : std::type_identity<std::remove_cvref_t<A>> {};
template <class C, class R, class A>
struct first_parameter<R (C::*)(A) const noexcept> : std::type_identity<std::remove_cvref_t<A>> {};
template <class R, class A>
struct first_parameter<R (*)(A)> : std::type_identity<std::remove_cvref_t<A>> {};
template <class F>
requires requires { &F::operator(); }
struct first_parameter<F> : first_parameter<decltype(&F::operator())> {};

template <class F, class Param>
inline constexpr bool takes = std::is_same_v<typename first_parameter<F>::type, Param>;

template <class T, class F>
class recv_case final : public case_base {
  static constexpr bool told = takes<F, std::optional<T>>;
  static_assert(told || std::invocable<F&, T> || std::invocable<F&>,
                "the handler of on_recv takes the value, a std::optional of it, or nothing");

 public:
  recv_case(channel_base* c, F f) : case_base(sort::channel, c, op::recv, told), handler_(std::move(f)) {
    op_at.slot = &value_;
    if (c && c->kind() == flavour::gated) gate_ = static_cast<gate*>(c);
    aimed_anew = gate_ != nullptr;
    fresh = !gate_ && (!c || c->kind() != flavour::broadcast_reader);
    several = c && c->kind() == flavour::merged;
  }
  recv_case(recv_case&&) = default;

  void prepare() override {
    value_.reset();
    op_at.slot = &value_;
    node_.reset();
    if (gate_) {
      channel = gate_->aim();
      several = channel->kind() == flavour::merged;
      part = nullptr;
    }
    if (channel && channel->kind() == flavour::broadcast_reader) op_at.slot = &node_;
  }

  void* slot_for(channel_base& from) noexcept override {
    if (from.kind() == flavour::broadcast_reader) return &node_;
    return &value_;
  }

  bool take_and_run() override {
    if constexpr (kept_inline<T>) {
      if (gate_) return false;
      std::optional<T> v;
      if (!static_cast<single_channel<T>*>(channel)->take(v)) return false;
      handle(std::move(*v));
      return true;
    }
    return false;
  }

  void run() override {
    if (result == attempt::closed) {
      if constexpr (told) handler_(std::optional<T>());
      return;
    }
    channel_base& from = part ? *part : *channel;
    std::optional<T> v;
    if (channel == gate_) {
      gate_->hand_out(&v);
      call(std::move(*v));
    } else if (node_) {
      take_node(from, std::move(*node_), v);
      node_.reset();
      call(std::move(*v));
    } else if constexpr (kept_inline<T>) {
      call(std::move(*value_));
    } else {
      unbox(from, std::move(*value_), v);
      value_.reset();
      call(std::move(*v));
    }
  }

 private:
  void call(T&& v) {
    if (gate_ && channel != gate_) [[unlikely]] {
      std::optional<T> copy;
      if (gate_->passed(&v, &copy)) return handle(std::move(*copy));
    }
    handle(std::move(v));
  }
  void handle(T&& v) {
    if constexpr (told) {
      handler_(std::optional<T>(std::move(v)));
    } else if constexpr (std::invocable<F&, T>) {
      handler_(std::move(v));
    } else {
      handler_();
    }
  }

  std::optional<cell<T>> value_;
  std::optional<node_ref> node_;
  gate* gate_ = nullptr;
  F handler_;
};

template <class T, class F>
class send_case final : public case_base {
  static constexpr bool told = takes<F, send_status>;
  static_assert(told || std::invocable<F&>, "the handler of on_send takes nothing, or a send_status");

 public:
  send_case(channel_base* c, T&& v, F f)
      : case_base(sort::channel, c, op::send, told), theirs_(&v), handler_(std::move(f)) {
    aim();
  }
  send_case(channel_base* c, const T& v, F f)
      : case_base(sort::channel, c, op::send, told), own_(v), handler_(std::move(f)) {
    aim();
  }

  void keep_value() override {
    if (theirs_) own_.emplace(std::move(*std::exchange(theirs_, nullptr)));
  }
  void prepare() override {
    T* const v = theirs_ ? theirs_ : &*own_;
    evicted_.reset();
    op_at.evicted = &evicted_;
    if (fan_ && !for_the_rest_) {
      for_the_rest_ = std::make_unique<std::optional<T>>();
      fan_->copy(v, for_the_rest_.get());
    }
    if (channel && channel->kind() == flavour::broadcast) {
      if (!node_) node_ = make_broadcast_node(std::move(*v));  // else it is still there from the last time
      op_at.slot = &node_;
      op_at.evicted = &evicted_nodes_;
      return;
    }
    if constexpr (kept_inline<T>) {
      op_at.slot = v;
    } else {
      if (!box_ || !box_->node) box_.emplace(std::move(*v));  // else it is still there from the last time
      op_at.slot = &*box_;
    }
  }
  void run() override {
    evicted_.reset();
    if (gate_ && result != attempt::closed) gate_->count();
    if (fan_ && result != attempt::closed)
      (void)fan_->send(*fan_, first_ + 1, &**std::exchange(for_the_rest_, nullptr), forever);
    if constexpr (told) {
      handler_(result == attempt::closed    ? send_status::closed
               : result == attempt::dropped ? send_status::dropped
                                            : send_status::sent);
    } else if (result != attempt::closed) {
      handler_();
    }
  }
  ~send_case() override { give_back(); }
  send_case(send_case&&) = default;

 private:
  // A value that was packed and not sent goes back to where it came from, unless its assignment throws.
  void give_back() noexcept {
    if (!theirs_) return;
    try {
      if (node_) restore_from_node(node_, *theirs_);
      if constexpr (!kept_inline<T>)
        if (box_ && box_->node) *theirs_ = std::move(box_->value());
    } catch (...) {
    }
  }

  void aim() noexcept {
    if (channel && channel->kind() == flavour::gated) {
      gate_ = static_cast<gate*>(channel);
      channel = gate_->inner();
    }
    if (!channel || channel->kind() != flavour::fan) return;
    fan_ = static_cast<csp::several*>(channel);
    first_ = fan_->first_open();
    channel = fan_->all()[first_].get();
  }

  gate* gate_ = nullptr;
  const csp::several* fan_ = nullptr;
  std::size_t first_ = 0;
  std::unique_ptr<std::optional<T>> for_the_rest_;
  T* theirs_ = nullptr;  // moved from only if it is sent
  std::optional<T> own_;
  std::optional<cell<T>> evicted_;
  struct none {};
  [[no_unique_address]] std::conditional_t<kept_inline<T>, none, std::optional<cell<T>>> box_;
  node_ref node_;
  evicted_nodes evicted_nodes_;
  F handler_;
};

template <class F>
class plain_case final : public case_base {
 public:
  plain_case(sort s, std::int64_t at, F f) : case_base(s, nullptr, op::recv, false), handler_(std::move(f)) {
    until = at;
  }
  void run() override { handler_(); }

 private:
  F handler_;
};

template <class C>
concept is_case = std::derived_from<std::remove_cvref_t<C>, case_base>;

template <class End>
concept readable = requires(const End& e) {
  typename End::value_type;
  e.try_recv();
};
template <class End>
concept writable = requires(const End& e) {
  typename End::value_type;
  e.close();
};

}  // namespace csp

// f takes the value, a std::optional of it (empty: the channel was closed), or nothing.
template <csp::readable End, class F>
auto on_recv(const End& end, F&& f) {
  csp::check_receivable(end.base());
  return csp::recv_case<typename End::value_type, std::decay_t<F>>(end.base(), std::forward<F>(f));
}

// Sends v if this case is taken; v is moved from only then. f takes nothing, or a send_status.
template <csp::writable End, class F>
auto on_send(const End& end, typename End::value_type&& v, F&& f) {
  return csp::send_case<typename End::value_type, std::decay_t<F>>(end.base(), std::move(v),
                                                                   std::forward<F>(f));
}
template <csp::writable End, class F>
requires std::copy_constructible<typename End::value_type>
auto on_send(const End& end, const typename End::value_type& v, F&& f) {
  return csp::send_case<typename End::value_type, std::decay_t<F>>(end.base(), v, std::forward<F>(f));
}

template <class F>
auto on_timeout(deadline d, F&& f) {
  return csp::plain_case<std::decay_t<F>>(csp::case_base::sort::timeout, csp::until_ns(d),
                                          std::forward<F>(f));
}

// Taken when nothing else is ready at once.
template <class F>
auto otherwise(F&& f) {
  return csp::plain_case<std::decay_t<F>>(csp::case_base::sort::otherwise, csp::forever, std::forward<F>(f));
}

// Any case, for selects whose cases are known at run time only. It may be used again and again, but a send
// case only until it has been taken.
class select_case {
 public:
  template <csp::is_case C>
  requires(!std::is_lvalue_reference_v<C>) select_case(C&& c)
      : case_(std::make_unique<std::remove_cvref_t<C>>(std::forward<C>(c))) {
    case_->keep_value();
    if (!case_->channel) return;
    case_->channel->add_ref();
    keeps_ = csp::ref<csp::channel_base>(case_->channel);
  }
  csp::case_base* get() const noexcept { return case_.get(); }

 private:
  csp::ref<csp::channel_base> keeps_;  // on_recv(leat::after(1s), f): nobody else may
  std::unique_ptr<csp::case_base> case_;
};

namespace csp {

template <class... Cases>
int select_of(order in, Cases&... cases) {
  case_base* const list[] = {&cases...};
  const glance seen = glance_at(list, in);
  std::size_t i = 0;
  bool done = false;
  const auto run_if_seen = [&](auto& c) {
    if (i++ == seen.ready) done = c.take_and_run();
  };
  (run_if_seen(cases), ...);
  return done ? static_cast<int>(seen.ready) : choose_inside_and_run(list, in, seen.start);
}

}  // namespace csp

template <csp::is_case... Cases>
requires(sizeof...(Cases) > 0) int select(Cases&&... cases) {
  return csp::select_of(csp::order::random, cases...);
}
template <csp::is_case... Cases>
requires(sizeof...(Cases) > 0) int select_ordered(Cases&&... cases) {
  return csp::select_of(csp::order::as_written, cases...);
}

// Over cases made at run time. Without any it returns select_closed: nothing can ever happen.
int select(std::span<select_case> cases);
int select_ordered(std::span<select_case> cases);

}  // namespace leat
