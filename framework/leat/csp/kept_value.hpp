// SPDX-License-Identifier: BSL-1.0
//
// A value on the heap, for kinds of channels that do not know its type. It is made, and emptied, outside the runtime.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace leat::csp {

// One owner at a time: its sender, the channel, its receiver.
struct kept_value {
  kept_value() = default;
  virtual ~kept_value() = default;
  kept_value(const kept_value&) = delete;
  kept_value& operator=(const kept_value&) = delete;

  virtual const void* value() const noexcept = 0;
  virtual void restore(void* to) = 0;  // a T*, after a send that did not take it
  virtual void unpack(void* to) = 0;   // a std::optional<T>*

  kept_value *before = nullptr, *after = nullptr;  // among all that are held
  kept_value* chain = nullptr;  // the next of the same bucket, or of those that were pushed out
  std::uint64_t hash = 0;
};

template <class T>
struct kept_value_of final : kept_value {
  explicit kept_value_of(T&& v) : held(std::move(v)) {}
  const void* value() const noexcept override { return &held; }
  void restore(void* to) override {
    T& v = *static_cast<T*>(to);
    if constexpr (std::is_move_assignable_v<T>) {
      v = std::move(held);
    } else {
      std::destroy_at(&v);
      std::construct_at(&v, std::move(held));
    }
  }
  void unpack(void* to) override { static_cast<std::optional<T>*>(to)->emplace(std::move(held)); }
  T held;
};

// From a T*.
template <class T>
std::unique_ptr<kept_value> keep_value(void* value) {
  return std::unique_ptr<kept_value>(new kept_value_of<T>(std::move(*static_cast<T*>(value))));
}

}  // namespace leat::csp
