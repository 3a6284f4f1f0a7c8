// SPDX-License-Identifier: BSL-1.0
#include <leat/services/verb_output.hpp>

#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace leat::services {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void complain(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

// Where there is no memory, a text is not put together.
int out_of_memory() {
  complain(
      "leat: out of memory (std::bad_alloc): raise `ulimit -v`, MemoryMax= or LimitAS= of its unit, or its "
      "cgroup's limit\n");
  return failed;
}

bool colour_on(int fd) {
  const char* const no = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return ::isatty(fd) == 1 && (!no || !*no) && (!term || std::strcmp(term, "dumb") != 0);
}

}  // namespace leat::services
