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
#include <utility>
#include <vector>

#include <leat/base/log_output.hpp>
#include <leat/base/mutex.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/fence.hpp>
#include <leat/sched/heap_mark.hpp>
#include <leat/sched/interrupted.hpp>
#include <leat/sched/leavable.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/plain_call.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/unwind.hpp>

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

class text_ranges {
 public:
  void add(const dl_phdr_info& info) noexcept {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& h = info.dlpi_phdr[i];
      if (h.p_type != PT_LOAD || !(h.p_flags & PF_X) || n_ == std::size(all_)) continue;
      const auto low = static_cast<std::uintptr_t>(info.dlpi_addr + h.p_vaddr);
      all_[n_++] = {low, low + h.p_memsz};
    }
  }
  bool hold(std::uintptr_t pc) const noexcept {
    for (std::size_t i = 0; i < n_; ++i)
      if (all_[i].holds(pc)) return true;
    return false;
  }

 private:
  text_range all_[48];
  std::size_t n_ = 0;
};

// Written once, before the handler is installed.
text_ranges leavable;  // the program, Leat, plug-ins
text_ranges shared;    // libraries with locks that everybody needs
bool c_library_is_apart = false;
bool cxx_library_is_apart = false;
bool sanitizer_is_apart = false;  // a library of its own, as GCC's are; Clang's are in the program

// Files that are like the program. Never destroyed.
std::vector<std::string>& leavable_files() {
  static auto* const all = new std::vector<std::string>;
  return *all;
}

std::string_view file_of(const char* path) noexcept {
  const std::string_view whole = path ? path : "";
  return whole.substr(whole.rfind('/') + 1);  // npos + 1 is 0
}

bool has_shared_locks(std::string_view file) noexcept {
  constexpr std::string_view names[] = {
      "ld-",       "ld.so",     "ld64",    "libc.",   "libc-",     "libpthread", "libdl",
      "librt",     "libresolv", "libnss_", "libanl",  "libstdc++", "libgcc_s",   "libc++",
      "libunwind", "libatomic", "libasan", "libtsan", "libubsan",  "liblsan",    "libclang_rt"};
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view n) { return file.starts_with(n); });
}

int note_module(dl_phdr_info* info, std::size_t, void*) {
  const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
  const std::string_view file = file_of(info->dlpi_name);
  const bool program = path.empty();
  const std::vector<std::string>& added = leavable_files();
  for (int i = 0; program && i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_INTERP) c_library_is_apart = true;
  if (program || file.starts_with("libleat_") || std::find(added.begin(), added.end(), path) != added.end()) {
    leavable.add(*info);
  } else if (has_shared_locks(file)) {
    shared.add(*info);
    if (file.starts_with("libstdc++") || file.starts_with("libc++")) cxx_library_is_apart = true;
  }
  return 0;
}

bool is_leavable(std::uintptr_t pc) noexcept { return leavable.hold(pc); }

// A library that was loaded since is asked for its name. By the C library's table for unwinders, which takes
// no lock.
LEAT_UNWATCHED bool is_foreign_and_harmless(std::uintptr_t pc) noexcept {
  if (shared.hold(pc)) return false;
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
  dl_find_object found;
  if (::_dl_find_object(reinterpret_cast<void*>(pc), &found) == 0 && found.dlfo_link_map)
    return !has_shared_locks(file_of(found.dlfo_link_map->l_name));
#endif
  return false;
}

// --- The signal -------------------------------------------------------------------------------------

std::atomic<int> signal_number{0};  // 0: none is free

void on_probe(int, siginfo_t*, void* context);

bool is_ours(int number) noexcept {
  struct sigaction now = {};
  return number != 0 && fiber::real_sigaction()(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
         now.sa_sigaction == on_probe;
}

// A real-time signal that nobody else uses, from the top but one (Valgrind has the top).
void choose_signal() noexcept {
  for (int number = SIGRTMAX - 1; number > SIGRTMIN; --number) {
    struct sigaction now = {};
    if (fiber::real_sigaction()(number, nullptr, &now) != 0) continue;
    if ((now.sa_flags & SA_SIGINFO) || now.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_sigaction = on_probe;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    // No other handler begins amid an answer, from which it might jump away; but faults are seen.
    sigfillset(&ours.sa_mask);
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP})
      sigdelset(&ours.sa_mask, fault);
    if (fiber::real_sigaction()(number, &ours, nullptr) != 0) continue;
    signal_number.store(number, std::memory_order_relaxed);
    return;
  }
  signal_number.store(0, std::memory_order_relaxed);
}

// --- The thread's side ------------------------------------------------------------------------------

struct walk {
  std::uintptr_t from;  // the interrupted instruction
  probe* s;
  bool in_call = false;      // every frame so far is of a system call that it stands still in
  bool begun = false;        // past the handler's own frames
  bool reached_end = false;  // the first frame of the G
  bool all_leavable = true;  // every frame so far
  bool all_harmless = true;
  unsigned depth = 0;
};

LEAT_UNWATCHED _Unwind_Reason_Code look_at_frame(_Unwind_Context* context, void* arg) {
  auto& w = *static_cast<walk*>(arg);
  int at_instruction = 0;
  const std::uintptr_t ip = _Unwind_GetIPInfo(context, &at_instruction);
  if (++w.depth > 512) return _URC_END_OF_STACK;
  if (!w.begun && ip != w.from) return _URC_NO_REASON;
  const bool innermost = !w.begun;
  w.begun = true;
  // A handler of the program's own stands on what it interrupted: neither is left, nor frozen.
  if (at_instruction && !innermost) w.all_leavable = w.all_harmless = false;
  const std::uintptr_t at = at_instruction ? ip : ip - 1;
  w.in_call = w.in_call && !is_leavable(at) && (innermost || is_plain_call(_Unwind_GetRegionStart(context)));
  if (!is_leavable(at)) {
    w.all_leavable = false;
    if (!w.in_call && !is_foreign_and_harmless(at)) w.all_harmless = false;
  }
  if (w.s->frames < most_frames) w.s->trace[w.s->frames++] = reinterpret_cast<void*>(ip);
  w.reached_end = _Unwind_GetRegionStart(context) == reinterpret_cast<std::uintptr_t>(&life::g_main);
  return w.reached_end ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// Where the program's own code may be an allocator, no place is known to be outside of it.
LEAT_UNWATCHED bool own_code_is_known() noexcept {
  return c_library_is_apart && cxx_library_is_apart &&
         (fiber::under_asan || fiber::under_tsan ? sanitizer_is_apart : heap_is_marked());
}

enum class site : unsigned char { unknown, harmless, clean };

// Notes the frames as well.
LEAT_UNWATCHED site look_around(M& m, const interrupted& p, bool stands_still_there) noexcept {
  probe& s = m.asked;
  s.frames = 0;
  if (!own_code_is_known() || inside_heap()) return site::unknown;
  if (!is_leavable(p.pc) && !unwinds_without_lock) return site::unknown;
  walk w{p.pc, &s};
  w.in_call = stands_still_there;
  if (!walk_interrupted(m, p.pc, look_at_frame, &w) || !w.reached_end) return site::unknown;
  if (w.all_leavable) return site::clean;
  return w.all_harmless ? site::harmless : site::unknown;
}

LEAT_UNWATCHED void note_trace(M& m, const G& g, const interrupted& p, bool may_walk) noexcept {
  probe& s = m.asked;
  s.frames = 0;
  if (may_walk && (unwinds_without_lock || is_leavable(p.pc))) {
    walk w{p.pc, &s};
    (void)walk_interrupted(m, p.pc, look_at_frame, &w);
  }
  if (s.frames < 2) s.frames = fiber::frames_from(*g.ctx.stack, p.pc, p.fp, p.link, s.trace, most_frames);
}

[[noreturn]] LEAT_UNWATCHED void stand_still(probe& s) noexcept {
  // Not those that the C library needs for itself, which pthread_sigmask leaves alone.
  sigset_t all;
  sigfillset(&all);
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  fiber::note_handed_over(&s);
  s.word.store(probe::frozen, std::memory_order_release);  // pairs with read_answer
  static std::uint32_t never = 0;
  for (;;) (void)::syscall(SYS_futex, &never, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

constexpr unsigned stands_still = 10;  // looks at the same system call, each after twice the time: some ms

// Calls that the C library wraps in ways that are not safe in a handler.
struct old_itimerspec {
  long every_s = 0, every_ns = 0, first_s = 0, first_ns = 0;
};

// One shot each time: were the timer faster than the handler, the thread would never get on. If it has not
// got on at all, it is given more time.
LEAT_UNWATCHED void look_again_soon(const probe& s) noexcept {
  old_itimerspec t;
  const auto odd = static_cast<long>(s.looks.load(std::memory_order_relaxed) * 2654435761u >>
                                     20);  // up to 4 us: never in step with a loop
  t.first_ns = (3000 + odd) << s.still;
  (void)::syscall(SYS_timer_settime, s.timer, 0, &t, nullptr);
}

// On g0, when the stack of the G has been left: the thread is an owner that has just entered.
void after_leaving(void* arg) noexcept {
  M& m = *static_cast<M*>(arg);
  if (!m.gate.enter()) (void)m.gate.enter_slow();
  (void)::pthread_sigmask(SIG_SETMASK, &m.asked.mask, nullptr);
  life::back_from_fence(m);
  m.asked.word.store(probe::left, std::memory_order_release);  // pairs with read_answer
}

LEAT_UNWATCHED void answer(M& m, ucontext_t& context) noexcept {
  probe& s = m.asked;
  // Both seq_cst, as in put_question: either this one sees the question, or that one sends another signal.
  (void)s.under_way.exchange(0, std::memory_order_seq_cst);
  std::uint32_t question = s.word.load(std::memory_order_seq_cst);  // a; pairs with put_question
  if (!probe::is_question(question)) return;
  if (!s.word.compare_exchange_strong(question, probe::answering, std::memory_order_acq_rel)) return;  // b
  const auto say = [&s](probe::state a) LEAT_UNWATCHED {
    s.word.store(a, std::memory_order_release);  // pairs with read_answer
  };
  G* const g = read_unwatched(m.cur);
  if (m.gate.in_runtime() || m.gate.entries() != s.entries || !g) {  // c
    s.frames = 0;
    return say(probe::entered);
  }
  const interrupted p = place_of(&context);
  // Where they are blocked, a fault amid a walk would end the program.
  const bool may_walk =
      sigismember(&context.uc_sigmask, SIGSEGV) == 0 && sigismember(&context.uc_sigmask, SIGBUS) == 0;
  s.still = p.registers == s.registers && at_system_call(p) ? s.still + 1 : 0;
  s.registers = p.registers;
  if (question == probe::where) {  // d
    note_trace(m, *g, p, may_walk);
    return say(probe::seen);
  }
  const unsigned looks = s.looks.load(std::memory_order_relaxed) + 1;
  const bool stands = s.still >= stands_still;
  const bool last_look = looks >= s.most_looks || stands;
  site here = site::unknown;
  if (may_walk && leat::detail::mutexes_held() == 0 && g->no_quarantine.load(std::memory_order_relaxed) == 0)
    here = look_around(m, p, stands);
  // Leaving is better, since the thread goes on: freezing waits until a place for it was sought for long.
  const bool may_freeze = !can_leave() || looks >= s.most_looks / 2 || stands;
  if (here == site::harmless && may_freeze) stand_still(s);  // f
  if (here == site::clean && !can_leave()) stand_still(s);   // f
  if (here != site::clean) {                                 // g
    s.looks.store(looks, std::memory_order_relaxed);
    s.no_place = last_look;
    if (s.no_place || s.timer < 0) return say(probe::unclean);
    s.word.store(question, std::memory_order_release);
    look_again_soon(s);
    return;
  }
  (void)m.gate.enter();  // e
  // Until the signal's stack has been left, no other handler may begin on it.
  sigset_t all;
  sigfillset(&all);
  s.mask = context.uc_sigmask;
  (void)::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  fiber::finish(m, g->ctx, m.self, after_leaving, &m);
}

LEAT_UNWATCHED void on_probe(int, siginfo_t*, void* context) {
  const int saved = errno;
  if (M* const m = whole(static_cast<m_front*>(fiber::thread_slot::load_in_handler())))
    answer(*m, *static_cast<ucontext_t*>(context));
  errno = saved;
}

}  // namespace

namespace {

// To log needs no runtime, but it is a call into Leat like any other: one that was replaced says no more. And
// a sink of the user's may come into the runtime, while others wait until it has returned.
void end_if_fenced() noexcept {
  const M* const m = current_m();
  const G* const g = m && !m->gate.in_runtime() ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (g && is_fenced(*g)) pass_gate();
}

}  // namespace

void add_leavable_file(const char* path) { leavable_files().emplace_back(path); }

void prepare_quarantine() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    (void)::dl_iterate_phdr(note_module, nullptr);
    // Its allocator is what the name leads to.
    if constexpr (fiber::under_asan || fiber::under_tsan)
      sanitizer_is_apart = !is_leavable(reinterpret_cast<std::uintptr_t>(::dlsym(RTLD_DEFAULT, "malloc")));
    prepare_walks();
    choose_signal();
    look_up_plain_calls();
    find_out_about_heap();
    leat::detail::before_log.store(end_if_fenced, std::memory_order_relaxed);
  });
}

unsettled why_unsettled() noexcept {
  prepare_quarantine();
  if (own_code_is_known()) return unsettled::none;
  if (!c_library_is_apart) return unsettled::static_c_library;
  return cxx_library_is_apart ? unsettled::own_allocator : unsettled::static_cxx_library;
}

void unblock_quarantine_signal() noexcept {
  const int number = signal_number.load(std::memory_order_relaxed);
  if (number == 0) return;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  (void)::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

bool can_leave() noexcept { return may_switch_in_handler && own_code_is_known(); }
bool can_freeze() noexcept { return own_code_is_known(); }

namespace {

constexpr int kept_signals[] = {SIGINT, SIGQUIT};
struct sigaction kept_actions[std::size(kept_signals)];
std::atomic<bool> actions_noted{false};

}  // namespace

void note_signals() noexcept {
  for (std::size_t i = 0; i < std::size(kept_signals); ++i)
    (void)::sigaction(kept_signals[i], nullptr, &kept_actions[i]);
  actions_noted.store(true, std::memory_order_release);  // pairs with restore_signals
}

void restore_signals() noexcept {
  if (!actions_noted.load(std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < std::size(kept_signals); ++i) {
    struct sigaction now = {};
    if (::sigaction(kept_signals[i], nullptr, &now) != 0 || (now.sa_flags & SA_SIGINFO)) continue;
    if (now.sa_handler == SIG_IGN && kept_actions[i].sa_handler != SIG_IGN)
      (void)::sigaction(kept_signals[i], &kept_actions[i], nullptr);
  }
}

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

put put_question(M& m, probe::state question) noexcept {
  // Somebody may have taken the signal for himself meanwhile.
  if (!is_ours(signal_number.load(std::memory_order_relaxed))) choose_signal();
  const int number = signal_number.load(std::memory_order_relaxed);
  if (number == 0) return put::no_signal;
  if constexpr (unwinds_without_lock)
    learn_plain_calls(number, [](std::uintptr_t pc) noexcept { return shared.hold(pc); });
  if (question == probe::settle) begin_looks(m, number);
  m.asked.word.store(question, std::memory_order_seq_cst);  // pairs with answer
  if (m.asked.under_way.exchange(1, std::memory_order_seq_cst) != 0) return put::done;
  if (::syscall(SYS_tgkill, ::getpid(), m.tid.load(std::memory_order_relaxed), number) == 0) return put::done;
  const int why = errno;
  m.asked.under_way.store(0, std::memory_order_relaxed);
  const bool withdrawn = withdraw_question(m);
  errno = why;
  return withdrawn ? put::refused : put::done;
}

probe::state read_answer(M& m) noexcept {
  const std::uint32_t w = m.asked.word.load(std::memory_order_acquire);  // pairs with answer
  if (!probe::is_answer(w)) return probe::none;
  m.asked.word.store(probe::none, std::memory_order_relaxed);
  m.asked.answer = static_cast<probe::state>(w);
  if (w == probe::frozen) fiber::note_taken_over(&m.asked);
  end_looks(m);
  return m.asked.answer;
}

bool withdraw_question(M& m) noexcept {
  std::uint32_t w = m.asked.word.load(std::memory_order_relaxed);
  if (!probe::is_question(w) ||
      !m.asked.word.compare_exchange_strong(w, probe::none, std::memory_order_relaxed))
    return false;
  end_looks(m);
  return true;
}

}  // namespace leat::sched

namespace leat {
int quarantine_signal() noexcept { return sched::signal_number.load(std::memory_order_relaxed); }
}  // namespace leat
