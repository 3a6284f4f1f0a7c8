// SPDX-License-Identifier: BSL-1.0
//
// A folder that is one program's at a time: it holds a lock on a file in it, which goes with the program, however that
// ends. All throw wiring_error.
#pragma once
#include <string>

namespace leat::services {

// What a folder is for, as messages say it, and which file in it is locked.
struct folder_use {
  const char* content;   // "states"
  const char* category;  // of the log
  const char* file;
};

std::string joined_path(const std::string& folder, const std::string& file);

// The same for each way to write it. Made, if it is not there.
std::string real_folder(const std::string& folder, const folder_use& use);

// A folder in which others could put files that are read as ours.
void warn_of_others(const std::string& folder, const std::string& who, const folder_use& use);

class folder_lock {
 public:
  folder_lock(const std::string& folder, const folder_use& use);
  ~folder_lock();
  folder_lock(const folder_lock&) = delete;
  folder_lock& operator=(const folder_lock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace leat::services
