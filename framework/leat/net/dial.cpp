// SPDX-License-Identifier: BSL-1.0
//
// One connection to any of several addresses, as RFC 8305 has it ("happy eyeballs"): they are tried in the
// order of the system's preference, but with the families in turn; the next one is begun when the last one
// has failed, or has not answered for a while; whichever answers first wins, and the others are given up. So
// an address whose packets are dropped, of a family that does not get through for instance, costs a moment
// and not the deadline.
//
// A name is looked up twice at once, for all families and for IPv4 alone: a server of names that never
// answers the question for IPv6 holds up the first for many seconds.
#include <leat/net/dial.hpp>

#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <deque>
#include <stdexcept>
#include <string>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/look_up.hpp>
#include <leat/net/simulated/open.hpp>
#include <leat/net/socket.hpp>
#include <leat/sched/spawn.hpp>

namespace leat::net {
namespace {

using namespace std::chrono_literals;

constexpr nanoseconds attempt_delay = 250ms;    // from one to the next, as the RFC recommends
constexpr nanoseconds resolution_delay = 50ms;  // what IPv4 waits for an answer with all families
constexpr std::size_t most_addresses = 32;

std::error_code connect(descriptor& d, const address& to, deadline until) {
  std::error_code ec;
  int e = 0;
  while ((e = ::connect(d.fd(), to.data(), to.size()) == 0 ? 0 : errno) == EINTR) {
  }
  // EAGAIN: the queue of a Unix listener is full. The system tells nobody when there is room again.
  if (e == EAGAIN) return std::make_error_code(std::errc::connection_refused);
  if (e != EINPROGRESS) return {e, std::system_category()};
  for (;;) {
    d.wait_writable("connect", ec, until);
    if (ec) return ec;
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(d.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return {error, std::system_category()};
    // Woken for nothing? Only a connected one has a peer.
    if (address::peer_of(d.fd()).size() > 0) return {};
  }
}

descriptor socket_for(const address& to) {
  descriptor d(make_socket(to.family(), SOCK_STREAM));
  if (to.family() != AF_UNIX) {
    no_delay(d.fd());
    notice_dead_peer(d.fd());
  }
  return d;
}

// An open one, or the error.
descriptor connected(const address& to, std::error_code& ec, deadline until) {
  if (simulated::is_here()) return descriptor(simulated::connect(to, ec, until));
  descriptor d = socket_for(to);
  ec = connect(d, to, until);
  return d;
}

bool same(const address& a, const address& b) { return a.text() == b.text(); }

// All of the family of the first, and all others, in turn.
std::vector<address> in_turn(const std::vector<address>& all) {
  std::deque<address> first, others;
  for (const address& a : all) (a.family() == all.front().family() ? first : others).push_back(a);
  std::vector<address> mixed;
  while (mixed.size() < std::min(all.size(), most_addresses)) {
    for (std::deque<address>* from : {&first, &others}) {
      if (from->empty()) continue;
      mixed.push_back(from->front());
      from->pop_front();
    }
  }
  return mixed;
}

class race {
 public:
  race(std::string where, deadline until) : where_(std::move(where)), until_(until) {}

  stream among(const std::vector<address>& all) {
    take(all);
    return run();
  }
  stream by_name(const name_and_port& what) {
    for (const families which : {families::all, families::ipv4}) {
      leat::go("resolver", [to = news_, what, which]() mutable {
        news n{.what = news::kind::looked_up, .which = which};
        n.found = look_up(what, which);
        (void)to.try_send(std::move(n));
      });
      ++look_ups_;
    }
    return run();
  }

 private:
  struct news {
    enum class kind : std::uint8_t { looked_up, tried };
    kind what = kind::tried;
    families which = families::all;
    looked_up found = {};
    std::error_code ec = {};  // of a try
    descriptor made = {};
    std::string where = {};
  };

  stream run() {
    for (;;) {
      if (hold_until_ <= now()) take(std::exchange(held_, {}));
      if (!waiting_.empty() && next_start_ <= now()) start();
      if (waiting_.empty() && held_.empty() && running_ == 0 && look_ups_ == 0) fail();
      std::optional<news> n = news_.recv_until(next_step());
      if (!n) {
        if (stop_requested())
          throw_error(std::make_error_code(std::errc::operation_canceled), "leat::net::dial");
        if (until_.expired())
          throw_error(std::make_error_code(std::errc::timed_out), ("leat::net::dial: " + where_).c_str());
        continue;
      }
      if (n->what == news::kind::looked_up) {
        heard(*n);
      } else if (!n->ec) {
        return stream(std::move(n->made));
      } else {
        --running_;
        last_ = n->ec;
        last_where_ = n->where;
        next_start_ = time_point{};
      }
    }
  }

  deadline next_step() const {
    time_point at = until_.at();
    if (!waiting_.empty()) at = std::min(at, next_start_);
    return deadline(std::min(at, hold_until_));
  }

  void heard(const news& n) {
    --look_ups_;
    if (n.found.ec && !last_) {
      last_ = n.found.ec;
      last_where_ = where_;
    }
    if (n.which == families::all || look_ups_ == 0) {
      take(n.found.addresses);
    } else if (!n.found.addresses.empty()) {
      held_ = n.found.addresses;
      hold_until_ = now() + resolution_delay;
    }
  }

  // Those that are not known yet wait for their turn.
  void take(const std::vector<address>& all) {
    hold_until_ = never;
    held_.clear();
    if (all.empty()) return;
    for (const address& a : in_turn(all)) {
      if (known_.size() == most_addresses) return;
      if (std::any_of(known_.begin(), known_.end(), [&](const address& k) { return same(k, a); })) continue;
      known_.push_back(a);
      waiting_.push_back(a);
    }
  }

  // Each is begun in time, however short that is, and the last one has time left to answer.
  void start() {
    const address to = waiting_.front();
    waiting_.pop_front();
    nanoseconds pause = attempt_delay;
    if (!until_.is_never())
      pause = std::min(pause, until_.left() / static_cast<std::int64_t>(waiting_.size() + 2));
    next_start_ = saturating_add(now(), pause);
    ++running_;
    attempts_.go("dial", [report = news_, to, until = until_]() mutable {
      news n{.where = to.text()};
      try {
        n.made = connected(to, n.ec, until);
      } catch (const std::system_error& e) {
        n.ec = e.code();
      }
      (void)report.try_send(std::move(n));
    });
  }

  [[noreturn]] void fail() const {
    if (!last_)
      throw_error(std::make_error_code(std::errc::host_unreachable), ("leat::net::dial: " + where_).c_str());
    throw_error(last_, ("leat::net::dial: " + last_where_).c_str());
  }

  const std::string where_;
  const deadline until_;
  std::vector<address> known_, held_;
  std::deque<address> waiting_;
  time_point next_start_{}, hold_until_ = never;
  std::size_t running_ = 0, look_ups_ = 0;
  std::error_code last_;
  std::string last_where_;
  channel<news> news_{most_addresses + 2};  // room for all that may ever be told
  task_group attempts_;                     // last: gives up those that did not win
};

}  // namespace

stream dial(const address& where, deadline until) {
  std::error_code ec;
  descriptor d = connected(where, ec, until);
  if (ec) throw_error(ec, ("leat::net::dial: " + where.text()).c_str());
  return stream(std::move(d));
}

stream dial(const std::vector<address>& any_of, deadline until) {
  if (any_of.size() == 1) return dial(any_of.front(), until);
  return race(any_of.empty() ? "no address" : any_of.front().text(), until).among(any_of);
}

stream dial(std::string_view where, deadline until) {
  if (where.starts_with("tls://"))
    throw std::invalid_argument(
        "leat::net::dial: \"" + std::string(where) +
        "\": dial makes plain connections; leat::tls_dial (leat/tls.hpp) makes this one");
  if (const auto in_numbers = address::parse(where)) return dial(*in_numbers, until);
  return race(std::string(where), until).by_name(parse_name(where));
}

}  // namespace leat::net
