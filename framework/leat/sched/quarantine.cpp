// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/quarantine.hpp>

#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string_view>

#include <leat/base/mutex.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

#if defined(LEAT_ASAN) || defined(LEAT_TSAN) || \
    !(defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))
constexpr bool may_switch_in_handler = false;
#else
constexpr bool may_switch_in_handler = true;
#endif

// --- Whose code it is -------------------------------------------------------------------------------

struct text_range {
  std::uintptr_t low = 0, high = 0;
  bool holds(std::uintptr_t pc) const noexcept { return pc >= low && pc < high; }
};

// Written once, before the handler is installed.
text_range leavable[32];
std::size_t n_leavable = 0;
bool c_library_is_apart = false;

int note_module(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const bool program = path.empty();
  if (!program && !file.starts_with("libleat_")) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& h = info->dlpi_phdr[i];
    if (program && h.p_type == PT_INTERP) c_library_is_apart = true;
    if (h.p_type != PT_LOAD || !(h.p_flags & PF_X) || n_leavable == std::size(leavable)) continue;
    const auto low = static_cast<std::uintptr_t>(info->dlpi_addr + h.p_vaddr);
    leavable[n_leavable++] = {low, low + h.p_memsz};
  }
  return 0;
}

bool is_leavable(std::uintptr_t pc) noexcept {
  for (std::size_t i = 0; i < n_leavable; ++i)
    if (leavable[i].holds(pc)) return true;
  return false;
}

// --- The signal -------------------------------------------------------------------------------------

std::atomic<int> signal_number{0};  // 0: none is free

// ThreadSanitizer keeps signals until the thread calls into it, which a hung one never does.
using sigaction_fn = int (*)(int, const struct sigaction*, struct sigaction*);
sigaction_fn real_sigaction() noexcept {
  static const auto fn = [] {
    void* const found = fiber::under_tsan ? ::dlsym(RTLD_DEFAULT, "__sigaction") : nullptr;
    return found ? reinterpret_cast<sigaction_fn>(found) : static_cast<sigaction_fn>(&::sigaction);
  }();
  return fn;
}

void on_summons(int, siginfo_t*, void* context);

bool is_ours(int number) noexcept {
  struct sigaction now = {};
  return number != 0 && real_sigaction()(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
         now.sa_sigaction == on_summons;
}

// A real-time signal that nobody else uses, from the top but one (Valgrind has the top).
void choose_signal() noexcept {
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    struct sigaction now = {};
    if (real_sigaction()(number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_sigaction = on_summons;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
    if (real_sigaction()(number, &ours, nullptr) != 0) continue;
    signal_number.store(number, std::memory_order_relaxed);
    return;
  }
  signal_number.store(0, std::memory_order_relaxed);
}

// --- The thread's side ------------------------------------------------------------------------------

struct place {
  std::uintptr_t pc = 0, fp = 0, link = 0;
  std::uint64_t registers = 0;
};

LEAT_UNWATCHED place place_of(const ucontext_t& c) noexcept {
  place p;
  const auto& m = c.uc_mcontext;
  const auto mix = [&p](std::uint64_t v) LEAT_UNWATCHED {
    p.registers = (p.registers ^ v) * 0x9e3779b97f4a7c15u;
    p.registers ^= p.registers >> 29;
  };
#if defined(__x86_64__)
  p.pc = static_cast<std::uintptr_t>(m.gregs[REG_RIP]);
  p.fp = static_cast<std::uintptr_t>(m.gregs[REG_RBP]);
  for (int i = 0; i <= REG_RIP; ++i) mix(static_cast<std::uint64_t>(m.gregs[i]));
#elif defined(__aarch64__)
  p.pc = m.pc;
  p.fp = m.regs[29];
  p.link = m.regs[30];
  mix(m.pc);
  mix(m.sp);
  for (int i = 0; i < 31; ++i) mix(m.regs[i]);
#elif defined(__arm__)
  p.pc = m.arm_pc;
  p.fp = m.arm_fp;
  p.link = m.arm_lr;
  for (const auto v :
       {m.arm_pc, m.arm_sp, m.arm_r0, m.arm_r1, m.arm_r2, m.arm_r3, m.arm_r4, m.arm_r5, m.arm_r6})
    mix(v);
#elif defined(__riscv)
  p.pc = m.__gregs[REG_PC];
  p.fp = m.__gregs[REG_S0];
  p.link = m.__gregs[REG_RA];
  for (int i = 0; i < 32; ++i) mix(m.__gregs[i]);
#else
  (void)m;
  (void)mix;
#endif
  return p;
}

struct walk {
  std::uintptr_t from;  // the interrupted instruction
  summons* s;
  bool begun = false;        // past the handler's own frames
  bool reached_end = false;  // the first frame of the G, and all before it may be left
  unsigned depth = 0;
};

_Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* arg) {
  auto& w = *static_cast<walk*>(arg);
  int at_instruction = 0;
  const std::uintptr_t ip = _Unwind_GetIPInfo(context, &at_instruction);
  if (++w.depth > 512) return _URC_END_OF_STACK;
  if (!w.begun && ip != w.from) return _URC_NO_REASON;
  w.begun = true;
  if (!is_leavable(at_instruction ? ip : ip - 1)) return _URC_END_OF_STACK;
  if (w.s->frames < most_frames) w.s->trace[w.s->frames++] = reinterpret_cast<void*>(ip);
  w.reached_end = _Unwind_GetRegionStart(context) == reinterpret_cast<std::uintptr_t>(&scheduler::g_main);
  return w.reached_end ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// The unwinder may be called only where the interrupted code is not the C library's, or its own.
bool is_clean(summons& s, const place& p) noexcept {
  if (!can_leave() || !is_leavable(p.pc)) return false;
  walk w{p.pc, &s};
  (void)_Unwind_Backtrace(look_at_frame, &w);
  return w.reached_end;
}

LEAT_UNWATCHED std::int64_t thread_cpu_ns() noexcept {
  timespec t{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

[[noreturn]] LEAT_UNWATCHED void stand_still(summons& s) noexcept {
  // Not those that the C library needs for itself, which pthread_sigmask leaves alone.
  sigset_t all;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  s.word.store(summons::frozen, std::memory_order_release);  // pairs with read_answer
  static std::uint32_t never = 0;
  for (;;) (void)::syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

// On g0, when the stack of the G has been left: the thread is an owner that has just entered.
void after_leaving(void* arg) noexcept {
  M& m = *static_cast<M*>(arg);
  m.cur.store(nullptr, std::memory_order_relaxed);
  const bool kept = m.gate.enter() || m.gate.enter_slow() == retake_gate::entry::kept;
  m.yield_asked.store(false, std::memory_order_relaxed);
  if (!kept) m.sched.back_without_g();
  m.asked.word.store(summons::left, std::memory_order_release);  // pairs with read_answer
}

LEAT_UNWATCHED void answer(M& m, ucontext_t& context) noexcept {
  summons& s = m.asked;
  s.under_way.store(false, std::memory_order_relaxed);
  std::uint32_t question = s.word.load(std::memory_order_acquire);  // a; pairs with put_question
  if (!summons::is_question(question)) return;
  if (!s.word.compare_exchange_strong(question, summons::answering, std::memory_order_acq_rel)) return;  // b
  const auto say = [&s](summons::state a) LEAT_UNWATCHED {
    s.word.store(a, std::memory_order_release);  // pairs with read_answer
  };
  s.frames = 0;
  G* const g = m.cur.load(std::memory_order_relaxed);
  if (m.gate.in_runtime() || m.gate.entries() != s.entries || !g) return say(summons::entered);  // c
  const place p = place_of(context);
  s.registers = p.registers;
  s.cpu = thread_cpu_ns();
  const bool clean = is_clean(s, p);
  if (!clean) s.frames = fiber::frames_from(*g->ctx.stack, p.pc, p.fp, p.link, s.trace, most_frames);
  if (question == summons::where) return say(summons::seen);           // d
  if (leat::detail::mutexes_held() != 0) return say(summons::locked);  // e
  // A thread that stood still all the time has not moved since the last look either.
  if (s.cpu < s.cpu_at_least) return say(summons::unclean);
  if (question == summons::freeze) stand_still(s);  // h
  if (!clean) return say(summons::unclean);         // f
  (void)m.gate.enter();                             // g
  (void)::pthread_sigmask(SIG_SETMASK, &context.uc_sigmask, nullptr);
  fiber::finish(m, g->ctx, m.self, after_leaving, &m);
}

LEAT_UNWATCHED void on_summons(int, siginfo_t*, void* context) {
  const int saved = errno;
  if (M* const m = current_m()) answer(*m, *static_cast<ucontext_t*>(context));
  errno = saved;
}

}  // namespace

void prepare_quarantine() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    (void)::dl_iterate_phdr(note_module, nullptr);
    // The unwinder finds its tables at its first use, which must not be in a handler.
    (void)_Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
    choose_signal();
  });
}

void unblock_quarantine_signal() noexcept {
  const int number = signal_number.load(std::memory_order_relaxed);
  if (number == 0) return;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  (void)::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool can_leave() noexcept { return may_switch_in_handler && c_library_is_apart; }

bool put_question(M& m, summons::state question) noexcept {
  // Somebody may have taken the signal for himself meanwhile.
  if (!is_ours(signal_number.load(std::memory_order_relaxed))) choose_signal();
  const int number = signal_number.load(std::memory_order_relaxed);
  if (number == 0) return false;
  m.asked.word.store(question, std::memory_order_release);  // pairs with answer
  if (m.asked.under_way.exchange(true, std::memory_order_relaxed)) return true;
  if (::syscall(SYS_tgkill, ::getpid(), m.tid.load(std::memory_order_relaxed), number) == 0) return true;
  m.asked.under_way.store(false, std::memory_order_relaxed);
  return !withdraw_question(m);
}

summons::state read_answer(M& m) noexcept {
  const std::uint32_t w = m.asked.word.load(std::memory_order_acquire);  // pairs with answer
  if (!summons::is_answer(w)) return summons::none;
  m.asked.word.store(summons::none, std::memory_order_relaxed);
  m.asked.answer = static_cast<summons::state>(w);
  return m.asked.answer;
}

bool withdraw_question(M& m) noexcept {
  std::uint32_t w = m.asked.word.load(std::memory_order_relaxed);
  return summons::is_question(w) &&
         m.asked.word.compare_exchange_strong(w, summons::none, std::memory_order_relaxed);
}

}  // namespace leat::sched

namespace leat {
int quarantine_signal() noexcept { return sched::signal_number.load(std::memory_order_relaxed); }
}  // namespace leat
