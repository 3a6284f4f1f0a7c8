// SPDX-License-Identifier: BSL-1.0
//
// The wait of network.hpp. Not installed.
#pragma once
#include <algorithm>
#include <stdexcept>

#include <leat/net/io_wait.hpp>
#include <leat/net/simulated/network.hpp>
#include <leat/sched/entered.hpp>

namespace leat::net::simulated {

// It is not counted as a wait for I/O: nothing comes from outside, and a world in which all wait here, without a
// moment at which that may change, is a deadlock as any other.
template <class F>
ready_status network::wait(csp::wait_queue& queue, deadline until, const char* what,
                           F next) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  csp::ending how{};
  std::int64_t at = 0;
  {
    csp::entered in;
    if (!in.m)
      throw std::logic_error("leat::net: the simulated world has ended in which this connection was made");
    sched::G& g = in.g();
    g.waits_in.store(what, std::memory_order_relaxed);
    g.waits_fd.store(-1, std::memory_order_relaxed);
    lock_.lock();
    const std::int64_t now = now_ns();
    at = next(now);
    if (at <= now) {
      lock_.unlock();
      return ready_status::ready;
    }
    if (in.stop_asked()) {
      lock_.unlock();
      how = csp::ending::stopped;
    } else {
      how = csp::wait_and_unlock(in, lock_, queue, nullptr, csp::wait_reason::io,
                                 std::min(at, csp::until_ns(until)));
    }
  }
  switch (how) {
    case csp::ending::timeout: return at <= now_ns() ? ready_status::ready : ready_status::timeout;
    case csp::ending::stopped: throw_if_insisted_on_this_g(); return ready_status::stopped;
    case csp::ending::closed: return ready_status::closed;
    default: return ready_status::ready;
  }
}

}  // namespace leat::net::simulated
