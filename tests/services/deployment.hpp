// SPDX-License-Identifier: BSL-1.0
//
// A deployment of the `leat` program, or of another, that runs, alone in a folder for sockets of its own, and
// the verbs for it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "control/client.hpp"
#include "services/program.hpp"
#include "support/free_port.hpp"
#include "support/paths.hpp"

namespace leat::services::test {

struct said {
  int status;
  std::string text;
  bool has(const std::string& part) const { return text.find(part) != std::string::npos; }
};

struct deployment {
  // Named `plant`, with a door for TCP if `toml` has a place for it: $DOOR.
  explicit deployment(std::string toml, std::vector<std::string> options = {},
                      std::vector<std::string> more_environment = {}, const std::string& of = "leat")
      : door("127.0.0.1:" + std::to_string(leat::test::free_port())),
        file(folder.file("plant.toml", "leat = 1\n" + with_door(std::move(toml), door))),
        environment{"LEAT_SOCKETS=" + folder.path(), "LEAT_TOKEN="},
        service(command(of, file, std::move(options)), joined(environment, std::move(more_environment))) {}

  std::string socket() const { return folder.path() + "/plant.sock"; }
  // A verb, at its end.
  said order(std::vector<std::string> words) const {
    program p = verb(std::move(words));
    const int status = p.end();
    return {status, p.said};
  }
  // A verb that is talked to.
  program verb(std::vector<std::string> words) const {
    words.insert(words.begin(), leat::test::program_path("leat"));
    return program(std::move(words), environment);
  }
  // Until somebody listens at its socket.
  bool is_up() const {
    const time_point until = leat::now() + patience;
    while (!leat::control::test::client(socket()).connected()) {
      if (leat::now() > until) return false;
      ::usleep(10'000);
    }
    return true;
  }

  scratch_folder folder;
  std::string door, file;
  std::vector<std::string> environment;
  program service;

 private:
  static std::string with_door(std::string toml, const std::string& door) {
    if (const std::size_t at = toml.find("$DOOR"); at != std::string::npos) toml.replace(at, 5, door);
    return toml;
  }
  static std::vector<std::string> command(const std::string& of, const std::string& file,
                                          std::vector<std::string> options) {
    options.insert(options.begin(), {leat::test::program_path(of), "run"});
    options.push_back(file);
    return options;
  }
  static std::vector<std::string> joined(std::vector<std::string> a, std::vector<std::string> b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
};

}  // namespace leat::services::test
