// SPDX-License-Identifier: BSL-1.0
//
// What can be said of settings before anything runs: their syntax, and the fields of records that they name.
// Each of these looks at the value alone, and is safe for any. Not installed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/schema.hpp>

namespace leat::stock {

// As base/schema.hpp says: "" or what is wrong.
std::string judge_reading(const std::string& text);  // `from`
std::string judge_writing(const std::string& text);  // `to`
std::string judge_listen(const std::string& text);
std::string judge_remote(std::string_view text);  // HOST:PORT
std::string judge_url(const std::string& text);
std::string judge_header(const std::string& line);
std::string judge_separator(const std::string& text);
std::string judge_folder(const std::string& text);
std::string judge_optional_folder(const std::string& text);
std::string judge_file_prefix(const std::string& text);
std::string judge_field_name(const std::string& text);
std::string judge_variable(const std::string& text);  // "NAME=value" or "NAME"
std::vector<fault> judge_columns(const value& names);
std::vector<fault> judge_command(const value& words);

// The members of a table of settings; null: there is none of that kind.
const std::string* text_in(const value& settings, std::string_view name) noexcept;
const value::list* list_in(const value& settings, std::string_view name) noexcept;

// Of `format`, `columns` and `field`.
std::optional<std::vector<record_field>> fields_of_lines(const value& settings,
                                                         const std::vector<record_field>* came_in);
std::vector<needed_field> fields_for_lines(const value& settings);
std::vector<needed_field> field_for_text(const value& settings);

}  // namespace leat::stock
