// SPDX-License-Identifier: BSL-1.0
//
// Messages: structures that travel through channels, and that others can name, show and carry elsewhere.
//
//   struct sample { double celsius; std::int64_t at_ms; };
//   LEAT_MESSAGE(sample, celsius, at_ms);            // at namespace scope, in the namespace of the structure
//
// gives it a name ("sample", also of app::sample; LEAT_MESSAGE_AS takes another), a description for
// `leat describe`, operator== unless it has one, and these two languages:
//
//   JSON   numbers, true, texts, lists, objects; null for an empty optional. Durations are "250ms", moments
//          "2026-11-15T08:00:00.25Z", enumerators their names; reals always have a point or an exponent (71.0),
//          and those that are no numbers are "NaN", "Infinity", "-Infinity". Text that is not UTF-8 is written
//          with U+FFFD in place of what is not.
//   CBOR   RFC 8949, definite lengths: maps with text keys, in the order of the fields; moments and durations
//          with the tags 1001 and 1002 of RFC 9581. Text that is not UTF-8 is a byte string.
//
// A record (process/record.hpp) speaks them as well: a message and the record with its content are written
// alike.
//
// Readers take what writers write, in any order of fields. Each field must be there but for optionals; none
// twice, and no other. They are meant for input from anywhere: nothing that it says is believed before it is
// there, and depth, bytes and elements have limits. Each error says what and where.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/shape.hpp>

namespace leat {

// What a reader refuses. The text has it all: "line 2, column 14: samples[3].celsius: expected a number".
class message_error : public std::runtime_error {
 public:
  message_error(const std::string& what, std::size_t at) : std::runtime_error(what), at_(at) {}
  std::size_t at() const noexcept { return at_; }  // bytes from the start

 private:
  std::size_t at_;
};

struct message_limits {
  std::size_t bytes = 16 * 1024 * 1024;
  std::size_t elements = 1024 * 1024;  // of all lists together
  unsigned depth = 64;
};

namespace shapes {

void write_json(const type_shape& s, const void* v, std::string& out);
void read_json(const type_shape& s, void* v, std::string_view text, const message_limits& limits);
void write_cbor(const type_shape& s, const void* v, std::vector<std::uint8_t>& out);
void read_cbor(const type_shape& s, void* v, std::span<const std::uint8_t> bytes,
               const message_limits& limits);

// A link in the list of all that LEAT_MESSAGE has seen. Lives as long as the program.
class message_entry {
 public:
  explicit message_entry(shape_fn s) noexcept;
  message_entry(const message_entry&) = delete;
  const shape_fn shape;
  const message_entry* const next;
};
const message_entry* first_message() noexcept;

}  // namespace shapes

template <class T>
std::string message_name() {
  return type_name(shape_of<T>());
}

template <class T>
std::string to_json(const T& v) {
  std::string out;
  shapes::write_json(shape_of<T>(), &v, out);
  return out;
}
// Throws message_error.
template <std::default_initializable T>
T from_json(std::string_view text, const message_limits& limits = {}) {
  T v{};
  shapes::read_json(shape_of<T>(), &v, text, limits);
  return v;
}

template <class T>
std::vector<std::uint8_t> to_cbor(const T& v) {
  std::vector<std::uint8_t> out;
  shapes::write_cbor(shape_of<T>(), &v, out);
  return out;
}
// Throws message_error.
template <std::default_initializable T>
T from_cbor(std::span<const std::uint8_t> bytes, const message_limits& limits = {}) {
  T v{};
  shapes::read_cbor(shape_of<T>(), &v, bytes, limits);
  return v;
}

}  // namespace leat

#define LEAT_EQUAL_FIELD(context, member) &&leat_a.member == leat_b.member

// A template, so that a structure's own operator== is taken before it.
#define LEAT_MESSAGE_AS(text, type, ...)                                                   \
  LEAT_DESCRIBE(text, type __VA_OPT__(, ) __VA_ARGS__)                                     \
  template <std::same_as<type> LeatMessage>                                                \
  [[maybe_unused]] constexpr bool operator==([[maybe_unused]] const LeatMessage& leat_a,   \
                                             [[maybe_unused]] const LeatMessage& leat_b) { \
    return true LEAT_FOR_EACH(LEAT_EQUAL_FIELD, , __VA_ARGS__);                            \
  }                                                                                        \
  namespace {                                                                              \
  const ::leat::shapes::message_entry LEAT_UNIQUE(leat_message_){&::leat::shape_of<type>}; \
  }                                                                                        \
  static_assert(true)

#define LEAT_MESSAGE(type, ...) \
  LEAT_MESSAGE_AS(::leat::shapes::unqualified(#type), type __VA_OPT__(, ) __VA_ARGS__)

// A type that travels between processes and has a name, but nothing that others can look at; it may be
// move-only.
#define LEAT_OPAQUE(type)                                                           \
  [[maybe_unused]] constexpr ::leat::described_fields<0> leat_fields(const type*) { \
    return {::leat::shapes::unqualified(#type), true, {}};                          \
  }                                                                                 \
  static_assert(true)
