// SPDX-License-Identifier: BSL-1.0
//
// A value that was written by another version of a program, read field by field. The bytes are CBOR with the
// names of fields (message.hpp), whole and trusted in length only:
//
//   a field that is not in the bytes       keeps its member initialiser
//   one that the type no longer has        is left out, and told
//   one that holds what does not fit       keeps its member initialiser, and is reported
//
// So it is in tables within tables, and in lists of tables. A whole number becomes a real and back, if nothing is
// lost by it; a list of anything but tables is read as a whole or not at all.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <leat/process/message.hpp>

namespace leat {

// `v` and `trial` are two fresh values of the type; what is in `trial` afterwards is of no use. What is not taken
// over is logged, a line each. Nothing is thrown for what the bytes say.
void migrate_state(const type_shape& s, void* v, void* trial, std::span<const std::uint8_t> cbor,
                   std::vector<std::string>& told);

// Empty: values of the type come back as they were written. Else which part of it cannot.
std::string why_not_kept(const type_shape& s);

// Of a state in a file.
inline constexpr message_limits state_limits{.bytes = 256 * 1024 * 1024, .elements = 16 * 1024 * 1024};

}  // namespace leat
