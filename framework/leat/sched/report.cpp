// SPDX-License-Identifier: BSL-1.0
//
// What the scheduler tells about itself: stats, trace lines, the dump of all Gs, the deadlock report.
#include <unistd.h>
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

const char* to_string(g_status s) noexcept {
  constexpr const char* names[] = {"idle",    "runnable",  "running", "blocking call",
                                   "waiting", "preempted", "dead",    "quarantined"};
  return names[static_cast<std::size_t>(s)];
}
const char* to_string(wait_reason r) noexcept {
  constexpr const char* names[] = {"nothing", "sleep", "join",      "drain",     "send", "receive",
                                   "select",  "mutex", "condition", "semaphore", "I/O",  "parked"};
  return names[static_cast<std::size_t>(r)];
}
const char* to_string(p_status s) noexcept {
  constexpr const char* names[] = {"idle", "running", "blocking call", "stopped"};
  return names[static_cast<std::size_t>(s)];
}
const char* to_string(event_kind k) noexcept {
  constexpr const char* names[] = {"none",   "created",    "run",        "parked",  "readied",
                                   "stolen", "retaken",    "handed off", "yielded", "finished",
                                   "woken",  "overflowed", "took global"};
  return names[static_cast<std::size_t>(k)];
}

void event_ring::read(std::uint16_t p, std::vector<event>& out) const {
  const std::uint32_t end = next_.load(std::memory_order_relaxed);
  const std::uint32_t n = std::min(end, size);
  const std::size_t before = out.size();
  for (std::uint32_t i = end - n; i != end; ++i) {
    const std::uint64_t w = slots_[i % size].load(std::memory_order_relaxed);
    const auto kind = static_cast<event_kind>(w & 0xff);
    if (kind != event_kind::argument) {
      out.push_back({w >> 16, kind, static_cast<std::uint8_t>(w >> 8), p, 0});
    } else if (out.size() > before) {  // else its event has been overwritten
      out.back().arg = static_cast<std::uint32_t>(w >> 16);
    }
  }
}

std::vector<event> scheduler::events() const {
  std::vector<event> all;
  each_p([&](const P& p) { p.events.read(static_cast<std::uint16_t>(p.id), all); });
  return all;
}

runtime_stats scheduler::stats() const {
  runtime_stats s;
  s.procs = procs();
  s.idle_procs = static_cast<unsigned>(std::max(0, idle_ps_.load(std::memory_order_relaxed)));
  s.spinning = static_cast<unsigned>(std::max(0, spinning_.load(std::memory_order_relaxed)));
  s.most_spinning = static_cast<unsigned>(most_spinning_.load(std::memory_order_relaxed));
  s.without_p = static_cast<std::uint64_t>(std::max(0, without_p_.load(std::memory_order_relaxed)));
  s.global_length = global_size_.load(std::memory_order_relaxed);
  s.spawned = foreign_spawned_.load(std::memory_order_relaxed);
  s.wakes = wakes_.load(std::memory_order_relaxed);
  s.finished = foreign_finished_.load(std::memory_order_relaxed);
  each_p([&](const P& p) {
    const auto get = [](const std::atomic<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
    s.spawned += get(p.count.spawned);
    s.finished += get(p.count.finished);
    s.switches += get(p.count.parks) + get(p.count.yields) + get(p.count.finished);
    s.parks += get(p.count.parks);
    s.readies += get(p.count.readies);
    s.steals += get(p.count.steals);
    s.stolen_gs += get(p.count.stolen_gs);
    s.retakes += get(p.count.retakes);
    s.overflows += get(p.count.overflows);
    s.local_lengths.push_back(p.ring.size() + (p.run_next.load(std::memory_order_relaxed) ? 1u : 0u));
  });
  s.live = live();
  s.quarantined = quarantined_.load(std::memory_order_relaxed);
  s.frozen = frozen_.load(std::memory_order_relaxed);
  {
    lock_guard hold(lock_);
    s.idle_threads = idle_ms_ + (poller_m_ ? 1 : 0);
    for (const auto& m : ms_)
      if (!m->exited.load(std::memory_order_relaxed) && !m->frozen.load(std::memory_order_relaxed))
        ++s.threads;
  }
  return s;
}

std::string scheduler::trace_line() const {
  const runtime_stats s = stats();
  std::string line =
      "procs=" + std::to_string(s.procs) + " idle=" + std::to_string(s.idle_procs) +
      " threads=" + std::to_string(s.threads) + " idlethreads=" + std::to_string(s.idle_threads) +
      " spinning=" + std::to_string(s.spinning) + " gs=" + std::to_string(s.live) +
      " withoutp=" + std::to_string(s.without_p) + " retakes=" + std::to_string(s.retakes) +
      " steals=" + std::to_string(s.steals) + " global=" + std::to_string(s.global_length) + " local=[";
  for (std::size_t i = 0; i < s.local_lengths.size(); ++i)
    line += (i ? " " : "") + std::to_string(s.local_lengths[i]);
  return line + "]";
}

G* scheduler::find_g(std::uint64_t id) const noexcept {
  G* found = nullptr;
  each_g([&](G& g) {
    const g_status s = g.status.load(std::memory_order_relaxed);
    if (g.id == id && s != g_status::idle && s != g_status::quarantined) found = &g;
  });
  return found;
}

namespace {

// A plain thread may have woken it meanwhile: what was read counts only if it waits there still.
LEAT_UNWATCHED const char* waits_at(const G& g) noexcept {
  const interruptible* const w = g.waiting_on.load(std::memory_order_acquire);
  if (!w) return nullptr;
  const char* const at = w->at;
  std::atomic_thread_fence(std::memory_order_acquire);
  return g.waiting_on.load(std::memory_order_relaxed) == w ? at : nullptr;
}

bool goes_out(const char* operation) noexcept {
  const std::string_view name = operation ? operation : "";
  return name == "write" || name == "send" || name == "connect";
}

}  // namespace

// May run in a signal handler while everything goes on: what it prints of a G that moves may be mixed
// from before and after. Back-traces are of waiting Gs; a walk that meets nonsense ends there, within
// the stack. sysmon may allocate, and so demangle names, as long as no frozen thread can have malloc's lock.
LEAT_UNWATCHED void scheduler::dump(int fd, dump_by whom) const noexcept {
  const std::int64_t now = now_ns();
  const bool stuck = whom == dump_by::sysmon_when_stuck;
  const bool demangled = whom != dump_by::anybody && frozen_.load(std::memory_order_relaxed) == 0;
  fixed_text<512> t;
  t.format("leat: {} Gs, {} Ps ({} idle), {} in the global queue, {} run without a P\n", live(), procs(),
           idle_ps_.load(std::memory_order_relaxed), global_size_.load(std::memory_order_relaxed),
           without_p_.load(std::memory_order_relaxed));
  write_text(fd, t.view());
  each_p([&](const P& p) LEAT_UNWATCHED {
    const M* m = p.m.load(std::memory_order_acquire);
    const G* g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
    t.clear();
    t.format("P {}: {}, {} queued, runs G {}\n", p.id, to_string(p.status.load(std::memory_order_relaxed)),
             p.ring.size(), g ? g->id : 0);
    write_text(fd, t.view());
  });
  each_g([&](const G& g) LEAT_UNWATCHED {
    const g_status s = g.status.load(std::memory_order_relaxed);
    if (s == g_status::idle || s == g_status::dead) return;
    char name[sizeof g.name] = {};
    for (std::size_t i = 0; i + 1 < sizeof name && g.name[i]; ++i) name[i] = g.name[i];
    t.clear();
    const std::uint64_t id = g.id;  // read here: format is watched
    t.format("G {} '{}': {}", id, name[0] ? name : "-", to_string(s));
    if (s == g_status::waiting) {
      const std::int64_t since = now - g.since.load(std::memory_order_relaxed);
      const wait_reason why = g.reason.load(std::memory_order_relaxed);
      t.format(" for {}", to_string(why));
      const char* const at =
          stuck && (why == wait_reason::send || why == wait_reason::receive) ? waits_at(g) : nullptr;
      if (at && *at) t.format(" at channel '{}'", at);
      if (why == wait_reason::io) {
        const char* const operation = g.waits_in.load(std::memory_order_relaxed);
        t.format(": {}", operation ? operation : "?");
        const int on = g.waits_fd.load(std::memory_order_relaxed);
        if (on >= 0) {
          fixed_text<320> ends;
          network().describe(on, goes_out(operation), ends);
          if (ends.size() > 0) t.format(" {}", ends.view());
        }
      }
      t.format(", since {} ms", since / 1'000'000);
    }
    t.append('\n');
    write_text(fd, t.view());
    void* pcs[most_frames];
    std::size_t n = 0;
    if (s == g_status::waiting) {
      n = fiber::frames(g.ctx, pcs, std::size(pcs));
    } else if (s == g_status::quarantined) {
      const overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
      n = w.frames;
      for (std::size_t i = 0; i < n; ++i) pcs[i] = w.trace[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      fixed_text<1000> frame;
      append_frame(frame, pcs[i], demangled);
      fixed_text<1024> line;
      line.format("    {}\n", frame.view());
      write_text(fd, line.view());
    }
  });
}

// By sysmon, while no P is at work; it stays up for a second after the last one stopped. Exact: with the lock
// held and no P busy, no M can get a P and so take or add timers; whoever else takes a G out of a heap or a
// wait has counted itself in without_p_ before, and leaves that count only when the G is queued or has a P,
// both of which need the lock.
void scheduler::look_for_deadlock() noexcept {
  {
    lock_guard hold(lock_);
    if (busy_ps_.load(std::memory_order_seq_cst) != 0 || !global_.empty() ||
        earliest_timer() != timer_heap::no_timer || io_expected() ||
        without_p_.load(std::memory_order_seq_cst) != 0 || foreign_.load(std::memory_order_seq_cst) != 0 ||
        done_.load(std::memory_order_seq_cst) || live() == 0)
      return;
  }
  fixed_text<256> t;
  t.format("leat: deadlock: all {} Gs wait, no timer is set, no I/O is pending\n", live());
  write_text(STDERR_FILENO, t.view());
  dump(STDERR_FILENO, dump_by::sysmon_when_stuck);
  t.clear();
  t.format(
      "leat: exit with status {}; if a plain thread was going to wake one of them, hold a leat::keep_alive\n",
      deadlock_exit_status);
  write_text(STDERR_FILENO, t.view());
  flush_stdout();
  std::_Exit(deadlock_exit_status);
}

}  // namespace leat::sched
