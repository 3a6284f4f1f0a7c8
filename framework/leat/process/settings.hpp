// SPDX-License-Identifier: BSL-1.0
//
// Settings of a process, as its members:
//
//   leat::setting<int>                    window{this, "window", 8, "samples averaged", leat::between(1,
//   1024)}; leat::setting<std::string>            listen{this, "listen", leat::required, "host:port"};
//   leat::setting<std::optional<double>>  scale{this, "scale"};
//
// One reads like its value. T: integers, float, double, bool, std::string, durations, byte_size, enumerations
// (LEAT_ENUM), structures (LEAT_SETTINGS), std::vector of these, and std::optional for what may be left out.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

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

struct required_t {};
inline constexpr required_t required{};

// Both ends included; of a list, for each element. Judges: base/schema.hpp; of a list of texts, judge_text is
// asked about each of them.
struct limits {
  value least = {};
  value most = {};
  text_judge judge_text = nullptr;
  value_judge judge = nullptr;
};
template <class T>
limits between(T least, T most) {
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
//   std::string no_host(const std::string& text);   // "" or what is wrong
//   leat::setting<std::string> host{this, "host", leat::required, "whom to ask", leat::judged_by(no_host)};
inline limits judged_by(text_judge f) { return {{}, {}, f, nullptr}; }
inline limits judged_by(value_judge f) { return {{}, {}, nullptr, f}; }
// The same for settings that depend on one another; the value is the table of all.
class settings_judge {
 public:
  settings_judge(process* owner, value_judge f) { owner->note_judge(f); }
};

struct setting_registration {
  std::string_view name;
  const type_shape* shape;
  void* to;  // holds the default
  bool required;
  std::string_view help;
  const leat::limits* limits;
};

template <class T>
class setting {
 public:
  setting(process* owner, std::string_view name, T otherwise = T{}, std::string_view help = {},
          const leat::limits& l = {})
      : value_(std::move(otherwise)) {
    owner->add_setting({name, &shape_of<T>(), &value_, false, help, &l});
  }
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
// "" or why not.
std::string check_limits(const type_shape& s, const void* v, const limits& l);
std::string ask_judges(const value& v, const limits& l);
setting_schema schema_of(const setting_registration& r);

}  // namespace shapes
}  // namespace leat
