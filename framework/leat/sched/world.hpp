// SPDX-License-Identifier: BSL-1.0
//
// A simulated world: a runtime with one P whose order comes from a seed, and whose time moves only when nobody can
// run. What users see of it is in simulate.hpp.
//
// # How it differs from a plain runtime
// - Every switch goes through g0 (the P's `attention` stays set), and find_runnable asks the world: it takes all that
//   is ready out of run_next, the ring and the global queue, and the order chooses one.
// - Every entry into the runtime takes the slow way (retake_gate::arm), where the G may give way.
// - now_ns() is the world's time (base/clock.hpp). When nothing is ready, first those who wait for that (settle) go
//   on; then time moves to the earliest timer.
// - sysmon keeps out: it retakes nothing, fires no timers and asks nobody to stop. It only finds deadlocks, prints
//   dumps, and says so when a G computes for seconds of real time, which cannot be simulated, or Gs run on for as
//   long while the world's time stands still (world_watch.hpp).
// - Declared blocking calls hold up everybody: their order is part of the run. There is one M.
//
// Thread safety: the M that has the P, which is always the same; begin and end on the thread that calls run.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/base/system_time.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/p.hpp>
#include <leat/sched/world_order.hpp>

namespace leat::sched {

class world {
 public:
  // When it begins: so far from the start of the steady clock.
  static constexpr std::int64_t start = 1'000'000'000'000;

  // 2026-01-01T00:00:00Z
  static constexpr nanoseconds first_date = std::chrono::seconds(1'767'225'600);

  // `begins`: its first date, since 1970.
  explicit world(world_order o, nanoseconds begins = first_date) : order_(std::move(o)), begins_(begins) {}
  world(const world&) = delete;
  world& operator=(const world&) = delete;

  // The calling G is in one; null: in none.
  static world* here() noexcept;
  // The one that the next scheduler is made in; null: none.
  static void set_next(world* w) noexcept;
  static world* take_next() noexcept;

  // On g0, with the P: the next G, after time has moved if need be. Null: nobody can run, and no timer is set.
  G* next(M& m, P& p) noexcept;
  // An entry of the G that runs on m.
  bool gives_way(M& m) noexcept;
  // The current G waits until nobody else can run, before time moves.
  void settle() noexcept;

  // The G with this id gets no turn for so long, as if it hung: what wakes it meanwhile waits with it.
  void hold(std::uint64_t id, nanoseconds time);
  // What is left to chance beside the order.
  std::uint32_t draw() noexcept { return order_.draw(); }

  nanoseconds begins() const noexcept { return begins_; }
  const world_order& order() const noexcept { return order_; }
  std::uint64_t switches() const noexcept { return switches_; }
  // Since its beginning; also when it has ended.
  nanoseconds elapsed() const noexcept { return nanoseconds(now_ - start); }
  // Who ran, in order, by name and number: the last few, and how many switches there were before them.
  struct turns {
    std::string who;
    std::uint64_t id = 0, times = 1;  // in a row
  };
  const std::deque<turns>& story() const noexcept { return story_; }
  std::uint64_t before_story() const noexcept { return before_story_; }
  void tell_story() noexcept { tells_ = true; }

  // Where the calling G is: a number that those it spawns inherit. The network's hosts (net/simulated).
  std::uint32_t place() const noexcept;
  void move_to(std::uint32_t place);
  // What belongs to the world and is not known here: its network. It goes with the world.
  std::shared_ptr<void>& attached() noexcept { return attached_; }
  // Descriptors of the system, and what else comes from outside, may be waited for. While somebody does, and nobody
  // can run, the world's time passes as real time does.
  bool lets_real_io() const noexcept { return real_io_; }
  void let_real_io(bool yes) noexcept { real_io_ = yes; }

 private:
  static constexpr std::size_t longest_story = 200;

  void tell(const G& g);
  void gather(M& m, P& p) noexcept;
  void add_ready(G* g);
  bool wait_for_io(M& m, P& p, std::int64_t until) noexcept;
  void set_aside() noexcept;

  world_order order_;
  const nanoseconds begins_;
  std::vector<G*> ready_;  // the oldest first
  std::vector<std::uint64_t> ids_;
  std::vector<G*> settling_;
  struct held {
    std::uint64_t id;
    std::int64_t until;
    G* g = nullptr;  // it would be ready
  };
  std::vector<held> held_;
  std::uint64_t switches_ = 0;
  std::int64_t now_ = start;
  bool tells_ = false;
  std::deque<turns> story_;
  std::uint64_t before_story_ = 0;
  struct whereabouts {
    std::uint64_t id = 0;
    std::uint32_t place = 0;
  };
  std::unordered_map<const G*, whereabouts> where_;  // of all that were ever ready; Gs are used again
  std::uint32_t running_place_ = 0;
  std::shared_ptr<void> attached_;
  bool real_io_ = false;
};

// While it lives, now_ns() is the world's time, and system_now_ns() its date.
class world_clock {
 public:
  explicit world_clock(const world* w) noexcept : runs_(w != nullptr) {
    if (!runs_) return;
    leat::detail::world_date.store(w->begins().count() - world::start, std::memory_order_relaxed);
    leat::detail::world_time.store(world::start, std::memory_order_relaxed);
    leat::detail::locks_watched.store(true, std::memory_order_relaxed);
  }
  ~world_clock() { stop(); }
  world_clock(const world_clock&) = delete;
  world_clock& operator=(const world_clock&) = delete;
  void stop() const noexcept {
    if (!runs_) return;
    leat::detail::world_time.store(0, std::memory_order_relaxed);
    leat::detail::locks_watched.store(leat::detail::lock_order_checked, std::memory_order_relaxed);
  }

 private:
  const bool runs_;
};

}  // namespace leat::sched
