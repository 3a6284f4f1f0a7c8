// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a program in PATH: it has classes with names that can be shown, or none.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cstring>

#include <leat/process/registry.hpp>
#include <leat/services/class_finder.hpp>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using processes::class_note;

template <class T>
void put(std::string& to, const T& what) {
  to.append(reinterpret_cast<const char*>(&what), sizeof what);
}

// Header, names of sections, notes, table of sections.
std::string program(const std::vector<class_note>& notes, std::size_t left_out = 0) {
  const std::string names("\0leat_classes\0", 14);
  ElfW(Ehdr) head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  head.e_shentsize = sizeof(ElfW(Shdr));
  head.e_shnum = 3;
  head.e_shstrndx = 1;
  head.e_shoff = sizeof head + names.size() + notes.size() * sizeof(class_note);
  ElfW(Shdr) none{}, texts{}, section{};
  texts.sh_type = SHT_STRTAB;
  texts.sh_offset = sizeof head;
  texts.sh_size = names.size();
  section.sh_type = SHT_PROGBITS;
  section.sh_name = 1;
  section.sh_offset = sizeof head + names.size();
  section.sh_size = notes.size() * sizeof(class_note);
  std::string out;
  put(out, head);
  out += names;
  for (const class_note& n : notes) put(out, n);
  put(out, none);
  put(out, texts);
  put(out, section);
  out.resize(out.size() - left_out);
  return out;
}

std::string good() { return program({{"greeter", ""}, {"ticker", "stock"}}); }

void run(std::string_view input) {
  const int fd = ::memfd_create("program", MFD_CLOEXEC);
  require(fd >= 0 && ::write(fd, input.data(), input.size()) == static_cast<ssize_t>(input.size()),
          "there is a file");
  const auto all = services::classes_in_file("/proc/self/fd/" + std::to_string(fd));
  (void)::close(fd);
  require(all.size() <= input.size() / sizeof(class_note), "each class has its bytes");
  if (input == good()) require(all.size() == 2, "what is good is read");
  for (const services::noted_class& c : all) {
    require(!c.name.empty() && c.name.size() <= sizeof(class_note::name), "a name ends with its field");
    require(std::all_of(c.name.begin(), c.name.end(), [](char ch) { return ch > ' ' && ch < 0x7f; }),
            "what is shown has no control characters");
    require(input.find(c.name) != input.npos, "a name stands in the file");
  }
}

inputs seeds() {
  class_note full("", "");
  for (char& c : full.name) c = 'x';
  return {"",
          "#!/bin/sh",
          good(),
          program({}),
          program({{"\33[2J", "\33"}}),
          program({full}),
          program({{"greeter", ""}}, 1),
          program({{"greeter", ""}}, sizeof(ElfW(Shdr)) + 8)};
}

LEAT_FUZZ_TARGET("class-notes", run, seeds);

}  // namespace
}  // namespace leat::fuzz
