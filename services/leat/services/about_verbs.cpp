// SPDX-License-Identifier: BSL-1.0
#include <leat/services/about_verbs.hpp>

#include <algorithm>
#include <string_view>
#include <vector>

#include <leat/base/version.hpp>
#include <leat/config/suggest.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/class_finder.hpp>
#include <leat/services/describe.hpp>
#include <leat/services/new_project.hpp>
#include <leat/services/verb_output.hpp>

namespace leat::services {

int describe_class(const command& c, const std::string& program) {
  const class_schema* const s = program_catalog().find_class(c.words[0]);
  if (!s) {
    std::vector<std::string_view> names;
    for (const class_schema* x : program_catalog().classes()) names.push_back(x->name);
    const std::string where = class_finder().hint(c.words[0]);
    std::string text =
        program + ": there is no process class '" + c.words[0] + "'" +
        (where.empty() ? config::did_you_mean(config::nearest(c.words[0], names)) : "; " + where);
    text += names.empty() ? "; this program has none, LEAT_PROCESS registers one"
                          : "\n`" + program + " list` shows those that there are";
    complain(text + "\n");
    return bad_usage;
  }
  print(c.json ? describe_json(*s) : describe_text(*s, program_catalog()));
  return all_is_well;
}

int list_classes(const command& c) {
  const std::vector<const class_schema*> all = program_catalog().classes();
  if (c.json) {
    std::string text = "[";
    for (const class_schema* s : all) text += (text.size() > 1 ? ",\n " : "") + describe_json(*s, false);
    print(text + "]\n");
    return all_is_well;
  }
  std::size_t width = 0;
  for (const class_schema* s : all) width = std::max(width, s->name.size());
  for (const class_schema* s : all) {
    std::string name = s->name;
    if (!c.names) {
      name.resize(width + 2, ' ');
      name += s->help;
    }
    print(name + "\n");
  }
  if (all.empty() && !c.names) complain("this program has no process classes; LEAT_PROCESS registers one\n");
  return all_is_well;
}

int new_project(const command& c, const std::string& program) {
  const std::string& name = c.words[0];
  if (const std::string error = project_name_error(name); !error.empty()) {
    complain(program + ": " + error + "\n");
    return bad_usage;
  }
  const std::vector<project_file> files = project_files(name, LEAT_VERSION);
  make_project({}, name, files);
  std::string text = "made the folder " + name + ":\n";
  for (const project_file& f : files) text += "  " + name + '/' + f.path + '\n';
  print(text + "\nnext:\n" + next_steps(name, unusual_prefix()));
  return all_is_well;
}

int print_help(const command& c, const std::string& program) {
  if (c.words.empty()) {
    print(usage(program));
    return all_is_well;
  }
  const parsed_words p = parse_command_line({c.words[0], "--help"});
  if (!p.error.empty()) {
    complain(program + ": " + p.error + "\n");
    return bad_usage;
  }
  print(usage(program, p.command.verb));
  return all_is_well;
}

int print_completion(const command& c, const std::string& program) {
  const std::string script = completion(c.words[0], program);
  if (script.empty()) {
    complain(program + ": no completion for '" + c.words[0] + "'; there is one for bash and one for zsh\n");
    return bad_usage;
  }
  print(script);
  return all_is_well;
}

}  // namespace leat::services
