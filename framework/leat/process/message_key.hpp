// SPDX-License-Identifier: BSL-1.0
//
// The key of a message: one of its fields, by its path (base/field_steps.hpp). It holds a text, a whole number, true
// or false, an enumerator or a time: what can be compared exactly. Messages that lack it (an empty optional, a list
// that is too short, a record without the field or with null in it) have one key together.
//
// A field of a record may hold anything. A real that is a whole number is the same key as that number; lists and
// tables are no keys, and count as lacking.
#pragma once
#include <memory>
#include <string_view>

#include <leat/csp/keyed.hpp>
#include <leat/process/shape.hpp>

namespace leat {

// Throws wiring_error if messages of this shape have no such field, or none that can be a key.
std::shared_ptr<const csp::key_of> make_message_key(const type_shape& s, std::string_view path);

}  // namespace leat
