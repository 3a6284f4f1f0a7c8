// SPDX-License-Identifier: BSL-1.0
//
// P: the right to run Gs. Everything here that is not atomic belongs to the M that holds the P and is
// inside the runtime, or to whoever borrowed it through that M's retake_gate.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/atom.hpp>
#include <leat/fiber/stack_pool.hpp>
#include <leat/sched/events.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/policy/burst.hpp>
#include <leat/sched/policy/hand_off.hpp>
#include <leat/sched/policy/network_share.hpp>
#include <leat/sched/policy/round.hpp>
#include <leat/sched/run_queue.hpp>
#include <leat/sched/timers.hpp>

namespace leat::sched {

enum class p_status : std::uint8_t { idle, running, syscall, stopped };
const char* to_string(p_status s) noexcept;

// Written by the owner, read by anyone: stats and trace.
struct p_counters {
  atom<std::uint64_t> spawned{0}, finished{0}, yields{0}, parks{0}, readies{0}, steals{0}, stolen_gs{0},
      retakes{0}, overflows{0}, io_begun{0}, io_ended{0};
};

// A counter with one writer at a time needs no read-modify-write.
inline void bump(atom<std::uint64_t>& c, std::uint64_t by = 1) noexcept {
  c.store(c.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

struct alignas(64) P {
  P(unsigned number, std::uint32_t run_queue_capacity, bool is_shared)
      : id(number), shared(is_shared), ring(run_queue_capacity, !is_shared) {}

  const unsigned id;
  atom<p_status> status{p_status::idle};
  // Thieves may come. Set at birth when there are other Ps, else by the owner in its own round after
  // set_procs, never cleared; thieves pass by until they see it (acquire).
  atom<bool> shared;
  // Something for the owner's next round beyond running Gs: retire, or the number of Ps changed.
  atom<bool> attention{false};
  atom<bool> retire{false};
  atom<M*> m{nullptr};          // who holds it; read by sysmon and thieves
  atom<std::uint32_t> turn{0};  // one more with each fresh slice; sysmon compares
  round_policy round;
  bool fair_turn = false;  // this round takes one from the global queue first
  // Read by thieves to guess, taken by them only through the owner's gate.
  atom<G*> run_next{nullptr};
  atom<std::uint32_t> hand_offs{0};
  hand_off_policy hand_off;
  burst_policy burst;
  network_share_policy network;

  fiber::stack_cache stacks;
  stack_list<G, &G::link> free_gs;
  std::uint64_t next_id = 0, last_id = 0;  // ids are dealt to Ps in blocks
  P* idle_link = nullptr;                  // idle_set's lock

  run_queue::owner ring;
  timer_heap timers;
  p_counters count;
  event_ring events;

  // sysmon's own notes.
  std::uint32_t seen_turn = 0;
  std::int64_t seen_at = 0;
};

}  // namespace leat::sched
