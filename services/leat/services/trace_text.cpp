// SPDX-License-Identifier: BSL-1.0
#include <leat/services/trace_text.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace leat::services {
namespace {

struct freed {
  void operator()(char* p) const noexcept { std::free(p); }
};

std::string frame_text(void* pc) {
  char offset[32];
  Dl_info where{};
  if (!::dladdr(pc, &where) || !where.dli_fname) {
    std::snprintf(offset, sizeof offset, "%p", pc);
    return offset;
  }
  const char* const base = static_cast<const char*>(where.dli_sname ? where.dli_saddr : where.dli_fbase);
  std::snprintf(offset, sizeof offset, "+0x%zx",
                static_cast<std::size_t>(static_cast<const char*>(pc) - base));
  if (!where.dli_sname) {
    const std::string file = where.dli_fname;
    return file.substr(file.rfind('/') + 1) + offset;
  }
  int status = 0;
  const std::unique_ptr<char, freed> name(abi::__cxa_demangle(where.dli_sname, nullptr, nullptr, &status));
  return std::string(name ? name.get() : where.dli_sname) + offset;
}

}  // namespace

std::string trace_text(std::span<void* const> trace) {
  std::string text;
  for (void* const pc : trace) text.append(text.empty() ? "" : " < ").append(frame_text(pc));
  return text;
}

}  // namespace leat::services
