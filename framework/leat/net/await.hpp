// SPDX-License-Identifier: BSL-1.0
//
// leat::await: an Asio completion token that parks the calling G until the operation is done.
//
//   std::size_t n = socket.async_read_some(asio::buffer(data), leat::await);        // throws system_error
//   auto [ec, m] = socket.async_write_some(asio::buffer(data), leat::await_tuple);  // or returns the error
//   socket.async_connect(peer, leat::await(2s));                                    // with a deadline
//   asio::co_spawn(leat::io(), coroutine(), leat::await);                           // a coroutine, too
//
// A deadline and a stop cancel the operation and wait for its end, so that nothing of it is left when the
// call returns. An operation that was completed in spite of them has its result. Otherwise:
//   deadline   the error is asio::error::timed_out
//   stop       `await` throws `stopped`; `await_tuple` returns operation_aborted, and throws `stopped` only
//              once the stop is insisted on
// A handler that is destroyed without having been called (its context went away) counts as aborted. An
// exception of a coroutine counts as the error that it holds.
//
// On a plain thread it blocks the thread, while a runtime is under way.
#pragma once
#include <asio/async_result.hpp>
#include <asio/error.hpp>
#include <asio/system_error.hpp>
#include <exception>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/net/io.hpp>
#include <leat/net/operation.hpp>
#include <leat/sched/stop.hpp>

namespace leat {

enum class await_errors : std::uint8_t { thrown, returned };

template <await_errors Errors>
class await_token {
 public:
  constexpr await_token() = default;
  constexpr explicit await_token(deadline until) noexcept : until_(until) {}
  // The same, but for so long.
  constexpr await_token operator()(deadline until) const noexcept { return await_token(until); }
  constexpr deadline until() const noexcept { return until_; }

  // An executor whose sockets and timers take this token when none is given:
  //   leat::await_t::as_default_on_t<asio::ip::tcp::socket> s(leat::io());
  //   s.async_connect(peer);
  template <class Executor>
  struct executor_with_default : Executor {
    using default_completion_token_type = await_token;
    executor_with_default(const Executor& e) noexcept : Executor(e) {}
    template <class Other>
      requires(!std::is_same_v<Other, executor_with_default> && std::is_convertible_v<const Other&, Executor>)
    executor_with_default(const Other& e) noexcept : Executor(e) {}
  };
  template <class Object>
  using as_default_on_t =
      typename Object::template rebind_executor<executor_with_default<typename Object::executor_type>>::other;
  template <class Object>
  static auto as_default_on(Object&& object) {
    return as_default_on_t<std::decay_t<Object>>(std::forward<Object>(object));
  }

 private:
  deadline until_ = deadline::never();
};
using await_t = await_token<await_errors::thrown>;
using await_tuple_t = await_token<await_errors::returned>;

inline constexpr await_token<await_errors::thrown> await;
inline constexpr await_token<await_errors::returned> await_tuple;

template <await_errors Errors>
constexpr await_token<Errors> with_deadline(deadline until, await_token<Errors> token) noexcept {
  return token(until);
}

namespace net::detail {

// "async_receive" out of the name of Asio's class initiate_async_receive, at compile time.
template <class Initiation>
constexpr std::string_view name_of_operation() {
  constexpr std::string_view mark = "initiate_";
  constexpr std::string_view all = __PRETTY_FUNCTION__;
  constexpr std::size_t at = all.rfind(mark);
  if constexpr (at == std::string_view::npos) {
    return "operation";
  } else {
    constexpr std::size_t begin = at + mark.size();
    constexpr std::size_t end = all.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789", begin);
    return all.substr(begin, end - begin);
  }
}

// The same as a literal.
template <class Initiation>
struct operation_name {
  static constexpr std::string_view text = name_of_operation<Initiation>();
  template <std::size_t... I>
  static constexpr auto terminated(std::index_sequence<I...>) {
    struct literal {
      char c[sizeof...(I) + 1];
    };
    return literal{{text[I]..., '\0'}};
  }
  static constexpr auto value = terminated(std::make_index_sequence<text.size()>());
};

template <class... Args>
struct awaited {
  awaited(const char* what, deadline until) : op(what, until) {}
  operation op;
  std::optional<std::tuple<Args...>> result;
};

template <class... Args>
class await_handler {
 public:
  using allocator_type = operation_allocator<void>;
  using cancellation_slot_type = asio::cancellation_slot;

  explicit await_handler(awaited<Args...>& a) noexcept : a_(&a) {}
  await_handler(await_handler&& other) noexcept : a_(std::exchange(other.a_, nullptr)) {}
  await_handler& operator=(await_handler&&) = delete;
  ~await_handler() {
    if (a_) a_->op.completed();
  }

  allocator_type get_allocator() const noexcept { return allocator_type(a_->op); }
  cancellation_slot_type get_cancellation_slot() const noexcept { return a_->op.slot(); }

  template <class... Results>
  void operator()(Results&&... results) {
    struct finish {
      awaited<Args...>* a;
      ~finish() { a->op.completed(); }
    } const at_end{std::exchange(a_, nullptr)};  // also when a result throws on its way
    at_end.a->result.emplace(std::forward<Results>(results)...);
  }

 private:
  awaited<Args...>* a_;
};

template <class... Args>
inline constexpr bool begins_with_error = false;
template <class First, class... Rest>
inline constexpr bool begins_with_error<First, Rest...> =
    std::is_same_v<First, asio::error_code> || std::is_same_v<First, std::exception_ptr>;

// What await returns: nothing, the one value, or a tuple.
template <class... Args>
struct unpacked {
  using type = std::tuple<Args...>;
};
template <class T>
struct unpacked<T> {
  using type = T;
};
template <>
struct unpacked<> {
  using type = void;
};
template <bool WithoutFirst, class... Args>
struct returned_by_await : unpacked<Args...> {};
template <class First, class... Rest>
struct returned_by_await<true, First, Rest...> : unpacked<Rest...> {};

template <class... Args>
typename unpacked<Args...>::type unpack(std::tuple<Args...>&& t) {
  if constexpr (sizeof...(Args) == 1) {
    return std::get<0>(std::move(t));
  } else if constexpr (sizeof...(Args) > 1) {
    return std::move(t);
  }
}
template <class First, class... Rest>
std::tuple<Rest...> without_first(std::tuple<First, Rest...>&& t) {
  return std::apply([](First&&, Rest&&... rest) { return std::tuple<Rest...>(std::move(rest)...); },
                    std::move(t));
}

// A value that says nothing, in the place of one that there is not.
template <class T>
T blank(const asio::error_code& ec) {
  if constexpr (std::is_same_v<T, asio::error_code>) {
    return ec;
  } else if constexpr (std::is_same_v<T, std::exception_ptr>) {
    return std::make_exception_ptr(asio::system_error(ec));
  } else if constexpr (std::is_default_constructible_v<T>) {
    return T();
  } else if constexpr (std::is_constructible_v<T, asio::io_context&>) {
    return T(io());  // a socket
  } else {
    throw asio::system_error(ec);
  }
}

// A result for an operation that has none, because it was never started or nobody called the handler.
template <class... Args>
std::tuple<Args...> result_of_error(asio::error_code ec) {
  if constexpr (!begins_with_error<Args...>) throw asio::system_error(ec);
  return std::tuple<Args...>(blank<Args>(ec)...);
}

// Is it what an operation ends with that was cancelled? A coroutine (co_spawn) gives its error as an
// exception.
inline bool is_aborted(const asio::error_code& ec) noexcept { return ec == asio::error::operation_aborted; }
inline bool is_aborted(const std::exception_ptr& e) noexcept {
  if (!e) return false;
  try {
    std::rethrow_exception(e);
  } catch (const asio::system_error& x) {
    return is_aborted(x.code());
  } catch (...) {
    return false;
  }
}

template <class Initiation>
auto executor_of(const Initiation& initiation) {
  if constexpr (requires { initiation.get_executor(); }) {
    return initiation.get_executor();
  } else {
    return io().get_executor();
  }
}

template <class... Args, class Initiation, class... InitArgs>
std::tuple<Args...> run_operation(deadline until, await_errors errors, Initiation&& initiation,
                                  InitArgs&&... args) {
  awaited<Args...> a(operation_name<std::remove_cvref_t<Initiation>>::value.c, until);
  if (!a.op.may_start()) {
    if (errors == await_errors::thrown) throw stopped{};
    return result_of_error<Args...>(asio::error::operation_aborted);
  }
  // Copied: after the start the initiation, and what it refers to, may be gone.
  const auto executor = executor_of(initiation);
  std::forward<Initiation>(initiation)(await_handler<Args...>(a), std::forward<InitArgs>(args)...);
  const end_of_wait how = a.op.wait(executor);
  const bool ends_by_stop =
      how == end_of_wait::stopped && (errors == await_errors::thrown || a.op.stop_is_insisted());
  const asio::error_code why =
      how == end_of_wait::timeout ? asio::error::timed_out : asio::error::operation_aborted;
  if (!a.result) {
    if (ends_by_stop) throw stopped{};
    return result_of_error<Args...>(why);
  }
  if constexpr (begins_with_error<Args...>) {
    auto& first = std::get<0>(*a.result);
    if (how != end_of_wait::completed && is_aborted(first)) {
      if (ends_by_stop) throw stopped{};
      if (how == end_of_wait::timeout) first = blank<std::remove_cvref_t<decltype(first)>>(why);
    }
  }
  return std::move(*a.result);
}

}  // namespace net::detail
}  // namespace leat

template <leat::await_errors Errors, class R, class... Args>
class asio::async_result<leat::await_token<Errors>, R(Args...)> {
 public:
  using return_type = std::conditional_t<
      Errors == leat::await_errors::returned, std::tuple<std::decay_t<Args>...>,
      typename leat::net::detail::returned_by_await<
          leat::net::detail::begins_with_error<std::decay_t<Args>...>, std::decay_t<Args>...>::type>;

  template <class Initiation, class... InitArgs>
  static return_type initiate(Initiation&& initiation, leat::await_token<Errors> token, InitArgs&&... args) {
    namespace d = leat::net::detail;
    auto result = d::run_operation<std::decay_t<Args>...>(
        token.until(), Errors, std::forward<Initiation>(initiation), std::forward<InitArgs>(args)...);
    if constexpr (Errors == leat::await_errors::returned) {
      return result;
    } else if constexpr (d::begins_with_error<std::decay_t<Args>...>) {
      if constexpr (std::is_same_v<std::decay_t<decltype(std::get<0>(result))>, asio::error_code>) {
        if (std::get<0>(result)) throw asio::system_error(std::get<0>(result));
      } else {
        if (std::get<0>(result)) std::rethrow_exception(std::get<0>(result));
      }
      return d::unpack(d::without_first(std::move(result)));
    } else {
      return d::unpack(std::move(result));
    }
  }
};
