// SPDX-License-Identifier: BSL-1.0
//
// The words after the program's name. Nothing is done here; what is wrong is said with what would be right.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace leat::services {

enum class verb { run, check, graph, list, describe, make_new, schema, completion, version, help };

struct command {
  services::verb verb = verb::help;
  std::vector<std::string> words = {};    // files, a class, a shell
  std::vector<std::string> plugins = {};  // files
  bool json = false;
  bool names = false;
  bool quiet = false;        // no summary, no status line
  std::string picture = {};  // graph: "text", "dot", "mermaid", "svg"
  bool wants_help = false;   // --help after a verb
};

struct parsed_words {
  services::command command = {};
  std::string error = {};  // not empty: bad usage
  std::string verb = {};   // and a blank: the verb, if there is such a one
};
parsed_words parse_command_line(const std::vector<std::string>& words);

// Of the whole program, or of one verb. `program` is the name it was called by.
std::string usage(std::string_view program);
std::string usage(std::string_view program, verb v);

// A script that completes verbs, options, files and classes. Empty: no such shell.
std::string completion(std::string_view shell, std::string_view program);

}  // namespace leat::services
