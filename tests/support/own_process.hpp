// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <doctest/doctest.h>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/child.hpp"
#include "support/watchdog.hpp"

namespace leat::test {

// For a case that exhausts something of its process:
//
//   TEST_CASE("without descriptors …") {
//     if (!in_own_process()) return;
//
// True: this is a process that runs nothing else. False: the case has run in one, and what became of it is checked.
[[nodiscard]] inline bool in_own_process() {
  constexpr auto flag = "LEAT_OWN_PROCESS";
  if (const char* const there = std::getenv(flag); there && *there == '1') return true;
  const child_result r = run_program(
      "/proc/self/exe", {},
      {.limit = std::chrono::minutes(5),
       .environment = {std::string(flag) + "=1", std::string("LEAT_TEST_CASE=") + current_test().name}});
  INFO(r.output);
  CHECK(r.exited(0));
  // Figures, if it has measured any (figure.hpp).
  for (std::size_t at = r.output.find("figure: "); at != std::string::npos;
       at = r.output.find("figure: ", at)) {
    const std::size_t end = r.output.find('\n', at);
    std::printf("\n%s\n", r.output.substr(at, end - at).c_str());
    at = end;
  }
  return false;
}

}  // namespace leat::test
