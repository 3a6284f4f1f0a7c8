// SPDX-License-Identifier: BSL-1.0
//
// Where this checkout and this build are. One small file knows it (paths.cpp), and not the command line of each
// test that asks: two checkouts can then share what a compiler cache holds of all others.
#pragma once
#include <string>

namespace leat::test {

extern const char* const source_folder;
extern const char* const build_folder;

inline std::string in_source(const std::string& path) { return std::string(source_folder) + '/' + path; }
inline std::string in_build(const std::string& path) { return std::string(build_folder) + '/' + path; }
inline std::string program_path(const std::string& name) { return in_build("bin/" + name); }

}  // namespace leat::test
