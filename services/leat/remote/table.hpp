// SPDX-License-Identifier: BSL-1.0
//
// Rows in columns. A column is as wide as its widest cell, and at least as wide as it is said to be, so that a table
// that is drawn again and again keeps its shape; where the width is too small, those that may shrink do.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace leat::remote {

struct table_column {
  std::string title;
  bool right = false;          // numbers
  std::size_t least = 0;       // columns, also when nothing is that wide
  std::size_t shrinks_to = 0;  // 0: never
};

class table {
 public:
  explicit table(std::vector<table_column> all) : columns_(std::move(all)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::size_t rows() const noexcept { return rows_.size(); }

  // Columns of the whole table for so much room; 0: as much as it takes.
  std::vector<std::size_t> widths(std::size_t room) const;
  std::string heading(const std::vector<std::size_t>& widths) const;
  std::string row(std::size_t i, const std::vector<std::size_t>& widths) const;
  // All of it, each line with its end.
  std::string text(std::size_t room = 0) const;

 private:
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) const;

  std::vector<table_column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace leat::remote
