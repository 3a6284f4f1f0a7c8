// SPDX-License-Identifier: BSL-1.0
//
// G: one running process body or closure.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>

#include <leat/base/atom.hpp>
#include <leat/base/check.hpp>
#include <leat/base/list.hpp>
#include <leat/fiber/fiber.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/sched/timer.hpp>

namespace leat::sched {

struct M;
class scheduler;
class stop_state;
struct overrun_watch;

// Who owns the G, and what holds it, in each status:
//   idle         free; a P's pool or the central one
//   runnable     queued; in exactly one of run_next, a ring, the global queue, or on its way between them
//   running      the M whose `cur` it is; in no queue
//   syscall      as running, in a declared blocking call
//   waiting      whoever will ready it: a timer heap, a join word, a channel, a stop
//   preempted    gave way, or lost its P, and is on its way to the global queue
//   dead         finished; the task handle, or nobody
//   quarantined  fenced: over for everybody else. Its thread may run on, be frozen, or have left its stack
//                (fence.hpp). Nobody owns it; it is never used again
enum class g_status : std::uint8_t {
  idle,
  runnable,
  running,
  syscall,
  waiting,
  preempted,
  dead,
  quarantined
};
const char* to_string(g_status s) noexcept;

constexpr bool may_become(g_status from, g_status to) noexcept {
  using enum g_status;
  switch (to) {
    case idle: return from == dead || from == idle;  // idle: it was never started
    case runnable:
      return from == idle || from == waiting || from == running || from == preempted || from == syscall;
    case running: return from == runnable || from == syscall;
    case syscall: return from == running;
    case waiting: return from == running;
    case preempted: return from == running;
    case dead:
      return from == running || from == runnable;  // runnable: there was no stack, or no thread, for it
    case quarantined: return from == running;
  }
  return false;
}

enum class wait_reason : std::uint8_t {
  none,
  sleep,
  join,
  drain,
  send,
  receive,
  select,
  mutex,
  condition,
  semaphore,
  io,
  parked,
};
const char* to_string(wait_reason r) noexcept;

enum class stop_level : std::uint8_t { none, asked, insisted };

// Something a G waits for that a stop can end. Lives on the waiting G's stack.
struct interruptible {
  // Takes the G out of what it waits for. True: the caller readies it. False: somebody else has.
  bool (*withdraw)(interruptible& self) noexcept;
  // The name of the channel that it waits at, or null. Belongs to the channel: to be read only when nobody
  // can run.
  const char* at = nullptr;
};

// Where a G runs when it wants a thread of its own.
struct own_thread {
  int cpu = -1;      // -1: any
  int priority = 0;  // SCHED_FIFO; 0: ordinary
};

// The word through which a finished G meets its joiner. Other values are a waiting G*, or a waiting
// plain thread's thread_event* with the lowest bit set.
enum join_word : std::uintptr_t { join_running = 0, join_done = 2, join_detached = 4 };

// What a G has beyond the ordinary; while none is set, its last lines are not touched.
enum g_extra : std::uint8_t {
  g_named = 1,
  g_has_locals = 2,
  g_has_stop_source = 4,
  g_failed = 8,
  g_own_thread = 16,
  g_guarded = 32,
  g_watches = 64,  // over others (heartbeat.hpp)
};

// What few Gs have. g_extra says what of it is in use.
struct g_more {
  own_thread own;
  std::exception_ptr failure;  // written by body before join_done
  M* locked_m = nullptr;
  void* locals = nullptr;  // local.cpp
  std::shared_ptr<stop_state> stop_with;
  atom<const void*> stop_key{nullptr};  // the same for others, who compare it: dumps
};

// Ordered by who touches what: a G that is spawned, runs once and ends lives in the first three lines.
struct alignas(64) G {
  static constexpr std::size_t closure_size = 64;

  G* link = nullptr;           // next in the queue that holds it
  void (*body)(G&) = nullptr;  // runs the closure; must not throw
  void (*drop)(G&) = nullptr;  // destroys what body left for the joiner; may be null
  atom<std::uintptr_t> join{join_running};
  std::uint64_t id = 0;
  atom<g_status> status{g_status::idle};
  atom<wait_reason> reason{wait_reason::none};
  atom<stop_level> stop{stop_level::none};
  std::uint8_t extras = 0;              // g_extra; written by the spawner, then by the G itself
  std::uint16_t stack_pages = 0;        // of 4 KiB; 0: the runtime's default
  atom<std::uint8_t> interrupting{0};   // a stop is looking at waiting_on (interrupt.hpp)
  atom<std::uint8_t> no_quarantine{0};  // written by the G, read by its thread's signal handler
  atom<std::int64_t> since{0};          // coarse time of the last park
  atom<interruptible*> waiting_on{nullptr};

  alignas(64) std::byte closure[closure_size];

  alignas(64) fiber::context ctx;

  // With wait_reason::io: the name of the operation, a literal.
  atom<const char*> waits_in{nullptr};
  atom<int> waits_fd{-1};  // with wait_reason::io: the descriptor, if it is known
  // CPU time in us, modulo 2^32, of all who have used this memory, as sysmon samples it (sight.hpp).
  atom<std::uint32_t> cpu{0};
  scheduler* home = nullptr;  // whose memory this is, for good
  timer nap;
  g_more more;
  list_node stop_node;
  // g_guarded (overrun_watch.hpp). Written by the spawner, then by the G inside the runtime; to be followed
  // by others only while they hold it in user code.
  atom<overrun_watch*> watch{nullptr};
  char name[24] = {};  // g_named

  // Every change of status goes through here; debug builds check that it is one of those that exist.
  void become(g_status to) noexcept {
    LEAT_DCHECK(may_become(status.load(std::memory_order_relaxed), to), "a G took a step that does not exist",
                "g", id, "name", static_cast<const char*>(name), "from",
                to_string(status.load(std::memory_order_relaxed)), "to", to_string(to));
    status.store(to, std::memory_order_relaxed);
  }

  bool wants_own_thread() const noexcept { return (extras & g_own_thread) != 0; }
  const char* label() const noexcept { return extras & g_named ? name : nullptr; }
  void set_name(const char* text, std::size_t n) noexcept;
  void fail(std::exception_ptr e) noexcept {
    more.failure = std::move(e);
    extras |= g_failed;
  }
};

// A parked G takes this and a page of stack: a line more is a line more a million times.
static_assert(sizeof(void*) != 8 || sizeof(G) <= 384);

// The unit of G::stack_pages.
inline constexpr std::size_t stack_page = 4096;
static_assert(fiber::max_stack_size / stack_page <= std::numeric_limits<std::uint16_t>::max());

using g_queue = queue<G, &G::link>;

}  // namespace leat::sched
