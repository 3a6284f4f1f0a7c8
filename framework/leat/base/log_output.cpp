// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log_output.hpp>

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>
#include <leat/base/mutex.hpp>
#include <leat/base/write_now.hpp>

namespace leat {
namespace {

constexpr std::size_t room = 64 * 1024;
constexpr std::size_t most_at_once = 4096;

// Bytes in a ring. A spinlock of its own: it is held for a copy of a line, and may be taken under any other.
struct queue {
  std::atomic<bool> locked{false};
  std::size_t head = 0, size = 0;
  std::uint64_t lost = 0;
  char bytes[room] = {};
};
constinit queue kept;
constinit std::atomic<bool> emptying{false};
constinit std::atomic<bool> stalled{false};
constinit std::atomic<std::size_t> backlog{0};

class hold {
 public:
  hold() noexcept {
    detail::count_mutex(1);  // its thread must not be stopped here (sched/quarantine.hpp)
    for (int turns = 0; kept.locked.exchange(true, std::memory_order_acquire); ++turns) {  // pairs with ~hold
      // sched_yield alone never lets a holder of lower real-time priority on this core go on.
      if (turns < 20) {
        ::sched_yield();
      } else {
        ::usleep(20);
      }
    }
  }
  ~hold() {
    backlog.store(kept.size, std::memory_order_relaxed);
    kept.locked.store(false, std::memory_order_release);
    detail::count_mutex(-1);
  }
  hold(const hold&) = delete;
  hold& operator=(const hold&) = delete;
};

void append(std::string_view text) noexcept {
  for (const char c : text) {
    kept.bytes[(kept.head + kept.size) % room] = c;
    ++kept.size;
  }
}

// b and c. False: it takes no more now.
bool write_front() noexcept {
  char part[most_at_once];
  std::size_t n = 0;
  {
    const hold lock;
    n = std::min(kept.size, sizeof part);
    for (std::size_t i = 0; i < n; ++i) part[i] = kept.bytes[(kept.head + i) % room];
    // What was lost comes behind what was kept, and before what comes next: in one section, since lines that
    // come in between could leave no room for it.
    if (n == 0 && kept.lost > 0) {
      fixed_text<128> text;
      text.format("leat: stderr took nothing for a while: {} lines of the log were lost here\n",
                  std::exchange(kept.lost, 0));
      append(text.view());
    }
  }
  if (n == 0) return true;
  const ssize_t written = write_now(STDERR_FILENO, part, n);
  if (written == 0) return false;
  const hold lock;
  const std::size_t gone = written < 0 ? kept.size : std::min(static_cast<std::size_t>(written), kept.size);
  kept.head = (kept.head + gone) % room;
  kept.size -= gone;
  if (written < 0) kept.lost = 0;  // nobody will ever be told
  return true;
}

bool something_kept() noexcept {
  const hold lock;
  return kept.size > 0 || kept.lost > 0;
}

}  // namespace

namespace detail {

constinit std::atomic<void (*)() noexcept> before_log{nullptr};

bool log_is_stalled() noexcept { return stalled.load(std::memory_order_relaxed); }
std::size_t log_backlog() noexcept { return backlog.load(std::memory_order_relaxed); }

void empty_log() noexcept {
  const int before = errno;
  count_mutex(1);
  while (!emptying.exchange(true, std::memory_order_seq_cst)) {  // a
    bool takes = true;
    while (takes && something_kept()) takes = write_front();
    stalled.store(!takes, std::memory_order_relaxed);
    emptying.store(false, std::memory_order_seq_cst);  // d
    if (!takes || !something_kept()) break;
  }
  count_mutex(-1);
  errno = before;
}

// In a simulated world, where a run must give the same lines each time: how fast somebody reads is no part of it. A
// reader that takes nothing for ten seconds loses lines as elsewhere.
static void wait_for_reader() noexcept {
  const std::int64_t until = real_now_ns() + 10'000'000'000;
  while (log_backlog() > 0 && real_now_ns() < until) {
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    (void)::poll(&out, 1, 100);
    empty_log();
  }
}

void put_log_line(std::string_view line) noexcept {
  {
    const hold lock;
    // Once a line is lost, those after it are too, until the gap has been reported.
    if (kept.lost > 0 || room - kept.size < line.size()) {
      ++kept.lost;
    } else {
      append(line);
    }
  }
  empty_log();
  if (world_time.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wait_for_reader();
}

}  // namespace detail

void write_last_words(std::string_view text, int within_ms) noexcept {
  const int before = errno;
  const auto now_ms = [] {
    timespec at{};
    ::clock_gettime(CLOCK_MONOTONIC, &at);
    return static_cast<std::int64_t>(at.tv_sec) * 1000 + at.tv_nsec / 1'000'000;
  };
  const std::int64_t until = now_ms() + within_ms;
  for (;;) {
    detail::empty_log();
    if (!something_kept()) break;
    if (now_ms() >= until) return;
    ::usleep(5000);
  }
  while (!text.empty()) {
    const ssize_t n = write_now(STDERR_FILENO, text.data(), std::min(text.size(), most_at_once));
    if (n < 0) break;
    if (n == 0 && now_ms() >= until) break;
    if (n == 0) ::usleep(5000);
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }
  errno = before;
}

}  // namespace leat
