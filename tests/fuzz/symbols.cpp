// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a file with a symbol table: a look-up comes back, and the size of the pieces in which the table
// is read makes no difference.
#include <cstring>

#include <leat/sched/symbols.hpp>

#include "fuzz/fuzz.hpp"
#include "sched/elf_image.hpp"

namespace leat::fuzz {
namespace {

void run(std::string_view input) {
  const auto bytes = std::as_bytes(std::span(input));
  const sched::test::memory file({bytes.begin(), bytes.end()});
  std::vector<std::byte> few(64), many(4096);
  for (const std::uint64_t address : {0x100u, 0x118u, 0x1000u}) {
    sched::symbol a, b;
    const bool found = sched::find_symbol(file, address, few, a);
    require(found == sched::find_symbol(file, address, many, b), "pieces make no difference");
    if (!found) continue;
    require(std::memchr(a.name, 0, sizeof a.name) != nullptr, "a name ends");
    require(std::strcmp(a.name, b.name) == 0 && a.offset == b.offset, "pieces make no difference");
    require(a.name[0] != 0 && a.offset <= address, "a function begins before what it has");
  }
}

inputs seeds() {
  using sched::test::image;
  const auto text = [](image& i) {
    const std::vector<std::byte> b = i.bytes();
    return std::string(reinterpret_cast<const char*>(b.data()), b.size());
  };
  image cut;
  cut.add("open", 0x100, 0x20).texts.pop_back();
  image many;
  many.head.e_shnum = 0;
  many.none.sh_size = 3;
  return {"",
          "#!/bin/sh",
          "\177ELF\2\1\1",
          text(image().add("one", 0x100, 0x20)),
          text(image().add("assembly", 0xf0, 0).add("sized", 0x100, 0x20)),
          text(image().add(std::string(600, 'x').c_str(), 0x100, 0x20)),
          text(many.add("counted", 0x100, 0x20)),
          text(cut)};
}

LEAT_FUZZ_TARGET("symbols", run, seeds);

}  // namespace
}  // namespace leat::fuzz
