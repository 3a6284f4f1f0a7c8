// SPDX-License-Identifier: BSL-1.0
//
// The ready-made process classes, for programs of their own:
//
//   int main(int argc, char** argv) {
//     leat::stock::use();
//     return leat::main(argc, argv);
//   }
#pragma once

#if __cplusplus < 202002L
#error "Leat needs C++20: compile with -std=c++20, or in CMake link leat::leat, which says so itself"
#endif

namespace leat::stock {

// Has them all linked into the program; the call itself does nothing. (What nobody refers to, a linker leaves
// out of a static library.)
void use() noexcept;

}  // namespace leat::stock
