// SPDX-License-Identifier: BSL-1.0
//
// One direction between two simulated hosts: when does what is sent at a moment arrive, if it does? Pure: no threads,
// no clocks; all moments are passed in, and never go back. The same seed and the same calls give the same answers.
//
// # What it does to
//   bytes of a connection   latency, jitter, bandwidth. What meets a cut is sent again when the cut is over: later, not
//                           lost. A cut that lasts two minutes ends the connection (gives_up_at), as it does real
//                           ones
//   datagrams               the same, and they are lost in a cut, and by rate; doubled and delayed by rate
//   control                 answers, ends, resets: latency and cuts alone
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace leat::net::simulated {

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

// How often, of 1.
struct link_rates {
  double loss = 0, duplicate = 0, reorder = 0;  // of datagrams
  double refuse = 0;                            // of connections
  double reset = 0;                             // of writes to a connection
};

// What has really happened.
struct link_counts {
  std::uint64_t bytes = 0;  // of connections
  std::uint64_t datagrams = 0, lost = 0, duplicated = 0, reordered = 0;
  std::uint64_t refused = 0, resets = 0, cuts = 0;
};

class link {
 public:
  // For how long a connection bears a cut.
  static constexpr std::int64_t patience = 120'000'000'000;
  // Of the random cuts, on the average: they never end a connection.
  static constexpr std::int64_t longest_random_cut = 60'000'000'000;

  static constexpr std::uint64_t highest_bandwidth = 10'000'000'000;

  link(std::uint64_t seed, std::int64_t latency) noexcept
      : latency_(latency), random_(seed), cut_random_(~seed) {}

  void latency(std::int64_t ns) noexcept { latency_ = ns; }
  void jitter(std::int64_t ns) noexcept { jitter_ = ns; }
  // 0: without end. At most highest_bandwidth.
  void bandwidth(std::uint64_t bytes_per_second) noexcept { bandwidth_ = bytes_per_second; }
  link_rates& rates() noexcept { return rates_; }
  link_counts& counts() noexcept { return counts_; }
  bool limits_bandwidth() const noexcept { return bandwidth_ > 0; }

  // Nothing passes in [from, until). What is on its way then must be sent again (connection::reroute).
  void cut(std::int64_t from, std::int64_t until);
  // Ends all cuts, and forgets those to come, the random ones too.
  void heal(std::int64_t now);
  // From now on, by the seed: half to one and a half times `every` between two, and so with how long they last.
  void cut_at_random(std::int64_t now, std::int64_t every, std::int64_t lasting);

  bool is_up(std::int64_t at) { return up_from(at) == at; }
  // The first moment from `at` on at which it is up.
  std::int64_t up_from(std::int64_t at);
  // When a connection that was there at `since` has borne a cut for too long.
  std::int64_t gives_up_at(std::int64_t since) const noexcept;

  // Bytes that are sent until they arrive.
  std::int64_t carry(std::int64_t now, std::size_t bytes);
  // The same for what has no bytes. It takes no bandwidth.
  std::int64_t carry_control(std::int64_t now);

  struct arrivals {
    std::int64_t first = never, second = never;  // never: lost; not doubled
  };
  arrivals carry_datagram(std::int64_t now, std::size_t bytes);

  // True as often as the rate says.
  bool draw(double rate) noexcept;

 private:
  struct outage {
    std::int64_t from, until;
  };

  void draw_cuts_until(std::int64_t at);
  std::int64_t first_cut_within(std::int64_t from, std::int64_t until);
  std::int64_t jitter_now() noexcept;
  std::int64_t time_on_wire(std::size_t bytes) const noexcept;

  std::int64_t latency_, jitter_ = 0;
  std::uint64_t bandwidth_ = 0;
  std::int64_t free_at_ = 0;  // when the last bit of what was sent before has gone out
  link_rates rates_;
  link_counts counts_;
  std::vector<outage> cuts_;  // in no order
  std::int64_t every_ = 0, lasting_ = 0, drawn_until_ = never;
  std::uint64_t random_, cut_random_;
};

}  // namespace leat::net::simulated
