// SPDX-License-Identifier: BSL-1.0
//
// For gdb: its script (leat-gdb.py), and where it finds the Gs.
//
// The script must work without types, which most programs are built without: so the places of what it reads
// are told by a constant. And it is part of the program, in a section that gdb looks for and no program
// loads, so that it is there, and of the right version, wherever the program or its core file is looked at.
#include <cstddef>
#include <cstdint>

#include <leat/fiber/jump.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/scheduler.hpp>

// Well-defined with both compilers for what has no virtual base.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"

namespace leat::sched {

// Here, so that this file is part of each program that has a scheduler.
std::atomic<scheduler*> current_scheduler::current_{nullptr};

// In the order of FIELDS in leat-gdb.py; another order, or another meaning, is another version.
struct debugger_layout {
  std::uint64_t version = 1;
  const void* current = &current_scheduler::current_;
  std::uint64_t chunks = offsetof(scheduler, gs_) + offsetof(g_store, chunks_);
  std::uint64_t n_chunks = offsetof(scheduler, gs_) + offsetof(g_store, n_chunks_);
  std::uint64_t chunk_gs = g_store::chunk_gs;
  std::uint64_t g_size = sizeof(G);
  std::uint64_t g_id = offsetof(G, id);
  std::uint64_t g_status = offsetof(G, status);
  std::uint64_t g_reason = offsetof(G, reason);
  std::uint64_t g_extras = offsetof(G, extras);
  std::uint64_t g_waits_in = offsetof(G, waits_in);
  std::uint64_t g_name = offsetof(G, name);
  std::uint64_t g_sp = offsetof(G, ctx) + offsetof(fiber::context, sp);
  std::uint64_t g_on = offsetof(G, ctx) + offsetof(fiber::context, on);
  std::uint64_t g_stack = offsetof(G, ctx) + offsetof(fiber::context, stack);
  std::uint64_t m_tid = offsetof(M, tid);
  std::uint64_t saved_fp = fiber::saved_fp;
  std::uint64_t saved_pc = fiber::saved_pc;
};

}  // namespace leat::sched

extern "C" {
// Volatile, so that no compiler thinks it unused.
extern const volatile leat::sched::debugger_layout leat_debugger_layout;
const volatile leat::sched::debugger_layout leat_debugger_layout [[gnu::used]];
}

// An entry of the section: the kind (4, Python in place), a name, a line end, the text, a zero.
#if defined(__ELF__) && defined(__LP64__) && defined(LEAT_GDB_SCRIPT)
// clang-format off
asm(".pushsection \".debug_gdb_scripts\", \"MS\", %progbits, 1\n"
    ".byte 4\n"
    ".ascii \"leat-gdb.py\\n\"\n"
    ".incbin \"" LEAT_GDB_SCRIPT "\"\n"
    ".byte 0\n"
    ".popsection\n");
// clang-format on
#endif
