// SPDX-License-Identifier: BSL-1.0
#include <leat/config/values.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <system_error>
#include <utility>

#include <leat/config/suggest.hpp>

namespace leat::config {

namespace {

std::string wanted_text(const setting_schema& s) {
  switch (s.kind) {
    case value_kind::integer: return "an integer";
    case value_kind::real: return "a number";
    case value_kind::boolean: return "true or false";
    case value_kind::text: return "text";
    case value_kind::duration: return "a duration such as \"250ms\"";
    case value_kind::size: return "a size such as \"64K\"";
    case value_kind::list: return "a list";
    case value_kind::enumeration: {
      std::string out = "one of";
      for (const std::string& name : s.names) out += ' ' + in_quotes(name);
      return out;
    }
    case value_kind::table: return "a table";
    default: return {};  // no setting is that
  }
}

// -1, 0, 1 for two values of one kind that has an order.
int compare(const value& a, const value& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  switch (a.kind()) {
    case value_kind::integer: return order(a.get<std::int64_t>(), b.get<std::int64_t>());
    case value_kind::real: return order(a.get<double>(), b.get<double>());
    case value_kind::duration: return order(a.get<nanoseconds>(), b.get<nanoseconds>());
    case value_kind::size: return order(a.get<byte_size>(), b.get<byte_size>());
    default: return 0;
  }
}

std::string range_text(const setting_schema& s) {
  if (s.least && s.most) return to_text(s.least) + " to " + to_text(s.most);
  return s.least ? "at least " + to_text(s.least) : "at most " + to_text(s.most);
}

value in_range(const setting_schema& s, value v, const std::string& what, diagnostics& found) {
  const auto comparable = [&](const value& limit) { return limit.kind() == v.kind(); };
  const bool below = comparable(s.least) && compare(v, s.least) < 0;
  const bool above = comparable(s.most) && compare(v, s.most) > 0;
  if (!below && !above) return v;
  found.error("range", v.at(), what + " is " + to_text(v) + "; allowed: " + range_text(s));
  return value();
}

value wrong_type(const setting_schema& s, const value& raw, const std::string& what, diagnostics& found) {
  const auto* text = raw.get_if<std::string>();
  if (const expansion* e = text ? found.expansion_at(raw.at()) : nullptr; e && e->from_environment) {
    found.error("type", raw.at(), what + " must be " + wanted_text(s) + ", not " + in_quotes(*text)).label =
        e->said;
    return value();
  }
  found.error("type", raw.at(),
              what + " must be " + wanted_text(s) + ", not " + kind_with_article(raw.kind()) +
                  quotes_hint(s.kind, raw));
  return value();
}

value check_name(const setting_schema& s, const value& raw, const std::string& what, diagnostics& found) {
  const auto* text = raw.get_if<std::string>();
  if (!text) return wrong_type(s, raw, what, found);
  if (std::find(s.names.begin(), s.names.end(), *text) != s.names.end()) return raw;
  const std::string near = nearest(*text, {s.names.begin(), s.names.end()});
  diagnostic& f = found.error("choice", raw.at(), what + " must be " + wanted_text(s) + did_you_mean(near));
  f.suggestion = near;
  f.label = said_of(raw, found);
  return value();
}

template <class Parse, class Make>
value check_units(const setting_schema& s, const value& raw, const std::string& what, diagnostics& found,
                  const Parse& parse, const Make& make) {
  const auto* text = raw.get_if<std::string>();
  if (!text) return wrong_type(s, raw, what, found);
  const auto got = parse(*text);
  if (!got) {
    found
        .error("unit", raw.at(),
               what + " is not " + kind_with_article(s.kind) + ": " + std::string(got.error))
        .label = said_of(raw, found);
    return value();
  }
  return in_range(s, make(*got.value, raw.at()), what, found);
}

}  // namespace

std::string kind_with_article(value_kind k) {
  switch (k) {
    case value_kind::boolean: return "a boolean";
    case value_kind::integer: return "an integer";
    case value_kind::real: return "a real number";
    case value_kind::text: return "text";
    case value_kind::list: return "a list";
    case value_kind::table: return "a table";
    case value_kind::duration: return "a duration";
    case value_kind::size: return "a size";
    default: return to_string(k);
  }
}

std::string said_of(const value& raw, diagnostics& found) {
  const expansion* e = found.expansion_at(raw.at());
  return e && e->from_environment ? e->said : std::string();
}

std::string quotes_hint(value_kind wanted, const value& raw) {
  const auto* const text = raw.get_if<std::string>();
  if (!text) return {};
  bool fits = wanted == value_kind::boolean && (*text == "true" || *text == "false");
  if (wanted == value_kind::integer || wanted == value_kind::real) {
    double number = 0;
    const char* const end = text->data() + text->size();
    const auto got = std::from_chars(text->data(), end, number);
    fits = got.ec == std::errc() && got.ptr == end;
  }
  return fits ? "; it stands without quotes" : "";
}

value from_variable(value_kind wanted, const value& raw, diagnostics& found) {
  const auto* const text = raw.get_if<std::string>();
  expansion* const e = text ? found.expansion_at(raw.at()) : nullptr;
  if (!e || !e->from_environment) return value();
  const char* const end = text->data() + text->size();
  const auto all = [&](const std::from_chars_result& got) { return got.ec == std::errc() && got.ptr == end; };
  value out;
  std::int64_t whole = 0;
  double number = 0;
  if (wanted == value_kind::boolean && (*text == "true" || *text == "false"))
    out = value(*text == "true", raw.at());
  else if ((wanted == value_kind::integer || wanted == value_kind::real) &&
           all(std::from_chars(text->data(), end, whole)))
    out = value(whole, raw.at());
  else if (wanted == value_kind::real && all(std::from_chars(text->data(), end, number)))
    out = value(number, raw.at());
  e->converted = out;
  return out;
}

std::string nearest_while_few(std::string_view name, const std::vector<std::string_view>& among,
                              const diagnostics& found) {
  // Each name is compared with all others: in a file where nothing fits, that would take for ever.
  constexpr std::size_t enough = 500;
  return found.errors() < enough ? nearest(name, among) : std::string();
}

std::string report_unknown(std::string_view rule, source_location at, const std::string& what,
                           std::string_view name, const std::vector<std::string_view>& among,
                           diagnostics& found, const std::string& otherwise) {
  std::string near = nearest_while_few(name, among, found);
  found.error(rule, at, what + (near.empty() ? otherwise : did_you_mean(near))).suggestion = near;
  return near;
}

bool ask_validator(value_validator validate, const value& v, source_location otherwise,
                   const std::string& what, diagnostics& found) {
  try {
    const std::vector<setting_diagnostic> all = validate(v);
    for (const setting_diagnostic& f : all) {
      const source_location at = f.part ? f.part->at() : v.at();
      diagnostic& told = found.error("syntax", at.known() ? at : otherwise, what + ": " + f.why);
      told.part = part_of_text(f, v);
    }
    return all.empty();
  } catch (const std::exception& e) {
    found.error("syntax", otherwise, what + " cannot be validated: " + e.what());
    return false;
  }
}

text_part part_of_text(const setting_diagnostic& d, const value& whole) {
  const auto* const text = (d.part ? *d.part : whole).get_if<std::string>();
  return text && d.length > 0 ? text_part{*text, d.offset, d.length} : text_part{};
}

namespace {

bool ask_validators(const setting_schema& s, const value& v, const std::string& what, diagnostics& found) {
  const auto* const text = v.get_if<std::string>();
  if (s.validate_text && text) {
    try {
      const std::string why = s.validate_text(*text);
      if (!why.empty()) found.error("syntax", v.at(), what + ": " + why);
      if (!why.empty()) return false;
    } catch (const std::exception& e) {
      found.error("syntax", v.at(), what + " cannot be validated: " + e.what());
      return false;
    }
  }
  return !s.validate || ask_validator(s.validate, v, v.at(), what, found);
}

// A table whose names are the user's.
value check_members(const setting_schema& wanted, const value& raw, const std::string& what,
                    diagnostics& found) {
  value::table out;
  bool good = true;
  for (const value_member& m : raw.get<value::table>()) {
    value checked = check_value(wanted, m.value, "'" + m.key + "' of " + what, found);
    good = good && checked;
    out.push_back({m.key, m.key_at, std::move(checked)});
  }
  return good ? value(std::move(out), raw.at()) : value();
}

value check_type(const setting_schema& wanted, const value& raw, const std::string& what,
                 diagnostics& found) {
  const value_kind kind = raw.kind();
  if (kind == value_kind::text && kind != wanted.kind)
    if (const value got = from_variable(wanted.kind, raw, found)) return check_type(wanted, got, what, found);
  switch (wanted.kind) {
    case value_kind::integer:
      if (kind != value_kind::integer) return wrong_type(wanted, raw, what, found);
      return in_range(wanted, raw, what, found);
    case value_kind::real: {
      if (kind != value_kind::real && kind != value_kind::integer)
        return wrong_type(wanted, raw, what, found);
      const double number =
          kind == value_kind::real ? raw.get<double>() : static_cast<double>(raw.get<std::int64_t>());
      if (!std::isfinite(number)) {
        found.error("range", raw.at(), what + " must be a finite number");
        return value();
      }
      return in_range(wanted, value(number, raw.at()), what, found);
    }
    case value_kind::boolean: return kind == value_kind::boolean ? raw : wrong_type(wanted, raw, what, found);
    case value_kind::text:
      if (kind != value_kind::text) return wrong_type(wanted, raw, what, found);
      if (raw.get<std::string>().starts_with("~/"))
        found.warning("home", raw.at(), what + " begins with '~', which is not replaced; \"${HOME}/...\" is");
      return raw;
    case value_kind::enumeration: return check_name(wanted, raw, what, found);
    case value_kind::duration:
      return check_units(wanted, raw, what, found, parse_duration,
                         [](nanoseconds d, source_location at) { return value(d, at); });
    case value_kind::size:
      return check_units(wanted, raw, what, found, parse_size,
                         [](std::uint64_t n, source_location at) { return value(byte_size{n}, at); });
    case value_kind::list: {
      const auto* elements = raw.get_if<value::list>();
      if (!elements) return wrong_type(wanted, raw, what, found);
      value::list out;
      out.reserve(elements->size());
      bool good = true;
      std::size_t number = 0;
      for (const value& e : *elements) {
        ++number;
        value checked = wanted.element.empty()
                            ? e
                            : check_value(wanted.element.front(), e,
                                          "element " + std::to_string(number) + " of " + what, found);
        good = good && checked;
        out.push_back(std::move(checked));
      }
      return good ? value(std::move(out), raw.at()) : value();
    }
    case value_kind::table:
      if (kind != value_kind::table) return wrong_type(wanted, raw, what, found);
      if (!wanted.element.empty()) return check_members(wanted.element.front(), raw, what, found);
      return check_table(wanted.fields, raw, {"field", "of " + what, raw.at()}, found);
    default: return value();  // no setting is that
  }
}

}  // namespace

value check_value(const setting_schema& wanted, const value& raw, const std::string& what,
                  diagnostics& found) {
  if (!raw) return value();
  value checked = check_type(wanted, raw, what, found);
  return checked && ask_validators(wanted, checked, what, found) ? checked : value();
}

value check_table(const std::vector<setting_schema>& wanted, const value& raw, const table_words& words,
                  diagnostics& found) {
  value::table out;
  const auto* members = raw.get_if<value::table>();
  std::vector<std::string_view> names;
  std::vector<std::string> meant;  // by mistyped keys: not missing as well
  names.reserve(wanted.size());
  for (const setting_schema& s : wanted) names.push_back(s.name);
  if (members) {
    for (const value_member& m : *members) {
      const setting_schema* s = find_setting(wanted, m.key);
      if (!s) {
        meant.push_back(report_unknown(words.kind == "key" ? "unknown-key" : "unknown-setting", m.key_at,
                                       "unknown " + std::string(words.kind) + " '" + m.key + "' " + words.of,
                                       m.key, names, found));
        continue;
      }
      value checked = check_value(*s, m.value, "'" + m.key + "'", found);
      if (checked) out.push_back({m.key, m.key_at, std::move(checked)});
    }
  }
  for (const setting_schema& s : wanted) {
    if (members && raw.find(s.name)) continue;
    if (s.default_value)
      out.push_back({s.name, {}, s.default_value});
    else if (s.required && std::find(meant.begin(), meant.end(), s.name) == meant.end())
      found.error("missing", words.missing_at,
                  "the " + std::string(words.kind) + " '" + s.name + "' " + words.of + " is missing");
  }
  return value(std::move(out), raw.at());
}

}  // namespace leat::config
