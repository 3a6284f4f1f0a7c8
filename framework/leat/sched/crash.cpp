// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/crash.hpp>

#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>

#include <leat/base/format.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/interrupted.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/unwind.hpp>

namespace leat {
namespace {

std::atomic<crash_note_fn> crash_note{nullptr};

const char* name_of(int sig) noexcept {
  switch (sig) {
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGILL: return "SIGILL";
    case SIGFPE: return "SIGFPE";
    case SIGABRT: return "SIGABRT";
    default: return "a signal";
  }
}

struct walk {
  std::uintptr_t from;  // the interrupted instruction
  void** pcs;
  std::size_t n = 0;
  unsigned depth = 0;
};

LEAT_UNWATCHED _Unwind_Reason_Code note_frame(_Unwind_Context* context, void* arg) {
  auto& w = *static_cast<walk*>(arg);
  const std::uintptr_t ip = _Unwind_GetIP(context);
  if (++w.depth > 512) return _URC_END_OF_STACK;
  if (w.n == 0 && ip != w.from) return _URC_NO_REASON;  // the handler's own
  w.pcs[w.n++] = reinterpret_cast<void*>(ip);
  return w.n == sched::most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

LEAT_UNWATCHED void report(int sig, const void* address, const void* context, bool mended_perhaps) noexcept {
  const sched::scheduler* const s = sched::scheduler::current();
  if (!s) return;
  sched::M* const m = sched::current_m();
  const sched::G* g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  const bool in_call = m && !g;
  if (in_call) g = m->caller.load(std::memory_order_relaxed);
  fixed_text<512> t;
  t.format("leat: the program {} by {}", mended_perhaps ? "may end" : "ends", name_of(sig));
  if (address) t.format(" (address {})", address);
  if (g) {
    const std::uint64_t id = g->id;
    t.format(", in G {} '{}'{}\n", id, g->name[0] ? g->name : "-", in_call ? ", in a blocking call" : "");
  } else {
    t.append(m ? ", in the scheduler\n" : ", on a thread that runs no G\n");
  }
  write_dying(STDERR_FILENO, t.view());
  const sched::interrupted at = sched::place_of(context);
  void* pcs[sched::most_frames] = {reinterpret_cast<void*>(at.pc)};
  std::size_t n = 1;
  if (g && !in_call && g->ctx.stack)
    n = fiber::frames_from(*g->ctx.stack, at.pc, at.fp, at.link, pcs, std::size(pcs));
  // abort() comes from the depths of the C library, which keeps no frame pointers. A handler of this signal may fault, as
  // the walk may.
  if (sched::unwinds_without_lock && g && !in_call && sig == SIGABRT) {
    void* further[sched::most_frames] = {};
    walk w{at.pc, further};
    (void)sched::walk_interrupted(*m, at.pc, note_frame, &w);
    if (w.n > n) {
      n = w.n;
      std::copy_n(further, n, pcs);
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    t.clear();
    t.append("    ");
    sched::append_place(t, pcs[i]);
    t.append('\n');
    write_dying(STDERR_FILENO, t.view());
  }
  if (mended_perhaps)
    write_dying(STDERR_FILENO,
                "leat: a handler of its own comes next; if it recovers, this is not reported again\n");
  if (const crash_note_fn note = crash_note.load(std::memory_order_acquire))
    note(STDERR_FILENO, g ? g->id : 0);
}

}  // namespace

void set_crash_note(crash_note_fn note) noexcept {
  crash_note.store(note, std::memory_order_release);  // pairs with report
}

void sched::report_crashes() noexcept {
  note_modules();
  prepare_walks();
  fiber::report_crashes(report);
}

}  // namespace leat
