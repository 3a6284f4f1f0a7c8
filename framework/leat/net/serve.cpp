// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <system_error>

#include <leat/base/log.hpp>
#include <leat/csp/semaphore.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/listener.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>

namespace leat::net {
namespace {

using namespace std::chrono_literals;
constexpr nanoseconds shortest_pause = 5ms, longest_pause = 1s;

// It will pass: the process or the system is out of something.
bool is_shortage(const std::error_code& ec) noexcept {
  return ec == std::errc::too_many_files_open || ec == std::errc::too_many_files_open_in_system ||
         ec == std::errc::no_buffer_space || ec == std::errc::not_enough_memory ||
         ec == std::errc::no_space_on_device;  // epoll's limit of watches
}

void handle(const std::function<void(stream&)>& handler, stream& peer) {
  try {
    handler(peer);
  } catch (const std::system_error& e) {
    log_debug("net", "a connection ended: {}", e.what());  // peers that vanish are no news
  } catch (const std::exception& e) {
    log_warning("net", "the handler of a connection from {} threw: {}", peer.peer().text(), e.what());
  } catch (const stopped&) {
  } catch (...) {
    log_warning("net", "the handler of a connection from {} threw something that is not a std::exception",
                peer.peer().text());
  }
}

}  // namespace

void serve(listener& at, const std::function<void(stream&)>& handler, const serve_options& options) {
  semaphore free_places(std::max<std::size_t>(options.limit, 1));
  task_group group;  // after what its members use
  nanoseconds pause = shortest_pause;
  bool told = false;
  while (free_places.acquire() == acquire_status::acquired) {
    std::error_code ec;
    stream peer = at.accept(ec);
    if (!ec) {
      pause = shortest_pause;
      try {
        group.go(spawn_options{.name = options.name, .stack = options.stack},
                 [&handler, &free_places, p = std::move(peer)]() mutable {
                   struct place {
                     semaphore& s;
                     ~place() { s.release(); }
                   } mine{free_places};
                   handle(handler, p);
                   p.close();
                 });
        continue;
      } catch (const spawn_error&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
      } catch (const std::bad_alloc&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
      }
    }
    free_places.release();
    if (!is_shortage(ec)) {
      if (ec != std::errc::operation_canceled) throw_error(ec, "leat::net::serve: accept");
      return;  // stopped, or the listener was shut down
    }
    if (!told)
      log_warning("net", "{}: cannot accept: {}; trying again more slowly", at.local().text(), ec.message());
    told = true;
    if (sleep_for(pause) != sleep_result::elapsed) return;
    pause = std::min(pause * 2, longest_pause);
  }
}

}  // namespace leat::net
