// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <doctest/doctest.h>
#include <string>
#include <string_view>

#include <leat/expression/expression.hpp>
#include <leat/process/message.hpp>

namespace leat::expression::test {

inline const leat::moment noon{std::chrono::seconds(1'763'380'800 + 1)};  // 2025-11-17T12:00:01Z

// One that compiles.
inline evaluator made(std::string_view source, const compile_options& how = {}) {
  compiled c = compile(source, how);
  std::string wrong;
  for (const wrong_part& w : c.found) wrong += render(source, w);
  INFO(wrong);
  REQUIRE(c.result);
  return evaluator(std::move(c.result));
}

// "missing", or the value as JSON.
inline std::string shown(const operand& v) {
  if (v.is(kind::missing)) return "missing";
  std::string out;
  shapes::write_json(v.value(), out);
  return out;
}

inline std::string result(std::string_view source, const record& r = {}) {
  evaluator e = made(source);
  return shown(e.run(r, {.now = noon}));
}

}  // namespace leat::expression::test
