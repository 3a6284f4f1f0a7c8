// SPDX-License-Identifier: BSL-1.0
//
// What is left to chance in a simulated world (world.hpp), decided by a seed: who of those that are ready runs next,
// and whether a G that enters the runtime gives way there. Pure: no threads, no clocks; the same calls with the same
// answers give the same decisions.
//
//   random walk   each choice anew, all alike
//   PCT           Gs get random priorities and the highest runs; at d-1 random steps the one that runs falls below
//                 all others. A bug that needs d orderings of k steps among n Gs shows with a chance of at least
//                 1 / (n * k^(d-1)) (Burckhardt and others, ASPLOS 2010). One that was chosen a thousand times in
//                 a row while others were ready falls as well: it may be waiting for them in a loop
//   script        a list of decisions, all others as by default
//
// The default is what a plain queue does: the one that has been ready for longest, and nobody gives way. Decisions
// that differ from it are kept, so that a failure can be run again and made shorter (shrink).
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

namespace leat::sched {

enum class order_strategy : std::uint8_t { random_walk, pct };

// At this step something else than the default was chosen.
struct decision {
  std::uint64_t step = 0;
  std::uint32_t choice = 0;  // of the ready ones, the oldest is 0; where a G may give way: 1

  friend bool operator==(const decision&, const decision&) = default;
};

struct order_options {
  std::uint64_t seed = 1;
  order_strategy strategy = order_strategy::random_walk;
  unsigned depth = 3;             // PCT
  std::uint64_t steps = 1000;     // PCT: how many the program takes, about
  unsigned gives_way_one_in = 4;  // random walk: entries of the runtime; 0: never
  bool keeps_decisions = true;    // for shrink; a long run makes many
};

class world_order {
 public:
  explicit world_order(const order_options& o);
  // By these decisions alone. Chance (draw) is still that of the seed.
  world_order(const order_options& o, const std::vector<decision>& script);

  // `ready`: ids, the oldest first; not empty. An index.
  std::size_t choose(std::span<const std::uint64_t> ready);
  // The one that runs enters the runtime.
  bool gives_way(std::uint64_t running);
  // For what else is left to chance. A function of the seed and the step.
  std::uint32_t draw() noexcept;

  std::uint64_t seed() const noexcept { return options_.seed; }
  const std::vector<decision>& made() const noexcept { return made_; }
  std::uint64_t steps() const noexcept { return step_; }

 private:
  std::uint64_t priority_of(std::uint64_t id);
  std::size_t by_priority(std::span<const std::uint64_t> ready);
  std::size_t by_pct(std::span<const std::uint64_t> ready);
  std::uint32_t note(std::uint32_t choice);

  const order_options options_;
  const bool scripted_;
  std::map<std::uint64_t, std::uint32_t> script_;    // by step
  std::map<std::uint64_t, std::uint64_t> priority_;  // by id; higher runs first
  std::vector<std::uint64_t> falls_at_;              // steps, the last first
  std::uint64_t random_, step_ = 0, drawn_ = 0, lowest_;
  std::uint64_t last_ = 0;     // PCT: who was chosen
  unsigned times_in_row_ = 0;  // while others were ready
  std::vector<decision> made_;
};

// The least list of decisions that still fails, as far as leaving out halves, quarters and so on down to single ones
// finds it. `fails` runs the program with a list.
std::vector<decision> shrink(std::vector<decision> from,
                             const std::function<bool(const std::vector<decision>&)>& fails);

}  // namespace leat::sched
