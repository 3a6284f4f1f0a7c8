// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/world.hpp>

#include <algorithm>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

std::atomic<world*> next_world{nullptr};

}  // namespace

void world::set_next(world* w) noexcept { next_world.store(w, std::memory_order_relaxed); }

world* world::take_next() noexcept { return next_world.exchange(nullptr, std::memory_order_relaxed); }

world* world::here() noexcept {
  const M* const m = current_m();
  return m ? m->sched.simulated() : nullptr;
}

// What was readied by the one that ran comes behind those that were ready before.
void world::gather(M& m, P& p) noexcept {
  std::uint32_t n = 0;
  while (m.sched.idle().queued_before_look() > 0) {
    G* const g = m.sched.idle().take(p, 1, false, now_ns(), n);
    if (!g) break;
    add_ready(g);
  }
  while (G* const g = p.ring.pop()) add_ready(g);
  if (G* const g = p.run_next.load(std::memory_order_relaxed)) {
    p.run_next.store(nullptr, std::memory_order_relaxed);
    add_ready(g);
  }
}

// One that is seen for the first time was spawned by the one that ran.
void world::add_ready(G* g) {
  ready_.push_back(g);
  whereabouts& w = where_[g];
  if (w.id == g->id) return;
  w.id = g->id;
  w.place = running_place_;
}

std::uint32_t world::place() const noexcept { return running_place_; }

void world::move_to(std::uint32_t place) {
  running_place_ = place;
  where_[current_g()].place = place;
}

// False: nobody waits for I/O. True: something may be ready now, or some time has passed.
bool world::wait_for_io(M& m, P& p, std::int64_t until) noexcept {
  constexpr std::int64_t longest = 20'000'000;  // others than the poller may have readied somebody
  scheduler& s = m.sched;
  const bool waits = s.io_waits() > 0;
  if (!waits && !s.polls().network().has_callbacks()) return false;
  round::poll(m);
  if (round::take_polled(m, p)) return true;
  if (!waits || until <= now_ns()) return false;
  const std::int64_t from = real_now_ns(), most = std::min(longest, until - now_ns());
  m.collects = true;
  s.polls().network().wait(from + most);
  m.collects = false;
  now_ = now_ns() + std::min(real_now_ns() - from, until - now_ns());
  leat::detail::world_time.store(now_, std::memory_order_relaxed);
  (void)round::take_polled(m, p);
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // nobody computes
  return true;
}

void world::hold(std::uint64_t id, nanoseconds time) {
  held_.push_back({id, to_ns(saturating_add(leat::now(), time)), nullptr});
}

// Those that are held come out of the ready ones, and back when their time is over.
void world::set_aside() noexcept {
  for (std::size_t i = 0; i < held_.size();) {
    held& h = held_[i];
    if (h.until <= now_ns()) {
      if (h.g) ready_.push_back(h.g);
      held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(i));
      continue;
    }
    const auto at = std::find_if(ready_.begin(), ready_.end(), [&](const G* g) { return g->id == h.id; });
    if (at != ready_.end()) {
      h.g = *at;
      ready_.erase(at);
    }
    ++i;
  }
}

G* world::next(M& m, P& p) noexcept {
  for (;;) {
    gather(m, p);
    if (!held_.empty()) [[unlikely]]
      set_aside();
    if (!ready_.empty()) break;
    if (!settling_.empty()) {
      for (G* const g : settling_) g->become(g_status::runnable);
      ready_.swap(settling_);
      break;
    }
    std::int64_t at = p.timers.next();
    for (const held& h : held_)
      if (h.g) at = std::min(at, h.until);
    if (real_io_ && wait_for_io(m, p, at)) continue;
    if (at == timer_heap::no_timer) return nullptr;
    if (at > now_ns()) leat::detail::world_time.store(at, std::memory_order_relaxed);
    now_ = now_ns();
    coarse_clock.store(now_, std::memory_order_relaxed);
    (void)round::run_due_timers(m.sched, &m, p);
  }
  ids_.clear();
  for (const G* const g : ready_) ids_.push_back(g->id);
  const std::size_t i = order_.choose(ids_);
  G* const g = ready_[i];
  ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(i));
  running_place_ = where_[g].place;
  ++switches_;
  m.random = order_.draw() | 1;
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (tells_) tell(*g);
  return g;
}

void world::tell(const G& g) {
  if (!story_.empty() && story_.back().id == g.id) {
    ++story_.back().times;
    return;
  }
  story_.push_back({std::string(g.name[0] ? g.name : "G") + " " + std::to_string(g.id), g.id});
  if (story_.size() <= longest_story) return;
  before_story_ += story_.front().times;
  story_.pop_front();
}

bool world::gives_way(M& m) noexcept {
  const G* const g = m.cur.load(std::memory_order_relaxed);
  return g && order_.gives_way(g->id);
}

void world::settle() noexcept {
  M* m = scheduler::enter(current_m());
  struct wait {
    world* in;
    G* g;
  } w{this, m->cur.load(std::memory_order_relaxed)};
  m = m->sched.park(
      m, wait_reason::parked,
      [](void* arg) noexcept {
        const auto& x = *static_cast<wait*>(arg);
        x.in->settling_.push_back(x.g);
      },
      &w);
  scheduler::leave(m);
}

}  // namespace leat::sched
