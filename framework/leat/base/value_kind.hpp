// SPDX-License-Identifier: BSL-1.0
//
// What something is: a value of a file, a setting, a field of a record, a type of C++. One enumeration for
// all four, though none of them has all kinds:
//
//                                             value   setting   field   type
//   none           nothing is there             x                 x
//   boolean                                     x        x        x      x
//   integer                                     x        x        x      x
//   real                                        x        x        x      x
//   text                                        x        x        x      x
//   duration                                    x        x        x      x
//   size           a number of bytes            x        x               x
//   moment         of the calendar                                x      x
//   list                                        x        x        x      x
//   table          a structure                  x        x        x      x
//   enumeration    its values are texts                  x               x
//   maybe          one of another kind, or none                          x
//   record         its fields are known at run time only                 x
//   opaque         has a name, and nothing that others can see           x
//   any            not known before it runs                       x
//
// How a key of a configuration is read (config/keys.hpp) is another question: most of its answers are tables.
#pragma once
#include <cstdint>

namespace leat {

enum class value_kind : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  text,
  duration,
  size,
  moment,
  list,
  table,
  enumeration,
  maybe,
  record,
  opaque,
  any,
};
const char* to_string(value_kind k) noexcept;
// Of a field, for people: "a whole number", "a text".
const char* in_words(value_kind k) noexcept;

// The same, for those who describe fields of records.
using field_kind = value_kind;

}  // namespace leat
