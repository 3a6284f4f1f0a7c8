// SPDX-License-Identifier: BSL-1.0
//
// The fuzzers without libFuzzer: what they begin with, cut short, and changed at some bytes. What is wrong
// ends the program; what each had before it is in its message.
#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <random>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

// In memory of its own, so that AddressSanitizer sees a step over its end.
void give(const target& t, std::string_view input) {
  const auto copy = std::make_unique<char[]>(input.size());
  std::copy(input.begin(), input.end(), copy.get());
  t.run({copy.get(), input.size()});
}

}  // namespace

TEST_CASE("each fuzzer has inputs to begin with") {
  CHECK(targets().size() == 21);
  for (const target& t : targets()) {
    CAPTURE(std::string(t.name));
    CHECK(t.seeds().size() > 5);
  }
}

TEST_CASE("what once broke a reader breaks it no more") {
  std::size_t given = 0;
  for (const target& t : targets()) {
    CAPTURE(std::string(t.name));
    for (const std::string& input : finds_of(t.name)) {
      give(t, input);
      ++given;
    }
  }
  // Each is one of a fuzzer that there is.
  CHECK(given > 0);
  CHECK(given == files_in(finds_folder).size());
}

TEST_CASE(
    "what a reader accepts it reads back, for all inputs that fuzzers begin with and some of their kind") {
  std::mt19937 random(1);
  for (const target& t : targets()) {
    MESSAGE(std::string(t.name));
    const inputs all = inputs_of(t);
    for (const std::string& input : all) give(t, input);
    for (int i = 0; i < 3000; ++i) {
      std::string input = all[random() % all.size()];
      if (random() % 4 == 0) input.resize(random() % (input.size() + 1));
      for (unsigned k = random() % 4; k > 0 && !input.empty(); --k) {
        const std::size_t at = random() % input.size();
        switch (random() % 3) {
          case 0: input[at] = static_cast<char>(random()); break;
          case 1: input.erase(at, 1 + random() % 4); break;
          default: {
            const std::string& other = all[random() % all.size()];
            if (!other.empty()) input.insert(at, other, random() % other.size(), 1 + random() % 8);
          }
        }
      }
      give(t, input);
    }
  }
}

}  // namespace leat::fuzz
