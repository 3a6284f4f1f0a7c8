// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdlib>
#include <string_view>

#include <doctest/doctest.h>

namespace leat::test {

// TEST_CASE("two Ps do more than one" * leat::test::soak): a case that measures, sweeps or takes long. A loaded or slow
// machine can make it fail, so `./dev test` leaves it out. `./dev soak` runs it: the test's CMake entry says
// SOAK_CASES.
inline const doctest::test_suite soak{"soak"};

// `./dev soak` runs this, or the program that started this one.
inline bool soaking() {
  const char* const value = std::getenv("LEAT_SOAK");
  return value && std::string_view(value) == "1";
}

}  // namespace leat::test
