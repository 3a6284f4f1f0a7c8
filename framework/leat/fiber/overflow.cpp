// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/overflow.hpp>

#include <dlfcn.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <iterator>
#include <mutex>

#include <leat/base/check.hpp>
#include <leat/base/format.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/fiber/stack_region.hpp>

namespace leat::fiber {
namespace {

// A fixed table, so that the handler can walk it whatever the program was doing. Slots are claimed and
// cleared by compare-exchange; a region is cleared before its memory goes.
constexpr std::size_t max_regions = 256;
std::atomic<const stack_region*> regions[max_regions];

struct watched_signal {
  int number;
  struct sigaction earlier = {};
  bool installed = false;
  std::atomic<bool> spent{false};  // a one-shot handler (SA_RESETHAND) has had its turn
  std::atomic<bool> told{false};   // that it went to the earlier handler

  // The program's own handler is to be called.
  bool has_earlier() const noexcept {
    if ((earlier.sa_flags & static_cast<int>(SA_RESETHAND)) && spent.load()) return false;
    return (earlier.sa_flags & SA_SIGINFO) ||
           (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN);
  }
};
watched_signal watched[] = {{SIGSEGV}, {SIGBUS}, {SIGILL}, {SIGFPE}, {SIGABRT}};
constexpr std::size_t of_overflows = 2;  // the first two
std::mutex installing;

std::atomic<crash_report_fn> crash_report{nullptr};
std::atomic<long> reporting_thread{0};
std::atomic<bool> handed_on{false};  // its report is written; a handler of the program's has its turn

// How much more the function wanted that was about to take its frame. The fault itself does not tell: a large
// frame is probed page by page, so that the first page below the stack is hit. But the loop that does so has
// its end in a register: on x86-64 both compilers keep it in r11, on AArch64 the comparison names it. Zero: not known.
std::size_t still_wanted([[maybe_unused]] const void* context) noexcept {
#if defined(__x86_64__)
  const auto* const registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
  const auto sp = static_cast<std::uint64_t>(registers[REG_RSP]);
  const auto end = static_cast<std::uint64_t>(registers[REG_R11]);
  const auto* code = reinterpret_cast<const unsigned char*>(registers[REG_RIP]);
  constexpr unsigned char by_gcc[] = {0x48, 0x83, 0x0c, 0x24, 0x00};                      // orq $0, (%rsp)
  constexpr unsigned char by_clang[] = {0x48, 0xc7, 0x04, 0x24, 0x00, 0x00, 0x00, 0x00};  // movq $0, (%rsp)
  constexpr unsigned char compare[] = {0x4c, 0x39, 0xdc};                                 // cmpq %r11, %rsp
  if (std::memcmp(code, by_gcc, sizeof by_gcc) == 0)
    code += sizeof by_gcc;
  else if (std::memcmp(code, by_clang, sizeof by_clang) == 0)
    code += sizeof by_clang;
  else
    return 0;
  if (std::memcmp(code, compare, sizeof compare) == 0 && end < sp) return sp - end;
#elif defined(__aarch64__)
  const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
  const auto instruction = [&](std::ptrdiff_t bytes_on) {
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const unsigned char*>(registers.pc) + bytes_on, sizeof word);
    return word;
  };
  constexpr std::uint32_t offset_bits = 0xfffu << 10;
  constexpr std::uint32_t probe = 0xf90003ff;           // str xzr, [sp, #offset]
  constexpr std::uint32_t register_bits = 0x1fu << 16;  // of what follows
  constexpr std::uint32_t compare = 0xeb2063ff;         // cmp sp, x0
  if ((instruction(0) & ~offset_bits) != probe) return 0;
  // GCC compares after the probe, Clang before it.
  for (const std::ptrdiff_t place : {4, -8}) {
    const std::uint32_t word = instruction(place);
    if ((word & ~register_bits) != compare) continue;
    const std::uint32_t n = (word & register_bits) >> 16;
    if (n < std::size(registers.regs) && registers.regs[n] < registers.sp)
      return registers.sp - registers.regs[n];
  }
#endif
  return 0;
}

constexpr std::size_t largest_stack = 8 << 20;          // that a file may ask for
constexpr std::size_t largest_small_frame = 16 * 1024;  // of a function without large arrays

// At least twice as large, and enough for that frame with some room for what it calls.
std::size_t enough(std::size_t size, std::size_t more) noexcept {
  constexpr std::size_t room = 16 * 1024;
  std::size_t n = size * 2;
  while (n < size + more + room && n <= largest_stack) n *= 2;
  return n;
}

void report(const stack& s, const void* fault, const void* context) noexcept {
  const char* name = s.label();
  const auto below = static_cast<std::size_t>(s.low() - static_cast<const char*>(fault));
  const std::size_t more = still_wanted(context);
  const std::size_t better = enough(s.size(), more);
  fixed_text<1024> t;
  t.format("leat: '{}' overflowed its stack of {}K (fault at {}, {} bytes below it)\n",
           name ? name : "unnamed fiber", s.size() / 1024, fault, below);
  if (more >= largest_small_frame)
    t.format(
        "leat: a function there takes {}K more at once; large arrays belong on the heap, as a std::vector\n",
        more / 1024);
  if (better > largest_stack) {
    t.format("leat: no stack is large enough for that\n");
  } else if (name && std::strcmp(name, "main") == 0) {
    t.format(
        "leat: give main a larger one: [runtime] stack = \"{}K\" in TOML, or runtime_options::stack in "
        "C++; that is the default of all others too\n",
        better / 1024);
  } else {
    t.format(
        "leat: give it a larger one: stack = \"{}K\" for the process in TOML, or spawn_options::stack in "
        "C++\n",
        better / 1024);
  }
  write_dying(STDERR_FILENO, t.view());
}

void pass_on(watched_signal& w, siginfo_t* info, void* context) noexcept {
  const struct sigaction& earlier = w.earlier;
  const bool callable = !((earlier.sa_flags & static_cast<int>(SA_RESETHAND)) && w.spent.exchange(true));
  if (callable && (earlier.sa_flags & SA_SIGINFO)) {
    earlier.sa_sigaction(w.number, info, context);
  } else if (callable && earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) {
    earlier.sa_handler(w.number);
  } else {
    // Returning runs the faulting instruction again, now with the default action. A fault that was
    // sent by kill() does not come again by itself, so that one is raised.
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    real_sigaction()(w.number, &standard, nullptr);
    if (info->si_code <= 0) ::raise(w.number);
  }
}

constexpr timespec nap{0, 10'000'000};
constexpr int most_naps = 200;

// The handlers that come next, a sanitizer's for one, bear no company: one thread at a time goes there with a
// report. If it left its handler by a jump, those that come later wait once.
void let_it_finish(long self) noexcept {
  long first = reporting_thread.load();
  for (int naps = 0; first != 0 && first != self; first = reporting_thread.load()) {
    if (++naps > most_naps) {
      (void)reporting_thread.compare_exchange_strong(first, 0);
      return;
    }
    ::nanosleep(&nap, nullptr);
  }
}

// One thread reports; another that dies meanwhile lets it, for a while. False: it has died of the report.
bool claim_report(long self) noexcept {
  for (int naps = 0;; ++naps) {
    long first = 0;
    if (reporting_thread.compare_exchange_strong(first, self)) return true;
    if (first == self) return handed_on.load();  // it jumped out of the program's handler, or died in there
    if (naps == most_naps) return reporting_thread.compare_exchange_strong(first, self);
    ::nanosleep(&nap, nullptr);
  }
}

// True: the program may go on after it.
bool report_crash(watched_signal& w, const siginfo_t* info, const void* context) noexcept {
  const crash_report_fn report = crash_report.load(std::memory_order_acquire);
  if (!report) return false;
  const bool mended_perhaps = w.has_earlier();
  const long self = ::syscall(SYS_gettid);
  // Some programs live with faults, and mend one after the other: told once.
  if (mended_perhaps && w.told.exchange(true)) {
    let_it_finish(self);
    return false;
  }
  if (!claim_report(self)) return false;
  handed_on.store(false);
  report(w.number, info->si_code > 0 ? info->si_addr : nullptr, context, mended_perhaps);
  handed_on.store(true);
  return mended_perhaps;
}

std::atomic<void (*)() noexcept> expected_fault{nullptr};

void report_fault(int sig, siginfo_t* info, void* context) {
  bool in_guard = false;
  const bool fault = (sig == SIGSEGV || sig == SIGBUS) && info->si_code > 0;
  const stack* s = fault ? find_stack(info->si_addr, in_guard) : nullptr;
  if (s && in_guard) report(*s, info->si_addr, context);
  for (watched_signal& w : watched) {
    if (w.number != sig) continue;
    const bool goes_on = report_crash(w, info, context);
    pass_on(w, info, context);
    if (goes_on) reporting_thread.store(0);
  }
}

// With nothing of its own on the stack: expected_fault jumps away from here.
LEAT_UNWATCHED void on_fault(int sig, siginfo_t* info, void* context) {
  if ((sig == SIGSEGV || sig == SIGBUS) && info->si_code > 0)
    if (const auto f = expected_fault.load(std::memory_order_acquire)) f();  // pairs with on_expected_fault
  report_fault(sig, info, context);
}

void install(std::size_t first_few) noexcept {
  const std::lock_guard hold(installing);
  for (std::size_t i = 0; i < first_few; ++i) {
    watched_signal& w = watched[i];
    if (w.installed) continue;
    w.installed = true;
    struct sigaction ours = {};
    ours.sa_sigaction = on_fault;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    real_sigaction()(w.number, &ours, &w.earlier);
  }
}

}  // namespace

sigaction_fn real_sigaction() noexcept {
  static const auto fn = [] {
    void* const found = under_tsan ? ::dlsym(RTLD_DEFAULT, "__sigaction") : nullptr;
    return found ? reinterpret_cast<sigaction_fn>(found) : static_cast<sigaction_fn>(&::sigaction);
  }();
  return fn;
}

void report_overflows() noexcept { install(of_overflows); }

void on_expected_fault(void (*f)() noexcept) noexcept {
  expected_fault.store(f, std::memory_order_release);  // pairs with on_fault
}

void report_crashes(crash_report_fn report) noexcept {
  crash_report.store(report, std::memory_order_release);  // pairs with report_crash
  install(std::size(watched));
}

signal_stack::signal_stack() noexcept {
  stack_t now = {};
  if (::sigaltstack(nullptr, &now) == 0 && !(now.ss_flags & SS_DISABLE)) return;
  // The kernel's part grows with the vector registers; the rest is for handlers, a sanitizer's included.
  constexpr std::size_t for_handlers = 64 * 1024;
  const std::size_t page = os_memory::page_size();
  const std::size_t bytes = (::getauxval(AT_MINSIGSTKSZ) + for_handlers + page - 1) / page * page;
  void* p =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return;  // overflows on this thread die without a report
  stack_t mine = {};
  mine.ss_sp = p;
  mine.ss_size = bytes;
  if (::sigaltstack(&mine, nullptr) != 0) {
    ::munmap(p, bytes);
    return;
  }
  memory_ = p;
  bytes_ = bytes;
}

signal_stack::~signal_stack() {
  if (!memory_) return;
  stack_t off = {};
  off.ss_flags = SS_DISABLE;
  ::sigaltstack(&off, nullptr);
  ::munmap(memory_, bytes_);
}

const stack* find_stack(const void* address, bool& in_guard) noexcept {
  for (auto& slot : regions) {
    const stack_region* r = slot.load(std::memory_order_acquire);
    if (!r) continue;
    if (const stack* s = r->find(address, in_guard)) return s;
  }
  return nullptr;
}

void register_region(const stack_region* r) noexcept {
  for (auto& slot : regions) {
    const stack_region* none = nullptr;
    if (slot.compare_exchange_strong(none, r, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  // A full table costs only the report of that region's overflows.
}

void unregister_region(const stack_region* r) noexcept {
  for (auto& slot : regions) {
    const stack_region* mine = r;
    if (slot.compare_exchange_strong(mine, nullptr, std::memory_order_acq_rel, std::memory_order_relaxed))
      return;
  }
}

}  // namespace leat::fiber
