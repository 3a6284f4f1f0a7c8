// SPDX-License-Identifier: BSL-1.0
//
// What a check found: errors and warnings, each with its place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <leat/base/value.hpp>

namespace leat::config {

class source_set;

enum class severity : std::uint8_t { error, warning, remark };

struct diagnostic_note {
  source_location at;
  std::string text;  // printed behind the carets
};

// A part of a value that is a text: its place is found when the file is at hand (text_location.hpp).
struct text_part {
  std::string text = {};
  std::size_t offset = 0, length = 0;  // length 0: none
};

struct diagnostic {
  config::severity severity = severity::error;
  std::string_view rule = {};  // a short name that stays the same: "unknown-key"
  source_location at = {};     // line 0: the file as a whole
  std::string text = {};       // one sentence; a suggestion is part of it
  std::string label = {};      // printed behind the carets; may be empty
  std::vector<diagnostic_note> notes = {};
  std::string suggestion = {};  // what to write instead, alone; may be empty
  text_part part = {};          // of the text at `at`
};

// A value that a variable or a parameter was put into.
struct expansion {
  std::string said = {};          // "PORT is \"80\"", for who finds fault with it
  source_location given_at = {};  // of a parameter that is all of it
  bool from_environment = false;  // then a number or a boolean may come of the text
  value converted = {};           // which it did
};

// In the order of discovery until sort().
class diagnostics {
 public:
  diagnostic& error(std::string_view rule, source_location at, std::string text);
  diagnostic& warning(std::string_view rule, source_location at, std::string text);
  // What is worth knowing and no fault: shown on demand.
  diagnostic& remark(std::string_view rule, source_location at, std::string text);

  // Errors first, each group by place.
  void sort();

  const std::vector<diagnostic>& all() const noexcept { return all_; }
  std::vector<diagnostic>& all() noexcept { return all_; }
  const std::vector<diagnostic>& remarks() const noexcept { return remarks_; }
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return all_.size() - errors_; }

  // Kept here, since who reads a value has this at hand.
  void expanded(source_location at, expansion e);
  expansion* expansion_at(source_location at) noexcept;

  // Finds in uses of a text (source_set::add_use) are reported at the text, with notes of the uses. The same find
  // in several uses is one.
  void tell_uses(const source_set& sources);

 private:
  using location = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // file, line, column

  std::vector<diagnostic> all_;
  std::vector<diagnostic> remarks_;
  std::size_t errors_ = 0;
  std::map<location, expansion> expansions_;
};

}  // namespace leat::config
