// SPDX-License-Identifier: BSL-1.0
//
// Message types made of numbers: shape<1>, shape<2>, ... each have one to four fields of any kind that a message
// may have, structures, lists and optionals within one another among them. And values of them.
#pragma once
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <leat/leat.hpp>
#include <leat/process/scalar.hpp>

namespace leat::stock::test {

enum class colour : std::uint8_t { red, green, blue };
LEAT_ENUM(colour, red, green, blue);

constexpr std::uint32_t mixed(std::uint32_t n) {
  n = (n ^ 61) ^ (n >> 16);
  n *= 9;
  n ^= n >> 4;
  n *= 0x27d4eb2d;
  return n ^ (n >> 15);
}

template <std::uint32_t Seed, unsigned Depth = 3>
struct shape;

template <class... Ts>
struct kinds {};
using scalars = kinds<bool, std::int8_t, std::uint8_t, std::int32_t, std::int64_t, std::uint64_t, float,
                      double, std::string, std::chrono::milliseconds, std::chrono::nanoseconds,
                      std::chrono::system_clock::time_point, byte_size, colour>;
template <std::size_t I, class T, class... Ts>
constexpr auto nth(kinds<T, Ts...>) {
  if constexpr (I == 0)
    return std::type_identity<T>();
  else
    return nth<I - 1>(kinds<Ts...>());
}

template <std::uint32_t Seed, unsigned Depth>
constexpr auto chosen() {
  constexpr std::uint32_t n = mixed(Seed);
  if constexpr (Depth == 0 || n % 8 < 4) {
    return nth<(n >> 8) % 14>(scalars());
  } else {
    using inner = typename decltype(chosen<Seed + 7919, Depth - 1>())::type;
    if constexpr (n % 8 == 4)
      return std::type_identity<std::optional<inner>>();
    else if constexpr (n % 8 == 5)
      return std::type_identity<
          std::vector<std::conditional_t<std::is_same_v<inner, bool>, double, inner>>>();
    else
      return std::type_identity<shape<Seed + 104729, Depth - 1>>();
  }
}

template <std::uint32_t Seed, unsigned Depth>
struct shape {
  static constexpr std::size_t fields = 1 + mixed(Seed + 1) % 4;
  typename decltype(chosen<Seed * 4 + 1, Depth>())::type first{};
  typename decltype(chosen<Seed * 4 + 2, Depth>())::type b{};
  typename decltype(chosen<Seed * 4 + 3, Depth>())::type _third_{};
  typename decltype(chosen<Seed * 4 + 4, Depth>())::type d4{};
};

template <std::uint32_t Seed, unsigned Depth>
constexpr auto leat_fields(const shape<Seed, Depth>*) {
  using T = shape<Seed, Depth>;
  using shapes::field_maker;
  described_fields<T::fields> all{"generated", false, {}};
  all.fields[0] = field_maker<T, &T::first>::make("first");
  if constexpr (T::fields > 1) all.fields[1] = field_maker<T, &T::b>::make("b");
  if constexpr (T::fields > 2) all.fields[2] = field_maker<T, &T::_third_>::make("_third_");
  if constexpr (T::fields > 3) all.fields[3] = field_maker<T, &T::d4>::make("d4");
  return all;
}

// Any value of a type, by its shape.
class random_values {
 public:
  explicit random_values(std::uint32_t seed) : random_(seed) {}

  void fill(const type_shape& s, void* v) {
    using shapes::as;
    switch (s.kind) {
      case value_kind::boolean: as<bool>(v) = below(2); return;
      case value_kind::integer: {
        std::uint64_t bits = below(3) ? below(200) : random_();
        if (s.is_signed && below(2)) bits = ~bits;
        if (!s.is_signed || s.size < 8) bits &= shapes::most_of(s);
        (void)shapes::store_integer(s, v,
                                    s.is_signed ? shapes::from_signed(static_cast<std::int64_t>(bits))
                                                : shapes::wide_integer{false, bits});
        return;
      }
      case value_kind::size: as<byte_size>(v).bytes = random_() >> below(64); return;
      case value_kind::real: return fill_real(s, v);
      case value_kind::text: as<std::string>(v) = text(); return;
      case value_kind::duration:
      case value_kind::moment:
        (void)s.set(v, (static_cast<std::int64_t>(below(2'000'000'000'000)) - 1'000'000'000'000) * 1'000'000);
        return;
      case value_kind::enumeration: (void)s.set(v, s.names[below(s.name_count)].value); return;
      case value_kind::maybe:
      case value_kind::list:
        s.clear(v);
        for (std::size_t n = below(s.kind == value_kind::maybe ? 2 : 4); n > 0; --n)
          fill(s.element(), s.append(v));
        return;
      case value_kind::table:
        for (std::size_t i = 0; i < s.field_count; ++i) fill(s.fields[i].type(), s.fields[i].in(v));
        return;
      default: return;
    }
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }

  void fill_real(const type_shape& s, void* v) {
    static constexpr double some[] = {0, -0.0, 1, 0.1, -2.5, 1e6, 1e21, 1e-9, 123456.789};
    double d = some[below(std::size(some))];
    if (below(2))
      d = static_cast<double>(static_cast<std::int64_t>(random_())) /
          static_cast<double>(1 + random_() % 1000);
    if (below(16) == 0)
      d = below(2) ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    if (s.size == sizeof(float))
      shapes::as<float>(v) = static_cast<float>(d);
    else
      shapes::as<double>(v) = d;
  }

  std::string text() {
    static constexpr const char* some[] = {
        "a\nb", "",     "boiler", "true", "null",     "[]",    "{}",  "007",   "-1.5e3",
        "a,b",  "a\"b", "a.b",    "a[0]", "\xc3\xbc", " x ",   "NaN", "[1,2]", "{\"a\":1}",
        "\t",   ";",    "1e400",  "\\n",  "250ms",    "false", "\x01"};
    return some[below(std::size(some))];
  }

  std::mt19937_64 random_;
};

}  // namespace leat::stock::test
