// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include <leat/sched/backtrace.hpp>
#include <leat/sched/symbols.hpp>

#include "sched/elf_image.hpp"

using namespace leat::sched;
using namespace leat::sched::test;

namespace {

std::string look_up(const std::vector<std::byte>& file, std::uint64_t address, std::size_t room = 4096) {
  std::vector<std::byte> pieces(room);
  symbol found;
  if (!find_symbol(memory(file), address, pieces, found)) return "-";
  return std::string(found.name) + "+" + std::to_string(found.offset);
}

[[gnu::noinline]] void* return_address() { return __builtin_return_address(0); }
// Not exported: the loader does not know it.
[[gnu::noinline]] void* here_in_a_static_function() {
  void* const at = return_address();
  asm volatile("" ::: "memory");
  return at;
}

}  // namespace

TEST_CASE("a function is found by the range that its symbol says") {
  const auto file =
      image().add("first", 0x100, 0x10).add("second", 0x110, 0x20).add("data", 0x100, 8, STT_OBJECT).bytes();
  CHECK(look_up(file, 0x100) == "first+0");
  CHECK(look_up(file, 0x10f) == "first+15");
  CHECK(look_up(file, 0x110) == "second+0");
  CHECK(look_up(file, 0x12f) == "second+31");
  CHECK(look_up(file, 0x130) == "-");
  CHECK(look_up(file, 0xff) == "-");
  CHECK(look_up(file, ~std::uint64_t{0}) == "-");
}

TEST_CASE("one without a size has what follows, unless another says that it is its own") {
  const auto file = image()
                        .add("assembly", 0x100, 0)
                        .add("sized", 0x200, 0x10)
                        .add("imported", 0, 0, STT_FUNC, SHN_UNDEF)
                        .bytes();
  CHECK(look_up(file, 0x180) == "assembly+128");
  CHECK(look_up(file, 0x208) == "sized+8");
  CHECK(look_up(file, 0x220) == "assembly+288");
  CHECK(look_up(file, 0x10) == "-");
}

TEST_CASE("the table is read in pieces of any size") {
  image i;
  for (int n = 0; n < 100; ++n)
    i.add(("f" + std::to_string(n)).c_str(), 0x1000 + 16u * static_cast<unsigned>(n), 16);
  const auto file = i.bytes();
  for (const std::size_t room :
       {sizeof(ElfW(Sym)), std::size_t{100}, std::size_t{1000}, std::size_t{100000}}) {
    CHECK(look_up(file, 0x1000, room) == "f0+0");
    CHECK(look_up(file, 0x1000 + 16 * 99 + 3, room) == "f99+3");
  }
  CHECK(look_up(file, 0x1000, 3) == "-");
}

TEST_CASE("a name that is too long is cut, and one without an end is none") {
  const std::string longer(2000, 'x');
  CHECK(look_up(image().add(longer.c_str(), 0x100, 16).bytes(), 0x100) == std::string(511, 'x') + "+0");
  image i;
  i.add("open", 0x100, 16);
  i.texts.pop_back();
  CHECK(look_up(i.bytes(), 0x100) == "-");
}

TEST_CASE("a file without sections, of another machine, or that is none has no names") {
  CHECK(look_up({}, 0x100) == "-");
  const auto whole = image().add("f", 0x100, 16).bytes();
  image other;
  other.head.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS32 : ELFCLASS64;
  CHECK(look_up(other.add("f", 0x100, 16).bytes(), 0x100) == "-");
  image stripped;
  stripped.head.e_shoff = 0;
  CHECK(look_up(stripped.add("f", 0x100, 16).bytes(), 0x100) == "-");
  image many;
  many.head.e_shnum = 0;  // the number is in the first section then
  many.none.sh_size = 3;
  CHECK(look_up(many.add("f", 0x100, 16).bytes(), 0x100) == "f+0");
  many.none.sh_size = static_cast<std::size_t>(-1);
  CHECK(look_up(many.bytes(), 0x100) == "-");
}

// Whatever the bytes are, it comes back; AddressSanitizer sees whether it stays within them.
TEST_CASE("files that are cut short or damaged in one byte are read without harm") {
  const auto whole = image().add("first", 0x100, 0x10).add("second", 0x110, 0x20).bytes();
  for (std::size_t n = 0; n < whole.size(); ++n)
    (void)look_up({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}, 0x118);
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int to : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      auto damaged = whole;
      damaged[at] = static_cast<std::byte>(to);
      (void)look_up(damaged, 0x118, 64);
    }
  CHECK(look_up(whole, 0x118) == "second+8");
}

TEST_CASE("a function of this program that is not exported has its name") {
  void* const at = here_in_a_static_function();
  symbol found;
  REQUIRE(find_own_symbol(at, found));
  CHECK(std::string(found.name).find("here_in_a_static_function") != std::string::npos);
  CHECK(leat::to_line({&at, 1}).find("here_in_a_static_function()+0x") != std::string::npos);
  int on_the_stack = 0;
  CHECK_FALSE(find_own_symbol(&on_the_stack, found));
  CHECK_FALSE(find_own_symbol(nullptr, found));
}
