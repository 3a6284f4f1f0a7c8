// SPDX-License-Identifier: BSL-1.0
//
// How a value is kept in a channel. Under a channel's lock no user code may run and nothing may throw. Types
// whose move cannot throw are kept as they are: such a move is a few stores. All others live in a box on the
// heap, made and emptied outside the lock, and the channel moves the pointer. So a constructor that throws
// does so before the value has entered the channel, or after it has left; in the second case the box goes
// back to the front (many.hpp, give_back) and nothing is lost.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace leat::csp {

template <class T>
inline constexpr bool kept_inline =
    std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>;

template <class T>
struct boxed {
  struct holder {
    explicit holder(T&& v) : value(std::move(v)) {}
    T value;
    std::unique_ptr<holder> next;  // among those given back
  };
  explicit boxed(T&& v) : node(std::make_unique<holder>(std::move(v))) {}
  explicit boxed(std::unique_ptr<holder>&& h) noexcept : node(std::move(h)) {}
  boxed(boxed&& other) noexcept = default;
  boxed& operator=(boxed&& other) noexcept = default;

  T& value() noexcept { return node->value; }

  std::unique_ptr<holder> node;
};

template <class T>
using cell = std::conditional_t<kept_inline<T>, T, boxed<T>>;

template <class Cell>
inline constexpr bool is_boxed = false;
template <class T>
inline constexpr bool is_boxed<boxed<T>> = true;

}  // namespace leat::csp
