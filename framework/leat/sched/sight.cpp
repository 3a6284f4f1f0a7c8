// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/sight.hpp>

#include <string_view>

#include <leat/base/format.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/fence.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

LEAT_UNWATCHED g_sight sight_of(const G& g) noexcept {
  g_sight s;
  s.g = g.id;
  s.status = g.status.load(std::memory_order_relaxed);
  s.cpu_us = g.cpu.load(std::memory_order_relaxed);
  if (s.status == g_status::waiting || s.status == g_status::syscall)
    s.since = g.since.load(std::memory_order_relaxed);
  if (s.status != g_status::waiting) return s;
  s.reason = g.reason.load(std::memory_order_relaxed);
  if (s.reason != wait_reason::io) return s;
  s.operation = g.waits_in.load(std::memory_order_relaxed);
  s.fd = g.waits_fd.load(std::memory_order_relaxed);
  return s;
}

}  // namespace

// Inside the runtime nothing is allocated: somebody who hangs may have the heap locked, and who waits for it in
// there keeps its P.
std::vector<g_sight> look_at_gs() {
  struct runner {
    std::uint64_t g;
    pid_t tid;
  };
  std::vector<g_sight> all;
  std::vector<runner> runners;
  for (std::size_t room = 256, threads = 64;;) {
    all.clear();
    runners.clear();
    all.reserve(room);
    runners.reserve(threads);
    std::size_t gs = 0, ms = 0;
    {
      const entered in;
      scheduler* const s = scheduler::current();
      if (!s) return all;
      s->gs().each([&](const G& g) {
        const g_sight seen = sight_of(g);
        if (seen.status == g_status::idle || seen.status == g_status::dead) return;
        if (++gs <= all.capacity()) all.push_back(seen);
      });
      s->threads().each([&](const M& m) LEAT_UNWATCHED {
        const G* g = m.cur.load(std::memory_order_relaxed);
        if (!g) g = m.caller.load(std::memory_order_relaxed);
        if (!g) return;
        const runner r{g->id, m.tid.load(std::memory_order_relaxed)};
        if (++ms <= runners.capacity()) runners.push_back(r);
      });
    }
    if (gs <= all.size() && ms <= runners.size()) break;
    room = gs + gs / 4;
    threads = ms + ms / 4 + 8;
  }
  for (const runner& r : runners)
    for (g_sight& seen : all)
      if (seen.g == r.g) seen.tid = r.tid;
  return all;
}

void watch_cpu(nanoseconds time) noexcept {
  const entered in;
  if (scheduler* const s = scheduler::current()) s->for_sysmon().watch_cpu_until(now_ns() + time.count());
}

std::string peer_of(const g_sight& s) {
  if (s.fd < 0) return {};
  fixed_text<320> text;
  {
    const entered in;
    const scheduler* const of = scheduler::current();
    const std::string_view operation = s.operation ? s.operation : "";
    const bool outwards = operation == "write" || operation == "send" || operation == "connect";
    if (of) of->polls().network().describe(s.fd, outwards, text);
  }
  // "here <- there": the other side is what it waits for.
  const std::string_view both = text.view();
  for (const std::string_view arrow : {" -> ", " <- "})
    if (const std::size_t at = both.find(arrow); at != both.npos)
      return std::string(both.substr(at + arrow.size()));
  return {};
}

std::string call_of(const g_sight& s) {
  if (s.tid <= 0) return {};
  const thread_sight t = look_at_thread(s.tid);
  if (!t.known || !t.waits) return {};
  const char* const name = name_of_call(t.call);
  return name ? name : "system call " + std::to_string(t.call);
}

std::size_t frames_of(std::uint64_t id, std::span<void*> to) noexcept {
  const entered in;
  const scheduler* const s = scheduler::current();
  std::size_t n = 0;
  if (!s) return n;
  s->gs().each([&](const G& g) LEAT_UNWATCHED {
    if (g.id == id && g.status.load(std::memory_order_relaxed) == g_status::waiting)
      n = fiber::frames(g.ctx, to.data(), to.size());
  });
  return n;
}

}  // namespace leat::sched
