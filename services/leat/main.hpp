// SPDX-License-Identifier: BSL-1.0
//
// The entry of a program that runs services:
//
//   #include <leat/main.hpp>
//   int main(int argc, char** argv) { return leat::main(argc, argv); }
//
// It gives the verbs of the `leat` program (run, check, graph, list, describe, ...) over the process classes
// that are linked in.
#pragma once

#if __cplusplus < 202002L
#error "Leat needs C++20: compile with -std=c++20, or in CMake link leat::leat, which says so itself"
#endif

namespace leat {

// Exit statuses: 0 all is well; 1 something failed at run time, or a channel that blocks lost values; 2 bad
// usage; 70 the host itself hung (host_hang); 78 bad configuration.
int main(int argc, char** argv);

}  // namespace leat
