// SPDX-License-Identifier: BSL-1.0
//
// A file descriptor that Gs can wait for: the ground that streams, listeners, ports and pipes stand on.
//
// Each call that may wait comes twice, as in <filesystem> and Asio: one throws std::system_error, one takes
// an error_code. What they say beyond the system's own errors:
//   std::errc::timed_out             the deadline came first
//   std::errc::operation_canceled    the G was asked to stop (the throwing form throws `stopped`), or the
//                                    descriptor was closed meanwhile
// A stop ends reads at once and writes when they would have to wait.
//
// Belongs to one G at a time; one may read while another writes. To end it from elsewhere, shut it down
// (stream.hpp): a close while another G uses it could hit a descriptor of the same number.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <system_error>

#include <leat/base/clock.hpp>
#include <leat/net/address.hpp>
#include <leat/net/bytes.hpp>

namespace leat::net {

class transport;
class watch;

class descriptor {
 public:
  descriptor() noexcept = default;
  // Takes over fd and makes it non-blocking. Throws std::system_error, with fd closed, for one that cannot be
  // waited for, such as a regular file (file.hpp is for those).
  explicit descriptor(int fd);
  // None of the system's, but one of a simulated world (transport.hpp). It has no number.
  explicit descriptor(std::unique_ptr<transport> t) noexcept;
  descriptor(descriptor&& other) noexcept;
  descriptor& operator=(descriptor&& other) noexcept;
  ~descriptor() { close(); }

  bool is_open() const noexcept { return fd_ >= 0 || transport_; }
  int fd() const noexcept { return fd_; }
  // Null for one of the system's.
  transport* simulated() const noexcept { return transport_; }
  void close() noexcept;
  // Gives up the descriptor, which stays open. A simulated one is closed: -1.
  [[nodiscard]] int release() noexcept;

  // As of a socket.
  void shutdown(int how) noexcept;
  address local() const noexcept;
  address peer() const noexcept;

  // At least one byte, or 0 at the end of the stream, or if there is no room for any.
  std::size_t read_some(mutable_bytes into, deadline until = deadline::never());
  std::size_t read_some(mutable_bytes into, std::error_code& ec, deadline until = deadline::never());
  // At least one byte of those given.
  std::size_t write_some(const_bytes from, deadline until = deadline::never());
  std::size_t write_some(const_bytes from, std::error_code& ec, deadline until = deadline::never());
  // Until it is worth trying again, perhaps for nothing. `what` is a literal, for dumps.
  void wait_readable(const char* what, std::error_code& ec, deadline until = deadline::never());
  void wait_writable(const char* what, std::error_code& ec, deadline until = deadline::never());

 private:
  enum class kind : std::uint8_t { socket, pipe, other, simulated };

  void drop() noexcept;

  int fd_ = -1;
  kind kind_ = kind::other;
  bool stream_ = false;   // a short read means that there is no more
  bool drained_ = false;  // the last read got all there was: the next one waits first
  watch* watch_ = nullptr;
  transport* transport_ = nullptr;  // kind::simulated; owned
};

// The throwing form of an outcome: leat::stopped, or std::system_error.
[[noreturn]] void throw_error(const std::error_code& ec, const char* what);

}  // namespace leat::net
