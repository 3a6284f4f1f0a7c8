// SPDX-License-Identifier: BSL-1.0
//
// What Gs hold of a simulated network: ends of connections, listeners, sockets for datagrams.
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <system_error>

#include <leat/net/simulated/ip.hpp>
#include <leat/net/simulated/network.hpp>
#include <leat/net/simulated/open.hpp>
#include <leat/net/simulated/sockets.hpp>
#include <leat/net/simulated/wait.hpp>

namespace leat::net::simulated {
namespace {

constexpr std::size_t longest_datagram = 65'507;
constexpr int to_read = 0, to_write = 1;  // live_connection::waits

std::error_code system_code(int e) noexcept { return {e, std::system_category()}; }

class stream_end final : public transport {
 public:
  stream_end(std::shared_ptr<network> net, std::shared_ptr<live_connection> c, int me)
      : net_(std::move(net)), c_(std::move(c)), me_(me) {}
  ~stream_end() override {
    change([&](std::int64_t now) { c_->machine.close(me_, now); });
  }

  ssize_t read(mutable_bytes into) override {
    csp::waiter_list woken;
    ssize_t n = 0;
    {
      lock_guard hold(net_->lock());
      n = c_->machine.read(me_, into, now_ns());
      if (n > 0) csp::claim_all(c_->waits[1 - me_][to_write], csp::ending::done, woken);
    }
    network::wake(woken);
    return n;
  }
  ssize_t write(const_bytes from) override {
    csp::waiter_list woken;
    ssize_t n = 0;
    {
      lock_guard hold(net_->lock());
      n = c_->machine.write(me_, from, now_ns());
      // It may also have been reset.
      if (n != -EAGAIN) csp::claim_all(c_->waits[1 - me_][to_read], csp::ending::done, woken);
      if (n != -EAGAIN) csp::claim_all(c_->waits[me_][to_read], csp::ending::done, woken);
      if (n < 0 && n != -EAGAIN) csp::claim_all(c_->waits[1 - me_][to_write], csp::ending::done, woken);
    }
    network::wake(woken);
    return n;
  }
  ready_status wait(direction d, deadline until, const char* what) override {
    if (d == direction::read)
      return net_->wait(c_->waits[me_][to_read], until, what,
                        [&](std::int64_t now) { return c_->machine.next_read(me_, now); });
    return net_->wait(c_->waits[me_][to_write], until, what,
                      [&](std::int64_t now) { return c_->machine.next_write(me_, now); });
  }
  bool has_unread() const noexcept override {
    lock_guard hold(net_->lock());
    return c_->machine.has_unread(me_, now_ns());
  }
  void shutdown(int how) noexcept override {
    change([&](std::int64_t now) {
      if (how != SHUT_WR) c_->machine.shutdown_read(me_);
      if (how != SHUT_RD) c_->machine.shutdown_write(me_, now);
    });
  }
  address local() const noexcept override { return c_->at[me_]; }
  address peer() const noexcept override { return c_->at[1 - me_]; }

 private:
  template <class F>
  void change(F f) noexcept {
    csp::waiter_list woken;
    {
      lock_guard hold(net_->lock());
      f(now_ns());
      for (auto& end : c_->waits)
        for (csp::wait_queue& q : end) csp::claim_all(q, csp::ending::done, woken);
    }
    network::wake(woken);
  }

  const std::shared_ptr<network> net_;
  const std::shared_ptr<live_connection> c_;
  const int me_;
};

class listening final : public transport {
 public:
  listening(std::shared_ptr<network> net, std::unique_ptr<live_listener> l)
      : net_(std::move(net)), l_(std::move(l)) {}
  ~listening() override { net_->close(*l_); }

  std::unique_ptr<transport> accept(int& error) override {
    std::shared_ptr<live_connection> c;
    {
      lock_guard hold(net_->lock());
      error = l_->shut ? EINVAL : EAGAIN;
      if (l_->shut || l_->queue.empty() || l_->queue.front().due > now_ns()) return nullptr;
      c = std::move(l_->queue.front().peer);
      l_->queue.pop_front();
    }
    error = 0;
    return std::make_unique<stream_end>(net_, std::move(c), 1);
  }
  ready_status wait(direction, deadline until, const char* what) override {
    return net_->wait(l_->waits, until, what, [&](std::int64_t now) {
      return l_->shut ? now : l_->queue.empty() ? never : l_->queue.front().due;
    });
  }
  void shutdown(int) noexcept override { net_->close(*l_); }
  address local() const noexcept override { return l_->at; }

 private:
  const std::shared_ptr<network> net_;
  const std::unique_ptr<live_listener> l_;
};

class datagrams final : public transport {
 public:
  datagrams(std::shared_ptr<network> net, std::unique_ptr<live_datagrams> d)
      : net_(std::move(net)), d_(std::move(d)) {}
  ~datagrams() override { net_->close(*d_); }

  ssize_t receive(mutable_bytes into, address& from) override {
    lock_guard hold(net_->lock());
    const std::int64_t now = now_ns();
    if (refused(now)) return -ECONNREFUSED;
    while (d_->queue.front(now)) {
      const datagram_queue::message m = d_->queue.take();
      if (d_->peer.size() > 0 && d_->peer.text() != m.from.text()) continue;
      if (!m.bytes.empty() && into.size > 0)
        std::memcpy(into.data, m.bytes.data(), std::min(into.size, m.bytes.size()));
      from = m.from;
      return static_cast<ssize_t>(m.bytes.size());
    }
    return -EAGAIN;
  }
  ssize_t send(const_bytes from, const address* to) override {
    csp::waiter_list woken;
    ssize_t n = 0;
    {
      lock_guard hold(net_->lock());
      n = send_locked(from, to ? *to : d_->peer, woken);
    }
    network::wake(woken);
    return n;
  }
  ready_status wait(direction d, deadline until, const char* what) override {
    return net_->wait(d_->waits, until, what, [&](std::int64_t now) {
      return d == direction::write ? now : std::min(d_->queue.next(now), d_->refused_at);
    });
  }
  int connect(const address& peer) override {
    lock_guard hold(net_->lock());
    if (net_->host_of(peer, d_->host) < 0) return ENETUNREACH;
    if (const int error = bind_for(peer)) return error;
    d_->peer = peer;
    return 0;
  }
  address local() const noexcept override { return d_->at; }
  address peer() const noexcept override { return d_->peer; }

 private:
  bool refused(std::int64_t now) noexcept {
    if (d_->refused_at > now) return false;
    d_->refused_at = never;
    return true;
  }
  int bind_for(const address& peer) {
    if (d_->at.size() > 0) return 0;
    d_->at = net_->name_for(d_->host, peer);
    return net_->add(*d_);
  }
  ssize_t send_locked(const_bytes from, const address& to, csp::waiter_list& woken) {
    if (to.size() == 0) return -EDESTADDRREQ;
    if (from.size > longest_datagram) return -EMSGSIZE;
    const std::int64_t now = now_ns();
    if (refused(now)) return -ECONNREFUSED;
    const int host = net_->host_of(to, d_->host);
    if (host < 0) return -ENETUNREACH;
    if (const int error = bind_for(to)) return -error;
    const auto there = static_cast<std::size_t>(host);
    const link::arrivals a = net_->between(d_->host, there).carry_datagram(now, from.size);
    if (live_datagrams* const d = net_->datagrams_at(to, d_->host)) {
      address me = is_any(d_->at) ? with_port(net_->name_for(d_->host, to), d_->at.port()) : d_->at;
      for (const std::int64_t due : {a.first, a.second})
        if (due != never) d->queue.push({due, me, std::string(from.data, from.size)});
      csp::claim_all(d->waits, csp::ending::done, woken);
    } else if (d_->peer.size() > 0 && a.first != never) {
      d_->refused_at = std::min(d_->refused_at, net_->between(there, d_->host).carry_control(a.first));
    }
    return static_cast<ssize_t>(from.size);
  }

  const std::shared_ptr<network> net_;
  const std::unique_ptr<live_datagrams> d_;
};

}  // namespace

std::unique_ptr<transport> make_stream_end(std::shared_ptr<network> net, std::shared_ptr<live_connection> c,
                                           int me) {
  return std::make_unique<stream_end>(std::move(net), std::move(c), me);
}

std::unique_ptr<transport> network::listen(const address& at, int backlog, std::error_code& ec) {
  auto l = std::make_unique<live_listener>();
  l->at = at;
  l->host = host_here();
  l->backlog = static_cast<std::size_t>(std::max(backlog, 1));
  {
    lock_guard hold(lock_);
    if (const int error = add(*l)) {
      ec = system_code(error);
      return nullptr;
    }
  }
  return std::make_unique<listening>(shared_from_this(), std::move(l));
}

std::unique_ptr<transport> network::open_datagrams(const address* at, std::error_code& ec) {
  auto d = std::make_unique<live_datagrams>();
  d->host = host_here();
  if (at) {
    d->at = *at;
    lock_guard hold(lock_);
    if (const int error = add(*d)) {
      ec = system_code(error);
      return nullptr;
    }
  }
  return std::make_unique<datagrams>(shared_from_this(), std::move(d));
}

std::unique_ptr<transport> listen(const address& at, int backlog, std::error_code& ec) {
  return network::here()->listen(at, backlog, ec);
}
std::unique_ptr<transport> open_datagrams(const address* at, std::error_code& ec) {
  return network::here()->open_datagrams(at, ec);
}
std::unique_ptr<transport> connect(const address& to, std::error_code& ec, deadline until) {
  return network::here()->connect(to, ec, until);
}

}  // namespace leat::net::simulated
