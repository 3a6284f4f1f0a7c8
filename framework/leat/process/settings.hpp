// SPDX-License-Identifier: BSL-1.0
//
// Settings of a process, as its members:
//
//   leat::setting<int>                   window{this, "window", 8, "samples averaged", leat::between(1, 64)};
//   leat::setting<std::string>           listen{this, "listen", leat::required, "host:port"};
//   leat::setting<std::string>           device{this, "device", "/dev/ttyS0", "serial port"};
//   leat::setting<std::optional<double>> scale{this, "scale"};
//
// One reads like its value. With leat::live as a second argument it can be changed while the process runs:
// live_setting.hpp. T: integers, float, double, bool, std::string, durations, byte_size, enumerations
// (LEAT_ENUM), structures (LEAT_SETTINGS), std::vector of these, and std::optional for what may be left out.
// What a table leaves out of a structure has its member initialiser, in lists and optionals too. Fields of a structure
// can have options as well; one with a required field must be given itself, unless it is a std::optional.
#pragma once
#include <concepts>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/base/value.hpp>
#include <leat/process/process.hpp>
#include <leat/process/shape.hpp>

namespace leat {

// A setting that is wrong, missing or unknown; one line for each.
class setting_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// In the place of a default: the setting must be given.
struct required_t {
  explicit constexpr required_t(int) noexcept {}  // so that {} is a default of the setting's type
};
inline constexpr required_t required{0};

// What a setting is for, where it has neither a default nor leat::required before it:
//
//   leat::setting<double> scale{this, "scale", leat::help{"of each value"}};
struct help {
  explicit constexpr help(std::string_view t) noexcept : text(t) {}
  std::string_view text;
};

// Both ends included; of a list, for each element. Validators: base/schema.hpp; of a list of texts, validate_text is
// asked about each of them.
struct limits {
  value least = {};
  value most = {};
  text_validator validate_text = nullptr;
  value_validator validate = nullptr;
  bool secret = false;
};
template <class Least, class Most>
limits between(Least least, Most most) {
  return {value(least), value(most)};
}
template <class T>
limits at_least(T least) {
  return {value(least), {}};
}
template <class T>
limits at_most(T most) {
  return {{}, value(most)};
}
// A syntax of its own, as `leat check` tells it, with the place in the file:
//
//   static std::string no_host(const std::string& text);  // "" or what is wrong
//   leat::setting<std::string> host{this, "host", leat::required, "whom to ask", leat::validated_by(no_host)};
inline limits validated_by(text_validator f) { return {{}, {}, f, nullptr}; }
inline limits validated_by(value_validator f) { return {{}, {}, nullptr, f}; }
// A password, a token, what has one in it: nobody is shown it at the control door. Around limits, or alone:
//
//   leat::setting<std::string> token{this, "token", "", "sent with each request", leat::secret()};
inline limits secret(limits l = {}) {
  l.secret = true;
  return l;
}
// The same for settings that depend on one another; the value is the table of all.
class settings_validator {
 public:
  settings_validator(process* owner, value_validator f) { owner->note_validator(f); }
};

// A table of texts whose names are the user's: { kelvin = "celsius + 273.15" }, in the order of the file.
struct text_table {
  struct member {
    std::string name, text;
  };
  std::vector<member> all;
};

// What LEAT_SETTINGS says of one field of a structure.
struct field_options {
  bool required = false;
  std::string_view help = {};
  leat::limits limits = {};

  template <class... Options>
  void set(const Options&... all) {
    (apply(all), ...);
  }

 private:
  void apply(required_t) noexcept { required = true; }
  void apply(const leat::help& h) noexcept { help = h.text; }
  void apply(const leat::limits& l) { limits = l; }
};

struct setting_registration {
  std::string_view name;
  const type_shape* shape;
  void* to;  // holds the default
  bool required;
  std::string_view help;
  const leat::limits* limits;
  bool live = false;
};

namespace shapes {
template <>
constexpr type_shape make<text_table>() {
  return {.kind = value_kind::table,
          .name = "table of text",
          .size = sizeof(text_table),
          .element = &shape_of<std::string>};
}

template <class T>
inline constexpr bool is_text =
    std::is_same_v<T, std::string> || std::is_same_v<T, std::optional<std::string>>;
template <class T>
inline constexpr bool is_flag = std::is_same_v<T, bool> || std::is_same_v<T, std::optional<bool>>;
}  // namespace shapes

// How long a setting stays what it is: as long as the object, or until it is set (live_setting.hpp).
struct unchanging;
struct live;

template <class T, class How = unchanging>
class setting {
  static_assert(std::is_same_v<How, unchanging>,
                "leat::live needs <leat/process/live_setting.hpp>; there is no other second argument");

 public:
  // A text at the third place may be meant as help, which comes fourth. So a default that is a text needs a
  // help beside it, be it "", and a text is no default of a bool.
  setting(process* owner, std::string_view name, const char* default_without_help)
    requires(shapes::is_text<T>)
  = delete;
  template <class... More>
  setting(process* owner, std::string_view name, const char* help_in_the_place_of_the_default,
          const More&... more)
    requires(shapes::is_flag<T>)
  = delete;

  setting(process* owner, std::string_view name, T otherwise = T{}, std::string_view help = {},
          const leat::limits& l = {})
      : value_(std::move(otherwise)) {
    owner->add_setting({name, &shape_of<T>(), &value_, false, help, &l});
  }
  // A template, so that a list in braces is a default and nothing else.
  template <std::same_as<leat::help> Help>
  setting(process* owner, std::string_view name, const Help& help, const leat::limits& l = {})
      : setting(owner, name, T{}, help.text, l) {}
  setting(process* owner, std::string_view name, required_t, std::string_view help = {},
          const leat::limits& l = {}) {
    owner->add_setting({name, &shape_of<T>(), &value_, true, help, &l});
  }
  setting(const setting&) = delete;
  setting& operator=(const setting&) = delete;

  const T& get() const noexcept { return value_; }
  operator const T&() const noexcept { return value_; }
  const T& operator*() const noexcept { return value_; }
  const T* operator->() const noexcept { return &value_; }

 private:
  T value_{};
};

namespace shapes {

// Reads a checked value, or one that nobody has checked. Empty: done; else what is wrong.
std::string read_value(const type_shape& s, void* to, const value& from);
value write_value(const type_shape& s, const void* from);
// The options of a field; none: nothing is asked of it.
field_options options_of(const field_shape& f);
// A structure, if fields of it must be given: the name of the first. Empty: it can be left out.
std::string_view field_to_be_given(const type_shape& s);
// "" or why not. Of structures also what their fields ask for; of a default without those that must be given.
std::string check_limits(const type_shape& s, const void* v, const limits& l, bool is_default = false);
std::string ask_validators(const value& v, const limits& l);
// All three, for one that was set while its process runs.
std::string read_setting(const type_shape& s, void* to, const value& from, const limits& l);
setting_schema schema_of(const setting_registration& r);

}  // namespace shapes
}  // namespace leat
