// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/symbols.hpp>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace leat::sched {
namespace {

using header = ElfW(Ehdr);
using section = ElfW(Shdr);
using entry = ElfW(Sym);

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // of a table

template <class T>
bool read(const byte_source& file, std::uint64_t offset, T& to) noexcept {
  return file.read_at(offset, std::as_writable_bytes(std::span(&to, 1)));
}

bool lies_within(const byte_source& file, std::uint64_t offset, std::uint64_t size) noexcept {
  return offset <= file.size() && size <= file.size() - offset;
}

bool is_ours(const header& h) noexcept {
  constexpr unsigned char bits = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  constexpr unsigned char order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  return std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0 && h.e_ident[EI_CLASS] == bits &&
         h.e_ident[EI_DATA] == order && h.e_shentsize == sizeof(section) && h.e_shoff != 0;
}

struct sections {
  std::uint64_t at = 0, count = 0;
};

bool find_sections(const byte_source& file, sections& all) noexcept {
  header h{};
  if (!read(file, 0, h) || !is_ours(h)) return false;
  all.at = h.e_shoff;
  all.count = h.e_shnum;
  if (section first{}; all.count == 0 && read(file, all.at, first))
    all.count = first.sh_size;  // too many for it
  return all.count <= most_bytes / sizeof(section) && lies_within(file, all.at, all.count * sizeof(section));
}

bool read_section(const byte_source& file, const sections& all, std::uint64_t n, section& to) noexcept {
  return n < all.count && read(file, all.at + n * sizeof(section), to) && to.sh_size <= most_bytes &&
         lies_within(file, to.sh_offset, to.sh_size);
}

bool is_function(const entry& e) noexcept {
  const unsigned type = e.st_info & 0xf;
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && e.st_shndx != SHN_UNDEF && e.st_name != 0;
}

// Which of two that both may have the address: one that says where it ends, then the one that begins later.
bool is_better(const entry& e, const entry& than) noexcept {
  if ((e.st_size != 0) != (than.st_size != 0)) return e.st_size != 0;
  return e.st_value > than.st_value;
}

bool has(const entry& e, std::uint64_t address) noexcept {
  return e.st_value <= address && (e.st_size == 0 || address - e.st_value < e.st_size);
}

bool search(const byte_source& file, const section& table, std::uint64_t address, std::span<std::byte> room,
            entry& best) noexcept {
  bool any = false;
  const std::uint64_t count = table.sh_size / sizeof(entry), at_once = room.size() / sizeof(entry);
  if (at_once == 0) return false;
  for (std::uint64_t i = 0; i < count;) {
    const std::uint64_t n = std::min(at_once, count - i);
    if (!file.read_at(table.sh_offset + i * sizeof(entry), room.first(n * sizeof(entry)))) return any;
    for (std::uint64_t k = 0; k < n; ++k) {
      entry e;
      std::memcpy(&e, room.data() + k * sizeof(entry), sizeof e);
      if (!is_function(e) || !has(e, address) || (any && !is_better(e, best))) continue;
      best = e;
      any = true;
    }
    i += n;
  }
  return any;
}

// Up to its end, or as far as there is room; false: it does not end within the table.
bool read_name(const byte_source& file, const section& names, std::uint64_t at, symbol& to) noexcept {
  if (at >= names.sh_size) return false;
  const std::uint64_t n = std::min<std::uint64_t>(names.sh_size - at, sizeof to.name);
  if (!file.read_at(names.sh_offset + at, std::as_writable_bytes(std::span(to.name)).first(n))) return false;
  const bool ends = std::memchr(to.name, 0, n) != nullptr;
  if (!ends && n < sizeof to.name) return false;
  to.name[sizeof to.name - 1] = 0;
  return to.name[0] != 0;
}

}  // namespace

bool find_symbol(const byte_source& file, std::uint64_t address, std::span<std::byte> room,
                 symbol& found) noexcept {
  sections all;
  if (!find_sections(file, all)) return false;
  section table{}, names{};
  std::uint64_t i = 0;
  while (i < all.count && !(read_section(file, all, i, table) && table.sh_type == SHT_SYMTAB)) ++i;
  // A file has one at most: whoever says that there are more must not make this search them all.
  if (i == all.count || table.sh_entsize != sizeof(entry)) return false;
  if (!read_section(file, all, table.sh_link, names) || names.sh_type != SHT_STRTAB) return false;
  entry e{};
  if (!search(file, table, address, room, e) || !read_name(file, names, e.st_name, found)) return false;
  found.offset = address - e.st_value;
  return true;
}

namespace {

class open_file final : public byte_source {
 public:
  // Does not wait, whatever is there now.
  explicit open_file(const char* path) noexcept
      : fd_(::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    struct stat s = {};
    if (fd_ >= 0 && ::fstat(fd_, &s) == 0 && S_ISREG(s.st_mode))
      size_ = static_cast<std::uint64_t>(s.st_size);
  }
  ~open_file() {
    if (fd_ >= 0) (void)::close(fd_);
  }
  open_file(const open_file&) = delete;
  open_file& operator=(const open_file&) = delete;

  std::uint64_t size() const noexcept override { return size_; }
  bool read_at(std::uint64_t offset, std::span<std::byte> to) const noexcept override {
    if (offset > size_ || to.size() > size_ - offset) return false;
    while (!to.empty()) {
      const ssize_t n = ::pread(fd_, to.data(), to.size(), static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      offset += static_cast<std::uint64_t>(n);
      to = to.subspan(static_cast<std::size_t>(n));
    }
    return true;
  }

 private:
  const int fd_;
  std::uint64_t size_ = 0;
};

// Whether it is what was loaded: another file of the same name has other names at other places.
bool is_loaded_at(const open_file& file, const void* base) noexcept {
  header h{};
  return read(file, 0, h) && std::memcmp(&h, base, sizeof h) == 0;
}

}  // namespace

bool find_own_symbol(const void* pc, symbol& found) noexcept {
  Dl_info where{};
  link_map* module = nullptr;
  if (::dladdr1(pc, &where, reinterpret_cast<void**>(&module), RTLD_DL_LINKMAP) == 0) return false;
  if (!module || !where.dli_fbase) return false;
  const bool is_program = !module->l_name || !*module->l_name;
  const open_file file(is_program ? "/proc/self/exe" : module->l_name);
  if (!is_loaded_at(file, where.dli_fbase)) return false;
  const std::uint64_t address = reinterpret_cast<std::uintptr_t>(pc) - module->l_addr;
  constexpr std::size_t much = 64 * 1024;
  const std::unique_ptr<std::byte, void (*)(void*)> room(static_cast<std::byte*>(std::malloc(much)),
                                                         std::free);
  return room && find_symbol(file, address, {room.get(), much}, found);
}

}  // namespace leat::sched
