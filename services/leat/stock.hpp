// SPDX-License-Identifier: BSL-1.0
//
// The ready-made process classes, for programs of their own:
//
//   int main(int argc, char** argv) {
//     leat::stock::use();
//     return leat::main(argc, argv);
//   }
#pragma once

namespace leat::stock {

// Has them all linked into the program; the call itself does nothing. (What nobody refers to, a linker leaves
// out of a static library.)
void use() noexcept;

}  // namespace leat::stock
