// SPDX-License-Identifier: BSL-1.0
//
// Writes JSON piece by piece; commas by itself.
//
//   json_writer w;
//   w.object([&] { w.member("name", "a"); w.list("all", [&] { w.element(1); }); });
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>

namespace leat::control {

class json_writer {
 public:
  template <class F>
  void object(F content) {
    before();
    text_ += '{';
    first_ = true;
    content();
    text_ += '}';
    first_ = false;
  }
  template <class F>
  void object(std::string_view name, F content) {
    key(name);
    object(content);
  }
  template <class F>
  void list(F content) {
    before();
    text_ += '[';
    first_ = true;
    content();
    text_ += ']';
    first_ = false;
  }
  template <class F>
  void list(std::string_view name, F content) {
    key(name);
    list(content);
  }

  void element(std::string_view v) { scalar(in_quotes(v)); }
  void element(const char* v) { element(std::string_view(v)); }
  void element(const std::string& v) { element(std::string_view(v)); }
  void element(bool v) { scalar(v ? "true" : "false"); }
  void element(double v) {
    if (!std::isfinite(v)) return element_null();
    char text[40];
    const int n = std::snprintf(text, sizeof text, "%.6g", v);
    scalar(std::string_view(text, static_cast<std::size_t>(n)));
  }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  void element(T v) {
    scalar(std::to_string(v));
  }
  template <class T>
  void element(const std::optional<T>& v) {
    if (v) return element(*v);
    element_null();
  }
  void element(const std::vector<std::string>& all) {
    list([&] {
      for (const std::string& s : all) element(s);
    });
  }
  void element_null() { scalar("null"); }
  // JSON already.
  void raw(std::string_view json) { scalar(json); }

  template <class T>
  void member(std::string_view name, const T& v) {
    key(name);
    element(v);
  }
  void member_null(std::string_view name) {
    key(name);
    element_null();
  }
  void member_raw(std::string_view name, std::string_view json) {
    key(name);
    raw(json);
  }

  const std::string& text() const noexcept { return text_; }
  std::string take() noexcept { return std::move(text_); }

 private:
  void before() {
    if (after_key_) {
      after_key_ = false;
    } else if (!first_) {
      text_ += ',';
    }
    first_ = false;
  }
  void key(std::string_view name) {
    before();
    text_ += in_quotes(name);
    text_ += ':';
    after_key_ = true;
  }
  void scalar(std::string_view json) {
    before();
    text_ += json;
  }

  std::string text_;
  bool first_ = true, after_key_ = false;
};

}  // namespace leat::control
