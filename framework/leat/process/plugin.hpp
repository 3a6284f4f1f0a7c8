// SPDX-License-Identifier: BSL-1.0
//
// What a plug-in says of itself: a shared object whose process classes and messages join those of the program
// that loads it (`plugins = ["libclimate.so"]` in TOML). Once in one of its files, at namespace scope:
//
//   LEAT_PLUGIN("climate");
//
// The description is plain bytes without pointers, so that a program can read it from the file before any
// code of the plug-in runs, and before the loader looks for symbols that another version may not have.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <leat/base/version.hpp>

namespace leat {

// Of the description itself.
inline constexpr std::uint32_t plugin_format = 1;

struct plugin_description {
  // The program finds the description by these bytes, wherever in the file it lies.
  static constexpr std::size_t mark_size = 16;
  char mark[mark_size] = {};
  std::uint32_t format = plugin_format;
  std::uint32_t size = 0;  // of this structure
  char name[64] = {};      // all texts end with a zero
  char version[32] = {};   // Leat's, of the headers that it was compiled with
  char abi[128] = {};      // plugin_abi
};

// What program and plug-in must have in common besides Leat's version: objects of the standard library go
// from one to the other, and sanitizers have to see both.
#if defined(_LIBCPP_VERSION)
#define LEAT_ABI_LIBRARY "libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define LEAT_ABI_LIBRARY "libstdc++"
#elif defined(__GLIBCXX__)
#define LEAT_ABI_LIBRARY "libstdc++ with the ABI before C++11"
#else
#define LEAT_ABI_LIBRARY "another standard library"
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LEAT_ABI_SANITIZER ", AddressSanitizer"
#elif defined(__SANITIZE_THREAD__)
#define LEAT_ABI_SANITIZER ", ThreadSanitizer"
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAT_ABI_SANITIZER ", AddressSanitizer"
#elif __has_feature(thread_sanitizer)
#define LEAT_ABI_SANITIZER ", ThreadSanitizer"
#endif
#endif
#ifndef LEAT_ABI_SANITIZER
#define LEAT_ABI_SANITIZER ""
#endif
#define LEAT_PLUGIN_ABI LEAT_ABI_LIBRARY LEAT_ABI_SANITIZER

namespace plugins {

// Backwards, so that the bytes themselves stand in descriptions alone and not in whoever looks for them.
inline constexpr std::string_view mark_backwards = "\2n-gulp-taeL-si\1";
static_assert(mark_backwards.size() == plugin_description::mark_size);

template <std::size_t N>
constexpr void put(char (&to)[N], std::string_view text) {
  for (std::size_t i = 0; i < std::min(text.size(), N - 1); ++i) to[i] = text[i];
}

constexpr plugin_description describe(std::string_view name, std::string_view version, std::string_view abi) {
  plugin_description d;
  for (std::size_t i = 0; i < plugin_description::mark_size; ++i)
    d.mark[i] = mark_backwards[plugin_description::mark_size - 1 - i];
  d.size = sizeof d;
  put(d.name, name);
  put(d.version, version);
  put(d.abi, abi);
  return d;
}

}  // namespace plugins
}  // namespace leat

// The runtime that this code uses: one object per copy of Leat. Never read, only compared.
extern "C" const char leat_runtime_copy;

#define LEAT_PLUGIN(text)                                                                     \
  extern "C" {                                                                                \
  extern const ::leat::plugin_description leat_plugin __attribute__((visibility("default"))); \
  extern const char* const leat_plugin_runtime __attribute__((visibility("default")));        \
  [[gnu::used]] constexpr ::leat::plugin_description leat_plugin =                            \
      ::leat::plugins::describe(text, LEAT_VERSION, LEAT_PLUGIN_ABI);                         \
  [[gnu::used]] const char* const leat_plugin_runtime = &leat_runtime_copy;                   \
  }                                                                                           \
  static_assert(::std::string_view(text).size() < sizeof(::leat::plugin_description::name))
