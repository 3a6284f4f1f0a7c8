// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <utility>

#include <leat/base/suggest.hpp>
#include <leat/expression/compiler.hpp>

namespace leat::expression {
namespace {

kinds kinds_of(const record_field& f) noexcept {
  const kinds null = f.optional ? kinds(kind::null) : kinds();
  switch (f.kind) {
    case value_kind::boolean: return truth | null;
    case value_kind::integer:
    case value_kind::size:
    case value_kind::real:
      return numeric | null;  // a whole number may come for a real, and the other way round
    case value_kind::text:
    case value_kind::enumeration: return kinds(kind::text) | null;
    case value_kind::duration: return kinds(kind::duration) | null;
    case value_kind::moment: return kinds(kind::moment) | null;
    case value_kind::list: return kinds(kind::list) | null;
    case value_kind::table:
    case value_kind::record: return kinds(kind::table) | null;
    default: return anything;
  }
}

}  // namespace

// As an expression has it, or else one name.
path compiler::path_of(std::string_view text) {
  path literal;
  literal.text = text;
  literal.steps.push_back({literal.text, {}});
  const compile_options how;
  compiler c(text, how);
  try {
    c.take();
    if (c.next_.kind != token_kind::name) return literal;
    span at = c.next_.at;
    path p = c.read_path(std::string(c.take().source), at);
    return c.next_.kind == token_kind::end ? p : literal;
  } catch (const stop&) {
    return literal;
  }
}

path compiler::read_path(std::string first, span& at) {
  path p;
  p.text = first;
  p.steps.push_back({std::move(first), {}});
  for (;;) {
    if (next_.is(".")) {
      take();
      if (next_.kind != token_kind::name) unexpected("the name of a field behind '.'");
      p.text += '.' + std::string(next_.source);
      p.steps.push_back({std::string(next_.source), {}});
      at = at + take().at;
    } else if (next_.is("[")) {
      take();
      if (next_.kind == token_kind::integer && !next_.too_large) {
        p.text += '[' + std::to_string(next_.integer) + ']';
        p.steps.push_back({{}, static_cast<std::size_t>(next_.integer)});
      } else if (next_.kind == token_kind::text) {
        p.text += "[\"" + next_.text + "\"]";
        p.steps.push_back({next_.text, {}});
      } else {
        unexpected("a whole number or a name in quotes between '[' and ']'");
      }
      take();
      at = at + expect("]", "behind what it holds").at;
    } else {
      return p;
    }
    constexpr std::size_t deepest = 32;
    if (p.steps.size() > deepest) fail(at, "a path has at most 32 parts");
  }
}

compiler::part compiler::field(std::string first, span at) {
  path p = read_path(std::move(first), at);
  const kinds type = check_path(p, at);
  emit({opcode::field, 0, 0, add_path(std::move(p))}, at, 1);
  return {type, at, true};
}

std::uint32_t compiler::add_path(path p) {
  // field("a.b") has the text of a.b, and other steps.
  const auto same = std::find_if(out_.paths.begin(), out_.paths.end(),
                                 [&](const path& q) { return q.text == p.text && q.steps == p.steps; });
  if (same != out_.paths.end()) return static_cast<std::uint32_t>(same - out_.paths.begin());
  out_.paths.push_back(std::move(p));
  return static_cast<std::uint32_t>(out_.paths.size() - 1);
}

// What is known of the field, or of the table or list that it is part of. Fields are named by paths there; an
// element of a list is "raw[]".
kinds compiler::check_path(const path& p, span at) {
  if (!how_.fields) return anything;
  const auto find = [&](std::string_view name) -> const record_field* {
    for (const record_field& f : *how_.fields)
      if (f.name == name) return &f;
    return nullptr;
  };
  const auto has_parts = [&](std::string_view name) {
    return std::any_of(how_.fields->begin(), how_.fields->end(), [&](const record_field& f) {
      return f.name.size() > name.size() && f.name.starts_with(name) &&
             (f.name[name.size()] == '.' || f.name[name.size()] == '[');
    });
  };
  std::vector<std::string> around;  // the path up to each step
  for (const path::step& s : p.steps) {
    std::string text = around.empty() ? std::string() : around.back();
    around.push_back(s.position ? text + "[]" : text + (around.empty() ? "" : ".") + s.name);
  }
  const record_field* const same = find(p.text) ? find(p.text) : find(around.back());
  if (same) return kinds_of(*same);
  if (has_parts(p.text) || has_parts(around.back())) return anything;  // "where" of "where.lat"
  for (std::size_t i = p.steps.size() - 1; i-- > 0;) {
    const record_field* const outer = find(around[i]);
    if (!outer) continue;
    const kinds holds = p.steps[i + 1].position ? kind::list : kind::table;
    if ((kinds_of(*outer) & holds).empty()) {
      wrong(at, "field '" + around[i] + "' holds " + in_words(kinds_of(*outer)) +
                    (holds == kind::list ? ", which has no elements" : ", which has no fields"));
      return anything;
    }
    if (outer->kind == value_kind::any || !has_parts(around[i])) return anything;
    break;
  }
  std::vector<std::string_view> names;
  for (const record_field& f : *how_.fields) names.push_back(f.name);
  const std::string near = nearest(p.text, names);
  std::string why = "there is no field '" + p.text + "'" + did_you_mean(near);
  if (near.empty() && !names.empty()) {
    constexpr std::size_t enough = 8;
    why += "; there are";
    for (std::size_t i = 0; i < names.size() && i < enough; ++i)
      why += (i ? ", '" : " '") + std::string(names[i]) + '\'';
    if (names.size() > enough) why += ", ...";
  }
  wrong(at, std::move(why));
  return anything;
}

}  // namespace leat::expression
