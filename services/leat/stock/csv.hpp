// SPDX-License-Identifier: BSL-1.0
//
// CSV (RFC 4180), one line at a time. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/record.hpp>

namespace leat::stock {

struct csv_field {
  std::string text;
  bool in_quotes = false;
};

// Lines into the fields of a row. A field in quotes may go on in the next line.
class csv_splitter {
 public:
  enum class status : std::uint8_t { row, more, wrong };

  csv_splitter(char separator, std::size_t limit) : separator_(separator), limit_(limit) {}

  // row: in fields(). wrong: why() says what; the next line begins a new row.
  status feed(std::string_view line);
  // The end in the middle of a row?
  bool unfinished() const noexcept { return open_; }
  void reset() noexcept;

  const std::vector<csv_field>& fields() const noexcept { return fields_; }
  const std::string& why() const noexcept { return why_; }

 private:
  status fail(std::string why);

  const char separator_;
  const std::size_t limit_;  // bytes of a row
  std::vector<csv_field> fields_;
  std::string why_;
  std::size_t size_ = 0;
  bool open_ = false;  // within quotes
};

// A number if it looks like one of JSON's, none if it is empty, else the text; always the text in quotes.
field_value csv_value(const csv_field& f);
void write_csv(std::string& to, std::string_view text, char separator, bool is_text);
void write_csv(std::string& to, const field_value& v, char separator);

}  // namespace leat::stock
