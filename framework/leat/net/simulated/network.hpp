// SPDX-License-Identifier: BSL-1.0
//
// The network of a simulated world: hosts, links between them, and what is open on each. It drives the pure parts
// (link.hpp, connection.hpp, datagrams.hpp) with the world's time. No G belongs to it: whoever waits works out when
// that may change, and sleeps until then, or until another end has done something and wakes it to work it out anew.
//
//   one who waits                               one who does something
//    1 lock; looks: is it ready? then goes on    a lock; changes the machine
//    2 works out when that may change            b takes those who wait at what it changed out of their queues
//    3 waits in the queue until then; the lock   c unlocks, wakes them: they begin at 1
//      is dropped on the far side of the switch
//
// All Gs of a world run on one thread, so the lock is never contended; it is there because waits drop one. What is left
// open when the world ends keeps the network in being, and finds everything as it was.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/csp/wait.hpp>
#include <leat/net/address.hpp>
#include <leat/net/simulated/connection.hpp>
#include <leat/net/simulated/datagrams.hpp>
#include <leat/net/simulated/link.hpp>
#include <leat/net/transport.hpp>

namespace leat::net::simulated {

struct live_connection {
  live_connection(link& forth, link& back, std::size_t window, std::int64_t now)
      : machine(forth, back, window, now) {}

  connection machine;
  csp::wait_queue waits[2][2] = {};  // [end][direction]
  address at[2] = {};
  std::size_t host[2] = {};
};

struct live_listener {
  struct pending {
    std::int64_t due;
    std::shared_ptr<live_connection> peer;
  };
  address at = {};
  std::size_t host = 0, backlog = 0;
  std::deque<pending> queue = {};
  csp::wait_queue waits = {};
  bool shut = false;
};

struct live_datagrams {
  address at = {}, peer = {};  // empty: not yet
  std::size_t host = 0;
  datagram_queue queue = {};
  csp::wait_queue waits = {};
  std::int64_t refused_at = never;
};

class network : public std::enable_shared_from_this<network> {
 public:
  static constexpr std::int64_t loopback_latency = 20'000, default_latency = 1'000'000;
  static constexpr std::size_t default_window = std::size_t{256} << 10;

  // Of the world that the calling G is in, made at its first use; null: it is in none.
  static std::shared_ptr<network> here();
  // The host of the calling G.
  static std::size_t host_here() noexcept;
  static void move_here_to(std::size_t host);

  explicit network(std::uint64_t seed);

  // --- Hosts and links (network.cpp). Without the lock ---
  std::size_t host(std::string_view name);  // makes it
  const std::string& name_of(std::size_t host) const { return hosts_[host].name; }
  void add_address(std::size_t host, const address& a);
  const std::vector<address>* addresses_of(std::string_view name) const;
  link& between(std::size_t from, std::size_t to);
  void window(std::size_t bytes) noexcept { window_ = bytes; }
  // What is on its way over the link goes anew.
  void changed(const link& l);
  void reset_connections(const link& l);
  void vanish(std::size_t host);

  // --- What is open (sockets.cpp, ports.cpp, connect.cpp) ---
  std::unique_ptr<transport> connect(const address& to, std::error_code& ec, deadline until);
  std::unique_ptr<transport> listen(const address& at, int backlog, std::error_code& ec);
  std::unique_ptr<transport> open_datagrams(const address* at, std::error_code& ec);

  // For the transports.
  ranked_spinlock& lock() noexcept { return lock_; }
  // Steps 1 to 3. `next(now)` is called under the lock.
  template <class F>
  ready_status wait(csp::wait_queue& queue, deadline until, const char* what, F next);
  // Step c.
  static void wake(csp::waiter_list& woken) noexcept;
  void close(live_listener& l) noexcept;
  void close(live_datagrams& d) noexcept;
  // 0, or the error. Port 0 becomes one that is free.
  int add(live_listener& l);
  int add(live_datagrams& d);
  // To whom `to` leads from a host; -1: to nobody.
  int host_of(const address& to, std::size_t from) const noexcept;
  live_datagrams* datagrams_at(const address& to, std::size_t from);
  // What a socket of the host that talks to `to` is called.
  address name_for(std::size_t host, const address& to) const;

 private:
  struct host_state {
    std::string name = {};
    std::vector<address> addresses = {};  // without port
    std::vector<live_listener*> listeners = {};
    std::vector<live_datagrams*> datagrams = {};
    std::uint16_t next_port = 32768;
  };

  live_listener* listener_at(const address& to, std::size_t from);
  template <class T>
  int bind(std::vector<T*>& all, T& x);
  template <class F>
  std::uint16_t free_port(host_state& h, F is_free);
  std::uint16_t port_for_dialer(std::size_t host);
  ready_status pause(std::int64_t until, deadline end);
  std::shared_ptr<live_connection> establish(const address& to, std::size_t from, std::size_t there);
  template <class F>
  void each_connection(F f);
  template <class F>
  void change_connections(F f);

  const std::uint64_t seed_;
  std::size_t window_ = default_window;
  std::deque<host_state> hosts_;
  std::map<std::pair<std::size_t, std::size_t>, link> links_;
  std::vector<std::weak_ptr<live_connection>> connections_;
  ranked_spinlock lock_{lock_rank::channel, "simulated network"};
};

}  // namespace leat::net::simulated
