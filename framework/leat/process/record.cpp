// SPDX-License-Identifier: BSL-1.0
#include <leat/process/record.hpp>

#include <algorithm>
#include <stdexcept>

#include <leat/base/system_time.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/scalar.hpp>

namespace leat {
namespace {

const shapes::message_entry entry{&shape_of<record>};

auto find_in(auto& fields, std::string_view name) noexcept {
  return std::find_if(fields.begin(), fields.end(), [&](const auto& f) { return f.name == name; });
}

}  // namespace

moment moment_now() noexcept { return moment(nanoseconds(system_now_ns())); }

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

field_value::field_value() noexcept = default;
field_value::field_value(scalar, bool v) noexcept : variant(v) {}
field_value::field_value(scalar, std::int64_t v) noexcept : variant(v) {}
field_value::field_value(scalar, nanoseconds v) noexcept : variant(v) {}
field_value::field_value(double v) noexcept : variant(v) {}
field_value::field_value(std::string v) noexcept : variant(std::move(v)) {}
field_value::field_value(std::string_view v) : variant(std::string(v)) {}
field_value::field_value(const char* v) : variant(std::string(v)) {}
field_value::field_value(moment v) noexcept : variant(v) {}
field_value::field_value(field_list v) noexcept : variant(std::in_place_type<field_list>, std::move(v)) {}
field_value::field_value(record v) noexcept : variant(std::in_place_type<record>, std::move(v)) {}
field_value::field_value(const field_value&) = default;
field_value::field_value(field_value&&) noexcept = default;
field_value& field_value::operator=(const field_value&) = default;
field_value& field_value::operator=(field_value&&) noexcept = default;
field_value::~field_value() = default;

field_list::field_list() noexcept = default;
field_list::field_list(std::initializer_list<field_value> all) : vector(all) {}
field_list::field_list(std::vector<field_value> all) noexcept : vector(std::move(all)) {}
field_list::field_list(const field_list&) = default;
field_list::field_list(field_list&&) noexcept = default;
field_list& field_list::operator=(const field_list&) = default;
field_list& field_list::operator=(field_list&&) noexcept = default;
field_list::~field_list() = default;

bool operator==(const field_list& a, const field_list& b) {
  return static_cast<const std::vector<field_value>&>(a) == static_cast<const std::vector<field_value>&>(b);
}

record::record() noexcept = default;
record::record(const record&) = default;
record::record(record&&) noexcept = default;
record& record::operator=(const record&) = default;
record& record::operator=(record&&) noexcept = default;
record::~record() = default;

bool operator==(const record& a, const record& b) { return a.fields_ == b.fields_; }

record::record(std::initializer_list<field> all) {
  fields_.reserve(all.size());
  for (const field& f : all) {
    if (field_value* const same = find(f.name))
      *same = f.value;
    else
      fields_.push_back(f);
  }
}

const field_value* record::find(std::string_view name) const noexcept {
  const auto at = find_in(fields_, name);
  return at == fields_.end() ? nullptr : &at->value;
}

field_value* record::find(std::string_view name) noexcept {
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

field_value& record::append(std::string name, field_value v) {
  fields_.push_back({std::move(name), std::move(v)});
  return fields_.back().value;
}

void record::clear() noexcept { fields_.clear(); }
void record::reserve(std::size_t n) { fields_.reserve(n); }

bool record::erase(std::string_view name) noexcept {
  const auto at = find_in(fields_, name);
  if (at == fields_.end()) return false;
  fields_.erase(at);
  return true;
}

struct field_renames::paths {
  struct both {
    field_path here, there;
  };
  std::vector<both> all;

  // All are taken out before any is put back, so that two may change places. An element of a list stays there too:
  // others would move up into its place.
  void apply(record& r, field_path both::* from, field_path both::* to) const {
    std::vector<std::pair<const field_path*, field_value>> moved;
    for (const both& b : all) {
      field_value* const v = (b.*from).find(r);
      if (!v) continue;
      moved.emplace_back(&(b.*to), *v);
      if (!(b.*from).steps().back().is_index) (void)(b.*from).erase(r);
    }
    for (auto& [place, v] : moved) place->put(r, std::move(v));
  }
};

field_renames::field_renames(std::vector<rename> all) : all_(std::move(all)) {
  paths p;
  bool several = false;
  for (const rename& n : all_) {
    if (n.here.empty() || n.there.empty())
      throw std::invalid_argument("a field that changes its name has none: '" + n.here + "', '" + n.there +
                                  "'");
    p.all.push_back({field_path::named(n.here), field_path::named(n.there)});
    several = several || p.all.back().here.steps().size() > 1 || p.all.back().there.steps().size() > 1;
  }
  if (several) paths_ = std::make_shared<const paths>(std::move(p));
}

void field_renames::come_in(record& r) const {
  if (paths_) return paths_->apply(r, &paths::both::there, &paths::both::here);
  apply(r, &rename::there, &rename::here);
}

void field_renames::go_out(record& r) const {
  if (paths_) return paths_->apply(r, &paths::both::here, &paths::both::there);
  apply(r, &rename::here, &rename::there);
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
void field_renames::apply(record& r, std::string rename::* from, std::string rename::* to) const {
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
