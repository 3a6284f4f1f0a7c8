// SPDX-License-Identifier: BSL-1.0
#include <leat/net/simulated/network.hpp>

#include <netdb.h>
#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <tuple>

#include <leat/net/simulated/ip.hpp>
#include <leat/net/simulated/open.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/world.hpp>

namespace leat::net::simulated {
namespace {

// FNV-1a: a link's luck depends on the names of its ends, and on nothing else.
std::uint64_t hash_of(std::string_view text, std::uint64_t from) noexcept {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return from;
}

// Nearly full.
constexpr std::size_t most_hosts = 60'000;

}  // namespace

std::shared_ptr<network> network::here() {
  sched::world* const w = sched::world::here();
  if (!w) return nullptr;
  std::shared_ptr<void>& at = w->attached();
  if (!at) at = std::make_shared<network>(w->order().seed());
  return std::static_pointer_cast<network>(at);
}

std::size_t network::host_here() noexcept {
  const sched::world* const w = sched::world::here();
  return w ? w->place() : 0;
}

void network::move_here_to(std::size_t host) {
  if (sched::world* const w = sched::world::here()) w->move_to(static_cast<std::uint32_t>(host));
}

network::network(std::uint64_t seed) : seed_(seed) { (void)host("localhost"); }

std::size_t network::host(std::string_view name) {
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    if (hosts_[i].name == name) return i;
  if (hosts_.size() == most_hosts) throw std::length_error("leat::testing::network: too many hosts");
  const std::size_t n = hosts_.size();
  hosts_.emplace_back();
  hosts_.back().name = name;
  // 10.0.0.1, 10.0.0.2, ...
  const std::size_t number = n + 1;
  add_address(n, *address::parse("10.0." + std::to_string(number / 250) + "." +
                                 std::to_string(number % 250 + (number >= 250 ? 1 : 0)) + ":0"));
  return n;
}

void network::add_address(std::size_t host, const address& a) { hosts_[host].addresses.push_back(a); }

const std::vector<address>* network::addresses_of(std::string_view name) const {
  for (const host_state& h : hosts_)
    if (h.name == name) return &h.addresses;
  return nullptr;
}

int network::host_of(const address& to, std::size_t from) const noexcept {
  if (to.family() == AF_UNIX || is_loopback(to) || is_any(to)) return static_cast<int>(from);
  const std::string ip = ip_of(to);
  for (std::size_t i = 0; i < hosts_.size(); ++i)
    for (const address& a : hosts_[i].addresses)
      if (ip_of(a) == ip) return static_cast<int>(i);
  return -1;
}

address network::name_for(std::size_t host, const address& to) const {
  if (to.family() == AF_UNIX) return {};
  const bool four = to.family() == AF_INET;
  if (is_loopback(to) || is_any(to)) return *address::parse(four ? "127.0.0.1:0" : "[::1]:0");
  for (const address& a : hosts_[host].addresses)
    if (a.family() == to.family()) return a;
  return hosts_[host].addresses.front();
}

link& network::between(std::size_t from, std::size_t to) {
  const auto at = links_.find({from, to});
  if (at != links_.end()) return at->second;
  const std::uint64_t seed =
      hash_of(hosts_[to].name, hash_of("\n", hash_of(hosts_[from].name, seed_ ^ 0xcbf29ce484222325u)));
  const std::int64_t latency = from == to ? loopback_latency : default_latency;
  return links_
      .emplace(std::piecewise_construct, std::forward_as_tuple(from, to),
               std::forward_as_tuple(seed, latency))
      .first->second;
}

template <class F>
void network::each_connection(F f) {
  for (const std::weak_ptr<live_connection>& w : connections_)
    if (const std::shared_ptr<live_connection> c = w.lock()) f(*c);
}

// f says whether it has changed one: then all who wait there look again.
template <class F>
void network::change_connections(F f) {
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    each_connection([&](live_connection& c) {
      if (!f(c)) return;
      for (auto& end : c.waits)
        for (csp::wait_queue& q : end) csp::claim_all(q, csp::ending::done, woken);
    });
  }
  wake(woken);
}

void network::changed(const link& l) {
  change_connections([&](live_connection& c) {
    if (!c.machine.runs_over(l)) return false;
    c.machine.reroute(now_ns());
    return true;
  });
}

void network::reset_connections(const link& l) {
  change_connections([&](live_connection& c) {
    if (!c.machine.runs_over(l)) return false;
    c.machine.reset(now_ns());
    return true;
  });
}

void network::vanish(std::size_t host) {
  change_connections([&](live_connection& c) {
    bool any = false;
    for (int i = 0; i < 2; ++i) {
      if (c.host[i] != host) continue;
      c.machine.vanish(i, now_ns());
      any = true;
    }
    return any;
  });
}

void network::wake(csp::waiter_list& woken) noexcept {
  if (woken.empty()) return;
  const csp::entered in;
  csp::wake_all(in.m, woken);
}

bool is_here() noexcept { return sched::world::here() != nullptr; }

int look_up(const name_and_port& what, families which, std::vector<address>& found) {
  unsigned short port = 0;
  const char* const end = what.port.data() + what.port.size();
  if (what.port == "http")
    port = 80;
  else if (const auto r = std::from_chars(what.port.data(), end, port); r.ec != std::errc{} || r.ptr != end)
    return EAI_SERVICE;
  if (what.host == "localhost") {
    found.push_back(with_port(*address::parse("127.0.0.1:0"), port));
    return 0;
  }
  const std::shared_ptr<network> net = network::here();
  const std::vector<address>* const all = net ? net->addresses_of(what.host) : nullptr;
  if (!all) return EAI_NONAME;
  for (const address& a : *all)
    if (which == families::all || a.family() == AF_INET) found.push_back(with_port(a, port));
  return found.empty() ? EAI_NONAME : 0;
}

}  // namespace leat::net::simulated
