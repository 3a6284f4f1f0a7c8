// SPDX-License-Identifier: BSL-1.0
//
// Locks of those behind a fence.
//
// The thread of a fenced G that is not settled runs at the lowest priority, and may hold a lock that others
// need: the allocator's, stdio's. On a machine with time to spare it gives it back soon. On a busy one it
// gets no time at all, and keeps it: 5 s were measured on two cores with two that compute, and the host of a
// service was ended by its watch. Who waits for the lock cannot lend its priority; C libraries have no such
// mutexes for themselves.
//
// So sysmon looks for Ms that run a G or hold a P and stand in a futex; inside the runtime as well, where timers, Gs and
// threads take what they grow by from the heap. As long as there is one, all that are at the lowest priority run as
// others do: a lock that many want is not given back to the one who waits at once. One that waits for longer than that
// can explain waits for something else, and counts ever more seldom.
//
// From when a program is to end, which takes the allocator's lock more often than sysmon can look, all of them have the
// least share of ordinary threads instead, and the full one no more: nineteen with that left a source that still had
// to drain so little that it was taken for a hang.
//
// All that with the M held, as in demote: who has come in meanwhile is left alone. Where the kernel lets
// nobody leave the idle class, nobody is put there, but has the smallest share that is one.
#include <sys/syscall.h>
#include <algorithm>
#include <atomic>
#include <utility>

#include <leat/sched/fence.hpp>
#include <leat/sched/heartbeat.hpp>
#include <leat/sched/overrun_patrol.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr std::int64_t look_every = ms;
constexpr std::int64_t longest_lift = 200 * ms, longest_pause = 2'000 * ms;

std::atomic<bool> hurry{false};  // of the runtime that is under way

bool is_lowest(const M& m) noexcept {
  return m.note.valid && m.note.demoted && m.hung.demoted.load(std::memory_order_relaxed) &&
         !m.hung.frozen.load(std::memory_order_relaxed);
}

}  // namespace

void hurry_to_end() noexcept { hurry.store(true, std::memory_order_relaxed); }
bool overrun_patrol::is_in_a_hurry() noexcept { return hurry.load(std::memory_order_relaxed); }
void overrun_patrol::forget_hurry() noexcept { hurry.store(false, std::memory_order_relaxed); }

std::int64_t overrun_patrol::lift_if_awaited(std::int64_t now) noexcept {
  bool any = false, awaited = false;
  std::int64_t next = no_wish;
  s_.threads().each([&](M& m) { any |= is_lowest(m); });
  lowest_ = any;
  share wanted = share::spare;
  if (is_in_a_hurry()) {
    wanted = share::least;
  } else if (any) {
    s_.threads().each([&](M& m) { awaited |= waits_for_lock(m, now, next); });
    if (awaited) wanted = share::full;
  }
  if (wanted != gives_) give(wanted);
  return next;
}

// A guess, without holding it: to be wrong costs others a little time.
bool overrun_patrol::waits_for_lock(M& m, std::int64_t now, std::int64_t& next) noexcept {
  if (m.hung.apart.load(std::memory_order_relaxed) || m.exited.load(std::memory_order_relaxed)) return false;
  lock_wait& w = m.waits;
  if (!m.cur.load(std::memory_order_relaxed) && !m.p.load(std::memory_order_relaxed)) {  // it rests
    w = {};
    return false;
  }
  if (w.next == 0) w.next = now + look_every;
  if (now >= w.next) {
    const thread_sight at = look_at_thread(m.tid.load(std::memory_order_relaxed));
    const bool waited = std::exchange(w.waits, at.waits && at.call == SYS_futex);
    const bool same = waited && w.waits && at.first == w.at && at.sp == w.sp;
    if (!same) {
      w.since = now;
      w.pause = look_every;
    } else if (now - w.since > longest_lift) {
      w.waits = false;
      w.pause = std::clamp(2 * w.pause, longest_lift, longest_pause);
    }
    w.at = at.first;
    w.sp = at.sp;
    w.next = now + (w.waits ? look_every : w.pause);
  }
  next = std::min(next, w.next);
  return w.waits;
}

void overrun_patrol::give(const M& held, share to) noexcept {
  const pid_t tid = held.tid.load(std::memory_order_relaxed);
  if (to == share::spare)
    (void)make_idle_class(tid);
  else
    (void)lift_from_idle_class(tid, to == share::full ? held.hung.former.nice : least_nice_share);
}

void overrun_patrol::lift() noexcept {
  if (lowest_ && gives_ == share::spare) give(share::full);
}

void overrun_patrol::give(share to) noexcept {
  gives_ = to;
  s_.threads().each([&](M& m) {
    if (!is_lowest(m)) return;
    const retake_gate::hold held = hold_run(m);
    if (held == retake_gate::hold::none) return;
    give(m, to);
    m.gate.let_go(held);
  });
}

}  // namespace leat::sched
