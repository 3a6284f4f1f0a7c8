// SPDX-License-Identifier: BSL-1.0
//
// Where bytes come from and go to: anything contiguous whose elements are single bytes.
#pragma once
#include <cstddef>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>

namespace leat::net {

template <class T>
concept byte_like = sizeof(T) == 1 && std::is_trivially_copyable_v<T>;

struct mutable_bytes {
  constexpr mutable_bytes(void* p, std::size_t n) noexcept : data(static_cast<char*>(p)), size(n) {}
  template <std::ranges::contiguous_range R>
    requires std::ranges::sized_range<R> && byte_like<std::ranges::range_value_t<R>> &&
                 (!std::is_const_v<std::remove_reference_t<std::ranges::range_reference_t<R>>>)
  mutable_bytes(R&& range) noexcept
      : data(reinterpret_cast<char*>(std::ranges::data(range))), size(std::ranges::size(range)) {}

  mutable_bytes after(std::size_t n) const noexcept { return {data + n, size - n}; }

  char* data;
  std::size_t size;
};

struct const_bytes {
  constexpr const_bytes(const void* p, std::size_t n) noexcept : data(static_cast<const char*>(p)), size(n) {}
  constexpr const_bytes(std::string_view text) noexcept : data(text.data()), size(text.size()) {}
  const_bytes(const std::string& text) noexcept : const_bytes(std::string_view(text)) {}
  // A literal without its terminating zero; any other array of char is a buffer, all of which is meant.
  template <std::size_t N>
  constexpr const_bytes(const char (&literal)[N]) noexcept : data(literal), size(N - 1) {}
  template <std::size_t N>
  constexpr const_bytes(char (&buffer)[N]) noexcept : data(buffer), size(N) {}
  // Text up to its zero. A template, or a literal would come here.
  template <class P>
    requires std::is_pointer_v<P> && std::is_convertible_v<P, const char*>
  constexpr const_bytes(const P& text) noexcept : const_bytes(std::string_view(text)) {}
  template <std::ranges::contiguous_range R>
    requires std::ranges::sized_range<R> && byte_like<std::ranges::range_value_t<R>> &&
                 (!std::is_convertible_v<const R&, std::string_view>)
  const_bytes(const R& range) noexcept
      : data(reinterpret_cast<const char*>(std::ranges::data(range))), size(std::ranges::size(range)) {}

  const_bytes after(std::size_t n) const noexcept { return {data + n, size - n}; }

  const char* data;
  std::size_t size;
};

}  // namespace leat::net
