// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/backtrace.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>
#include <string_view>

#include <leat/base/format.hpp>
#include <leat/sched/symbols.hpp>

namespace leat {

namespace {

std::uint64_t distance(const void* from, const void* to) noexcept {
  return reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
}

void append_function(text_buffer& to, const char* mangled, std::uint64_t offset, bool demangled) noexcept {
  int status = -1;
  char* const name = demangled ? abi::__cxa_demangle(mangled, nullptr, nullptr, &status) : nullptr;
  to.append(name ? name : mangled).append('+');
  to.append_hex(offset);
  std::free(name);
}

// Apart: it needs more stack.
[[gnu::noinline]] bool append_own_function(text_buffer& to, const void* pc) noexcept {
  sched::symbol own;
  if (!sched::find_own_symbol(pc, own)) return false;
  append_function(to, own.name, own.offset, true);
  return true;
}

// "function+0x1c", if the function is known.
bool append_function(text_buffer& to, const Dl_info& where, void* pc, bool demangled) noexcept {
  if (!where.dli_sname) return demangled && where.dli_fbase && append_own_function(to, pc);
  append_function(to, where.dli_sname, distance(where.dli_saddr, pc), demangled);
  return true;
}

void append_file(text_buffer& to, const Dl_info& where, const char* name, void* pc) noexcept {
  to.append(name).append('+');
  to.append_hex(distance(where.dli_fbase, pc));
}

// Unknown: nothing is set.
Dl_info place_of(void* pc) noexcept {
  Dl_info where{};
  if (::dladdr(pc, &where) == 0 || !where.dli_fname) where = {};
  return where;
}

}  // namespace

void sched::append_frame(text_buffer& to, void* pc, frame_names names) noexcept {
  if (names == frame_names::raw) return append_place(to, pc);
  const bool demangled = names == frame_names::demangled;
  const Dl_info where = place_of(pc);
  to.append(static_cast<const void*>(pc)).append(' ');
  const bool named = append_function(to, where, pc, demangled);
  if (named && !demangled) return;
  if (named) to.append(" (");
  if (where.dli_fname) {
    append_file(to, where, where.dli_fname, pc);
  } else {
    to.append('?');
  }
  if (named) to.append(')');
}

namespace {

struct loaded_file {
  std::uintptr_t base = 0, low = 0, high = 0;
  char name[48] = {};
};
// Written once, before any handler reads it.
loaded_file files[64];
std::size_t n_files = 0;

int note_file(dl_phdr_info* info, std::size_t, void*) {
  if (n_files == std::size(files)) return 1;
  loaded_file f;
  f.base = info->dlpi_addr;
  f.low = UINTPTR_MAX;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD) continue;
    f.low = std::min(f.low, static_cast<std::uintptr_t>(f.base + h.p_vaddr));
    f.high = std::max(f.high, static_cast<std::uintptr_t>(f.base + h.p_vaddr + h.p_memsz));
  }
  std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  char program[4096];
  if (path.empty())
    if (const ssize_t n = ::readlink("/proc/self/exe", program, sizeof program); n > 0)
      path = {program, static_cast<std::size_t>(n)};
  path = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  path.copy(f.name, sizeof f.name - 1);
  files[n_files++] = f;
  return 0;
}

}  // namespace

void sched::note_modules() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { (void)::dl_iterate_phdr(note_file, nullptr); });
}

void sched::append_place(text_buffer& to, void* pc) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(pc);
  to.append(static_cast<const void*>(pc));
  for (std::size_t i = 0; i < n_files; ++i) {
    const loaded_file& f = files[i];
    if (at < f.low || at >= f.high) continue;
    to.append(' ').append(static_cast<const char*>(f.name)).append('+');
    to.append(reinterpret_cast<const void*>(at - f.base));
    return;
  }
}

std::string to_text(std::span<void* const> trace) {
  std::string all;
  char line[1024];
  for (std::size_t i = 0; i < trace.size(); ++i) {
    text_buffer t(line, sizeof line - 1);
    t.append("    #").append_uint(i).append(' ');
    sched::append_frame(t, trace[i], sched::frame_names::demangled);
    all.append(line, t.size()).append("\n");
  }
  return all;
}

std::string to_line(std::span<void* const> trace) {
  std::string all;
  char frame[1024];
  for (void* const pc : trace) {
    text_buffer t(frame, sizeof frame - 1);
    const Dl_info where = place_of(pc);
    if (!where.dli_fname) {
      t.append(static_cast<const void*>(pc));
    } else if (!append_function(t, where, pc, true)) {
      const char* const slash = std::strrchr(where.dli_fname, '/');
      append_file(t, where, slash ? slash + 1 : where.dli_fname, pc);
    }
    all.append(all.empty() ? "" : " < ").append(frame, t.size());
  }
  return all;
}

}  // namespace leat
