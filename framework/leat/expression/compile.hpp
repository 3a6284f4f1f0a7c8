// SPDX-License-Identifier: BSL-1.0
//
// From the text of an expression to a program, or to what is wrong with it and where.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/expression/operand.hpp>

namespace leat::expression {

struct program;

inline constexpr std::size_t longest_source = 16 * 1024;

struct compile_options {
  // What the result may be.
  kinds wanted = anything;
  // Of the records it is for; null: not known.
  const std::vector<record_field>* fields = nullptr;
  // A path: what previous, rate and windows go by, unless they say it. Empty: nothing.
  std::string_view key = {};
  std::size_t most_keys = 4096;
  // Less for one that comes from outside. Of a text that it makes or remembers, in bytes; in one run it makes
  // four times as much at most.
  std::size_t longest_text = std::size_t{1} << 20;
  // previous, rate and windows: how many there may be, and the bytes that they remember, about. Beyond that the
  // key that was not seen for longest is forgotten.
  std::size_t most_memories = SIZE_MAX, most_remembered = SIZE_MAX;
};

struct wrong_part {
  std::string why;
  std::size_t offset = 0, length = 0;  // bytes of the source
};

struct compiled {
  std::shared_ptr<const program> result = {};  // null: there is something wrong
  std::vector<wrong_part> found = {};
};

// A syntax error ends it; of type errors it finds all.
compiled compile(std::string_view source, const compile_options& how = {});

// The fields that it reads, by their first names or as a whole; for those who must know before it runs.
std::vector<std::string> paths_of(const program& p);
kinds result_of(const program& p) noexcept;
// As a field of a record; `any` if it may be several.
value_kind kind_of_result(const program& p) noexcept;

// The text with a line of carets below what is wrong, for a terminal: "expression:1:9: error: ...".
std::string render(std::string_view source, const wrong_part& w);

}  // namespace leat::expression
