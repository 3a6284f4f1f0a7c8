// SPDX-License-Identifier: BSL-1.0
//
// Which installed program or plug-in has a process class that this program does not have. LEAT_PROCESS leaves
// the name in a section of the file (process/registry.hpp); that section is read, and nothing of the file is
// run.
//
// Looked at, once, when first asked: the folder of this program, the folders of PATH, and those where plug-ins are
// installed.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat::services {

struct noted_class {
  std::string name;
  std::string library;  // "stock", or ""
};
// The classes that a file says it has; none if it is no ELF file of this machine, or anything about it is odd.
std::vector<noted_class> classes_in_file(const std::string& path);

class class_finder {
 public:
  class_finder();  // the folders above
  explicit class_finder(std::vector<std::string> folders) : folders_(std::move(folders)) {}

  // "it is in the program '/usr/bin/climate': run the file with that"; "": nobody has it.
  std::string hint(std::string_view class_name);

 private:
  struct file {
    std::string path;
    bool is_program = false;
    std::vector<noted_class> classes = {};
  };
  void look();

  std::vector<std::string> folders_;
  std::optional<std::vector<file>> files_;  // those with classes
};

}  // namespace leat::services
