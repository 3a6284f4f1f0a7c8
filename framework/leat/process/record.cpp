// SPDX-License-Identifier: BSL-1.0
#include <leat/process/record.hpp>

#include <algorithm>

#include <leat/process/scalar.hpp>

namespace leat {
namespace {

const shapes::message_entry entry{&shape_of<record>};

auto find_in(auto& fields, std::string_view name) noexcept {
  return std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
}

}  // namespace

moment moment_now() noexcept {
  return std::chrono::time_point_cast<nanoseconds>(std::chrono::system_clock::now());
}

std::string to_text(const field_value& v) {
  if (const auto* const text = std::get_if<std::string>(&v)) return *text;
  if (v.is_null()) return {};
  std::string out;
  shapes::write_json(v, out);
  if (out.starts_with('"')) out = out.substr(1, out.size() - 2);  // moments and durations: nothing is escaped
  return out;
}

std::optional<double> to_number(const field_value& v) noexcept {
  if (const auto* const i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* const d = std::get_if<double>(&v)) return *d;
  return std::nullopt;
}

record::record(std::initializer_list<field> all) {
  fields_.reserve(all.size());
  for (const field& f : all) (*this)[f.name] = f.value;
}

const field_value* record::find(std::string_view name) const noexcept {
  const auto at = find_in(fields_, name);
  return at == fields_.end() ? nullptr : &at->value;
}

std::optional<double> record::number(std::string_view name) const noexcept {
  const field_value* const v = find(name);
  return v ? to_number(*v) : std::nullopt;
}

const std::string* record::text(std::string_view name) const noexcept {
  const field_value* const v = find(name);
  return v ? std::get_if<std::string>(v) : nullptr;
}

field_value& record::operator[](std::string_view name) {
  const auto at = find_in(fields_, name);
  if (at != fields_.end()) return at->value;
  return fields_.emplace_back(field{std::string(name), {}}).value;
}

bool record::erase(std::string_view name) noexcept {
  const auto at = find_in(fields_, name);
  if (at == fields_.end()) return false;
  fields_.erase(at);
  return true;
}

std::string_view field_renames::here(std::string_view there) const noexcept {
  for (const rename& r : all_)
    if (r.there == there) return r.here;
  return there;
}

std::string_view field_renames::there(std::string_view here) const noexcept {
  for (const rename& r : all_)
    if (r.here == here) return r.there;
  return here;
}

// First those that change their names, each in its place; what has kept its own is left out if one of them
// has taken it.
void field_renames::apply(record& r, std::string rename::*from, std::string rename::*to) const {
  if (empty()) return;
  record out;
  out.reserve(r.size());
  for (record::field& f : r.fields_) {
    const auto changes =
        std::find_if(all_.begin(), all_.end(), [&](const rename& n) { return n.*from == f.name; });
    const bool taken = std::any_of(all_.begin(), all_.end(),
                                   [&](const rename& n) { return n.*to == f.name && r.find(n.*from); });
    if (changes != all_.end())
      out[*changes.*to] = std::move(f.value);
    else if (!taken)
      out[f.name] = std::move(f.value);
  }
  r = std::move(out);
}

}  // namespace leat
