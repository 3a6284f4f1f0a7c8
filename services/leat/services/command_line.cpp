// SPDX-License-Identifier: BSL-1.0
#include <leat/services/command_line.hpp>

#include <algorithm>
#include <array>
#include <optional>

#include <leat/config/suggest.hpp>

namespace leat::services {
namespace {

struct verb_info {
  verb which;
  std::string_view name;
  std::string_view words;  // what may follow
  std::string_view help;
  std::string_view options;  // separated by blanks
  std::size_t least, most;   // words
};

constexpr std::size_t any = 10'000;
constexpr std::array<verb_info, 10> verbs{{
    {verb::run, "run", "FILE...", "check the files, then run the services until they end or a signal comes",
     "--quiet", 1, any},
    {verb::check, "check", "FILE...", "find everything that is wrong with the files; touches nothing else",
     "--json --quiet", 1, any},
    {verb::graph, "graph", "FILE...", "show processes, channels and how each channel works",
     "--text --dot --mermaid --svg", 1, any},
    {verb::list, "list", "", "the process classes of this program", "--json --names --plugin", 0, 0},
    {verb::describe, "describe", "CLASS", "ports, settings, defaults, ranges and errors of a class",
     "--json --plugin", 1, 1},
    {verb::make_new, "new", "NAME",
     "make a project of one process, with test and systemd unit, in a new folder", "", 1, 1},
    {verb::schema, "schema", "", "a JSON Schema of the files, for editors", "--plugin", 0, 0},
    {verb::completion, "completion", "bash|zsh", "a script that completes this command line", "", 1, 1},
    {verb::version, "version", "", "the version", "", 0, 0},
    {verb::help, "help", "[VERB]", "this text, or that of a verb", "", 0, 1},
}};

struct option_info {
  std::string_view name, help;
  std::string_view value = {};  // what follows it
};
constexpr std::array<option_info, 9> options{{
    {"--names", "their names alone"},
    {"--json", "as JSON, for programs"},
    {"--quiet", "no status line and no summary"},
    {"--text", "a picture in text (the default)"},
    {"--dot", "for graphviz"},
    {"--mermaid", "for Markdown that draws Mermaid"},
    {"--svg", "an SVG drawn by graphviz, which must be installed"},
    {"--plugin", "a shared object whose classes are added; may be given several times", "FILE"},
    {"--help", "this text"},
}};

const verb_info* find(std::string_view name) {
  for (const verb_info& v : verbs)
    if (v.name == name) return &v;
  return nullptr;
}

bool takes(const verb_info& v, std::string_view option) {
  return (' ' + std::string(v.options) + ' ').find(' ' + std::string(option) + ' ') != std::string::npos;
}

template <class List>
std::string suggestion(const List& among, std::string_view wrong) {
  std::vector<std::string_view> names;
  names.reserve(among.size());
  for (const auto& x : among) names.push_back(x.name);
  return config::did_you_mean(config::nearest(wrong, names));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string s(text);
  s.resize(std::max(s.size() + 1, width), ' ');
  return s;
}

}  // namespace

parsed_words parse_command_line(const std::vector<std::string>& words) {
  parsed_words p;
  if (words.empty()) {
    p.error = "what shall it do?";
    return p;
  }
  if (words[0] == "--help" || words[0] == "-h") {
    return p;
  }
  if (words[0] == "--version") {
    p.command.verb = verb::version;
    return p;
  }
  const verb_info* const v = find(words[0]);
  if (!v) {
    p.error = "there is no verb '" + words[0] + "'" + suggestion(verbs, words[0]);
    return p;
  }
  p.verb = words[0] + ' ';
  command& c = p.command;
  c.verb = v->which;
  bool only_words = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string w = words[i];
    std::optional<std::string> value;
    if (const std::size_t equals = w.find('=');
        !only_words && w.starts_with("--") && equals != std::string::npos) {
      value = w.substr(equals + 1);
      w.resize(equals);
    }
    if (only_words || w.empty() || w[0] != '-' || w == "-") {
      c.words.push_back(w);
    } else if (w == "--") {
      only_words = true;
    } else if (w == "--help" || w == "-h") {
      c.wants_help = true;
      return p;
    } else if (!takes(*v, w)) {
      const bool known =
          std::any_of(options.begin(), options.end(), [&](const option_info& o) { return o.name == w; });
      p.error =
          "'" + std::string(v->name) + "' has no option '" + w + "'" + (known ? "" : suggestion(options, w));
      return p;
    } else if (w == "--plugin") {
      if (!value && i + 1 < words.size()) value = words[++i];
      if (!value || value->empty()) {
        p.error = "'" + w + "' needs a file";
        return p;
      }
      c.plugins.push_back(*value);
    } else if (value) {
      p.error = "'" + w + "' takes no value, but there is '" + *value + "'";
      return p;
    } else if (w == "--json") {
      c.json = true;
    } else if (w == "--names") {
      c.names = true;
    } else if (w == "--quiet") {
      c.quiet = true;
    } else {
      c.picture = w.substr(2);
    }
  }
  if (c.words.size() < v->least) p.error = "'" + std::string(v->name) + "' needs " + std::string(v->words);
  if (c.words.size() > v->most)
    p.error = "'" + std::string(v->name) + "' takes " +
              (v->most == 0 ? "no further word" : std::string(v->words)) + ", but there is '" +
              c.words[v->most] + "'";
  return p;
}

std::string usage(std::string_view program) {
  std::string text = "usage: " + std::string(program) + " VERB [options] [words]\n\n";
  for (const verb_info& v : verbs)
    text += "  " + padded(std::string(v.name) + ' ' + std::string(v.words), 22) + std::string(v.help) + '\n';
  text += "\n`" + std::string(program) +
          " VERB --help` says more. FILE is a TOML file, or a folder of them; several are merged.\n"
          "Exit status: 0 all is well, 1 something failed at run time or values were lost, 2 bad usage,\n"
          "78 bad configuration. Times in the log are UTC.\n";
  return text;
}

std::string usage(std::string_view program, verb which) {
  const auto v =
      std::find_if(verbs.begin(), verbs.end(), [&](const verb_info& x) { return x.which == which; });
  std::string text = "usage: " + std::string(program) + ' ' + std::string(v->name) +
                     (v->options.empty() ? "" : " [options]") + (v->words.empty() ? "" : " ") +
                     std::string(v->words) + "\n\n" + std::string(v->help) + "\n";
  if (!v->options.empty()) text += '\n';
  for (const option_info& o : options)
    if (takes(*v, o.name))
      text += "  " + padded(std::string(o.name) + (o.value.empty() ? "" : ' ' + std::string(o.value)), 16) +
              std::string(o.help) + '\n';
  return text;
}

std::string completion(std::string_view shell, std::string_view program) {
  if (shell != "bash" && shell != "zsh") return {};
  const std::string name(program);
  std::string all, cases;
  for (const verb_info& v : verbs) {
    all += std::string(v.name) + ' ';
    cases += "    " + std::string(v.name) + ")\n      compgen -W '" + std::string(v.options) +
             " --help' -- \"$1\"\n";
    if (v.words.starts_with("FILE"))
      cases += "      compgen -f -X '!*.toml' -- \"$1\"\n      compgen -d -- \"$1\"\n";
    if (takes(v, "--plugin")) cases += "      compgen -f -X '!*.so' -- \"$1\"\n";
    if (v.which == verb::describe)
      cases += "      compgen -W \"$(\"${COMP_WORDS[0]}\" list --names 2>/dev/null)\" -- \"$1\"\n";
    if (v.which == verb::completion) cases += "      compgen -W 'bash zsh' -- \"$1\"\n";
    if (v.which == verb::help)
      cases += "      [ \"$COMP_CWORD\" -eq 2 ] && compgen -W \"$verbs\" -- \"$1\"\n";
    cases += "      ;;\n";
  }
  // What both shells read: neither mapfile, which zsh lacks, nor its parameter flags.
  std::string functions =
      "_" + name + "_candidates() {\n  local verbs='" + all +
      "'\n  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    compgen -W \"$verbs --help --version\" -- \"$1\"\n"
      "    return\n  fi\n  case ${COMP_WORDS[1]} in\n" +
      cases + "  esac\n}\n_" + name +
      "_words() {\n  local candidate\n  COMPREPLY=()\n  while IFS= read -r candidate; do\n"
      "    COMPREPLY+=(\"$candidate\")\n  done < <(_" +
      name + "_candidates \"${COMP_WORDS[COMP_CWORD]}\")\n}\ncomplete -o filenames -F _" + name + "_words " +
      name + "\n";
  if (shell == "bash") return functions;
  // From a folder of $fpath it is read when it is first needed, and has to complete at once.
  return "#compdef " + name + "\nautoload -U +X bashcompinit && bashcompinit\n" + functions +
         "if [ \"${funcstack[1]}\" = _" + name + " ]; then _bash_complete -o filenames -F _" + name +
         "_words; fi\n";
}

}  // namespace leat::services
