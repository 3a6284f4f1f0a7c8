// SPDX-License-Identifier: BSL-1.0
#include <leat/config/expand.hpp>

#include <utility>

namespace leat::config {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  for (const char c : text)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_')
      return false;
  return true;
}

std::optional<std::string> expanded(const std::string& text, place at, const environment_fn& environment,
                                    findings& found) {
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
      found.error("environment", at, "'${' without its '}'; write $${ for the characters themselves");
      return std::nullopt;
    }
    const std::string_view inside = std::string_view(text).substr(begin + 2, end - begin - 2);
    const std::size_t split = inside.find(":-");
    const std::string_view name = inside.substr(0, split);
    if (!is_name(name)) {
      found.error(
          "environment", at,
          "'${" + std::string(inside) + "}' names no environment variable; write ${VAR} or ${VAR:-default}");
      return std::nullopt;
    }
    std::optional<std::string> got = environment(name);
    // Like the shell: :- also stands in for a variable that is set to nothing.
    if (split != std::string_view::npos && (!got || got->empty()))
      got = std::string(inside.substr(split + 2));
    if (!got) {
      found.error("environment", at,
                  "the environment variable '" + std::string(name) + "' is not set; ${" + std::string(name) +
                      ":-...} gives a default");
      return std::nullopt;
    }
    out += *got;
    i = end + 1;
  }
  return out.append(text, i);
}

}  // namespace

void expand_environment(value& tree, const environment_fn& environment, findings& found) {
  if (const auto* text = tree.get_if<std::string>()) {
    if (text->find("${") == std::string::npos) return;
    std::optional<std::string> got = expanded(*text, tree.at(), environment, found);
    tree = got ? value(std::move(*got), tree.at()) : value();
  } else if (auto* list = tree.get_if<value::list>()) {
    for (value& v : *list) expand_environment(v, environment, found);
  } else if (auto* table = tree.get_if<value::table>()) {
    for (value_member& m : *table) expand_environment(m.value, environment, found);
  }
}

}  // namespace leat::config
