// SPDX-License-Identifier: BSL-1.0
//
// The bytes of a CSV file into records, by columns whose types are declared or guessed. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/record.hpp>
#include <leat/process/settings.hpp>
#include <leat/stock/csv.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/line_splitter.hpp>

namespace leat::stock {

enum class cell_type : std::uint8_t { guess, text, integer, number, flag, moment, duration };
LEAT_ENUM(cell_type, guess, text, integer, number, flag, moment, duration);

struct csv_column {
  std::string name;
  cell_type type = cell_type::guess;
  bool required = false;  // a row without a value is bad
};
LEAT_SETTINGS(csv_column, name, type, required);

struct table_options {
  std::vector<csv_column> columns = {};
  bool header = true;  // the first row names the columns, in any order; else `columns` does
  char separator = ',';
  char decimal = '.';
  std::string comment = {};            // a line that begins with it is none; empty: no line does
  std::vector<std::string> none = {};  // cells that stand for no value, beside the empty one
  std::uint64_t skip = 0;              // lines before the first row
  line_encoding encoding = line_encoding::utf8;
  std::size_t longest = std::size_t{64} << 10;  // bytes of a row
};

// "" or what is wrong: "\"warm\" is not a number". A cell without a value gives null.
std::string read_cell(const csv_field& cell, cell_type type, const table_options& o, field_value& to);

// What it finds goes to `take`, until that returns false. The number of a row is that of its first line.
class csv_table {
 public:
  using taker = std::function<bool(line_event)>;

  csv_table(table_options o, taker take);

  bool feed(std::string_view bytes) { return splitter_.feed(bytes, *this); }
  // The file has ended.
  bool finish();
  // Another file begins, or this one anew.
  void begin();
  // Not empty: the first row is none, or names no such columns as are declared, and nothing of the file can be
  // read.
  const std::string& unfit() const noexcept { return unfit_; }
  // Of all lines up to the one that was read last.
  std::uint64_t sum() const noexcept { return sum_; }

  // For the splitter.
  bool line(std::string_view text);
  bool too_long();

 private:
  // A field, from 1; 0: none in particular.
  bool bad(std::string why, std::size_t field = 0);
  void add_to_sum(std::string_view line) noexcept;
  bool header();
  bool row();

  const table_options options_;
  const taker take_;
  line_splitter splitter_;
  csv_splitter csv_;
  std::vector<csv_column> columns_;  // of this file, in its order; empty: not known yet
  std::string unfit_;
  std::uint64_t number_ = 0, row_begin_ = 0;  // lines, from 1
  std::uint64_t sum_ = 0;
};

}  // namespace leat::stock
