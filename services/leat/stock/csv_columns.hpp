// SPDX-License-Identifier: BSL-1.0
//
// The columns of CSV, each a path to a value of a record: "where.lat", "raw[0]". A record is flattened into them,
// and made of them again. Not installed.
//
// A cell of a table or a list that is empty, or for which no column says more, is "{}", "[]" or its JSON. Within
// tables and lists an empty cell is a value that is missing, and null is null; of a field of the record itself
// an empty cell is null. A value that has no place within what another column says ("a" and "a.b" both have one) is
// a field of the record itself, with the name of its column.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <leat/process/field_path.hpp>
#include <leat/stock/csv.hpp>

namespace leat::stock {

class csv_columns {
 public:
  csv_columns() = default;
  explicit csv_columns(std::vector<std::string> names);

  const std::vector<std::string>& names() const noexcept { return names_; }
  bool empty() const noexcept { return names_.empty(); }
  std::size_t size() const noexcept { return names_.size(); }

  // Those that this record has besides them. A value within one of them may have a column of its own, or none.
  enum class within : std::uint8_t { counts, is_covered };
  std::vector<std::string> missing_in(const record& r, within w) const;
  // Calls cell(value, is_within) for each column: with its value, null if the cell stays empty, and whether that is
  // within a table or a list. How many values of the record have no column.
  template <class Cell>
  std::size_t write(const record& r, Cell cell) const;
  // The first of them, for reports.
  std::string left_out(const record& r) const;

  // A row of as many fields. "" or why there is no such record.
  std::string read(const std::vector<csv_field>& row, record& to) const;

 private:
  bool covers_all_of(const record& r) const noexcept;
  bool is_displaced(std::size_t column, const std::vector<csv_field>& row) const;

  std::vector<std::string> names_;
  std::vector<field_path> paths_;
  std::vector<bool> whole_;  // no other column is within it
  // Of each, the columns that it is within. One that has a value leaves no place for a part.
  std::vector<std::vector<std::size_t>> around_;
  bool flat_ = true;  // all are fields of the record itself
};

// A value that needs a column of its own: neither a table nor a list, unless it is empty.
bool is_cell(const field_value& v) noexcept;
std::size_t count_cells(const record& r) noexcept;

template <class Cell>
std::size_t csv_columns::write(const record& r, Cell cell) const {
  std::size_t found = 0;
  bool whole = false;
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    const field_value* const v = paths_[i].find(r);
    const bool single = v && is_cell(*v);
    found += single;
    whole = whole || (v && !single && whole_[i]);
    cell(single || whole_[i] ? v : nullptr, paths_[i].steps().size() > 1);
  }
  if (whole) return missing_in(r, within::is_covered).size();
  const std::size_t all = count_cells(r);
  return all > found ? all - found : 0;
}

}  // namespace leat::stock
