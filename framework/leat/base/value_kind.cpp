// SPDX-License-Identifier: BSL-1.0
#include <leat/base/value_kind.hpp>

namespace leat {

const char* to_string(value_kind k) noexcept {
  switch (k) {
    case value_kind::none: return "none";
    case value_kind::boolean: return "boolean";
    case value_kind::integer: return "integer";
    case value_kind::real: return "real";
    case value_kind::text: return "text";
    case value_kind::duration: return "duration";
    case value_kind::size: return "size";
    case value_kind::moment: return "moment";
    case value_kind::list: return "list";
    case value_kind::table: return "table";
    case value_kind::enumeration: return "enumeration";
    case value_kind::maybe: return "optional";
    case value_kind::record: return "record";
    case value_kind::opaque: return "opaque";
    case value_kind::any: return "any";
  }
  return "?";
}

const char* in_words(value_kind k) noexcept {
  switch (k) {
    case value_kind::none: return "nothing";
    case value_kind::boolean: return "true or false";
    case value_kind::integer: return "a whole number";
    case value_kind::real: return "a number";
    case value_kind::text: return "a text";
    case value_kind::duration: return "a duration";
    case value_kind::moment: return "a time";
    case value_kind::list: return "a list";
    case value_kind::table: return "a table";
    case value_kind::any: return "anything";
    default: return to_string(k);  // no field is that
  }
}

}  // namespace leat
