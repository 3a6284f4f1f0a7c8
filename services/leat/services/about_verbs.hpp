// SPDX-License-Identifier: BSL-1.0
//
// Verbs that tell of the program itself, or make a project with it; each returns its exit status.
#pragma once
#include <string>

#include <leat/services/command_line.hpp>

namespace leat::services {

int describe_class(const command& c, const std::string& program);
int list_classes(const command& c);
int new_project(const command& c, const std::string& program);
int print_help(const command& c, const std::string& program);
int print_completion(const command& c, const std::string& program);

}  // namespace leat::services
