// SPDX-License-Identifier: BSL-1.0
#include <leat/config/expand.hpp>

#include <algorithm>
#include <utility>

#include <leat/config/suggest.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
      return false;
  return true;
}

// The same value, written elsewhere.
value moved_to(const value& v, source_location at) {
  switch (v.kind()) {
    case value_kind::boolean: return value(v.get<bool>(), at);
    case value_kind::integer: return value(v.get<std::int64_t>(), at);
    case value_kind::real: return value(v.get<double>(), at);
    case value_kind::text: return value(v.get<std::string>(), at);
    case value_kind::list: return value(v.get<value::list>(), at);
    case value_kind::table: return value(v.get<value::table>(), at);
    default: return value();
  }
}

class text_expander {
 public:
  text_expander(const expand_scope& scope, source_location at, diagnostics& found)
      : scope_(scope), at_(at), found_(found) {}

  value run(const std::string& text) {
    if (const argument* whole = whole_argument(text)) {
      const auto* const all = whole->given.get_if<std::string>();
      if (all && !scope_.spend(all->size())) return value();
      found_.expanded(at_, {"${" + whole->name + "} is " + shown(whole->given) + " here", whole->given.at()});
      return moved_to(whole->given, at_);
    }
    std::string out;
    std::size_t i = 0;
    while (i < text.size()) {
      const std::size_t begin = text.find("${", i);
      if (begin == std::string::npos) break;
      if (begin > i && text[begin - 1] == '$') {  // $${
        out.append(text, i, begin - i).append("{");
        i = begin + 2;
        continue;
      }
      out.append(text, i, begin - i);
      const std::size_t end = text.find('}', begin);
      if (end == std::string::npos) {
        found_.error("environment", at_, "'${' without its '}'; write $${ for the characters themselves");
        return value();
      }
      if (!part(std::string_view(text).substr(begin + 2, end - begin - 2), out)) return value();
      i = end + 1;
    }
    out.append(text, i);
    if (!scope_.spend(said_.size())) return value();
    if (!said_.empty()) found_.expanded(at_, {said_, {}, true});
    return value(std::move(out), at_);
  }

 private:
  const argument* find(std::string_view name) const {
    if (!scope_.arguments) return nullptr;
    for (const argument& a : *scope_.arguments)
      if (a.name == name) return &a;
    return nullptr;
  }

  const argument* whole_argument(std::string_view text) const {
    if (!text.starts_with("${") || text.find('}') != text.size() - 1) return nullptr;
    return find(text.substr(2, text.size() - 3));
  }

  static std::string shown(const value& v) {
    constexpr std::size_t longest = 60;
    std::string out = to_text(v);
    if (out.size() <= longest) return out;
    return v.kind() == value_kind::text ? "a long text" : kind_with_article(v.kind());
  }

  // What stands between the braces. False: it was reported.
  bool part(std::string_view inside, std::string& out) {
    const std::size_t split = inside.find(":-");
    const std::string name(inside.substr(0, split));
    if (!is_name(name) && !find(name)) {
      found_.error(
          "environment", at_,
          "'${" + std::string(inside) + "}' names no environment variable; write ${VAR} or ${VAR:-default}");
      return false;
    }
    std::optional<std::string> got;
    if (const argument* a = find(name)) {
      if (!a->given) return false;
      const value_kind kind = a->given.kind();
      if (kind == value_kind::list || kind == value_kind::table) {
        found_.error("parameter", at_,
                     "'${" + name + "}' is " + kind_with_article(kind) +
                         ", which cannot be part of a text; it must stand alone");
        return false;
      }
      const auto* text = a->given.get_if<std::string>();
      got = text ? *text : to_text(a->given);
      say(name + " is " + shown(a->given));
    } else {
      got = scope_.environment(name);
      if (got) say(name + " is " + shown(value(*got)));
    }
    // Like the shell: :- also stands in for a variable that is set to nothing.
    if (split != std::string_view::npos && (!got || got->empty())) {
      got = std::string(inside.substr(split + 2));
      say(name + " is not set, its default is " + shown(value(*got)));
    }
    if (!got) {
      unknown(name);
      return false;
    }
    if (!scope_.spend(got->size())) return false;
    out += *got;
    return true;
  }

  void say(const std::string& text) { said_ += (said_.empty() ? "" : ", ") + text; }

  void unknown(const std::string& name) {
    std::string near;
    if (scope_.arguments) {
      std::vector<std::string_view> names;
      for (const argument& a : *scope_.arguments) names.push_back(a.name);
      near = nearest_while_few(name, names, found_);
    }
    if (!near.empty()) {
      found_
          .error("parameter", at_,
                 "there is no parameter '" + name + "', and no environment variable" + did_you_mean(near))
          .suggestion = near;
      return;
    }
    found_.error("environment", at_,
                 "the environment variable '" + name + "' is not set; ${" + name + ":-...} gives a default");
  }

  const expand_scope& scope_;
  source_location at_;
  diagnostics& found_;
  std::string said_;
};

}  // namespace

value expand(const value& tree, const expand_scope& scope, diagnostics& found) {
  if (scope.budget) {
    if (*scope.budget == 0) return value();
    --*scope.budget;
  }
  const auto location = [&](source_location at) {
    if (scope.file && at.known()) at.file = *scope.file;
    return at;
  };
  const source_location at = location(tree.at());
  if (const auto* text = tree.get_if<std::string>()) {
    if (!scope.spend(text->size())) return value();
    if (text->find("${") == std::string::npos) return value(*text, at);
    value out = text_expander(scope, at, found).run(*text);
    if (scope.budget && (out.kind() == value_kind::list || out.kind() == value_kind::table)) {
      const std::size_t cost = to_text(out).size();  // as good a measure as any
      *scope.budget -= std::min(*scope.budget, cost);
    }
    return out;
  }
  if (const auto* list = tree.get_if<value::list>()) {
    value::list out;
    out.reserve(list->size());
    for (const value& v : *list) out.push_back(expand(v, scope, found));
    return value(std::move(out), at);
  }
  if (const auto* table = tree.get_if<value::table>()) {
    value::table out;
    out.reserve(table->size());
    for (const value_member& m : *table) {
      if (!scope.spend(m.key.size())) break;
      out.push_back(value_member{m.key, location(m.key_at), expand(m.value, scope, found)});
    }
    return value(std::move(out), at);
  }
  return moved_to(tree, at);
}

void expand_environment(value& tree, const environment_fn& environment, diagnostics& found) {
  tree = expand(tree, {environment}, found);
}

}  // namespace leat::config
