// SPDX-License-Identifier: BSL-1.0
//
// Messages that have one of everything.
#pragma once
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <leat/process/message.hpp>

namespace plant {

enum class mode { off, on, by_hand = 7 };
LEAT_ENUM(mode, off, on, by_hand);

struct place {
  std::string room;
  std::int8_t floor = 0;
};
LEAT_MESSAGE(place, room, floor);

struct reading {
  bool ok = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float single = 0;
  double twice = 0;
  std::string text;
  plant::mode how = mode::off;
  std::chrono::milliseconds took{};
  std::chrono::system_clock::time_point at{};
  std::vector<int> numbers;
  std::vector<place> places;
  std::optional<double> maybe;
  std::optional<place> where;
  std::vector<std::optional<std::vector<std::string>>> nested;
};
LEAT_MESSAGE(reading, ok, i8, u8, i16, u32, i64, u64, single, twice, text, how, took, at, numbers, places,
             maybe, where, nested);

struct tree {
  int leaf = 0;
  std::vector<tree> branches;
};
LEAT_MESSAGE(tree, leaf, branches);

struct nothing {};
LEAT_MESSAGE(nothing);

struct sample {
  double celsius = 0;
  std::int64_t at_ms = 0;
};
LEAT_MESSAGE(sample, celsius, at_ms);

inline reading full_reading() {
  reading r;
  r.ok = true;
  r.i8 = -128;
  r.u8 = 255;
  r.i16 = -32768;
  r.u32 = 4294967295u;
  r.i64 = std::numeric_limits<std::int64_t>::min();
  r.u64 = std::numeric_limits<std::uint64_t>::max();
  r.single = 0.1f;
  r.twice = 1e-300;
  r.text = "a \"quoted\" \\ line\n\t\x01 \xc3\xa4 \xf0\x9f\x8c\xa1";
  r.how = mode::by_hand;
  r.took = std::chrono::milliseconds(-1500);
  r.at = std::chrono::system_clock::time_point(std::chrono::nanoseconds(1'763'193'600'250'000'000));
  r.numbers = {1, -2, 3};
  r.places = {{"kitchen", 0}, {"attic", 3}};
  r.maybe = -0.5;
  r.where = place{"cellar", -1};
  r.nested = {std::nullopt, std::vector<std::string>{"x", ""}, std::vector<std::string>{}};
  return r;
}

}  // namespace plant
