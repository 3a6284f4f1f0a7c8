// SPDX-License-Identifier: BSL-1.0
//
// A server's side of the network.
//
//   leat::net::listener at = leat::net::listen("127.0.0.1:7000");
//   leat::net::serve(at, [](leat::net::stream& peer) {
//     while (auto line = peer.read_line(60s)) peer.write(*line + "\n", 5s);
//   });
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>

#include <leat/net/address.hpp>
#include <leat/net/descriptor.hpp>
#include <leat/net/stream.hpp>

namespace leat::net {

class listener {
 public:
  listener() noexcept = default;
  listener(listener&&) noexcept = default;
  listener& operator=(listener&& other) noexcept;
  // Removes the path of a Unix socket that it made, and nothing that has taken its place since.
  ~listener() { close(); }

  // The next connection. The errors of the system that belong to one connection (it went away before it was
  // accepted) are passed over; those of this process, such as EMFILE, are given.
  stream accept(deadline until = deadline::never());
  stream accept(std::error_code& ec, deadline until = deadline::never());

  // From any G or thread while the listener lives: accept ends with operation_canceled.
  void shutdown() noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return d_.is_open(); }
  address local() const noexcept { return d_.local(); }

 private:
  friend listener listen(std::string_view where, int backlog);
  explicit listener(descriptor d) noexcept : d_(std::move(d)) {}
  stream accept_simulated(std::error_code& ec, deadline until);

  // Keeps the path for its removal, and which file it is now.
  void has_made(std::string path) noexcept;

  descriptor d_;
  std::string path_;                      // to be removed, if it is still that file
  std::uint64_t device_ = 0, inode_ = 0;  // no other file has them while the socket is open
};

// "127.0.0.1:7000", "[::1]:7000", "7000" (loopback), "0.0.0.0:7000", "unix:/run/x.sock"; port 0: any that is
// free. A Unix path on which nobody listens any more is replaced. Throws std::system_error, and
// std::invalid_argument for text that is no address.
listener listen(std::string_view where, int backlog = 1024);

struct serve_options {
  std::size_t limit = 4096;        // connections at a time; further ones wait in the system's queue
  std::size_t stack = 0;           // of each connection's G; 0: the runtime's default
  std::string_view name = "peer";  // of each connection's G
  // From one address (of IPv6: one network of 64 bits) at a time; further ones are closed at once. 0: any
  // number.
  std::size_t per_address = 0;
  // When all places are taken, the connection that has been idle for longest, and for half a second at least, is closed
  // for the next one.
  bool evict_idle = false;
};

// A connection as serve knows it; its handler says what it does.
class guest {
 public:
  // It waits for its peer to begin something, and may be closed when its place is needed.
  void idle() noexcept { since_.store(now_ns(), std::memory_order_relaxed); }
  void busy() noexcept { since_.store(is_busy, std::memory_order_relaxed); }

 private:
  friend class guest_book;
  static constexpr std::int64_t is_busy = INT64_MAX;
  std::atomic<std::int64_t> since_{is_busy};  // by its own G; whoever accepts reads it
};

// One G per connection, until the caller is asked to stop or the listener is shut down; then asks those that
// are left to stop, waits for them and returns. An exception out of the handler ends its connection and is
// logged; leat::stopped just ends it. While the process is out of descriptors or memory it accepts more
// slowly, up to a second between tries, and says so once.
void serve(listener& at, const std::function<void(stream&)>& handler, const serve_options& options = {});
void serve(listener& at, const std::function<void(stream&, guest&)>& handler,
           const serve_options& options = {});

}  // namespace leat::net
