// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/backtrace.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <cstdlib>

#include <leat/base/format.hpp>

namespace leat {

void sched::append_frame(text_buffer& to, void* pc, bool demangled) noexcept {
  const auto at = static_cast<char*>(pc);
  Dl_info where{};
  const bool known = ::dladdr(pc, &where) != 0;
  to.append(static_cast<const void*>(pc)).append(' ');
  if (known && where.dli_sname) {
    int status = -1;
    char* const name = demangled ? abi::__cxa_demangle(where.dli_sname, nullptr, nullptr, &status) : nullptr;
    to.append(name ? name : where.dli_sname).append('+');
    to.append_uint(static_cast<std::uint64_t>(at - static_cast<char*>(where.dli_saddr)));
    std::free(name);
    if (!demangled) return;
    to.append(" (");
  }
  to.append(known && where.dli_fname ? where.dli_fname : "?").append('+');
  const auto offset = known ? at - static_cast<char*>(where.dli_fbase) : 0;
  to.append(reinterpret_cast<const void*>(offset));
  if (known && where.dli_sname) to.append(')');
}

std::string to_text(std::span<void* const> trace) {
  std::string all;
  char line[1024];
  for (std::size_t i = 0; i < trace.size(); ++i) {
    text_buffer t(line, sizeof line - 1);
    t.append("    #").append_uint(i).append(' ');
    sched::append_frame(t, trace[i], true);
    all.append(line, t.size()).append("\n");
  }
  return all;
}

}  // namespace leat
