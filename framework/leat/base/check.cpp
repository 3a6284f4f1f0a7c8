// SPDX-License-Identifier: BSL-1.0
#include <leat/base/check.hpp>

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace leat {

namespace {

// A slot is free, being written, or ready. `readers` counts threads between looking at a ready slot
// and returning from its fn; remove waits for zero after it took the slot out of ready. Sequentially
// consistent throughout: either the reader sees the slot leave ready, or the remover sees the reader.
enum slot_state : int { slot_free, slot_busy, slot_ready };

struct last_words_slot {
  std::atomic<int> state{slot_free};
  std::atomic<int> readers{0};
  // Written only in state busy by whoever set it; read in state ready, or by a counted reader.
  last_words_fn fn = nullptr;
  void* arg = nullptr;
};

constinit last_words_slot slots[16];

// The thread that dies first and prints; zero while all is well.
constinit std::atomic<long> dying_thread{0};

}  // namespace

void add_last_words(last_words_fn fn, void* arg) noexcept {
  for (last_words_slot& slot : slots) {
    int expected = slot_free;
    if (!slot.state.compare_exchange_strong(expected, slot_busy)) continue;
    // A late reader of the slot's former content may still be counted; it has seen that the slot is not
    // ready.
    slot.fn = fn;
    slot.arg = arg;
    slot.state.store(slot_ready);
    return;
  }
  LEAT_CHECK(false, "no slot left for last words", "slots", sizeof slots / sizeof slots[0]);
}

void remove_last_words(last_words_fn fn, void* arg) noexcept {
  for (last_words_slot& slot : slots) {
    // Counted like a reader, so that fn and arg hold still while they are compared.
    slot.readers.fetch_add(1);
    const bool match = slot.state.load() == slot_ready && slot.fn == fn && slot.arg == arg;
    int expected = slot_ready;
    const bool taken = match && slot.state.compare_exchange_strong(expected, slot_busy);
    slot.readers.fetch_sub(1);
    if (!taken) continue;
    while (slot.readers.load() != 0) ::sched_yield();
    slot.state.store(slot_free);
    return;
  }
}

void run_last_words(int fd) noexcept {
  for (last_words_slot& slot : slots) {
    slot.readers.fetch_add(1);
    if (slot.state.load() == slot_ready) slot.fn(fd, slot.arg);
    slot.readers.fetch_sub(1);
  }
}

namespace detail {

void check_failed(const check_site& site, std::string_view what, const format_arg* names_and_values,
                  std::size_t count) noexcept {
  {
    char line[1024];
    text_buffer text(line, sizeof line - 1);
    text.append(site.file)
        .append(':')
        .append_int(site.line)
        .append(": check failed: ")
        .append(site.condition);
    text.append(": ").append(what);
    for (std::size_t i = 0; i + 1 < count; i += 2)
      text.append(i == 0 ? " (" : ", ")
          .append(names_and_values[i])
          .append('=')
          .append(names_and_values[i + 1]);
    if (count != 0) text.append(')');
    line[text.size()] = '\n';
    write_dying(STDERR_FILENO, {line, text.size() + 1});
  }
  const long self = ::syscall(SYS_gettid);
  long first = 0;
  if (dying_thread.compare_exchange_strong(first, self)) {
    run_last_words(STDERR_FILENO);
  } else if (first != self) {
    // Another thread is printing its last words; abort only if it got stuck in them.
    const timespec patience{5, 0};
    ::nanosleep(&patience, nullptr);
  }
  std::abort();
}

}  // namespace detail
}  // namespace leat
