// SPDX-License-Identifier: BSL-1.0
//
// The network inside a simulated world (leat::testing::simulate): hosts by name, and what happens between them.
//
//   leat::testing::simulate({.seed = 7}, [] {
//     auto net = leat::testing::network();
//     net.on("broker", [] {
//       leat::net::listener at = leat::net::listen("0.0.0.0:1883");
//       leat::net::serve(at, [](leat::net::stream& peer) { peer.write("hello\n"); });
//     });
//     net.link("sensor", "broker").latency(20ms).bandwidth(1'000'000);
//     net.on("sensor", [] {
//       leat::net::stream to = leat::net::dial("broker:1883", 2s);
//       ...
//     });
//     (void)leat::sleep_for(1min);
//     net.link("sensor", "broker").cut_for(5s);
//     (void)leat::sleep_for(1h);
//   });
//
// dial, listen, datagrams, HTTP and all else of leat::net that is built on them go over it; no descriptor of the system
// is opened. A G is on a host, and what it spawns is there too; at first all are on "localhost". A host is known by its
// name and by an address, 10.0.0.1 and so on; loopback is the host itself, so what others shall reach listens at
// 0.0.0.0. Links take 1 ms each way until told otherwise, loopback 20 us.
//
// Connections are as TCP's: bytes come in order, whatever happens to the link, or not at all. A cut delays them; one of
// two minutes ends the connection (timed_out). Datagrams are lost, doubled and overtake each other. All that is left to
// chance comes from the world's seed: same seed, same faults.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/net/simulated/link.hpp>
#include <leat/sched/simulate.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::net::simulated {
class network;
}

namespace leat::testing {

// What has really happened on a link: bytes of connections; datagrams, of them lost, duplicated, reordered; connections
// refused and writes reset by rate; cuts.
using link_counts = net::simulated::link_counts;

// Both ways between two hosts, or one way. Durations below zero and rates outside of 0 to 1 throw
// std::invalid_argument.
class simulated_link {
 public:
  simulated_link& latency(timespan d);
  // Up to so much more, by chance: datagrams overtake each other.
  simulated_link& jitter(timespan d);
  simulated_link& bandwidth(std::uint64_t bytes_per_second);  // 0: without end

  // From now on.
  simulated_link& cut();
  simulated_link& cut_for(timespan d);
  simulated_link& heal();
  // By chance: half to one and a half times `every` between two, `lasting` likewise (of at most a minute).
  simulated_link& cut_at_random(timespan every, timespan lasting);
  // All connections, now: both ends are told.
  simulated_link& reset();

  simulated_link& loss(double rate);
  simulated_link& duplicate(double rate);
  simulated_link& reorder(double rate);
  simulated_link& refuse(double rate);  // of connections
  simulated_link& resets(double rate);  // of writes to connections

  // The sum of both ways.
  link_counts counts() const;

 private:
  friend class simulated_network;
  simulated_link(std::shared_ptr<net::simulated::network> net, std::size_t from, std::size_t to, bool both)
      : net_(std::move(net)), from_(from), to_(to), both_(both) {}
  template <class F>
  simulated_link& each(F f);

  std::shared_ptr<net::simulated::network> net_;
  std::size_t from_, to_;
  bool both_;
};

class simulated_host {
 public:
  // One more, "192.168.1.7" or "fd00::7": dial by name tries all. Throws std::invalid_argument.
  simulated_host& address(std::string_view in_numbers);
  // As if it had lost its power: its connections are gone, and nobody is told. Their other ends are half-open
  // until they send something, or notice by a deadline, or after a minute.
  void vanish();

  // A G there: leat::go and leat::spawn.
  template <class F>
  void go(F f) const {
    leat::go([here = *this, f = std::move(f)]() mutable {
      here.move_here();
      f();
    });
  }
  template <class F>
  auto spawn(F f) const {
    return leat::spawn([here = *this, f = std::move(f)]() mutable {
      here.move_here();
      return f();
    });
  }
  // The calling G is there from now on.
  void move_here() const;

 private:
  friend class simulated_network;
  simulated_host(std::shared_ptr<net::simulated::network> net, std::size_t number)
      : net_(std::move(net)), number_(number) {}

  std::shared_ptr<net::simulated::network> net_;
  std::size_t number_;
};

class simulated_network {
 public:
  // Made when it is first named. Throws std::invalid_argument for an empty name, or one with ':' or blanks.
  simulated_host host(std::string_view name);
  // The same as host(name).go(f).
  template <class F>
  void on(std::string_view name, F f) {
    host(name).go(std::move(f));
  }
  simulated_link link(std::string_view a, std::string_view b);
  simulated_link one_way(std::string_view from, std::string_view to);
  // How much a writer of later connections may be ahead of its reader: 256 KiB as a rule.
  void buffer(std::size_t bytes);

 private:
  friend simulated_network network();
  explicit simulated_network(std::shared_ptr<net::simulated::network> net) : net_(std::move(net)) {}

  std::shared_ptr<net::simulated::network> net_;
};

// Of the world that the calling G is in. Throws std::logic_error elsewhere.
simulated_network network();

}  // namespace leat::testing
