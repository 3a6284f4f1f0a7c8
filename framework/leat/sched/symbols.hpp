// SPDX-License-Identifier: BSL-1.0
//
// Names of functions out of the symbol table of an ELF file (.symtab), which also has those that are static
// or not exported, unless it was stripped.
//
// What a file says is not trusted: each offset, size and index is checked before it is used, and what does not
// fit is no name. A file is read in pieces, never mapped: one that is cut short meanwhile ends no program.
// Nothing is kept: a look-up goes through the whole table, about a millisecond for 100,000 symbols.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace leat::sched {

// Where bytes come from: a file, or memory in tests. All of `to`, or false.
class byte_source {
 public:
  virtual bool read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept = 0;
  virtual std::uint64_t size() const noexcept = 0;

 protected:
  ~byte_source() = default;
};

struct symbol {
  char name[512] = {};       // mangled; cut if it is longer
  std::uint64_t offset = 0;  // of the address in the function
};

// The function that has this address, as the file counts addresses (without the base it was loaded at). `room`:
// for pieces of the table; the larger the fewer reads. False: none, or nothing that can be read. Allocates
// nothing.
bool find_symbol(const byte_source& file, std::uint64_t address, std::span<std::byte> room,
                 symbol& found) noexcept;

// The same of an address in this program. By the loader, for whose lock it may wait; allocates.
bool find_own_symbol(const void* pc, symbol& found) noexcept;

}  // namespace leat::sched
