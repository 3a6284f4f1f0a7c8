// SPDX-License-Identifier: BSL-1.0
//
// What a type looks like from outside: its kind and how to get at its parts. One constant per type, from
// which ordinary code reads and writes JSON, CBOR and settings, so that a type costs its users no templates.
//
// Of these types: bool, integers, float, double, std::string, std::chrono durations and system_clock time
// points, byte_size, std::vector, std::optional, enumerations with LEAT_ENUM, structures with LEAT_MESSAGE or
// LEAT_SETTINGS.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <leat/base/chrono.hpp>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/units.hpp>
#include <leat/base/value_kind.hpp>
#include <leat/process/macros.hpp>

namespace leat {

struct type_shape;
// A function, so that a type may hold lists of itself.
using shape_fn = const type_shape& (*)();

struct field_options;  // settings.hpp

struct field_shape {
  std::string_view name;
  shape_fn type;
  void* (*in)(void* whole);
  void (*options)(field_options& to) = nullptr;  // null: it has none
};

struct enumerator {
  std::string_view name;
  std::int64_t value;
};

struct type_shape {
  value_kind kind = value_kind::opaque;
  std::string_view name = {};  // none for lists and optionals
  std::size_t size = 0;
  bool is_signed = false;  // integers

  const field_shape* fields = nullptr;
  std::size_t field_count = 0;
  const enumerator* names = nullptr;
  std::size_t name_count = 0;
  shape_fn element = nullptr;  // list, maybe

  // Enumerations; durations and moments in nanoseconds. set: false if it does not fit.
  std::int64_t (*get)(const void* v) = nullptr;
  bool (*set)(void* v, std::int64_t to) = nullptr;

  // list and maybe (which has none or one)
  std::size_t (*length)(const void* v) = nullptr;
  void* (*at)(void* v, std::size_t i) = nullptr;
  void (*clear)(void* v) = nullptr;
  void* (*append)(void* v) = nullptr;
  // Shows an element as its type makes it, with its member initialisers.
  void (*with_fresh)(void (*use)(const void* element, void* context), void* context) = nullptr;
};

// What LEAT_MESSAGE and its sisters tell of a structure, and LEAT_ENUM of an enumeration.
template <std::size_t N>
struct described_fields {
  std::string_view name;
  bool is_opaque = false;
  std::array<field_shape, N> fields = {};
};
template <std::size_t N>
struct described_names {
  std::string_view name;
  std::array<enumerator, N> names = {};
};

template <class T>
concept described_structure = requires(const T* t) { leat_fields(t).fields.size(); };
template <class T>
concept described_enum = std::is_enum_v<T> && requires(const T* t) { leat_names(t).names.size(); };

namespace shapes {

template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_duration = false;
template <class R, class P>
inline constexpr bool is_duration<std::chrono::duration<R, P>> = true;
template <class T>
inline constexpr bool is_moment = false;
template <class D>
inline constexpr bool is_moment<std::chrono::time_point<std::chrono::system_clock, D>> = true;
template <class T>
inline constexpr bool is_character =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>;

template <class T>
constexpr std::string_view integer_name() {
  constexpr bool s = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1: return s ? "int8" : "uint8";
    case 2: return s ? "int16" : "uint16";
    case 4: return s ? "int32" : "uint32";
    default: return s ? "int64" : "uint64";
  }
}

template <class D>
constexpr std::string_view duration_name() {
  if constexpr (std::is_same_v<D, std::chrono::nanoseconds>) return "nanoseconds";
  if constexpr (std::is_same_v<D, std::chrono::microseconds>) return "microseconds";
  if constexpr (std::is_same_v<D, std::chrono::milliseconds>) return "milliseconds";
  if constexpr (std::is_same_v<D, std::chrono::seconds>) return "seconds";
  if constexpr (std::is_same_v<D, std::chrono::minutes>) return "minutes";
  if constexpr (std::is_same_v<D, std::chrono::hours>) return "hours";
  return "duration";
}

// False: it cannot be said in this unit without rounding, or does not fit.
template <class D>
bool from_nanoseconds(std::int64_t ns, D& to) {
  using rep = typename D::rep;
  if constexpr (std::is_floating_point_v<rep>) {
    to = std::chrono::duration_cast<D>(nanoseconds(ns));
  } else {
    using wide = std::chrono::duration<std::int64_t, typename D::period>;
    const auto w = std::chrono::duration_cast<wide>(nanoseconds(ns));
    if (saturate_ns(w) != nanoseconds(ns)) return false;
    if (w.count() < static_cast<std::int64_t>(std::numeric_limits<rep>::min())) return false;
    if constexpr (sizeof(rep) < sizeof(std::int64_t))
      if (w.count() > static_cast<std::int64_t>(std::numeric_limits<rep>::max())) return false;
    to = D(static_cast<rep>(w.count()));
  }
  return true;
}

template <class T>
inline constexpr auto fields_of = leat_fields(static_cast<const T*>(nullptr));
template <class T>
inline constexpr auto names_of = leat_names(static_cast<const T*>(nullptr));

template <class T>
T& as(void* v) {
  return *static_cast<T*>(v);
}
template <class T>
const T& as(const void* v) {
  return *static_cast<const T*>(v);
}

template <class T>
constexpr type_shape make();

}  // namespace shapes

template <class T>
const type_shape& shape_of() {
  static constexpr type_shape s = shapes::make<T>();
  return s;
}

// The same name and the same parts, down to the smallest.
bool same_shape(const type_shape& a, const type_shape& b);

// To be read by people, and the name by which channels of plain types are joined: "list of sample".
std::string type_name(const type_shape& s);

namespace shapes {

template <class T>
constexpr type_shape make_number() {
  type_shape s{.size = sizeof(T)};
  if constexpr (std::is_same_v<T, bool>) {
    s.kind = value_kind::boolean;
    s.name = "bool";
  } else if constexpr (std::is_floating_point_v<T>) {
    static_assert(sizeof(T) <= sizeof(double), "float and double; not long double, which differs by machine");
    s.kind = value_kind::real;
    s.name = sizeof(T) == sizeof(double) ? "double" : "float";
  } else {
    s.kind = value_kind::integer;
    s.name = integer_name<T>();
    s.is_signed = std::is_signed_v<T>;
  }
  return s;
}

template <class T>
constexpr type_shape make_time() {
  type_shape s{.size = sizeof(T)};
  if constexpr (is_duration<T>) {
    s.kind = value_kind::duration;
    s.name = duration_name<T>();
    s.get = [](const void* v) -> std::int64_t { return saturate_ns(as<T>(v)).count(); };
    s.set = [](void* v, std::int64_t to) { return from_nanoseconds(to, as<T>(v)); };
  } else {
    s.kind = value_kind::moment;
    s.name = "time";
    s.get = [](const void* v) -> std::int64_t { return saturate_ns(as<T>(v).time_since_epoch()).count(); };
    s.set = [](void* v, std::int64_t to) {
      typename T::duration since{};
      if (!from_nanoseconds(to, since)) return false;
      as<T>(v) = T(since);
      return true;
    };
  }
  return s;
}

template <class T>
constexpr type_shape make_container() {
  using element = typename T::value_type;
  static_assert(!std::is_same_v<T, std::vector<bool>>,
                "a std::vector<bool> holds no bools: use another type");
  type_shape s{.kind = is_vector<T> ? value_kind::list : value_kind::maybe, .size = sizeof(T)};
  s.element = &shape_of<element>;
  s.with_fresh = [](void (*use)(const void*, void*), void* context) {
    const element fresh{};
    use(&fresh, context);
  };
  if constexpr (is_vector<T>) {
    s.length = [](const void* v) { return as<T>(v).size(); };
    s.at = [](void* v, std::size_t i) -> void* { return &as<T>(v)[i]; };
    s.clear = [](void* v) { as<T>(v).clear(); };
    s.append = [](void* v) -> void* { return &as<T>(v).emplace_back(); };
  } else {
    s.length = [](const void* v) -> std::size_t { return as<T>(v).has_value() ? 1 : 0; };
    s.at = [](void* v, std::size_t) -> void* { return &*as<T>(v); };
    s.clear = [](void* v) { as<T>(v).reset(); };
    s.append = [](void* v) -> void* { return &as<T>(v).emplace(); };
  }
  return s;
}

template <class T>
constexpr type_shape make() {
  if constexpr (std::is_same_v<T, bool> || std::is_floating_point_v<T> || is_integer<T>) {
    return make_number<T>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return {.kind = value_kind::text, .name = "text", .size = sizeof(T)};
  } else if constexpr (std::is_same_v<T, byte_size>) {
    return {.kind = value_kind::size, .name = "size", .size = sizeof(T)};
  } else if constexpr (is_duration<T> || is_moment<T>) {
    return make_time<T>();
  } else if constexpr (is_vector<T> || is_optional<T>) {
    return make_container<T>();
  } else if constexpr (described_enum<T>) {
    type_shape s{.kind = value_kind::enumeration, .name = names_of<T>.name, .size = sizeof(T)};
    s.names = names_of<T>.names.data();
    s.name_count = names_of<T>.names.size();
    s.get = [](const void* v) { return static_cast<std::int64_t>(as<T>(v)); };
    s.set = [](void* v, std::int64_t to) {
      as<T>(v) = static_cast<T>(to);
      return true;
    };
    return s;
  } else if constexpr (described_structure<T>) {
    type_shape s{.kind = fields_of<T>.is_opaque ? value_kind::opaque : value_kind::table,
                 .name = fields_of<T>.name,
                 .size = sizeof(T)};
    s.fields = fields_of<T>.fields.data();
    s.field_count = fields_of<T>.fields.size();
    return s;
  } else {
    static_assert(described_structure<T>,
                  "Leat does not know this type: say LEAT_MESSAGE(type, fields...) after a structure that is "
                  "sent, LEAT_SETTINGS after one of settings, LEAT_ENUM after an enumeration, LEAT_OPAQUE "
                  "after a type that only has to have a name");
  }
}

template <class T, class F, F T::* Member>
constexpr field_shape field(std::string_view name) {
  return {name, &shape_of<F>, [](void* whole) -> void* { return &(static_cast<T*>(whole)->*Member); }};
}
template <class T, auto Member>
struct field_maker;
template <class T, class F, F T::* Member>
struct field_maker<T, Member> {
  static constexpr field_shape make(std::string_view name) { return field<T, F, Member>(name); }
};

constexpr field_shape with_options(field_shape f, void (*options)(field_options&)) {
  f.options = options;
  return f;
}

// "sample" of "app::sample".
constexpr std::string_view unqualified(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace shapes
}  // namespace leat

#define LEAT_DESCRIBED_FIELD(type, member) ::leat::shapes::field_maker<type, &type::member>::make(#member),
#define LEAT_DESCRIBED_NAME(type, member) \
  ::leat::enumerator{#member, static_cast<std::int64_t>(type::member)},
#define LEAT_COUNTED(context, member) +1

#define LEAT_DESCRIBE(text, type, ...)                                                              \
  [[maybe_unused]] constexpr ::leat::described_fields<0 LEAT_FOR_EACH(LEAT_COUNTED, , __VA_ARGS__)> \
  leat_fields(const type*) {                                                                        \
    return {text, false, {LEAT_FOR_EACH(LEAT_DESCRIBED_FIELD, type, __VA_ARGS__)}};                 \
  }

// The names of an enumeration, as they are written in files and messages; at namespace scope, after it.
#define LEAT_ENUM(type, ...)                                                                              \
  [[maybe_unused]] constexpr ::leat::described_names<0 LEAT_FOR_EACH(LEAT_COUNTED, , __VA_ARGS__)>        \
  leat_names(const type*) {                                                                               \
    return {::leat::shapes::unqualified(#type), {LEAT_FOR_EACH(LEAT_DESCRIBED_NAME, type, __VA_ARGS__)}}; \
  }                                                                                                       \
  static_assert(true)

// A structure of settings. Its member initialisers are the defaults; a std::optional may be left out. A field may
// come with options, in parentheses and in any order: leat::required, leat::help{...}, limits (settings.hpp).
//
//   struct account { std::string user; int attempts = 3; std::optional<bool> remember; };
//   LEAT_SETTINGS(account, (user, leat::required, leat::help{"who logs in"}), (attempts, leat::between(1, 9)), remember);
#define LEAT_SETTINGS(type, ...)                                                                             \
  [[maybe_unused]] constexpr ::leat::described_fields<0 LEAT_FOR_EACH(LEAT_COUNTED, , __VA_ARGS__)>          \
  leat_fields(const type*) {                                                                                 \
    return {                                                                                                 \
        ::leat::shapes::unqualified(#type), false, {LEAT_FOR_EACH(LEAT_SETTINGS_FIELD, type, __VA_ARGS__)}}; \
  }                                                                                                          \
  static_assert(true)

#define LEAT_SETTINGS_FIELD(type, field) LEAT_PICK(LEAT_SETTINGS_FIELD_, LEAT_FORM_OF(field))(type, field)
#define LEAT_SETTINGS_FIELD_plain(type, member) LEAT_DESCRIBED_FIELD(type, member)
#define LEAT_SETTINGS_FIELD_in_parentheses(type, field) \
  LEAT_FIELD_WITH_OPTIONS(type, LEAT_WITHOUT_PARENTHESES field)
#define LEAT_FIELD_WITH_OPTIONS(...) LEAT_FIELD_WITH_OPTIONS_1(__VA_ARGS__)
#define LEAT_FIELD_WITH_OPTIONS_1(type, member, ...)                                            \
  ::leat::shapes::with_options(::leat::shapes::field_maker<type, &type::member>::make(#member), \
                               [](::leat::field_options& leat_options) { leat_options.set(__VA_ARGS__); }),
