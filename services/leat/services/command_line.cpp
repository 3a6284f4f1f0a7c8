// SPDX-License-Identifier: BSL-1.0
#include <leat/services/command_line.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

#include <leat/base/units.hpp>
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
constexpr std::array<verb_info, 22> verbs{{
    {verb::run, "run", "FILE...", "check the files, then run the services until they end or a signal comes",
     "--set --quiet", 1, any},
    {verb::simulate, "simulate", "FILE...",
     "run the services under virtual time and a seed, with the stand-ins that the files name",
     "--for --seed --seeds --until --faults --set --quiet", 1, any},
    {verb::check, "check", "FILE...", "find everything that is wrong with the files; touches nothing else",
     "--set --expanded --into -v --json --quiet", 1, any},
    {verb::graph, "graph", "FILE...", "show processes, channels and how each channel works",
     "--set --text --dot --mermaid --svg", 1, any},
    {verb::list, "list", "", "the process classes of this program", "--json --names --plugin", 0, 0},
    {verb::describe, "describe", "CLASS", "ports, settings, defaults, ranges and errors of a class",
     "--json --plugin", 1, 1},
    {verb::make_new, "new", "NAME",
     "make a project of one process, with test and systemd unit, in a new folder", "", 1, 1},
    {verb::schema, "schema", "", "a JSON Schema of the files, for editors", "--plugin", 0, 0},
    {verb::doctor, "doctor", "[FILE...]",
     "what this machine lacks for what the files want, and what mends it", "--set --json", 0, any},
    {verb::ps, "ps", "", "what runs here, since when, from which files, and whether it is healthy",
     "-d --token-file --json --names --processes --channels", 0, 0},
    {verb::top, "top", "", "a screen of what processes and channels do, and who holds others up",
     "-d --token-file --interval --json", 0, 0},
    {verb::tap, "tap", "CHANNEL...", "print values as they pass through channels",
     "-d --token-file --where --count --rate --out --json", 1, any},
    {verb::inject, "inject", "CHANNEL [JSON|-]",
     "send a value, or those of the standard input, into a channel", "-d --token-file --json", 1, 2},
    {verb::set, "set", "PROCESS NAME=VALUE...", "change settings of a process while it runs",
     "-d --token-file --restart --json", 2, any},
    {verb::restart, "restart", "PROCESS[/N]", "end a process and start it again", "-d --token-file --json", 1,
     1},
    {verb::log, "log", "LEVEL [PROCESS]",
     "log from this level on: debug, info, notice, warning or error; all, or one process",
     "-d --token-file --json", 1, 2},
    {verb::dump, "dump", "", "what every process does, and where it stands", "-d --token-file --json", 0, 0},
    {verb::stop, "stop", "", "let the channels drain, then end the deployment",
     "-d --token-file --now --json", 0, 0},
    {verb::metrics, "metrics", "", "counters and rates as OpenMetrics, for Prometheus",
     "-d --token-file --json", 0, 0},
    {verb::completion, "completion", "bash|zsh", "a script that completes this command line", "", 1, 1},
    {verb::version, "version", "", "the version", "", 0, 0},
    {verb::help, "help", "[VERB]", "this text, or that of a verb", "", 0, 1},
}};

struct option_info {
  std::string_view name, help;
  std::string_view value = {};  // what follows it
};
constexpr std::array<option_info, 29> options{{
    {"-d", "the deployment: its name, its socket (a path with '/') or HOST:PORT", "NAME"},
    {"--token-file", "with HOST:PORT: a file with the token of that door; else LEAT_TOKEN has it", "FILE"},
    {"--for", "so long of its own time: 24h (1h)", "TIME"},
    {"--seed", "what decides the order and all that is left to chance (1)", "N"},
    {"--seeds", "one after the other, until one fails or, with --until, the condition is true", "N..M"},
    {"--until", "end when this is true: 'restarts > 3', 'channel[\"plant/alarms\"].sent >= 1'", "EXPRESSION"},
    {"--faults", "a file of faults that are made meanwhile", "FILE"},
    {"--set", "a key, set after all files: plant.process.bus.use=sensor-sim, runtime.procs=1", "PATH=VALUE"},
    {"--expanded", "print the plain TOML that templates, variables and overrides come to"},
    {"--into", "with --expanded: write it to files in this folder instead", "FOLDER"},
    {"-v", "also say which keys replaced which"},
    {"--names", "names alone"},
    {"--processes", "the names of its processes"},
    {"--channels", "the names of its channels"},
    {"--where", "show only the values for which an expression is true: 'value > 80'", "EXPRESSION"},
    {"--count", "end after so many values", "N"},
    {"--rate", "show at most so many values a second of each channel", "R"},
    {"--out", "write the values to a file, as JSON, a line each", "FILE"},
    {"--interval", "how often it looks: 500ms, 2s (1s)", "TIME"},
    {"--restart", "restart the process if a setting cannot be changed otherwise"},
    {"--now", "do not wait for the channels to drain"},
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

bool has_value(std::string_view option) {
  return std::any_of(options.begin(), options.end(),
                     [&](const option_info& o) { return o.name == option && !o.value.empty(); });
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

bool read_number(const std::string& text, std::uint64_t& to) {
  const auto r = std::from_chars(text.data(), text.data() + text.size(), to);
  return !text.empty() && r.ec == std::errc() && r.ptr == text.data() + text.size();
}

// Takes the value of an option; what is wrong with it, or nothing.
std::string store(command& c, std::string_view option, const std::string& text) {
  const std::string said = "'" + std::string(option) + "' needs ";
  if (option == "--plugin") {
    if (text.empty()) return said + "a file";
    c.plugins.push_back(text);
  } else if (option == "--out") {
    if (text.empty()) return said + "a file";
    c.out = text;
  } else if (option == "--token-file") {
    if (text.empty()) return said + "a file";
    c.token_file = text;
  } else if (option == "--where") {
    if (text.empty()) return said + "an expression, such as 'value > 80'";
    c.where = text;
  } else if (option == "--set") {
    if (text.empty()) return said + "PATH=VALUE";
    c.set.push_back(text);
  } else if (option == "--into") {
    if (text.empty()) return said + "a folder";
    c.into = text;
  } else if (option == "--faults") {
    if (text.empty()) return said + "a file";
    c.faults = text;
  } else if (option == "--until") {
    if (text.empty()) return said + "an expression, such as 'restarts > 3'";
    c.until = text;
  } else if (option == "--for") {
    const parsed<nanoseconds> time = parse_duration(text);
    if (!time || *time.value <= nanoseconds::zero() || *time.value > std::chrono::hours(24 * 366))
      return said + "a time of up to 366 days, such as 24h, not '" + text + "'";
    c.time = *time.value;
  } else if (option == "--seed") {
    if (!read_number(text, c.seed)) return said + "a whole number, not '" + text + "'";
    c.last_seed = c.seed;
  } else if (option == "--seeds") {
    const std::size_t dots = text.find("..");
    if (dots == std::string::npos || !read_number(text.substr(0, dots), c.seed) ||
        !read_number(text.substr(dots + 2), c.last_seed) || c.last_seed < c.seed)
      return said + "the first and the last, such as 1..1000, not '" + text + "'";
  } else if (option == "-d") {
    if (text.empty()) return said + "the name of a deployment, its socket or HOST:PORT";
    c.deployment = text;
  } else if (option == "--count") {
    const auto r = std::from_chars(text.data(), text.data() + text.size(), c.count);
    if (text.empty() || r.ec != std::errc() || r.ptr != text.data() + text.size() || c.count == 0)
      return said + "a whole number above 0, not '" + text + "'";
  } else if (option == "--rate") {
    const auto r = std::from_chars(text.data(), text.data() + text.size(), c.rate, std::chars_format::fixed);
    if (text.empty() || r.ec != std::errc() || r.ptr != text.data() + text.size() ||
        !(c.rate > 0 && c.rate <= 1e6))
      return said + "a number above 0 and up to 1000000, not '" + text + "'";
  } else {
    const parsed<nanoseconds> interval = parse_duration(text);
    if (!interval || *interval.value < std::chrono::milliseconds(100) ||
        *interval.value > std::chrono::hours(1))
      return said + "a time from 100ms to 1h, such as 500ms, not '" + text + "'";
    c.interval = *interval.value;
  }
  return {};
}

bool is_option(const std::string& word) {
  const std::string_view name = std::string_view(word).substr(0, word.find('='));
  return std::any_of(options.begin(), options.end(), [&](const option_info& o) { return o.name == name; });
}

// As others have it: `leat -d plant ps` is `leat ps -d plant`.
std::vector<std::string> verb_first(const std::vector<std::string>& words) {
  std::size_t at = 0;
  while (at < words.size() && words[at] != "--help" && words[at] != "-h" && words[at] != "--version") {
    if (!is_option(words[at])) break;
    at += has_value(words[at]) ? 2 : 1;
  }
  if (at == 0 || at >= words.size()) return words;
  std::vector<std::string> all{words[at]};
  all.insert(all.end(), words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at));
  all.insert(all.end(), words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end());
  return all;
}

}  // namespace

parsed_words parse_command_line(const std::vector<std::string>& given) {
  parsed_words p;
  const std::vector<std::string> words = verb_first(given);
  if (words.empty()) {
    p.error = "a verb is missing";
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
    p.error = is_option(words[0]) ? "a verb is missing"
                                  : "there is no verb '" + words[0] + "'" + suggestion(verbs, words[0]);
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
    // A number below 0 is a word, for `inject`.
    const bool negative = w.size() > 1 && w[0] == '-' && w[1] >= '0' && w[1] <= '9';
    if (only_words || w.empty() || w[0] != '-' || w == "-" || negative) {
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
    } else if (has_value(w)) {
      if (!value && i + 1 < words.size()) value = words[++i];
      p.error = store(c, w, value.value_or(""));
      if (!p.error.empty()) return p;
    } else if (value) {
      p.error = "'" + w + "' takes no value, but there is '" + *value + "'";
      return p;
    } else if (w == "--json") {
      c.json = true;
    } else if (w == "--expanded") {
      c.expanded = true;
    } else if (w == "-v") {
      c.verbose = true;
    } else if (w == "--names") {
      c.names = true;
    } else if (w == "--quiet") {
      c.quiet = true;
    } else if (w == "--processes") {
      c.processes = true;
    } else if (w == "--channels") {
      c.channels = true;
    } else if (w == "--now") {
      c.now = true;
    } else if (w == "--restart") {
      c.restart = true;
    } else {
      c.picture = w.substr(2);
    }
  }
  if (!c.into.empty() && !c.expanded) p.error = "'--into' is for '--expanded'";
  if (c.expanded && c.json) p.error = "'--expanded' prints TOML, not JSON";
  if (c.words.size() < v->least) p.error = "'" + std::string(v->name) + "' needs " + std::string(v->words);
  if (c.words.size() > v->most)
    p.error = "'" + std::string(v->name) + "' takes " +
              (v->most == 0 ? "no further word" : std::string(v->words)) + ", but there is '" +
              c.words[v->most] + "'";
  return p;
}

std::string usage(std::string_view program) {
  std::string text = "usage: " + std::string(program) + " VERB [options] [words]\n\n";
  for (const verb_info& v : verbs) {
    if (v.which == verb::ps) text += "\nof a deployment that runs (-d NAME chooses one):\n\n";
    if (v.which == verb::completion) text += '\n';
    text += "  " + padded(std::string(v.name) + ' ' + std::string(v.words), 26) + std::string(v.help) + '\n';
  }
  text += "\n`" + std::string(program) +
          " VERB --help` says more. FILE is a TOML file, or a folder of them; several are merged.\n"
          "Exit status: 0 all is well, 1 something failed at run time or values were lost, 2 bad usage,\n"
          "3 no deployment runs here, or several and none was chosen, 70 the supervisor itself hung,\n"
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
    if (v.which == verb::tap || v.which == verb::inject)
      cases += "      compgen -W \"$(_" + name + "_running --channels)\" -- \"$1\"\n";
    if (v.which == verb::set || v.which == verb::restart || v.which == verb::log)
      cases += "      compgen -W \"$(_" + name + "_running --processes)\" -- \"$1\"\n";
    if (v.which == verb::log) cases += "      compgen -W 'debug info notice warning error' -- \"$1\"\n";
    if (takes(v, "--token-file")) cases += "      [ \"$last\" = --token-file ] && compgen -f -- \"$1\"\n";
    if (takes(v, "--faults")) cases += "      [ \"$last\" = --faults ] && compgen -f -- \"$1\"\n";
    if (takes(v, "--out")) cases += "      [ \"$last\" = --out ] && compgen -f -- \"$1\"\n";
    if (v.which == verb::completion) cases += "      compgen -W 'bash zsh' -- \"$1\"\n";
    if (v.which == verb::help)
      cases += "      [ \"$COMP_CWORD\" -eq 2 ] && compgen -W \"$verbs\" -- \"$1\"\n";
    cases += "      ;;\n";
  }
  // What both shells read: neither mapfile, which zsh lacks, nor its parameter flags.
  std::string functions =
      "_" + name +
      "_running() {\n  local i chosen=\n  for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "    [ \"${COMP_WORDS[i-1]}\" = -d ] && chosen=${COMP_WORDS[i]}\n  done\n"
      "  if [ -n \"$chosen\" ]; then \"${COMP_WORDS[0]}\" ps \"$1\" -d \"$chosen\"\n"
      "  else \"${COMP_WORDS[0]}\" ps \"$1\"; fi 2>/dev/null\n}\n_" +
      name + "_candidates() {\n  local verbs='" + all +
      "'\n  local last=${COMP_WORDS[COMP_CWORD-1]}\n  if [ \"$last\" = -d ]; then\n"
      "    compgen -W \"$(\"${COMP_WORDS[0]}\" ps --names 2>/dev/null)\" -- \"$1\"\n    return\n  fi\n  if [ "
      "\"$COMP_CWORD\" -eq 1 ]; then\n    compgen -W \"$verbs --help --version\" -- \"$1\"\n"
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
