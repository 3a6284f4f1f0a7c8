// SPDX-License-Identifier: BSL-1.0
//
// `leat new NAME`: a folder with a project of one process. Its files are those of services/leat/project, made
// part of the program.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace leat::services {

struct embedded_file {
  std::string_view name;  // in its folder
  std::string_view text;
};
const std::vector<embedded_file>& embedded_files();

// "": it can be the name of a project, its program and its systemd unit. Else why not.
std::string project_name_error(std::string_view name);

struct project_file {
  std::string path;  // in the project's folder
  std::string text;
};
// `name` has no error; `version` is Leat's, "0.1.0".
std::vector<project_file> project_files(std::string_view name, std::string_view version);

// Makes the folder `parent`/`name`, which must not be there yet, with all files. Else nothing is left behind,
// and std::runtime_error says why.
void make_project(const std::string& parent, std::string_view name, const std::vector<project_file>& files);

// What to type next. `prefix` is where Leat is installed, empty if CMake looks there anyway.
std::string next_steps(std::string_view name, std::string_view prefix);
// The prefix of the running program if it lies in one with Leat's CMake package, and not in a usual place.
std::string unusual_prefix();

}  // namespace leat::services
