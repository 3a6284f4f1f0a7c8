// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/crash.hpp>

#include <unistd.h>
#include <atomic>
#include <csignal>

#include <leat/base/format.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/interrupted.hpp>
#include <leat/sched/scheduler.hpp>

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

LEAT_UNWATCHED void report(int sig, const void* address, const void* context, bool mended_perhaps) noexcept {
  const sched::scheduler* const s = sched::scheduler::current();
  if (!s) return;
  const sched::M* const m = sched::current_m();
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
  fiber::report_crashes(report);
}

}  // namespace leat
