// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

namespace leat::test {

// stderr is a pipe that is full, and that nobody reads from for now.
struct full_stderr {
  int ends[2] = {-1, -1};
  full_stderr() {
    if (::pipe(ends) != 0) ::_exit(2);
    char fill[4096];
    std::fill(std::begin(fill), std::end(fill), '.');
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (::write(ends[1], fill, sizeof fill) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    ::dup2(ends[1], 2);
  }
  std::string take() const {
    std::string all;
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    char part[4096];
    for (ssize_t n; (n = ::read(ends[0], part, sizeof part)) > 0;)
      all.append(part, static_cast<std::size_t>(n));
    return all;
  }
};

}  // namespace leat::test
