// SPDX-License-Identifier: BSL-1.0
//
// The words after the program's name. Nothing is done here; what is wrong is said with what would be right.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat::services {

enum class verb {
  run,
  simulate,
  check,
  graph,
  list,
  describe,
  make_new,
  schema,
  doctor,
  // Of a deployment that runs.
  ps,
  top,
  tap,
  inject,
  set,
  restart,
  log,
  dump,
  stop,
  metrics,
  completion,
  version,
  help
};

struct command {
  services::verb verb = verb::help;
  std::vector<std::string> words = {};    // files, a class, a shell
  std::vector<std::string> plugins = {};  // files
  bool json = false;
  bool names = false;
  bool quiet = false;                              // no summary, no status line
  std::string picture = {};                        // graph: "text", "dot", "mermaid", "svg"
  bool wants_help = false;                         // --help after a verb
  std::string deployment = {};                     // -d: a name, a socket or HOST:PORT; empty: the only one
  std::string token_file = {};                     // of a TCP door
  bool processes = false, channels = false;        // ps: their names
  bool now = false;                                // stop
  bool restart = false;                            // set
  std::uint64_t count = 0;                         // tap; 0: no end
  double rate = 0;                                 // tap, a second; 0: as the deployment does
  std::string out = {};                            // tap: a file
  std::string where = {};                          // tap: an expression
  std::vector<std::string> set = {};               // PATH=VALUE
  bool expanded = false;                           // check
  std::string into = {};                           // check --expanded: a folder
  bool verbose = false;                            // check
  nanoseconds interval = std::chrono::seconds(1);  // top
  nanoseconds time = std::chrono::hours(1);        // simulate
  std::uint64_t seed = 1, last_seed = 1;           // the same
  std::string until = {};                          // the same: an expression
  std::string faults = {};                         // the same: a file
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
