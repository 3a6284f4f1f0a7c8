// SPDX-License-Identifier: BSL-1.0
//
// A look at a TOML text before it is parsed: is it nested deeper than the parser and all that walk its tree
// can bear, and where do its tables and keys stand (the parser stops at a name that is there twice, and does
// not say where the first one is).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>

namespace leat::config {

inline constexpr unsigned max_depth = 32;     // of brackets and braces
inline constexpr unsigned max_segments = 16;  // of a dotted key

struct outline {
  struct statement {
    bool header = false;          // [path], else path = value
    bool array = false;           // [[path]]
    std::string path = {};        // segments joined by U+0001, with the header's in front
    source_location at = {};      // the brackets of a header, the key without its value
    std::size_t offset = 0;       // of its first byte
    std::size_t length = 0;       // in bytes, of what `at` spans
    std::uint32_t last_line = 0;  // where its value ends
  };
  struct error {
    source_location at = {};
    std::string text = {};
  };

  std::vector<statement> statements = {};
  std::optional<error> refused = {};  // the scan ended there
  // The first of the mistakes that are made most, said at the place where it is made: a string that is never
  // closed, a text without quotes, an inline table that goes on behind its line or has a comma at its end.
  // None of them is TOML; the parser complains too, of what it meets there or later.
  std::optional<error> mistake = {};
  // Characters behind a line-ending backslash, where the parser looks for blanks; as escapes they do no harm.
  std::vector<std::size_t> to_escape = {};
};

// Never fails: on what is no TOML it goes on at the next line, where the parser has stopped long before.
outline outline_of(std::string_view text, std::uint32_t file);

}  // namespace leat::config
