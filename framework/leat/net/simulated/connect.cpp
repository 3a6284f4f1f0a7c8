// SPDX-License-Identifier: BSL-1.0
//
// How a simulated connection comes about. The one who dials walks with its packets:
//
//   1 the request goes to the other host; lost in a cut, or when the listener's queue is full: again after 1, 2, 4, ...
//     seconds, seven times in all, as Linux does
//   2 there: does anybody listen? The answer comes back
//   3 refused; or it is established, and the listener may accept when one more packet has come to it
//
// A deadline or a stop ends any of these waits.
#include <algorithm>
#include <cerrno>
#include <system_error>

#include <leat/net/simulated/ip.hpp>
#include <leat/net/simulated/sockets.hpp>
#include <leat/net/simulated/wait.hpp>

namespace leat::net::simulated {
namespace {

constexpr int most_requests = 7;
constexpr std::int64_t first_pause = 1'000'000'000;

std::error_code code_of(ready_status s) noexcept {
  return std::make_error_code(s == ready_status::timeout ? std::errc::timed_out
                                                         : std::errc::operation_canceled);
}

}  // namespace

ready_status network::pause(std::int64_t until, deadline end) {
  csp::wait_queue alone;
  return wait(alone, end, "connect", [&](std::int64_t) { return until; });
}

std::shared_ptr<live_connection> network::establish(const address& to, std::size_t from, std::size_t there) {
  const std::int64_t now = now_ns();
  auto c = std::make_shared<live_connection>(between(from, there), between(there, from), window_, now);
  c->host[0] = from;
  c->host[1] = there;
  c->at[0] = to.family() == AF_UNIX ? address() : with_port(name_for(from, to), port_for_dialer(from));
  c->at[1] = is_any(to) ? with_port(name_for(there, to), to.port()) : to;
  std::erase_if(connections_, [](const std::weak_ptr<live_connection>& w) { return w.expired(); });
  connections_.push_back(c);
  return c;
}

std::unique_ptr<transport> network::connect(const address& to, std::error_code& ec, deadline until) {
  const std::size_t from = host_here();
  const int found = host_of(to, from);
  if (found < 0) {
    ec = {EHOSTUNREACH, std::system_category()};
    return nullptr;
  }
  const auto there = static_cast<std::size_t>(found);
  link& forth = between(from, there);
  link& back = between(there, from);
  const auto wait_for = [&](std::int64_t at) {
    const ready_status s = pause(at, until);
    if (s != ready_status::ready) ec = code_of(s);
    return !ec;
  };
  // False: it is lost, or nobody waits for it any more (ec).
  const auto passes = [&](link& way) {
    const std::int64_t sent = now_ns();
    return way.is_up(sent) && wait_for(way.carry_control(sent)) && way.is_up(now_ns());
  };
  std::int64_t again = now_ns();
  for (int i = 0; i < most_requests; ++i) {
    again += first_pause << i;
    if (passes(forth)) {
      const bool refused = forth.draw(forth.rates().refuse);
      live_listener* l = listener_at(to, from);
      if (refused) ++forth.counts().refused;
      if (refused || !l || l->queue.size() < l->backlog) {
        const bool answered = passes(back);
        if (answered && (refused || !l)) ec = {ECONNREFUSED, std::system_category()};
        if (answered && !ec) {
          lock_.lock();
          std::shared_ptr<live_connection> c = establish(to, from, there);
          csp::waiter_list woken;
          l = listener_at(to, from);  // it may have gone meanwhile
          if (l) {
            const std::int64_t due = forth.carry_control(now_ns());
            const auto later = [&](const live_listener::pending& p) { return p.due > due; };
            l->queue.insert(std::find_if(l->queue.begin(), l->queue.end(), later), {due, c});
            csp::claim_all(l->waits, csp::ending::done, woken);
          } else {
            c->machine.abort(1, now_ns());
          }
          lock_.unlock();
          wake(woken);
          return make_stream_end(shared_from_this(), std::move(c), 0);
        }
      }
    }
    if (ec || !wait_for(again)) return nullptr;
  }
  ec = std::make_error_code(std::errc::timed_out);
  return nullptr;
}

}  // namespace leat::net::simulated
