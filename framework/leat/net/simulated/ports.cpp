// SPDX-License-Identifier: BSL-1.0
//
// Who is bound to what on a simulated host. All but close with the lock held.
#include <algorithm>
#include <cerrno>

#include <leat/net/simulated/ip.hpp>
#include <leat/net/simulated/network.hpp>

namespace leat::net::simulated {
namespace {

constexpr std::uint16_t first_port = 32768, last_port = 60999;  // of those that are given away

template <class T>
T* bound_to(const std::vector<T*>& all, const address& to) {
  T* any = nullptr;
  for (T* const x : all) {
    if (!takes(x->at, to)) continue;
    if (!is_any(x->at)) return x;  // the one that is named comes first
    any = x;
  }
  return any;
}

// Of two that are bound, one would take what the other one does.
bool meet(const address& a, const address& b) { return takes(a, b) || takes(b, a); }

}  // namespace

template <class T>
int network::bind(std::vector<T*>& all, T& x) {
  host_state& h = hosts_[x.host];
  if (x.at.family() != AF_UNIX && !is_loopback(x.at) && !is_any(x.at) &&
      std::none_of(h.addresses.begin(), h.addresses.end(),
                   [&](const address& a) { return ip_of(a) == ip_of(x.at); }))
    return EADDRNOTAVAIL;
  const auto is_free = [&](const address& at) {
    return std::none_of(all.begin(), all.end(), [&](const T* other) { return meet(other->at, at); });
  };
  if (x.at.family() == AF_UNIX || x.at.port() != 0) {
    if (!is_free(x.at)) return EADDRINUSE;
  } else {
    const std::uint16_t port = free_port(h, [&](std::uint16_t p) { return is_free(with_port(x.at, p)); });
    if (port == 0) return EADDRINUSE;
    x.at = with_port(x.at, port);
  }
  all.push_back(&x);
  return 0;
}

template <class F>
std::uint16_t network::free_port(host_state& h, F is_free) {
  for (int tries = last_port - first_port; tries >= 0; --tries) {
    const std::uint16_t p = h.next_port;
    h.next_port = p == last_port ? first_port : static_cast<std::uint16_t>(p + 1);
    if (is_free(p)) return p;
  }
  return 0;
}

std::uint16_t network::port_for_dialer(std::size_t host) {
  return free_port(hosts_[host], [](std::uint16_t) { return true; });
}

int network::add(live_listener& l) { return bind(hosts_[l.host].listeners, l); }
int network::add(live_datagrams& d) { return bind(hosts_[d.host].datagrams, d); }

live_listener* network::listener_at(const address& to, std::size_t from) {
  const int host = host_of(to, from);
  return host < 0 ? nullptr : bound_to(hosts_[static_cast<std::size_t>(host)].listeners, to);
}

live_datagrams* network::datagrams_at(const address& to, std::size_t from) {
  const int host = host_of(to, from);
  return host < 0 ? nullptr : bound_to(hosts_[static_cast<std::size_t>(host)].datagrams, to);
}

// Those who have not been accepted are reset.
void network::close(live_listener& l) noexcept {
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    std::erase(hosts_[l.host].listeners, &l);
    l.shut = true;
    csp::claim_all(l.waits, csp::ending::done, woken);
    for (const live_listener::pending& p : l.queue) {
      p.peer->machine.abort(1, now_ns());
      for (csp::wait_queue& q : p.peer->waits[0]) csp::claim_all(q, csp::ending::done, woken);
    }
    l.queue.clear();
  }
  wake(woken);
}

void network::close(live_datagrams& d) noexcept {
  lock_guard hold(lock_);
  std::erase(hosts_[d.host].datagrams, &d);
}

}  // namespace leat::net::simulated
