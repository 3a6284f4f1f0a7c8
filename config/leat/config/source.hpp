// SPDX-License-Identifier: BSL-1.0
//
// The files that a configuration was read from, kept so that diagnostics can show their lines.
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

// source_location::file is an index into it. A text that is used several times, as a template or as a service
// with other parameters, has an index for each use, so that a place tells which use it belongs to.
class source_set {
 public:
  std::uint32_t add(std::string name, std::string text);
  // What was written as an argument of the command line; no file.
  std::uint32_t add_argument(std::string name, std::string text);
  // One use of the text of `file`: who uses it, and where. `what`: "template 'pump' is used here as 'north'".
  // `prefix`: what names have before them in this use.
  std::uint32_t add_use(std::uint32_t file, source_location used_at, std::string what,
                        std::string prefix = {});

  const source_file& operator[](std::uint32_t file) const { return files_[entries_[file].text]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }

  // Whether it stands for a file by itself: neither a further use of one nor an argument.
  bool is_file(std::uint32_t file) const noexcept { return entries_[file].is_file; }
  // The index that the text was added with.
  std::uint32_t origin(std::uint32_t file) const noexcept { return entries_[file].origin; }
  // Of a use; nullptr for others.
  struct use {
    source_location at;
    std::string what;
    std::string prefix;
  };
  const use* use_of(std::uint32_t file) const noexcept {
    const entry& e = entries_[file];
    return e.origin == file ? nullptr : &e.used;
  }

 private:
  struct entry {
    std::uint32_t text;    // in files_
    std::uint32_t origin;  // in entries_; itself, unless it is a use
    bool is_file;
    use used;
  };
  std::vector<source_file> files_;
  std::vector<entry> entries_;
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
