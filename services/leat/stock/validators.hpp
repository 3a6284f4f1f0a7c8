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
std::string validate_reading(const std::string& text);  // `from`
std::string validate_writing(const std::string& text);  // `to`
std::string validate_listen(const std::string& text);
std::string validate_remote(std::string_view text);  // HOST:PORT
std::string validate_url(const std::string& text);
std::string validate_header(const std::string& line);
std::string validate_separator(const std::string& text);
std::string validate_folder(const std::string& text);
std::string validate_optional_folder(const std::string& text);
std::string validate_file_prefix(const std::string& text);
std::string validate_field_name(const std::string& text);
std::string validate_variable(const std::string& text);  // "NAME=value" or "NAME"
std::vector<setting_diagnostic> validate_columns(const value& names);
std::vector<setting_diagnostic> validate_command(const value& words);

// The members of a table of settings; null: there is none of that kind.
const std::string* text_in(const value& settings, std::string_view name) noexcept;
const value::list* list_in(const value& settings, std::string_view name) noexcept;

// Of `format`, `columns` and `field`.
std::optional<std::vector<record_field>> fields_of_lines(const value& settings,
                                                         const std::vector<record_field>* came_in);
std::vector<needed_field> fields_for_lines(const value& settings);
std::vector<needed_field> field_for_text(const value& settings);

}  // namespace leat::stock
