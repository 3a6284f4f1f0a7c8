// SPDX-License-Identifier: BSL-1.0
//
// A compiled expression: instructions for a machine with a stack of operands. It never changes and may be shared.
//
//   instruction    stack before     after        index, arg, count
//   constant                        v            which constant
//   field                           v            which path; arg 1: not counted when it is missing
//   slot                            v            what the memory of that number gave for this record
//   now                             v
//   negate, not    v                v
//   operate        v w              v            arg: which binary; index: where its text goes
//   test           v w              v            arg: which comparison
//   compare                         v            field, constant and test in one: index, count, arg; half the time of
//                                                most filters
//   and_, or_      v                v            index: where to go on if v decides alone
//   both, either   v w              v            Kleene's and, or
//   choose         v                             index: the other branch; the instruction before that is the `jump` to the end,
//                                                where one that is neither true nor false goes, with what is missing
//   jump                                         index
//   is             v                v            arg: 0 missing, 1 null
//   among          v w1 .. wn       v            count: n
//   in_list        v w              v
//   call           v1 .. vn         v            arg: which function; count: n; index: where its text goes
//   remember       v [key]                       index: which memory; count 1: with a key
//
// `before` is run first: it feeds each memory. `main` leaves one operand, the result.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/expression/lexer.hpp>
#include <leat/expression/memory.hpp>
#include <leat/expression/operand.hpp>
#include <leat/process/record.hpp>

namespace leat::expression {

enum class opcode : std::uint8_t {
  constant,
  field,
  slot,
  now,
  negate,
  not_,
  operate,
  test,
  compare,
  and_,
  or_,
  both,
  either,
  choose,
  jump,
  is,
  among,
  in_list,
  call,
  remember,
};

struct instruction {
  opcode what;
  std::uint8_t arg = 0;
  std::uint16_t count = 0;
  std::uint32_t index = 0;
};

struct code {
  std::vector<instruction> steps;
  std::vector<span> places;  // beside it: of what it stands for
};

// `where.lat`, `raw[0]`. A field whose name is the whole path comes first.
struct path {
  struct step {
    std::string name;                     // of a table
    std::optional<std::size_t> position;  // in a list
    bool operator==(const step&) const = default;
  };
  std::string text;         // as one name: "where.lat"
  std::vector<step> steps;  // the first has a name

  // From the first step's value; null: there is none.
  const field_value* follow(const field_value* v) const noexcept;
};

struct program {
  std::string source;
  code before, main;
  std::vector<field_value> constants;
  std::vector<path> paths;
  std::vector<memory_plan> memories;
  std::size_t texts = 0;  // places that make one
  std::size_t depth = 0;  // of the stack, at most
  std::size_t most_keys = 0;
  std::size_t longest_text = 0, most_remembered = 0;
  kinds gives = anything;
};

}  // namespace leat::expression
