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
    case setting_kind::integer: return "an integer";
    case setting_kind::real: return "a number";
    case setting_kind::boolean: return "true or false";
    case setting_kind::text: return "text";
    case setting_kind::duration: return "a duration such as \"250ms\"";
    case setting_kind::size: return "a size such as \"64K\"";
    case setting_kind::list: return "a list";
    case setting_kind::enumeration: {
      std::string out = "one of";
      for (const std::string& name : s.names) out += ' ' + quoted(name);
      return out;
    }
    case setting_kind::structure: return "a table";
  }
  return {};
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

value in_range(const setting_schema& s, value v, const std::string& what, findings& found) {
  const auto comparable = [&](const value& limit) { return limit.kind() == v.kind(); };
  const bool below = comparable(s.least) && compare(v, s.least) < 0;
  const bool above = comparable(s.most) && compare(v, s.most) > 0;
  if (!below && !above) return v;
  found.error("range", v.at(), what + " is " + to_text(v) + "; allowed: " + range_text(s));
  return value();
}

value wrong_type(const setting_schema& s, const value& raw, const std::string& what, findings& found) {
  found.error("type", raw.at(),
              what + " must be " + wanted_text(s) + ", not " + kind_with_article(raw.kind()) +
                  quotes_hint(s.kind, raw));
  return value();
}

value check_name(const setting_schema& s, const value& raw, const std::string& what, findings& found) {
  const auto* text = raw.get_if<std::string>();
  if (!text) return wrong_type(s, raw, what, found);
  if (std::find(s.names.begin(), s.names.end(), *text) != s.names.end()) return raw;
  const std::string near = nearest(*text, {s.names.begin(), s.names.end()});
  found.error("choice", raw.at(), what + " must be " + wanted_text(s) + did_you_mean(near)).suggestion = near;
  return value();
}

template <class Parse, class Make>
value check_units(const setting_schema& s, const value& raw, const std::string& what, findings& found,
                  const Parse& parse, const Make& make) {
  const auto* text = raw.get_if<std::string>();
  if (!text) return wrong_type(s, raw, what, found);
  const auto got = parse(*text);
  if (!got) {
    found.error("unit", raw.at(), what + " is no " + to_string(s.kind) + ": " + std::string(got.error));
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
    default: return to_string(k);
  }
}

std::string quotes_hint(setting_kind wanted, const value& raw) {
  const auto* const text = raw.get_if<std::string>();
  if (!text) return {};
  bool fits = wanted == setting_kind::boolean && (*text == "true" || *text == "false");
  if (wanted == setting_kind::integer || wanted == setting_kind::real) {
    double number = 0;
    const char* const end = text->data() + text->size();
    const auto got = std::from_chars(text->data(), end, number);
    fits = got.ec == std::errc() && got.ptr == end;
  }
  return fits ? "; it stands without quotes, and so cannot come from a ${VARIABLE}" : "";
}

std::string nearest_while_few(std::string_view name, const std::vector<std::string_view>& among,
                              const findings& found) {
  // Each name is compared with all others: in a file where nothing fits, that would take for ever.
  constexpr std::size_t enough = 500;
  return found.errors() < enough ? nearest(name, among) : std::string();
}

std::string report_unknown(std::string_view rule, place at, const std::string& what, std::string_view name,
                           const std::vector<std::string_view>& among, findings& found,
                           const std::string& otherwise) {
  std::string near = nearest_while_few(name, among, found);
  found.error(rule, at, what + (near.empty() ? otherwise : did_you_mean(near))).suggestion = near;
  return near;
}

bool ask_judge(value_judge judge, const value& v, place otherwise, const std::string& what, findings& found) {
  try {
    const std::vector<fault> all = judge(v);
    for (const fault& f : all) {
      const place at = f.part ? f.part->at() : v.at();
      found.error("syntax", at.known() ? at : otherwise, what + ": " + f.why);
    }
    return all.empty();
  } catch (const std::exception& e) {
    found.error("syntax", otherwise, what + " cannot be judged: " + e.what());
    return false;
  }
}

namespace {

bool ask_judges(const setting_schema& s, const value& v, const std::string& what, findings& found) {
  const auto* const text = v.get_if<std::string>();
  if (s.judge_text && text) {
    try {
      const std::string why = s.judge_text(*text);
      if (!why.empty()) found.error("syntax", v.at(), what + ": " + why);
      if (!why.empty()) return false;
    } catch (const std::exception& e) {
      found.error("syntax", v.at(), what + " cannot be judged: " + e.what());
      return false;
    }
  }
  return !s.judge || ask_judge(s.judge, v, v.at(), what, found);
}

value check_type(const setting_schema& wanted, const value& raw, const std::string& what, findings& found) {
  const value_kind kind = raw.kind();
  switch (wanted.kind) {
    case setting_kind::integer:
      if (kind != value_kind::integer) return wrong_type(wanted, raw, what, found);
      return in_range(wanted, raw, what, found);
    case setting_kind::real: {
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
    case setting_kind::boolean:
      return kind == value_kind::boolean ? raw : wrong_type(wanted, raw, what, found);
    case setting_kind::text:
      if (kind != value_kind::text) return wrong_type(wanted, raw, what, found);
      if (raw.get<std::string>().starts_with("~/"))
        found.warning("home", raw.at(), what + " begins with '~', which is not replaced; \"${HOME}/...\" is");
      return raw;
    case setting_kind::enumeration: return check_name(wanted, raw, what, found);
    case setting_kind::duration:
      return check_units(wanted, raw, what, found, parse_duration,
                         [](nanoseconds d, place at) { return value(d, at); });
    case setting_kind::size:
      return check_units(wanted, raw, what, found, parse_size,
                         [](std::uint64_t n, place at) { return value(byte_size{n}, at); });
    case setting_kind::list: {
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
    case setting_kind::structure:
      if (kind != value_kind::table) return wrong_type(wanted, raw, what, found);
      return check_table(wanted.fields, raw, {"field", "of " + what, raw.at()}, found);
  }
  return value();
}

}  // namespace

value check_value(const setting_schema& wanted, const value& raw, const std::string& what, findings& found) {
  if (!raw) return value();
  value checked = check_type(wanted, raw, what, found);
  return checked && ask_judges(wanted, checked, what, found) ? checked : value();
}

value check_table(const std::vector<setting_schema>& wanted, const value& raw, const table_words& words,
                  findings& found) {
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
