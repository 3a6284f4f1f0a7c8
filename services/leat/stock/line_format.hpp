// SPDX-License-Identifier: BSL-1.0
//
// Lines into records and back: as text, as JSON, as CSV. Not installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/process/record.hpp>
#include <leat/process/settings.hpp>
#include <leat/stock/csv.hpp>
#include <leat/stock/csv_columns.hpp>
#include <leat/stock/line_splitter.hpp>

namespace leat::stock {

enum class line_form : std::uint8_t { text, json, csv };
LEAT_ENUM(line_form, text, json, csv);
enum class line_encoding : std::uint8_t { utf8, any };
LEAT_ENUM(line_encoding, utf8, any);

// Each is looked for among the others, in every record.
inline constexpr std::size_t most_columns = 1024;

struct line_options {
  line_form form = line_form::text;
  line_encoding encoding = line_encoding::utf8;
  std::size_t longest = std::size_t{64} << 10;
  std::vector<std::string> columns = {};  // CSV; empty: the first line names them
  char separator = ',';
};

// The settings of classes that read or write lines.
struct format_settings {
  explicit format_settings(process* owner);
  // Throws setting_error.
  line_options checked() const;

  setting<line_form> format;
  setting<std::vector<std::string>> columns;
  setting<std::string> separator;
};

// What a stream of bytes gave.
struct line_event {
  record value = {};
  std::string bad = {};    // not empty: there is no record, and why
  std::uint64_t line = 0;  // its number in the stream, from 1; 0: not known

  // What is wrong, and where.
  std::string told() const { return line == 0 ? bad : "line " + std::to_string(line) + ": " + bad; }
};

// Of one stream. What it finds goes to `take`, until that returns false.
class line_parser {
 public:
  using taker = std::function<bool(line_event)>;

  line_parser(const line_options& o, taker take)
      : options_(o),
        take_(std::move(take)),
        splitter_(o.longest),
        csv_(o.separator, o.longest, most_columns) {
    begin();
  }

  bool feed(std::string_view bytes) { return splitter_.feed(bytes, *this); }
  // The stream has ended.
  bool finish();
  // Another one begins: what was not finished is forgotten, and CSV names its columns again. Lines are
  // numbered if it begins with its first.
  void begin(bool numbered = true);

  // For the splitter.
  bool line(std::string_view text);
  bool too_long() {
    ++number_;
    return bad_line("a line of more than " + std::to_string(options_.longest) + " bytes");
  }

 private:
  std::uint64_t number() const noexcept { return numbered_ ? number_ : 0; }
  bool bad(std::string why) { return take_({{}, std::move(why), number()}); }
  // A row of CSV that it was part of is not made up without it.
  bool bad_line(std::string why) {
    csv_.reset();
    return bad(std::move(why));
  }
  bool csv_line(std::string_view text);
  bool csv_row();

  const line_options options_;
  const taker take_;
  line_splitter splitter_;
  csv_splitter csv_;
  csv_columns columns_;
  bool at_begin_ = true, numbered_ = true;
  std::uint64_t number_ = 0;  // of the last line
};

// Records into lines, each with its '\n'.
class line_maker {
 public:
  line_maker(const line_options& o, std::string_view text_field)
      : options_(o), text_field_(field_path::named(text_field)), columns_(o.columns) {}

  // Appends the line to `to`, or says why there is none. CSV without columns takes those of the first record.
  std::string add(const record& r, std::string& to);
  // The line that names the columns of CSV, once they are known; "" else.
  std::string header() const;
  // Values of the last record that no column is for, and the first of them.
  std::size_t left_out() const noexcept { return left_out_; }
  const std::string& first_left_out() const noexcept { return first_left_out_; }

 private:
  line_options options_;
  const field_path text_field_;
  csv_columns columns_;
  std::size_t left_out_ = 0;
  std::string first_left_out_ = {};
};

}  // namespace leat::stock
