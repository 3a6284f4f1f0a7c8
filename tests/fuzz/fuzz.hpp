// SPDX-License-Identifier: BSL-1.0
//
// What a fuzzer here is made of: a function that takes any bytes and ends the program if something does not
// hold, and the inputs to begin with.
//
//   LEAT_FUZZ_TARGET("json", run, seeds)
//
// fuzz-json --seeds FOLDER writes the latter there, one file each; any other words are libFuzzer's. An input that once
// broke it is a file of finds/json, and one of those it begins with from then on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/paths.hpp"

namespace leat::fuzz {

using inputs = std::vector<std::string>;

struct target {
  std::string_view name;
  void (*run)(std::string_view);
  inputs (*seeds)();
};

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: it does not hold that %s\n", what);
  std::abort();
}

// The first byte of an input chooses, the rest is what is read. '0' is the first choice, so that seeds are
// readable.
inline unsigned choice(std::string_view& input, unsigned of) {
  if (input.empty()) return 0;
  const auto byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return static_cast<unsigned>(byte - unsigned{'0'}) % of;
}
inline std::string chosen(unsigned which, std::string_view rest) {
  return static_cast<char>('0' + which) + std::string(rest);
}

inline inputs files_in(const std::string& folder) {
  inputs all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return all;
}

inline const std::string finds_folder = leat::test::in_source("tests/fuzz/finds");

inline inputs finds_of(std::string_view name) {
  const std::string folder = finds_folder + '/' + std::string(name);
  return std::filesystem::exists(folder) ? files_in(folder) : inputs();
}
inline inputs inputs_of(const target& t) {
  inputs all = t.seeds();
  for (std::string& input : finds_of(t.name)) all.push_back(std::move(input));
  return all;
}

#ifdef LEAT_FUZZER
inline int write_seeds(const target& t, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::size_t n = 0;
  for (const std::string& input : inputs_of(t)) {
    std::ofstream out(folder / ("seed-" + std::to_string(n++)), std::ios::binary);
    if (!out.write(input.data(), static_cast<std::streamsize>(input.size()))) return 1;
  }
  return n == 0 ? 1 : 0;
}
#define LEAT_FUZZ_TARGET(name, run, seeds)                                            \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    run({reinterpret_cast<const char*>(data), size});                                 \
    return 0;                                                                         \
  }                                                                                   \
  extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {                      \
    if (*argc == 3 && std::string_view((*argv)[1]) == "--seeds")                      \
      std::exit(::leat::fuzz::write_seeds({name, run, seeds}, (*argv)[2]));           \
    return 0;                                                                         \
  }                                                                                   \
  static_assert(true)
#else
// All of the program.
inline std::vector<target>& targets() {
  static std::vector<target> all;
  return all;
}
#define LEAT_FUZZ_TARGET(name, run, seeds)                           \
  [[maybe_unused]] const bool leat_fuzz_target_registered =          \
      (::leat::fuzz::targets().push_back({name, run, seeds}), true); \
  static_assert(true)
#endif

}  // namespace leat::fuzz
