// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/services/arena_share.hpp>

using leat::services::arenas_within;

namespace {

constexpr std::uint64_t megabyte = 1 << 20;

}  // namespace

TEST_CASE("a small address space has one arena, and a larger one as many as take a sixteenth of it") {
  CHECK(arenas_within(40 * megabyte, 2) == 1);
  CHECK(arenas_within(220 * megabyte, 2) == 1);
  CHECK(arenas_within(2047 * megabyte, 2) == 1);
  CHECK(arenas_within(2048 * megabyte, 2) == 2);
  CHECK(arenas_within(8192 * megabyte, 2) == 8);
}

TEST_CASE("where malloc would make no more, nothing is said") {
  CHECK(arenas_within(8192 * megabyte, 1) == std::nullopt);
  CHECK(arenas_within(16 * 1024 * megabyte, 2) == std::nullopt);
  CHECK(arenas_within(16 * 1024 * megabyte, 4) == 16);
  CHECK(arenas_within(8192 * megabyte, 0) == std::nullopt);  // how many cores is not known
}
