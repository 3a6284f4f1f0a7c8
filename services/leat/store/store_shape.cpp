// SPDX-License-Identifier: BSL-1.0
#include <leat/store/store_shape.hpp>

#include <algorithm>

namespace leat::store {
namespace {

// above: the tables around it, so that a type may hold lists of itself.
void append_fields(const type_shape& s, const std::string& path, std::vector<const type_shape*>& above,
                   std::string& to) {
  const auto line = [&](std::string_view holds) {
    to.append(path.empty() ? "." : path).append(1, ' ').append(holds).append(1, '\n');
  };
  switch (s.kind) {
    case value_kind::list: return append_fields(s.element(), path + "[]", above, to);
    case value_kind::maybe: return append_fields(s.element(), path + '?', above, to);
    case value_kind::enumeration: {
      std::string names;
      for (std::size_t i = 0; i < s.name_count; ++i)
        names.append(i == 0 ? "one of " : "|").append(s.names[i].name);
      return line(names);
    }
    case value_kind::table: {
      if (std::find(above.begin(), above.end(), &s) != above.end()) return line(s.name);
      above.push_back(&s);
      for (std::size_t i = 0; i < s.field_count; ++i) {
        std::string within = path;
        if (!path.empty()) within += '.';
        within += s.fields[i].name;
        append_fields(s.fields[i].type(), within, above, to);
      }
      above.pop_back();
      return;
    }
    default: return line(s.name);
  }
}

struct shape_line {
  std::string_view path, holds;
};

std::vector<shape_line> lines_of(std::string_view text, std::string_view& name) {
  std::vector<shape_line> out;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (first) {
      name = line;
      first = false;
      continue;
    }
    const std::size_t space = std::min(line.find(' '), line.size());
    out.push_back({line.substr(0, space), line.substr(std::min(space + 1, line.size()))});
  }
  return out;
}

std::string in_words(std::string_view path) {
  return path == "." ? std::string("the value") : "field '" + std::string(path) + "'";
}

}  // namespace

std::string shape_text(const type_shape& s) {
  std::string out = type_name(s) + '\n';
  std::vector<const type_shape*> above;
  append_fields(s, {}, above, out);
  return out;
}

shape_change compare_shapes(std::string_view in_file, std::string_view now) {
  shape_change out;
  std::string_view old_name, new_name;
  const std::vector<shape_line> before = lines_of(in_file, old_name), after = lines_of(now, new_name);
  if (old_name != new_name) {
    out.refused =
        "it holds '" + std::string(old_name) + "', and the channel carries '" + std::string(new_name) + "'";
    return out;
  }
  const auto find = [](const std::vector<shape_line>& in, std::string_view path) {
    return std::find_if(in.begin(), in.end(), [&](const shape_line& l) { return l.path == path; });
  };
  for (const shape_line& old : before) {
    const auto same = find(after, old.path);
    if (same != after.end() && same->holds == old.holds) continue;
    out.refused = in_words(old.path) + " is " + std::string(old.holds) + " in the file, and " +
                  (same == after.end() ? "not in the program" : std::string(same->holds) + " in the program");
    return out;
  }
  for (const shape_line& l : after)
    if (find(before, l.path) == before.end()) out.added.emplace_back(l.path);
  return out;
}

}  // namespace leat::store
