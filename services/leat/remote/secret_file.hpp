// SPDX-License-Identifier: BSL-1.0
//
// A file whose first line is a secret, for those who have it and those who ask for it: both read it alike. Nothing that
// is opened keeps its reader waiting, as a pipe would.
#pragma once
#include <string>

namespace leat::remote {

struct secret_line {
  std::string text = {};  // without the end of the line
  std::string why = {};   // it could not be read, and what to do: "others may read it: chmod 600"
  unsigned owner = 0;     // the file's user
};

// Up to 511 bytes, of a file that nobody but its owner and root can read.
secret_line read_secret_line(const std::string& file);

}  // namespace leat::remote
