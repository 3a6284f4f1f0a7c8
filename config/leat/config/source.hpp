// SPDX-License-Identifier: BSL-1.0
//
// The files that a configuration was read from, kept so that findings can show their lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>

namespace leat::config {

class source_file {
 public:
  source_file(std::string name, std::string text);

  // As the user wrote it, or as it follows from a deployment's list.
  const std::string& name() const noexcept { return name_; }
  const std::string& text() const noexcept { return text_; }
  // Without its line end; empty for a line that is not there. Counts from 1.
  std::string_view line(std::uint32_t number) const noexcept;
  std::uint32_t line_count() const noexcept { return static_cast<std::uint32_t>(starts_.size()); }

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> starts_;
};

// place::file is an index into it.
class source_set {
 public:
  std::uint32_t add(std::string name, std::string text);
  const source_file& operator[](std::uint32_t file) const { return files_[file]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(files_.size()); }

 private:
  std::vector<source_file> files_;
};

// One character of UTF-8 text and where the next begins. A byte that begins none is U+FFFD, so that any text
// can be walked.
struct utf8_step {
  char32_t character;
  std::size_t next;
};
utf8_step next_character(std::string_view text, std::size_t at) noexcept;

// How many columns of a terminal it takes; 0 for marks that join the character before.
unsigned display_width(char32_t c) noexcept;

}  // namespace leat::config
