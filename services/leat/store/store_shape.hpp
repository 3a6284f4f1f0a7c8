// SPDX-License-Identifier: BSL-1.0
//
// A type as text, to be kept in a file beside its values, and what a change of the type means for these values. The
// first line is the type's name; each other line is a field that holds a value, by its path, and what it holds:
//
//   sample
//   sensor text
//   where.lat double
//   tags[] text
//
// A value that was written before a field was added is read with the member initialiser of that field. Everything else
// that differs is refused: a field that is gone or holds something else would lose what is in the file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/shape.hpp>

namespace leat::store {

std::string shape_text(const type_shape& s);

struct shape_change {
  std::string refused = {};             // empty: the values can be read; else what differs
  std::vector<std::string> added = {};  // paths of fields
};
// What is in a file, and what the program has.
shape_change compare_shapes(std::string_view in_file, std::string_view now);

}  // namespace leat::store
