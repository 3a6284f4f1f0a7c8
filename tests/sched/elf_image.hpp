// SPDX-License-Identifier: BSL-1.0
//
// ELF files with a symbol table, made in memory.
#pragma once
#include <elf.h>
#include <link.h>
#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <leat/sched/symbols.hpp>

namespace leat::sched::test {

class memory final : public byte_source {
 public:
  explicit memory(std::vector<std::byte> all) : all_(std::move(all)) {}
  std::uint64_t size() const noexcept override { return all_.size(); }
  bool read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept override {
    if (offset > all_.size() || to.size() > all_.size() - offset) return false;
    std::copy_n(all_.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    return true;
  }

 private:
  std::vector<std::byte> all_;
};

// A header, three sections (none, symbols, names), symbols, names.
struct image {
  ElfW(Ehdr) head = {};
  ElfW(Shdr) none = {}, symbols = {}, names = {};
  std::vector<ElfW(Sym)> table = {};
  std::string texts = std::string(1, '\0');

  image() {
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    head.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    head.e_shoff = sizeof head;
    head.e_shentsize = sizeof none;
    head.e_shnum = 3;
  }
  image& add(const char* name, std::uint64_t at, std::uint64_t size, unsigned type = STT_FUNC,
             std::uint16_t where = 1) {
    ElfW(Sym) s = {};
    s.st_name = static_cast<std::uint32_t>(texts.size());
    texts += std::string(name) + '\0';
    s.st_value = at;
    s.st_size = size;
    s.st_info = static_cast<unsigned char>((STB_GLOBAL << 4) | type);
    s.st_shndx = where;
    table.push_back(s);
    return *this;
  }
  std::vector<std::byte> bytes() {
    symbols.sh_type = SHT_SYMTAB;
    symbols.sh_entsize = sizeof table[0];
    symbols.sh_link = 2;
    symbols.sh_offset = sizeof head + 3 * sizeof none;
    symbols.sh_size = table.size() * sizeof table[0];
    names.sh_type = SHT_STRTAB;
    names.sh_offset = symbols.sh_offset + symbols.sh_size;
    names.sh_size = texts.size();
    std::vector<std::byte> all;
    const auto put = [&](const void* from, std::size_t n) {
      const auto* const b = static_cast<const std::byte*>(from);
      all.insert(all.end(), b, b + n);
    };
    put(&head, sizeof head);
    for (const auto* s : {&none, &symbols, &names}) put(s, sizeof *s);
    put(table.data(), symbols.sh_size);
    put(texts.data(), texts.size());
    return all;
  }
};

}  // namespace leat::sched::test
