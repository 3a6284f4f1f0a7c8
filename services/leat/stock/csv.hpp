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

  // Bytes and fields of a row. Each field costs more than the comma that makes it.
  csv_splitter(char separator, std::size_t limit, std::size_t most_fields)
      : separator_(separator), limit_(limit), most_fields_(most_fields) {}

  // row: in fields(). wrong: why() says what, in the last of fields(); the next line begins a new row. A line end
  // within quotes is part of the text, with its '\r' if it had one.
  status feed(std::string_view line, bool ended_with_return = false);
  // The end in the middle of a row?
  bool unfinished() const noexcept { return open_; }
  void reset() noexcept;

  const std::vector<csv_field>& fields() const noexcept { return fields_; }
  const std::string& why() const noexcept { return why_; }

 private:
  status fail(std::string why);

  const char separator_;
  const std::size_t limit_, most_fields_;
  std::vector<csv_field> fields_;
  std::string why_;
  std::size_t size_ = 0;
  bool open_ = false;  // within quotes
};

// A number if it looks like one of JSON's; true, false, null, an empty list or table as JSON has them; none if it is
// empty, else the text; always the text in quotes.
field_value csv_value(const csv_field& f);
void write_csv(std::string& to, std::string_view text, char separator, bool is_text);
void write_csv(std::string& to, const field_value& v, char separator);

}  // namespace leat::stock
