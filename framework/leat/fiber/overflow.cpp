// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/overflow.hpp>

#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <csignal>
#include <ctime>
#include <iterator>
#include <leat/base/check.hpp>
#include <leat/base/format.hpp>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/fiber/stack_region.hpp>
#include <mutex>

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

void report(const stack& s, const void* fault) noexcept {
  const char* name = s.label();
  const auto below = static_cast<std::size_t>(s.low() - static_cast<const char*>(fault));
  fixed_text<512> t;
  t.format("leat: '{}' overflowed its stack of {}K (fault at {}, {} bytes below it)\n",
           name ? name : "unnamed fiber", s.size() / 1024, fault, below);
  t.format(
      "leat: give it a larger one: stack = \"{}K\" for the process in TOML, or spawn_options::stack in C++\n",
      s.size() / 512);
  write_text(STDERR_FILENO, t.view());
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
    ::sigaction(w.number, &standard, nullptr);
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

void on_fault(int sig, siginfo_t* info, void* context) {
  bool in_guard = false;
  const bool fault = (sig == SIGSEGV || sig == SIGBUS) && info->si_code > 0;
  const stack* s = fault ? find_stack(info->si_addr, in_guard) : nullptr;
  if (s && in_guard) report(*s, info->si_addr);
  for (watched_signal& w : watched) {
    if (w.number != sig) continue;
    const bool goes_on = report_crash(w, info, context);
    pass_on(w, info, context);
    if (goes_on) reporting_thread.store(0);
  }
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
    ::sigaction(w.number, &ours, &w.earlier);
  }
}

}  // namespace

void report_overflows() noexcept { install(of_overflows); }

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
