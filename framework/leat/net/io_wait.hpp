// SPDX-License-Identifier: BSL-1.0
//
// The frame of every wait for I/O: inside the runtime, counted, and named for dumps.
#pragma once
#include <stdexcept>

#include <leat/csp/wait.hpp>
#include <leat/net/real_io.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::net {

// Throws std::logic_error when nothing polls, or this must not be waited for: before anything is begun that would have
// to be. `what` as in real_io.hpp.
inline void require_runtime(const char* what) {
  const sched::entered in;
  if (!in.m && !sched::scheduler::current())
    throw std::logic_error("leat::net: nothing can be waited for: no leat::run is under way in this program");
  if (in.m && in.m->sched.simulated()) [[unlikely]]
    require_real_io(what);
}

class io_wait {
 public:
  // `what` is a literal. `fd`: -1 if it is not known.
  io_wait(const char* what, int fd) noexcept {
    if (!in_.m) {
      sched::plain_io_waits.fetch_add(1, std::memory_order_seq_cst);
      if (sched::scheduler* const s = sched::scheduler::current()) s->expect_io();
      return;
    }
    sched::G& g = in_.g();
    g.waits_in.store(what, std::memory_order_relaxed);
    g.waits_fd.store(fd, std::memory_order_relaxed);
    count(&sched::p_counters::io_begun);
  }
  ~io_wait() {
    if (!in_.m) {
      sched::plain_io_waits.fetch_sub(1, std::memory_order_seq_cst);
      return;
    }
    // Release: pairs with scheduler::io_waits.
    std::atomic_thread_fence(std::memory_order_release);
    count(&sched::p_counters::io_ended);
  }
  io_wait(const io_wait&) = delete;
  io_wait& operator=(const io_wait&) = delete;

  sched::entered& runtime() noexcept { return in_; }
  bool stop_asked() const noexcept { return in_.stop_asked(); }

 private:
  // On the P of the moment: the G may end its wait on another one than it began on.
  void count(atom<std::uint64_t> sched::p_counters::* which) noexcept {
    if (sched::P* const p = in_.m->p.load(std::memory_order_relaxed)) sched::bump(p->count.*which);
  }

  sched::entered in_;
};

// For one who has claimed the wait and stands on no G: an M that polls collects it, any other thread keeps
// the runtime in being meanwhile.
inline void wake_from_anywhere(csp::wait& p) noexcept {
  const sched::M* const here = sched::current_m();
  if (here && here->collects) return p.wake(nullptr);
  const sched::entered in;
  p.wake(in.m);
}

inline void throw_if_insisted_on_this_g() {
  if (const sched::G* const g = sched::current_g()) sched::throw_if_insisted(*g);
}

}  // namespace leat::net
