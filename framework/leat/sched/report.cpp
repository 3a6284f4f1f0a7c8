// SPDX-License-Identifier: BSL-1.0
//
// What the scheduler tells about itself: stats, trace lines, the dump of all Gs, the deadlock report.
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/sysmon.hpp>

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

std::vector<event> events_of(const scheduler& s) {
  std::vector<event> all;
  s.ps().each([&](const P& p) { p.events.read(static_cast<std::uint16_t>(p.id), all); });
  return all;
}

namespace {

std::size_t queued_on(const P& p) noexcept {
  return p.ring.seen().size() + (p.run_next.load(std::memory_order_relaxed) ? 1u : 0u);
}

// stats_of without the lengths of rings.
runtime_stats counts_of(const scheduler& s) noexcept {
  runtime_stats c;
  c.procs = s.procs();
  c.idle_procs = static_cast<unsigned>(std::max(0, s.idle().idle_ps()));
  c.spinning = static_cast<unsigned>(std::max(0, s.idle().spinning()));
  c.most_spinning = static_cast<unsigned>(s.idle().most_spinning());
  c.without_p = static_cast<std::uint64_t>(std::max(0, s.gs_alive().without_p()));
  c.global_length = s.idle().queued();
  c.wakes = s.idle().wakes();
  c.spawned = s.gs_alive().begun_foreign();
  c.finished = s.gs_alive().ended_foreign();
  s.ps().each([&](const P& p) {
    const auto get = [](const atom<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); };
    c.spawned += get(p.count.spawned);
    c.finished += get(p.count.finished);
    c.switches += get(p.count.parks) + get(p.count.yields) + get(p.count.finished);
    c.parks += get(p.count.parks);
    c.readies += get(p.count.readies);
    c.steals += get(p.count.steals);
    c.stolen_gs += get(p.count.stolen_gs);
    c.retakes += get(p.count.retakes);
    c.overflows += get(p.count.overflows);
  });
  c.live = s.live();
  c.quarantined = s.quarantine().quarantined();
  c.fenced = s.quarantine().fenced();
  c.frozen = s.quarantine().frozen();
  c.idle_threads = s.idle().idle_ms();
  c.threads = s.threads().live();
  return c;
}

}  // namespace

std::size_t read_stats(const scheduler& s, runtime_stats& to) noexcept {
  runtime_stats c = counts_of(s);
  c.local_lengths.swap(to.local_lengths);
  std::size_t n = 0;
  s.ps().each([&](const P& p) {
    if (++n <= c.local_lengths.capacity()) c.local_lengths.push_back(queued_on(p));
  });
  to = std::move(c);
  return n;
}

void append_trace(text_buffer& to, const scheduler& s) noexcept {
  const runtime_stats c = counts_of(s);
  to.format("procs={} idle={} threads={} idlethreads={} spinning={} gs={} withoutp={} retakes={} steals={} ",
            c.procs, c.idle_procs, c.threads, c.idle_threads, c.spinning, c.live, c.without_p, c.retakes,
            c.steals);
  to.format("global={} local=[", c.global_length);
  bool first = true;
  s.ps().each([&](const P& p) {
    if (!std::exchange(first, false)) to.append(' ');
    to.append(queued_on(p));
  });
  to.append(']');
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

std::atomic<g_note_fn> g_note{nullptr};

bool may_be_at_a_channel(wait_reason why) noexcept {
  return why == wait_reason::send || why == wait_reason::receive || why == wait_reason::select;
}

// Frames as lines. Of those that are looked up in files each is looked up once.
class frame_lines {
 public:
  explicit frame_lines(frame_names names) noexcept : names_(names) {}

  void append(text_buffer& to, void* pc) noexcept {
    if (names_ != frame_names::demangled) return append_frame(to, pc, names_);
    try {
      std::string& known = known_[pc];
      if (known.empty()) {
        fixed_text<1000> t;
        append_frame(t, pc, names_);
        known = t.view();
      }
      to.append(std::string_view(known));
    } catch (...) {  // no memory
      append_frame(to, pc, frame_names::plain);
    }
  }

 private:
  const frame_names names_;
  std::unordered_map<void*, std::string> known_;
};

bool goes_out(const char* operation) noexcept {
  const std::string_view name = operation ? operation : "";
  return name == "write" || name == "send" || name == "connect";
}

LEAT_UNWATCHED thread_fate fate_of(const G& g) noexcept {
  const overrun_watch* const w = read_unwatched(g.watch);
  return w ? w->fate.load(std::memory_order_relaxed) : thread_fate::back;
}
const char* to_string(thread_fate f) noexcept {
  constexpr const char* names[] = {"its thread runs on behind a fence", "its thread stands still",
                                   "its thread runs others"};
  return names[static_cast<std::size_t>(f)];
}

}  // namespace

void set_g_note(g_note_fn note) noexcept {
  g_note.store(note, std::memory_order_release);  // pairs with dump
}

// May run in a signal handler while everything goes on: what it prints of a G that moves may be mixed
// from before and after. Back-traces are of waiting Gs; a walk that meets nonsense ends there, within
// the stack.
LEAT_UNWATCHED void dump(const scheduler& s, int fd, const dump_style& style) noexcept {
  bool taken = true;
  const auto put = [&](std::string_view text)
                       LEAT_UNWATCHED { taken = taken && write_text(fd, text, style.patience_ms); };
  fixed_text<768> t;
  t.format("leat: {} Gs, {} Ps ({} idle), {} in the global queue, {} run without a P\n", s.live(), s.procs(),
           s.idle().idle_ps(), s.idle().queued(), s.gs_alive().without_p());
  put(t.view());
  s.ps().each([&](const P& p) LEAT_UNWATCHED {
    const M* m = p.m.load(std::memory_order_acquire);
    const G* g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
    t.clear();
    t.format("P {}: {}, {} queued, runs G {}\n", p.id, to_string(p.status.load(std::memory_order_relaxed)),
             p.ring.seen().size(), g ? g->id : 0);
    put(t.view());
  });
  frame_lines lines(style.names);
  s.gs().each([&](const G& g) LEAT_UNWATCHED {
    const g_status status = g.status.load(std::memory_order_relaxed);
    if (status == g_status::idle || status == g_status::dead) return;
    char name[sizeof g.name] = {};
    for (std::size_t i = 0; i + 1 < sizeof name && g.name[i]; ++i) name[i] = g.name[i];
    t.clear();
    const std::uint64_t id = g.id;  // read here: format is watched
    // Read before the time is: others park while this is written.
    const std::int64_t parked = g.since.load(std::memory_order_relaxed);
    const wait_reason why = g.reason.load(std::memory_order_relaxed);
    const bool at_a_channel = status == g_status::waiting && may_be_at_a_channel(why);
    const char* const at = at_a_channel ? waits_at(g) : nullptr;
    const void* const stop = g.more.stop_key.load(std::memory_order_relaxed);
    fixed_text<256> who, where;
    if (const g_note_fn note = g_note.load(std::memory_order_acquire); note && stop)
      note({id, stop, at, at_a_channel}, style.names == frame_names::demangled, who, where);
    t.format("G {} ", id);
    if (who.size() > 0) {
      t.append(who.view());
    } else {
      t.format("'{}'", name[0] ? name : "-");
    }
    t.format(": {}", to_string(status));
    if (status == g_status::waiting) {
      t.format(" for {}", to_string(why));
      if (where.size() > 0) {
        t.append(where.view());
      } else if (style.stuck && at && *at) {
        t.format(" at channel '{}'", at);
      }
      if (why == wait_reason::io) {
        const char* const operation = g.waits_in.load(std::memory_order_relaxed);
        t.format(": {}", operation ? operation : "?");
        const int on = g.waits_fd.load(std::memory_order_relaxed);
        if (on >= 0) {
          fixed_text<320> ends;
          s.polls().network().describe(on, goes_out(operation), ends);
          if (ends.size() > 0) t.format(" {}", ends.view());
        }
      }
      t.append(", since ");
      append_elapsed(t, std::max<std::int64_t>(now_ns() - parked, 0));
    }
    if (status == g_status::quarantined) t.format(", {}", to_string(fate_of(g)));
    t.append('\n');
    put(t.view());
    void* pcs[most_frames];
    std::size_t n = 0;
    if (status == g_status::waiting) {
      n = fiber::frames(g.ctx, pcs, std::size(pcs));
    } else if (status == g_status::quarantined) {
      const overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
      n = w.frames.load(std::memory_order_acquire);  // pairs with overrun_patrol::tell_out
      for (std::size_t i = 0; i < n; ++i) pcs[i] = w.trace[i];
    }
    for (std::size_t i = 0; i < n; ++i) {
      fixed_text<1024> line;
      line.append("    ");
      lines.append(line, pcs[i]);
      line.append('\n');
      put(line.view());
    }
  });
}

void dump_aside(scheduler& s) noexcept {
  const auto body = [](void* arg) -> void* {
    auto& of = *static_cast<scheduler*>(arg);
    (void)::pthread_detach(::pthread_self());
    dump(of, STDERR_FILENO, {frame_names::demangled});
    of.for_sysmon().dump_ends();
    return nullptr;
  };
  if (s.for_sysmon().dump_begins()) return dump(s, STDERR_FILENO, dump_of_sysmon);
  lift_before_thread();
  if (s.threads().starter().start(body, &s) == 0) return;
  s.for_sysmon().dump_ends();
  dump(s, STDERR_FILENO, dump_of_sysmon);
}

// By sysmon, while no P is at work; it stays up for a second after the last one stopped. Exact: with the lock
// held and no P busy, no M can get a P and so take or add timers; whoever else takes a G out of a heap or a
// wait has counted itself in population::without_p before, and leaves that count only when the G is queued or has a P,
// both of which need the lock.
void look_for_deadlock(const scheduler& s) noexcept {
  const bool all_wait = s.idle().all_quiet_and([&s] {
    return s.ps().earliest_timer() == timer_heap::no_timer && !s.io_expected() &&
           s.gs_alive().without_p() == 0 && !s.gs_alive().expects_foreign() && !s.is_done() && s.live() > 0;
  });
  if (!all_wait) return;
  fixed_text<256> t;
  t.format("leat: deadlock: all {} Gs wait, no timer is set, no I/O is pending\n", s.live());
  write_text(STDERR_FILENO, t.view(), dump_of_sysmon.patience_ms);
  // One behind a fence may have the loader's lock.
  dump_style style = dump_of_sysmon;
  style.stuck = true;
  if (s.quarantine().fenced() == 0) style.names = frame_names::demangled;
  dump(s, STDERR_FILENO, style);
  t.clear();
  t.format(
      "leat: exit with status {}; if a plain thread was going to wake one of them, hold a leat::keep_alive\n",
      deadlock_exit_status);
  write_text(STDERR_FILENO, t.view(), dump_of_sysmon.patience_ms);
  flush_stdout();
  std::_Exit(deadlock_exit_status);
}

}  // namespace leat::sched
