// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/validators.hpp>

#include <algorithm>
#include <charconv>
#include <unordered_set>

#include <leat/net/address.hpp>
#include <leat/net/http_client.hpp>
#include <leat/stock/line_endpoint.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/tls_support.hpp>

namespace leat::stock {
namespace {

bool has_zero(std::string_view text) noexcept { return text.find('\0') != std::string_view::npos; }

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// RFC 9110, 5.6.2.
bool is_token(std::string_view text) noexcept {
  const auto fits = [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), fits);
}

bool same_name(std::string_view a, std::string_view b) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

std::string validate_reading(const std::string& text) { return validate_endpoint(text, direction::read); }
std::string validate_writing(const std::string& text) { return validate_endpoint(text, direction::write); }

std::string validate_listen(const std::string& text) {
  if (has_zero(text)) return "a zero byte";
  std::string why;
  return net::address::parse(text, &why) ? std::string() : why;
}

std::string validate_remote(std::string_view text) {
  std::string host, port;
  if (has_zero(text)) return "a zero byte";
  if (!net::split_host_port(text, host, port)) return "expected HOST:PORT, [ADDRESS]:PORT or PORT";
  if (!std::all_of(port.begin(), port.end(), is_digit)) return {};  // the name of a service
  unsigned n = 0;
  const char* const end = port.data() + port.size();
  const auto [at, error] = std::from_chars(port.data(), end, n);
  if (error == std::errc{} && at == end && n >= 1 && n <= 65535) return {};
  return "'" + port + "' is not a port: 1 to 65535";
}

std::string validate_url(const std::string& text) {
  std::string why;
  const std::optional<net::http::url> u = net::http::url::parse(text, &why);
  if (!u) return why;
  return u->secure && !why_no_tls().empty() ? why_no_tls() : validate_remote(u->host);
}

std::string validate_header(const std::string& line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = std::string_view(line).substr(0, colon);
  if (colon == std::string::npos || !is_token(name)) return "expected \"Name: value\"";
  if (has_zero(line) || line.find_first_of("\r\n") != std::string::npos) return "more than one line";
  for (const std::string_view own : {"Host", "Content-Type", "Content-Length", "Transfer-Encoding"})
    if (same_name(name, own)) return std::string(own) + " is set by the client itself";
  return {};
}

std::string validate_separator(const std::string& text) {
  const bool good = text.size() == 1 && !has_zero(text) && text.find_first_of("\"\r\n") == std::string::npos;
  return good ? std::string() : "expected one character, and no quote";
}

std::string validate_optional_folder(const std::string& text) {
  return has_zero(text) ? "a path has no zero byte" : std::string();
}
std::string validate_folder(const std::string& text) {
  return text.empty() ? "a path is missing" : validate_optional_folder(text);
}

std::string validate_file_prefix(const std::string& text) {
  if (text.empty() || has_zero(text) || text.find('/') != std::string::npos)
    return "cannot be part of a file name";
  constexpr std::size_t most = 200;  // of the 255 that file systems allow
  return text.size() > most ? "is longer than " + std::to_string(most) + " bytes" : std::string();
}

std::string validate_field_name(const std::string& text) {
  return text.empty() ? "the name of a field is missing" : std::string();
}

std::string validate_variable(const std::string& text) {
  if (has_zero(text)) return "a zero byte";
  return text.empty() || text.front() == '=' ? "expected \"NAME=value\" or \"NAME\"" : std::string();
}

std::vector<setting_diagnostic> validate_columns(const value& names) {
  const auto* const all = names.get_if<value::list>();
  if (!all) return {};
  if (all->size() > most_columns) return {{"more than " + std::to_string(most_columns) + " columns"}};
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string_view> known;
  for (const value& v : *all) {
    const auto* const name = v.get_if<std::string>();
    if (!name) continue;
    if (name->empty())
      wrong.push_back({"column " + std::to_string(&v - all->data() + 1) + " has no name", &v});
    else if (!known.insert(*name).second)
      wrong.push_back({"two columns are called " + leat::in_quotes(*name), &v});
  }
  return wrong;
}

std::vector<setting_diagnostic> validate_command(const value& words) {
  const auto* const all = words.get_if<value::list>();
  if (!all) return {};
  if (all->empty()) return {{"no program is named"}};
  std::vector<setting_diagnostic> wrong;
  for (const value& v : *all) {
    const auto* const word = v.get_if<std::string>();
    if (word && word->empty() && &v == all->data()) wrong.push_back({"no program is named", &v});
    if (word && has_zero(*word)) wrong.push_back({"an argument has no zero byte", &v});
  }
  return wrong;
}

const std::string* text_in(const value& settings, std::string_view name) noexcept {
  const value* const v = settings.find(name);
  return v ? v->get_if<std::string>() : nullptr;
}
const value::list* list_in(const value& settings, std::string_view name) noexcept {
  const value* const v = settings.find(name);
  return v ? v->get_if<value::list>() : nullptr;
}

std::optional<std::vector<record_field>> fields_of_lines(const value& settings,
                                                         const std::vector<record_field>*) {
  const std::string* const format = text_in(settings, "format");
  if (!format) return std::nullopt;
  if (*format == "text") return std::vector<record_field>{{"line", value_kind::text}};
  const value::list* const columns = list_in(settings, "columns");
  if (*format != "csv" || !columns || columns->empty()) return std::nullopt;
  std::vector<record_field> all;
  for (const value& v : *columns)
    if (const auto* const name = v.get_if<std::string>()) all.push_back({*name});
  return all;
}

std::vector<needed_field> field_for_text(const value& settings) {
  const std::string* const format = text_in(settings, "format");
  const std::string* const field = text_in(settings, "field");
  if (!format || *format != "text" || !field) return {};
  return {{*field, value_kind::any, settings.find("field")}};
}

std::vector<needed_field> fields_for_lines(const value& settings) {
  const std::string* const format = text_in(settings, "format");
  const value::list* const columns = list_in(settings, "columns");
  if (!format || *format != "csv" || !columns) return field_for_text(settings);
  std::vector<needed_field> all;
  for (const value& v : *columns)
    if (const auto* const name = v.get_if<std::string>()) all.push_back({*name, value_kind::any, &v});
  return all;
}

}  // namespace leat::stock
