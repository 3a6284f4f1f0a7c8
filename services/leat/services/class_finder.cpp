// SPDX-License-Identifier: BSL-1.0
#include <leat/services/class_finder.hpp>

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <leat/process/registry.hpp>

namespace leat::services {
namespace {

namespace fs = std::filesystem;
using note = processes::class_note;

constexpr char section_name[] = "leat_classes";
constexpr std::size_t most_sections = 4096, most_bytes = 4096 * sizeof(note), most_files = 20000;

class elf_file {
 public:
  explicit elf_file(const char* path) : fd_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {}
  ~elf_file() {
    if (fd_ >= 0) ::close(fd_);
  }
  elf_file(const elf_file&) = delete;
  elf_file& operator=(const elf_file&) = delete;

  // The bytes of the section with our notes; none if there is no such.
  std::vector<char> notes() const {
    struct stat s{};
    ElfW(Ehdr) head;
    if (fd_ < 0 || ::fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode) || !read(&head, sizeof head, 0)) return {};
    constexpr unsigned char bits = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != bits) return {};
    if (head.e_shentsize != sizeof(ElfW(Shdr)) || head.e_shnum == 0 || head.e_shnum > most_sections ||
        head.e_shstrndx >= head.e_shnum)
      return {};
    std::vector<ElfW(Shdr)> sections(head.e_shnum);
    if (!read(sections.data(), sections.size() * sizeof(ElfW(Shdr)), head.e_shoff)) return {};
    const ElfW(Shdr)& names = sections[head.e_shstrndx];
    for (const ElfW(Shdr) & section : sections) {
      char name[sizeof section_name];
      if (section.sh_size < sizeof(note) || section.sh_size > most_bytes) continue;
      if (section.sh_type != SHT_PROGBITS || section.sh_name > names.sh_size) continue;
      if (!read(name, sizeof name, names.sh_offset + section.sh_name)) continue;
      if (std::memcmp(name, section_name, sizeof name) != 0) continue;
      std::vector<char> bytes(section.sh_size);
      if (!read(bytes.data(), bytes.size(), section.sh_offset)) return {};
      return bytes;
    }
    return {};
  }

 private:
  bool read(void* to, std::size_t size, std::uint64_t at) const {
    if (at > static_cast<std::uint64_t>(INT64_MAX) - size) return false;
    return ::pread(fd_, to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
  }

  int fd_;
};

// It goes to a terminal or a log, and is compared with names from files.
bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::vector<std::string> usual_folders() {
  std::vector<std::string> all;
  const auto add = [&](const fs::path& folder) {
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    if (!error && std::find(all.begin(), all.end(), real.string()) == all.end()) all.push_back(real.string());
  };
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    add(self.parent_path());
    add(self.parent_path().parent_path() / "lib" / "leat");
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path ? path : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) add(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  add("/usr/local/lib/leat");
  add("/usr/lib/leat");
  return all;
}

}  // namespace

std::vector<noted_class> classes_in_file(const std::string& path) {
  const std::vector<char> bytes = elf_file(path.c_str()).notes();
  std::vector<noted_class> all;
  for (std::size_t at = 0; at + sizeof(note) <= bytes.size(); at += sizeof(note)) {
    const char* const n = bytes.data() + at;
    const std::string name(n, ::strnlen(n, sizeof(note::name)));
    const char* const of = n + sizeof(note::name);
    const std::string library(of, ::strnlen(of, sizeof(note::library)));
    if (is_name(name)) all.push_back({name, is_name(library) ? library : ""});
  }
  return all;
}

class_finder::class_finder() : folders_(usual_folders()) {}

void class_finder::look() {
  files_.emplace();
  std::size_t seen = 0;
  for (const std::string& folder : folders_) {
    std::vector<std::string> paths;
    std::error_code error;
    for (fs::directory_iterator at(folder, error), end; !error && at != end && seen < most_files;
         at.increment(error), ++seen) {
      std::error_code odd;
      if (at->is_regular_file(odd)) paths.push_back(at->path().string());  // nothing else is even opened
    }
    std::sort(paths.begin(), paths.end());
    for (std::string& path : paths) {
      const bool is_program = !path.ends_with(".so");
      if (is_program && ::access(path.c_str(), X_OK) != 0) continue;
      std::vector<noted_class> classes = classes_in_file(path);
      if (!classes.empty()) files_->push_back({std::move(path), is_program, std::move(classes)});
    }
  }
}

std::string class_finder::hint(std::string_view class_name) {
  if (!files_) look();
  std::string stock, program, plugin;
  for (const file& f : *files_)
    for (const noted_class& c : f.classes) {
      if (c.name != class_name) continue;
      std::string& first = !f.is_program ? plugin : c.library == "stock" ? stock : program;
      if (first.empty()) first = f.path;
    }
  if (!plugin.empty()) return "it is in a plug-in: plugins = [\"" + plugin + "\"]";
  if (!stock.empty())
    return "it is ready-made: a program has it that says leat::stock::use() in main(), as '" + stock +
           "' does";
  if (!program.empty()) return "it is in another program, '" + program + "': use that for this file";
  return {};
}

}  // namespace leat::services
