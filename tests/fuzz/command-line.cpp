// SPDX-License-Identifier: BSL-1.0
//
// Any words, one a line: each is understood or refused with a reason, and what was understood can be said
// again.
#include <leat/base/units.hpp>
#include <leat/services/command_line.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using namespace leat::services;

inputs words_of(std::string_view input) {
  inputs words;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    words.emplace_back(input.substr(0, end));
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return words;
}

// The same command in its plainest words.
inputs said_again(const command& c, const std::string& verb) {
  inputs words{verb};
  if (c.json) words.emplace_back("--json");
  if (c.names) words.emplace_back("--names");
  if (c.quiet) words.emplace_back("--quiet");
  if (!c.picture.empty()) words.push_back("--" + c.picture);
  for (const std::string& file : c.plugins) words.push_back("--plugin=" + file);
  if (!c.deployment.empty()) words.insert(words.end(), {"-d", c.deployment});
  if (c.processes) words.emplace_back("--processes");
  if (c.channels) words.emplace_back("--channels");
  if (c.now) words.emplace_back("--now");
  if (c.restart) words.emplace_back("--restart");
  if (c.count > 0) words.push_back("--count=" + std::to_string(c.count));
  if (c.rate > 0) {
    char text[400];
    words.push_back(
        "--rate=" +
        std::string(text, std::to_chars(text, std::end(text), c.rate, std::chars_format::fixed).ptr));
  }
  if (!c.out.empty()) words.push_back("--out=" + c.out);
  for (const std::string& text : c.set) words.push_back("--set=" + text);
  if (c.expanded) words.emplace_back("--expanded");
  if (!c.into.empty()) words.push_back("--into=" + c.into);
  if (c.verbose) words.emplace_back("-v");
  if (c.interval != command().interval) words.push_back("--interval=" + format_duration(c.interval));
  words.emplace_back("--");
  words.insert(words.end(), c.words.begin(), c.words.end());
  return words;
}

void run(std::string_view input) {
  const inputs words = words_of(input);
  const parsed_words p = parse_command_line(words);
  const command& c = p.command;
  require(!usage("leat").empty() && !usage("leat", c.verb).empty(), "there is help");
  if (!p.error.empty()) {
    require(p.verb.empty() || p.verb.back() == ' ', "a verb is told with a blank");
    return;
  }
  require(!words.empty(), "no words are no command");
  if (p.verb.empty()) return;  // --help and --version by themselves
  if (c.wants_help) return;
  require(!c.names || c.verb == verb::list || c.verb == verb::ps, "an option is one of its verb");
  require(c.picture.empty() || c.verb == verb::graph, "an option is one of its verb");
  require(c.plugins.empty() || c.verb == verb::list || c.verb == verb::describe || c.verb == verb::schema,
          "an option is one of its verb");
  const parsed_words again = parse_command_line(said_again(c, p.verb.substr(0, p.verb.size() - 1)));
  const command& d = again.command;
  require(again.error.empty() && d.verb == c.verb && d.words == c.words && d.plugins == c.plugins &&
              d.json == c.json && d.names == c.names && d.quiet == c.quiet && d.picture == c.picture &&
              d.deployment == c.deployment && d.processes == c.processes && d.channels == c.channels &&
              d.now == c.now && d.restart == c.restart && d.count == c.count && d.rate == c.rate &&
              d.out == c.out && d.set == c.set && d.expanded == c.expanded && d.into == c.into &&
              d.verbose == c.verbose && d.interval == c.interval && !d.wants_help,
          "a command that is said again is the same");
}

inputs seeds() {
  return {"run\na.toml\nb.toml",
          "run\n--quiet\n--\n-x",
          "check\n--json\na.toml",
          "check\n--set\na.process.b.c=1\n--set=runtime.procs=1\n-v\na.toml",
          "check\n--expanded\n--into\nfolder\na.toml",
          "check\n--into\nfolder\na.toml",
          "graph\n--mermaid\n-",
          "graph\n--svg\n--dot\nx",
          "list\n--names\n--plugin\na.so\n--plugin=b.so",
          "describe\nclass\n--json",
          "ps\n--names\n-d\nclimate",
          "ps\n--processes\n--channels\n--json",
          "top\n--interval\n1.5s",
          "tap\na@b\nc\n--count\n12\n--rate=0.5\n--out\nfile",
          "inject\nc\n-5",
          "set\np\na=1\n--restart",
          "stop\n--now\n-d\n/x.sock",
          "log\ndebug\n-d",
          "new\nname",
          "schema\n--plugin=",
          "completion\nbash",
          "version",
          "help\nrun",
          "--help",
          "--version",
          "-h",
          "runn\nx",
          "run\n--jsn",
          "run\n--json=1\nx",
          "list\nmore",
          "run\n--help",
          ""};
}

LEAT_FUZZ_TARGET("command-line", run, seeds);

}  // namespace
}  // namespace leat::fuzz
