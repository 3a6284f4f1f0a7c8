// SPDX-License-Identifier: BSL-1.0
//
// What a check found: errors and warnings, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>

namespace leat::config {

enum class severity : std::uint8_t { error, warning };

struct finding_note {
  place at;
  std::string text;  // printed behind the carets
};

struct finding {
  config::severity severity = severity::error;
  std::string_view rule = {};  // a short name that stays the same: "unknown-key"
  place at = {};               // line 0: the file as a whole
  std::string text = {};       // one sentence; a suggestion is part of it
  std::string label = {};      // printed behind the carets; may be empty
  std::vector<finding_note> notes = {};
  std::string suggestion = {};  // what to write instead, alone; may be empty
};

// In the order of discovery until sort().
class findings {
 public:
  finding& error(std::string_view rule, place at, std::string text);
  finding& warning(std::string_view rule, place at, std::string text);

  // Errors first, each group by place.
  void sort();

  const std::vector<finding>& all() const noexcept { return all_; }
  std::size_t errors() const noexcept { return errors_; }
  std::size_t warnings() const noexcept { return all_.size() - errors_; }

 private:
  std::vector<finding> all_;
  std::size_t errors_ = 0;
};

}  // namespace leat::config
