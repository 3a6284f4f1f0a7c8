// SPDX-License-Identifier: BSL-1.0
//
// An M without work, and what the network brings.
#include <leat/base/clock.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/sysmon.hpp>

namespace leat::sched {
namespace {

std::uint64_t switches_of(const P& p) noexcept {
  const auto get = [](const atom<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
  return get(p.count.parks) + get(p.count.finished) + get(p.count.yields);
}

void call_sysmon(scheduler& s, std::int64_t until) noexcept {
  if (until - now_ns() > sysmon_lag(s)) s.for_sysmon().call();
}

}  // namespace

void round::acquire_p(M& m, P& p) noexcept {
  scheduler& s = m.sched;
  p.status.store(p_status::running, std::memory_order_relaxed);
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  m.p.store(&p, std::memory_order_relaxed);
  p.m.store(&m, std::memory_order_release);  // pairs with sysmon and steal_run_next
  // After busy_ps_ + 1 (idle_set::take_p): steps b and c of sysmon.hpp.
  if (const std::int64_t until = s.for_sysmon().sleeps_until()) [[unlikely]]
    call_sysmon(s, until);
}

bool round::sleep(M& m) noexcept {
  scheduler& s = m.sched;
  P* const p = s.idle().sleep(m);
  if (!p) return false;
  acquire_p(m, *p);
  p->events.add(event_kind::woken, 0, 0, m.id);
  p->network.begin(switches_of(*p), now_ns());
  (void)take_polled(m, *p);
  return true;
}

void round::wait_as_poller(M& m) noexcept {
  scheduler& s = m.sched;
  m.collects = true;
  s.polls().wait(s.ps());
  m.collects = false;
  coarse_clock.store(now_ns(), std::memory_order_relaxed);
}

// On g0, with a P.
void round::poll(M& m) noexcept {
  scheduler& s = m.sched;
  P& p = *m.p.load(std::memory_order_relaxed);
  p.network.look(switches_of(p), now_ns());
  m.collects = true;
  s.polls().poll(s.coarse_now());
  m.collects = false;
}

bool round::take_polled(M& m, P& p) noexcept {
  scheduler& s = m.sched;
  G* g = m.polled.pop_front();
  if (!g) return false;
  bool more = false;
  for (; g; g = m.polled.pop_front()) {
    bump(p.count.readies);
    p.events.add(event_kind::readied, g->id);
    more |= !m.polled.empty();
    if (!p.ring.push(g)) push_local(s, p, g, idle_set::from::wakes);  // by way of the global queue
  }
  if (more && p.network.shares() && p.shared.load(std::memory_order_relaxed)) s.idle().wake_if_needed();
  return true;
}

}  // namespace leat::sched
