// SPDX-License-Identifier: BSL-1.0
//
// A program that exports none of its functions, and looks for them in a dump of itself. Prints what it found
// missing; 0: nothing.
#include <fcntl.h>
#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <string>

#include <leat/sched/info.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/time.hpp>

namespace plant {

[[gnu::noinline]] void wait_for_the_tide(int) {
  (void)leat::sleep_for(std::chrono::hours(1));
  asm volatile("" ::: "memory");  // no tail call: the frame stays
}

}  // namespace plant

namespace {

[[gnu::noinline]] void wait_in_a_static_function() {
  (void)leat::sleep_for(std::chrono::hours(1));
  asm volatile("" ::: "memory");
}

std::string dumped() {
  std::FILE* const file = std::tmpfile();
  if (!file) return {};
  leat::dump_in_full(::fileno(file));
  std::rewind(file);
  std::string text;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
  (void)std::fclose(file);
  return text;
}

}  // namespace

int main() {
  std::string text;
  bool found = false;
  (void)leat::run([&] {
    auto one = leat::spawn("one", [] { plant::wait_for_the_tide(5); });
    auto other = leat::spawn("other", [] { wait_in_a_static_function(); });
    for (int i = 0; i < 45'000 && !found; ++i) {
      text = dumped();
      found = text.find("plant::wait_for_the_tide(int)+0x") != std::string::npos &&
              text.find("wait_in_a_static_function()+0x") != std::string::npos;
      (void)leat::sleep_for(std::chrono::milliseconds(1));
    }
    one.request_stop();
    other.request_stop();
  });
  if (!found) (void)std::fputs(text.c_str(), stdout);
  return found ? 0 : 1;
}
