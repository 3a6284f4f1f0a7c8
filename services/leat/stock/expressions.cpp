// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/expressions.hpp>

#include <algorithm>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/process/scalar.hpp>
#include <leat/stock/validators.hpp>

namespace leat::stock {
namespace {

namespace ex = leat::expression;

// A piece of a message: a text as it stands, or the expression between { and }.
struct message_piece {
  std::string text;
  std::size_t offset = 0;  // of the expression
  bool is_expression = false;
};

// {{ and }} stand for { and }. None: a brace has no partner; `at` says which.
std::optional<std::vector<message_piece>> pieces_of(std::string_view source, std::size_t& at) {
  std::vector<message_piece> all(1);
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if ((c == '{' || c == '}') && i + 1 < source.size() && source[i + 1] == c) {
      all.back().text += c;
      ++i;
    } else if (c == '{') {
      const std::size_t end = source.find('}', i);
      at = i;
      if (end == std::string_view::npos) return std::nullopt;
      all.push_back({std::string(source.substr(i + 1, end - i - 1)), i + 1, true});
      all.push_back({});
      i = end;
    } else if (c == '}') {
      at = i;
      return std::nullopt;
    } else {
      all.back().text += c;
    }
  }
  return all;
}

void add_wrong(const ex::compiled& made, const value* part, std::size_t offset, std::string_view name,
               std::vector<setting_diagnostic>& wrong) {
  for (const ex::wrong_part& w : made.found)
    wrong.push_back({(name.empty() ? std::string() : "'" + std::string(name) + "': ") + w.why, part,
                     offset + w.offset, std::max<std::size_t>(1, w.length)});
}

void check_text(const value& v, const ex::compile_options& how, std::string_view name,
                std::vector<setting_diagnostic>& wrong) {
  const auto* const source = v.get_if<std::string>();
  if (source) add_wrong(ex::compile(*source, how), &v, 0, name, wrong);
}

void check_pieces(const value& v, const ex::compile_options& how, std::vector<setting_diagnostic>& wrong) {
  const auto* const source = v.get_if<std::string>();
  if (!source) return;
  std::size_t at = 0;
  const auto all = pieces_of(*source, at);
  if (!all)
    return wrong.push_back(
        {"this brace has no partner; write {{ or }} for one that stands for itself", &v, at, 1});
  for (const message_piece& p : *all)
    if (p.is_expression) add_wrong(ex::compile(p.text, how), &v, p.offset, {}, wrong);
}

constexpr ex::kinds in_messages = ex::scalar | ex::kind::null;

const value::table& members_of(const value* v) {
  static const value::table none;
  const auto* const members = v ? v->get_if<value::table>() : nullptr;
  return members ? *members : none;
}

void put(std::vector<record_field>& fields, const std::string& path, value_kind kind) {
  const std::string name = field_pattern(path);
  if (name.find("[]") != name.npos) kind = value_kind::any;  // the other elements keep theirs
  const auto same =
      std::find_if(fields.begin(), fields.end(), [&](const record_field& f) { return f.name == name; });
  const record_field made{name, kind, true};
  if (same != fields.end())
    *same = made;
  else
    fields.push_back(made);
}

}  // namespace

std::vector<setting_diagnostic> validate_condition(const value& text) {
  std::vector<setting_diagnostic> wrong;
  check_text(text, {.wanted = ex::truth}, {}, wrong);
  return wrong;
}

std::vector<setting_diagnostic> validate_optional_condition(const value& text) {
  const auto* const source = text.get_if<std::string>();
  return source && source->empty() ? std::vector<setting_diagnostic>() : validate_condition(text);
}

std::vector<setting_diagnostic> validate_message(const value& text) {
  std::vector<setting_diagnostic> wrong;
  check_pieces(text, {.wanted = in_messages}, wrong);
  return wrong;
}

std::vector<setting_diagnostic> validate_new_fields(const value& table) {
  std::vector<setting_diagnostic> wrong;
  if (members_of(&table).empty()) wrong.push_back({"no field is named: { name = \"expression\" }", &table});
  for (const value_member& m : members_of(&table)) {
    if (m.key.empty()) wrong.push_back({"a field has no name", &m.value});
    check_text(m.value, {}, m.key, wrong);
  }
  return wrong;
}

void check_condition(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                     std::vector<setting_diagnostic>& wrong) {
  const std::string* const source = text_in(settings, name);
  if (source && !source->empty())
    check_text(*settings.find(name), {.wanted = ex::truth, .fields = &fields}, name, wrong);
}

void check_message(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                   std::vector<setting_diagnostic>& wrong) {
  if (const value* const v = settings.find(name))
    check_pieces(*v, {.wanted = in_messages, .fields = &fields}, wrong);
}

void check_new_fields(const value& settings, std::string_view name, const std::vector<record_field>& fields,
                      std::vector<setting_diagnostic>& wrong) {
  std::vector<record_field> known = fields;
  for (const value_member& m : members_of(settings.find(name))) {
    const auto* const source = m.value.get_if<std::string>();
    if (!source) continue;
    const ex::compiled made = ex::compile(*source, {.fields = &known});
    add_wrong(made, &m.value, 0, m.key, wrong);
    put(known, m.key, made.result ? ex::kind_of_result(*made.result) : value_kind::any);
  }
}

std::vector<record_field> with_new_fields(const value& settings, std::string_view name,
                                          const std::vector<record_field>* came_in) {
  std::vector<record_field> known = came_in ? *came_in : std::vector<record_field>();
  for (const value_member& m : members_of(settings.find(name))) {
    const auto* const source = m.value.get_if<std::string>();
    const ex::compiled made =
        source ? ex::compile(*source, {.fields = came_in ? &known : nullptr}) : ex::compiled();
    put(known, m.key, made.result ? ex::kind_of_result(*made.result) : value_kind::any);
  }
  return known;
}

namespace {

std::shared_ptr<const ex::program> compiled_or_throw(const process& owner, const std::string& what,
                                                     std::string_view source,
                                                     const ex::compile_options& how) {
  ex::compiled made = ex::compile(source, how);
  if (!made.result)
    throw setting_error(owner.name() + ": setting '" + what + "': " + ex::render(source, made.found.front()));
  return std::move(made.result);
}

}  // namespace

running_expression::running_expression(const process& owner, std::string what, std::string_view source,
                                       const ex::compile_options& how)
    : owner_(&owner), what_(std::move(what)), evaluator_(compiled_or_throw(owner, what_, source, how)) {}

void running_expression::tell(ex::evaluation_error f) {
  log_warning("stock", "{}: {}: {}; what depends on it is missing (logged once, counted)", owner_->name(),
              what_, evaluator_.first_of(f));
}

running_expression::~running_expression() {
  for (const ex::evaluation_error f : {ex::evaluation_error::missing, ex::evaluation_error::wrong_kind,
                                       ex::evaluation_error::division_by_zero, ex::evaluation_error::range})
    if (evaluator_.errors(f) > 1)
      log_info("stock", "{}: {}: {} in {} places of records", owner_->name(), what_, ex::to_string(f),
               evaluator_.errors(f));
}

running_message::running_message(const process& owner, const std::string& what, std::string_view source,
                                 const ex::compile_options& how) {
  std::size_t at = 0;
  auto all = pieces_of(source, at);
  if (!all) throw setting_error(owner.name() + ": setting '" + what + "': a brace has no partner");
  for (message_piece& p : *all) {
    pieces_.emplace_back();
    if (p.is_expression)
      pieces_.back().value.emplace(owner, what, p.text, how);
    else
      pieces_.back().text = std::move(p.text);
  }
}

std::string running_message::text(const record& r, const ex::record_times& when) {
  std::string out;
  for (piece& p : pieces_) {
    if (!p.value) {
      out += p.text;
      continue;
    }
    const ex::operand v = p.value->run(r, when);
    out += v.is(ex::kind::missing) ? std::string("?") : to_text(v.value());
  }
  return out;
}

void running_message::see(const record& r, const ex::record_times& when) {
  for (piece& p : pieces_)
    if (p.value && p.value->remembers()) (void)p.value->run(r, when);
}

expression_settings::expression_settings(process* owner, std::string_view port)
    : keys(owner, port),
      time(owner, "time", port, value_kind::moment, std::string(),
           "field with the moment of a record, for rate and windows; none: when it comes in") {
  owner->note_error(
      "an error in an expression: a missing field, another kind of value, a division by zero, a value out of "
      "range",
      "the result is missing; logged once for each kind, and counted");
}

ex::record_times expression_settings::when(const record& r, complaints& told) const {
  ex::record_times out{.now = moment_now()};
  if (time->empty()) return out;
  const field_value* const v = time_path.find(r);
  if (const auto* const at = v ? std::get_if<moment>(v) : nullptr) {
    out.at = *at;
  } else if (const auto* const text = v ? std::get_if<std::string>(v) : nullptr) {
    if (const auto ns = shapes::parse_moment(*text)) out.at = moment(nanoseconds(*ns));
  }
  if (!out.at) told.add("field '" + *time + "' holds no moment");
  return out;
}

}  // namespace leat::stock
