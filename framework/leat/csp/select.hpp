// SPDX-License-Identifier: BSL-1.0
//
// Waiting for one of several things:
//
//   leat::select(leat::on_recv(a, [&](int n) { ... }), leat::on_send(b, v, [&] { ... }),
//                leat::on_timeout(5ms, [&] { ... }));
//
// runs the handler of the case that came first and returns its index. Of those that are ready at once each
// has the same chance (turns.hpp); select_ordered takes the first as written. With `otherwise` it does not
// wait. A handler runs in the calling G, outside the runtime, and may do what it likes.
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

// Who keeps a case's channel in being: the caller, who has a handle of it; or the case itself, when its
// handle was an rvalue: on_recv(leat::after(1s), f) may have a name.
struct kept_by_caller {
  explicit kept_by_caller(channel_base*) noexcept {}
};
class kept_by_case {
 public:
  explicit kept_by_case(channel_base* c) noexcept : channel_(c) {
    if (c) c->add_ref();
  }

 private:
  ref<channel_base> channel_;
};
template <class End>
using keeper_of = std::conditional_t<std::is_lvalue_reference_v<End>, kept_by_caller, kept_by_case>;

template <class T, class F, class Keeper = kept_by_caller>
class recv_case final : public case_base {
  static constexpr bool told = takes<F, std::optional<T>>;
  static_assert(told || std::invocable<F&, T> || std::invocable<F&>,
                "the handler of on_recv takes the value, a std::optional of it, or nothing");

 public:
  recv_case(channel_base* c, F f)
      : case_base(sort::channel, c, op::recv, told, c && !is_inlined<T>(*c)),
        keeper_(c),
        handler_(std::move(f)) {
    op_at.slot = &value_;
    fresh = !staged_by_kind;
    if (fresh) return;
    if (c->each_reader_gets_all()) refuse_to_receive(*c);
    may_have_parts = !c->parts(op_at).empty();
  }
  recv_case(recv_case&&) = default;

  void* value() noexcept override { return &value_; }
  void prepare() override {
    value_.reset();
    op_at.slot = &value_;
  }

  bool take_and_run() override {
    if constexpr (kept_inline<T>) {
      std::optional<T> v;
      if (!static_cast<single_channel<T>*>(channel)->take(v)) return false;
      handle(std::move(*v));
      return true;
    }
    return false;
  }

  void run() override {
    if (result != ending::closed) return handle(std::move(*value_));
    if constexpr (told) handler_(std::optional<T>());
  }

 private:
  void handle(T&& v) {
    if constexpr (told) {
      handler_(std::optional<T>(std::move(v)));
    } else if constexpr (std::invocable<F&, T>) {
      handler_(std::move(v));
    } else {
      handler_();
    }
  }

  [[no_unique_address]] Keeper keeper_;  // first: what follows may come from the channel
  std::optional<T> value_;
  F handler_;
};

// Whose value a send case sends.
enum class value_of : std::uint8_t {
  a_copy,       // its own
  an_rvalue,    // the caller's, which may be a temporary: good for the expression that the case was made in
  a_reference,  // the caller's, who keeps it as long as the case
};

template <class T, class F, value_of From, class Keeper>
class send_case final : public case_base {
  static constexpr bool told = takes<F, send_status>;
  static_assert(told || std::invocable<F&>, "the handler of on_send takes nothing, or a send_status");

 public:
  static constexpr bool borrows_an_rvalue = From == value_of::an_rvalue;

  send_case(channel_base* c, T* theirs, F f)
      : case_base(sort::channel, c, op::send, told, c && !is_inlined<T>(*c)),
        keeper_(c),
        theirs_(theirs),
        handler_(std::move(f)) {}
  send_case(channel_base* c, const T& v, F f)
      : case_base(sort::channel, c, op::send, told, c && !is_inlined<T>(*c)),
        keeper_(c),
        own_(v),
        handler_(std::move(f)) {}

  void keep_value() override {
    if (borrows_an_rvalue && theirs_) own_.emplace(std::move(*std::exchange(theirs_, nullptr)));
  }
  void* value() noexcept override { return theirs_ ? theirs_ : &*own_; }
  void prepare() override {
    evicted_.reset();
    op_at.evicted = &evicted_;
    op_at.slot = value();
  }
  void run() override {
    evicted_.reset();
    if constexpr (told) {
      handler_(result == ending::closed    ? send_status::closed
               : result == ending::dropped ? send_status::dropped
                                           : send_status::sent);
    } else if (result != ending::closed) {
      handler_();
    }
  }
  send_case(send_case&&) = default;

 private:
  [[no_unique_address]] Keeper keeper_;
  T* theirs_ = nullptr;  // moved from only if it is sent
  std::optional<T> own_;
  std::optional<T> evicted_;
  F handler_;
};

template <class F>
class plain_case final : public case_base {
 public:
  plain_case(sort s, std::int64_t at, F f) : case_base(s, nullptr, op::recv, false), handler_(std::move(f)) {
    until = at;
  }
  // From each select on.
  plain_case(sort s, nanoseconds from_then, F f) : plain_case(s, forever, std::move(f)) {
    from_then_ = from_then;
    aimed_anew = from_then != nanoseconds::max();
  }
  void prepare() override {
    if (aimed_anew) until = until_ns(deadline(from_then_));
  }
  void run() override { handler_(); }

 private:
  nanoseconds from_then_{nanoseconds::max()};
  F handler_;
};

template <class C>
concept is_case = std::derived_from<std::remove_cvref_t<C>, case_base>;

// A case with a name, whose value was an rvalue that may be gone.
template <class C>
inline constexpr bool outlives_its_value = false;
template <class T, class F, class Keeper>
inline constexpr bool outlives_its_value<send_case<T, F, value_of::an_rvalue, Keeper>&> = true;
template <class T, class F, class Keeper>
inline constexpr bool outlives_its_value<const send_case<T, F, value_of::an_rvalue, Keeper>&> = true;
// What a select takes. Not on_send(c, rvalue, f) under a name: pass a value to copy, or std::ref(v).
template <class C>
concept selectable = is_case<C> && !outlives_its_value<C>;

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
template <class End, class F>
  requires csp::readable<std::remove_cvref_t<End>>
auto on_recv(End&& end, F&& f) {
  using received = typename std::remove_cvref_t<End>::value_type;
  return csp::recv_case<received, std::decay_t<F>, csp::keeper_of<End>>(end.base(), std::forward<F>(f));
}

namespace csp {
// std::reference_wrapper<T>: <functional> is for who uses it.
template <class R, class T>
concept refers_to = requires(R r) {
  typename R::type;
  { r.get() } -> std::same_as<T&>;
};
template <class End>
using sent_by = typename std::remove_cvref_t<End>::value_type;
template <class End, class F, value_of From>
using send_case_of = send_case<sent_by<End>, std::decay_t<F>, From, keeper_of<End>>;
}  // namespace csp

// Sends v if this case is taken. f takes nothing, or a send_status.
//   on_send(c, v, f)              sends a copy, made here
//   on_send(c, std::move(v), f)   moves from v only if it is sent; to be written inside the call of select,
//                                 since the case does not keep it. A select_case does: v is moved into it
//   on_send(c, std::ref(v), f)    the same, for cases that live longer: so must v
template <class End, class F>
  requires csp::writable<std::remove_cvref_t<End>>
auto on_send(End&& end, csp::sent_by<End>&& v, F&& f) {
  return csp::send_case_of<End, F, csp::value_of::an_rvalue>(end.base(), &v, std::forward<F>(f));
}
template <class End, class F>
  requires csp::writable<std::remove_cvref_t<End>> && std::copy_constructible<csp::sent_by<End>>
auto on_send(End&& end, const csp::sent_by<End>& v, F&& f) {
  return csp::send_case_of<End, F, csp::value_of::a_copy>(end.base(), v, std::forward<F>(f));
}
template <class End, class Ref, class F>
  requires csp::writable<std::remove_cvref_t<End>> && csp::refers_to<Ref, csp::sent_by<End>>
auto on_send(End&& end, Ref v, F&& f) {
  return csp::send_case_of<End, F, csp::value_of::a_reference>(end.base(), &v.get(), std::forward<F>(f));
}

// A duration counts from each select, also when the case is used again; a moment stays what it is.
template <class Rep, class Period, class F>
auto on_timeout(std::chrono::duration<Rep, Period> d, F&& f) {
  return csp::plain_case<std::decay_t<F>>(csp::case_base::sort::timeout, saturate_ns(d), std::forward<F>(f));
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
    requires(!std::is_lvalue_reference_v<C>)
  select_case(C&& c) : case_(std::make_unique<std::remove_cvref_t<C>>(std::forward<C>(c))) {
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
  constexpr std::size_t n = sizeof...(Cases);
  case_base* const list[] = {&cases...};
  std::uint32_t room[n > turns::packed_up_to ? n : 1];
  turns in_turn(n, room);
  const std::size_t ready = glance_at(list, in, in_turn);
  std::size_t i = 0;
  bool done = false;
  const auto run_if_seen = [&](auto& c) {
    if (i++ == ready) done = c.take_and_run();
  };
  (run_if_seen(cases), ...);
  return done ? static_cast<int>(ready) : choose_inside_and_run(list, in, in_turn);
}

}  // namespace csp

template <csp::selectable... Cases>
  requires(sizeof...(Cases) > 0)
int select(Cases&&... cases) {
  return csp::select_of(csp::order::random, cases...);
}
template <csp::selectable... Cases>
  requires(sizeof...(Cases) > 0)
int select_ordered(Cases&&... cases) {
  return csp::select_of(csp::order::as_written, cases...);
}

// Over cases made at run time. Without any it returns select_closed: nothing can ever happen.
int select(std::span<select_case> cases);
int select_ordered(std::span<select_case> cases);

}  // namespace leat
