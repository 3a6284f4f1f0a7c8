// SPDX-License-Identifier: BSL-1.0
//
// What operators do, by kind. One table serves the check of an expression and its evaluation:
//
//   + -          integer, real       integer if both are, else real
//   *            integer, real       the same
//   /            integer, real       real
//   %            integer, real       integer if both are, else real; the sign of the left side
//   + -          durations           duration
//   * /          duration, number    duration; number * duration too; duration / duration is a real
//   + -          moment, duration    moment; duration + moment too; moment - moment is a duration
//   +            texts               text
//   < <= > >=    numbers, texts, durations, moments; texts by their bytes
//   == !=        the same, and booleans; null with any scalar
#pragma once
#include <cstddef>
#include <string>

#include <leat/expression/operand.hpp>

namespace leat::expression {

enum class binary : std::uint8_t { add, subtract, multiply, divide, remainder, eq, ne, lt, le, gt, ge };
const char* to_string(binary b) noexcept;

enum class evaluation_error : std::uint8_t { none, missing, wrong_kind, division_by_zero, range };
inline constexpr std::size_t error_kinds = 5;

// Missing: there is no such operation.
kind result_of(binary b, kind left, kind right) noexcept;
// All that may come of it; empty: nothing.
kinds result_of(binary b, kinds left, kinds right) noexcept;

// -1, 0, 1 of two of one kind, or two numbers, however they are mixed; not for NaN, lists and tables.
int compare(const operand& a, const operand& b) noexcept;
// NaN equals nothing.
bool equal(const operand& a, const operand& b) noexcept;

// Where a text goes that an operation makes, and how long it may be; beyond that it is out of range.
struct text_room {
  std::string& text;
  std::size_t longest;
};

// What is missing stays so without an error.
operand apply(binary b, const operand& left, const operand& right, const text_room& room,
              evaluation_error& why);
operand negate(const operand& v, evaluation_error& why) noexcept;

}  // namespace leat::expression
