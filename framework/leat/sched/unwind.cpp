// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/unwind.hpp>

#include <link.h>
#include <ucontext.h>
#include <atomic>
#include <iterator>
#include <mutex>
#include <string_view>

#include <leat/fiber/annotate.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/m.hpp>

namespace leat::sched {
namespace {

// Of the unwinder, where it is a library. Written once, before any handler reads it.
struct text_range {
  std::uintptr_t low = 0, high = 0;
} unwinder[4];
std::size_t n_ranges = 0;

int note_unwinder(dl_phdr_info* info, std::size_t, void*) {
  std::string_view file = info->dlpi_name ? info->dlpi_name : "";
  file = file.substr(file.rfind('/') + 1);  // npos + 1 is 0
  if (!file.starts_with("libgcc_s") && !file.starts_with("libunwind")) return 0;
  for (int i = 0; i < info->dlpi_phnum && n_ranges < std::size(unwinder); ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (h.p_type != PT_LOAD || !(h.p_flags & PF_X)) continue;
    const auto low = static_cast<std::uintptr_t>(info->dlpi_addr + h.p_vaddr);
    unwinder[n_ranges++] = {low, low + h.p_memsz};
  }
  return 0;
}

LEAT_UNWATCHED bool is_unwinder(std::uintptr_t pc) noexcept {
  for (std::size_t i = 0; i < n_ranges; ++i)
    if (pc >= unwinder[i].low && pc < unwinder[i].high) return true;
  return false;
}

LEAT_UNWATCHED void end_walk() noexcept {
  const auto* const m = whole(static_cast<m_front*>(fiber::thread_slot::load_in_handler()));
  if (!m) return;
  // Not by siglongjmp, of which ThreadSanitizer wants to know more than is true in a handler.
  if (const std::uintptr_t back = m->unwinding.load(std::memory_order_relaxed))
    (void)::setcontext(reinterpret_cast<const ucontext_t*>(back));
}

}  // namespace

void prepare_walks() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    (void)::dl_iterate_phdr(note_unwinder, nullptr);
    // The unwinder finds its tables at its first use, which must not be in a handler.
    (void)_Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
    fiber::on_expected_fault(end_walk);
  });
}

LEAT_UNWATCHED bool walk_interrupted(M& m, std::uintptr_t from, _Unwind_Trace_Fn visit, void* arg) noexcept {
  if (is_unwinder(from)) return false;
  ucontext_t back;
  volatile bool faulted = false;
  if (::getcontext(&back) != 0) return false;
  if (faulted) {
    m.unwinding.store(0, std::memory_order_relaxed);
    return false;
  }
  faulted = true;  // who comes to the line above once more has
  m.unwinding.store(reinterpret_cast<std::uintptr_t>(&back), std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  (void)_Unwind_Backtrace(visit, arg);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  m.unwinding.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace leat::sched
