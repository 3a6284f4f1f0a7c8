// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/quarantine.hpp>

#include <dlfcn.h>
#include <link.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/sched/interrupted.hpp>
#include <leat/sched/leavable.hpp>
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

// Files that are like the program. Never destroyed.
std::vector<std::string>& leavable_files() {
  static auto* const all = new std::vector<std::string>;
  return *all;
}

int note_module(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  const std::string_view file = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const bool program = path.empty();
  const std::vector<std::string>& added = leavable_files();
  if (!program && !file.starts_with("libleat_") && std::find(added.begin(), added.end(), path) == added.end())
    return 0;
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
bool is_clean(summons& s, const interrupted& p) noexcept {
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
  fiber::note_handed_over(&s);
  s.word.store(summons::frozen, std::memory_order_release);  // pairs with read_answer
  static std::uint32_t never = 0;
  for (;;) (void)::syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

constexpr unsigned stands_still = 10;  // looks at the same system call, each after twice the time: some ms
constexpr unsigned most_in_own_code = 1000;
constexpr std::int64_t move_takes = 100'000;  // ns of CPU time: what it was doing then is over

// Calls that the C library wraps in ways that are not safe in a handler.
struct old_itimerspec {
  long every_s = 0, every_ns = 0, first_s = 0, first_ns = 0;
};

// One shot each time: were the timer faster than the handler, the thread would never get on. If it has not
// got on at all, it is given more time.
LEAT_UNWATCHED void look_again_soon(const summons& s) noexcept {
  old_itimerspec t;
  const auto odd = static_cast<long>(s.looks.load(std::memory_order_relaxed) * 2654435761u >>
                                     20);  // up to 4 us: never in step with a loop
  t.first_ns = (3000 + odd) << s.still;
  (void)::syscall(SYS_timer_settime, s.timer, 0, &t, nullptr);
}

// On g0, when the stack of the G has been left: the thread is an owner that has just entered.
void after_leaving(void* arg) noexcept {
  M& m = *static_cast<M*>(arg);
  m.cur.store(nullptr, std::memory_order_relaxed);
  const bool kept = m.gate.enter() || m.gate.enter_slow() == retake_gate::entry::kept;
  m.yield_asked.store(false, std::memory_order_relaxed);
  if (!kept) m.sched.back_without_g();
  (void)::pthread_sigmask(SIG_SETMASK, &m.asked.mask, nullptr);
  m.asked.word.store(summons::left, std::memory_order_release);  // pairs with read_answer
}

LEAT_UNWATCHED void answer(M& m, ucontext_t& context) noexcept {
  summons& s = m.asked;
  // Both seq_cst, as in put_question: either this one sees the question, or that one sends another signal.
  (void)s.under_way.exchange(0, std::memory_order_seq_cst);
  std::uint32_t question = s.word.load(std::memory_order_seq_cst);  // a; pairs with put_question
  if (!summons::is_question(question)) return;
  if (!s.word.compare_exchange_strong(question, summons::answering, std::memory_order_acq_rel)) return;  // b
  const auto say = [&s](summons::state a) LEAT_UNWATCHED {
    s.word.store(a, std::memory_order_release);  // pairs with read_answer
  };
  s.frames = 0;
  G* const g = read_unwatched(m.cur);
  if (m.gate.in_runtime() || m.gate.entries() != s.entries || !g) return say(summons::entered);  // c
  const interrupted p = place_of(&context);
  s.still = p.registers == s.registers && at_system_call(p) ? s.still + 1 : 0;
  s.registers = p.registers;
  s.cpu = thread_cpu_ns();
  const bool clean = question != summons::freeze && is_clean(s, p);
  const auto note_frames = [&]() LEAT_UNWATCHED {
    if (!clean) s.frames = fiber::frames_from(*g->ctx.stack, p.pc, p.fp, p.link, s.trace, most_frames);
  };
  if (question == summons::where) {  // d
    note_frames();
    return say(summons::seen);
  }
  if (leat::detail::mutexes_held() != 0 || g->shields.load(std::memory_order_relaxed) != 0)
    return say(summons::locked);  // e
  // Before that it may stand where it stood at the last look, in the middle of something.
  if (s.cpu_then < 0) s.cpu_then = s.cpu;
  const bool moved_on = s.cpu >= s.cpu_then + move_takes || s.still >= stands_still;
  const unsigned looks = s.looks.load(std::memory_order_relaxed) + 1;
  const bool last_look = looks >= s.most_looks || s.still >= stands_still;
  const bool may_hold_locks = c_library_is_apart && !is_leavable(p.pc);
  if (question == summons::freeze && moved_on && (!may_hold_locks || last_look)) {  // h
    note_frames();
    stand_still(s);
  }
  if (!clean || !moved_on) {  // f
    s.looks.store(looks, std::memory_order_relaxed);
    if (is_leavable(p.pc)) ++s.looks_in_own_code;
    s.no_place = last_look || s.looks_in_own_code >= most_in_own_code;
    if (s.no_place || s.timer < 0) return say(summons::unclean);
    s.word.store(question, std::memory_order_release);
    look_again_soon(s);
    return;
  }
  (void)m.gate.enter();  // g
  // Until the signal's stack has been left, no other handler may begin on it.
  sigset_t all;
  sigfillset(&all);
  s.mask = context.uc_sigmask;
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  fiber::finish(m, g->ctx, m.self, after_leaving, &m);
}

LEAT_UNWATCHED void on_summons(int, siginfo_t*, void* context) {
  const int saved = errno;
  if (M* const m = static_cast<M*>(fiber::thread_slot::load_in_handler()))
    answer(*m, *static_cast<ucontext_t*>(context));
  errno = saved;
}

}  // namespace

void add_leavable_file(const char* path) { leavable_files().emplace_back(path); }

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

namespace {

void begin_looks(M& m, int number) noexcept {
  sigevent ev = {};
  ev.sigev_notify = SIGEV_THREAD_ID;
  ev.sigev_signo = number;
  ev._sigev_un._tid = m.tid.load(std::memory_order_relaxed);
  int timer = -1;
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &ev, &timer) != 0) timer = -1;
  m.asked.timer = timer;
}

void end_looks(M& m) noexcept {
  if (m.asked.timer >= 0) (void)::syscall(SYS_timer_delete, m.asked.timer);
  m.asked.timer = -1;
}

}  // namespace

put put_question(M& m, summons::state question) noexcept {
  // Somebody may have taken the signal for himself meanwhile.
  if (!is_ours(signal_number.load(std::memory_order_relaxed))) choose_signal();
  const int number = signal_number.load(std::memory_order_relaxed);
  if (number == 0) return put::no_signal;
  if (question != summons::where) begin_looks(m, number);
  m.asked.word.store(question, std::memory_order_seq_cst);  // pairs with answer
  if (m.asked.under_way.exchange(1, std::memory_order_seq_cst) != 0) return put::done;
  if (::syscall(SYS_tgkill, ::getpid(), m.tid.load(std::memory_order_relaxed), number) == 0) return put::done;
  m.asked.under_way.store(0, std::memory_order_relaxed);
  return withdraw_question(m) ? put::refused : put::done;
}

summons::state read_answer(M& m) noexcept {
  const std::uint32_t w = m.asked.word.load(std::memory_order_acquire);  // pairs with answer
  if (!summons::is_answer(w)) return summons::none;
  m.asked.word.store(summons::none, std::memory_order_relaxed);
  m.asked.answer = static_cast<summons::state>(w);
  if (w == summons::frozen) fiber::note_taken_over(&m.asked);
  end_looks(m);
  return m.asked.answer;
}

bool withdraw_question(M& m) noexcept {
  std::uint32_t w = m.asked.word.load(std::memory_order_relaxed);
  if (!summons::is_question(w) ||
      !m.asked.word.compare_exchange_strong(w, summons::none, std::memory_order_relaxed))
    return false;
  end_looks(m);
  return true;
}

}  // namespace leat::sched

namespace leat {
int quarantine_signal() noexcept { return sched::signal_number.load(std::memory_order_relaxed); }
}  // namespace leat
