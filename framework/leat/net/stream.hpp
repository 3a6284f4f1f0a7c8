// SPDX-License-Identifier: BSL-1.0
//
// A stream of bytes, both ways: a TCP or Unix connection, a serial port, a pipe. Reads can be by line and by
// exact length; what was read too much stays in its buffer, which is made when it is first needed.
//
//   leat::net::stream peer = leat::net::dial("127.0.0.1:7000", 2s);
//   peer.write("hello\n", 1s);
//   while (auto line = peer.read_line(5s)) use(*line);
//
// Errors, deadlines and stops: as descriptor.hpp says. A read of a line or an exact length that one of them
// ends puts back what it had: the next read gets it.
//
// A stream may have a layer (stream_layer.hpp), such as TLS: then all bytes go through that.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <leat/net/address.hpp>
#include <leat/net/bytes.hpp>
#include <leat/net/descriptor.hpp>
#include <leat/net/stream_layer.hpp>

namespace leat::net {

// The stream ended in the middle of what was asked for.
class end_of_stream : public std::system_error {
 public:
  explicit end_of_stream(std::size_t missing);
};

class stream {
 public:
  static constexpr std::size_t default_line_limit = std::size_t{64} << 10;

  stream() noexcept = default;
  explicit stream(descriptor d) noexcept : d_(std::move(d)) {}

  // At least one byte, or 0 at the end.
  std::size_t read_some(mutable_bytes into, deadline until = deadline::never());
  std::size_t read_some(mutable_bytes into, std::error_code& ec, deadline until = deadline::never());
  // All of it. Throws end_of_stream if it ends before that.
  void read_exactly(mutable_bytes into, deadline until = deadline::never());
  // Up to the next '\n', without it and without a '\r' before it. Empty: the end. A last line without its
  // '\n' counts. Throws std::system_error (message_size) for one that is longer than line_limit; the rest of
  // it is what the next read gets.
  std::optional<std::string> read_line(deadline until = deadline::never());
  // The same without a new string for each line: into the one given, false at the end.
  bool read_line(std::string& into, deadline until = deadline::never());
  // Up to and including the delimiter; false at the end, with what there was before it in `into`.
  bool read_until(std::string& into, std::string_view delimiter, deadline until = deadline::never());

  // All of it.
  void write(const_bytes from, deadline until = deadline::never());
  void write(const_bytes from, std::error_code& ec, deadline until = deadline::never());

  // The other side sees the end of what we write. Sockets only. With a layer it may wait for a second, until
  // the layer has told its peer.
  void shutdown_write() noexcept;
  // Both ways, from any G or thread while the stream lives: whoever reads or writes sees the end.
  void shutdown() noexcept;
  // With a layer the other side sees an end that was meant. To give a stream up, so that it does not, destroy
  // it or assign another one.
  void close() noexcept {
    if (layer_) finish_layer(nanoseconds::zero());
    d_.close();
  }
  bool is_open() const noexcept { return d_.is_open(); }

  std::size_t buffered() const noexcept { return end_ - begin_; }
  void line_limit(std::size_t bytes) noexcept { line_limit_ = bytes; }

  address local() const noexcept { return d_.local(); }
  address peer() const noexcept { return d_.peer(); }
  const descriptor& handle() const noexcept { return d_; }
  descriptor& handle() noexcept { return d_; }

  // All bytes from now on go through the layer. What was read too much is its business: take_buffered.
  void put_on(std::unique_ptr<stream_layer> layer) noexcept { layer_ = std::move(layer); }
  bool has_layer() const noexcept { return layer_ != nullptr; }
  std::string take_buffered();

  // For use elsewhere, with Asio for instance. What is buffered is lost.
  [[nodiscard]] int release() noexcept { return d_.release(); }

 private:
  static constexpr std::size_t buffer_size = 4096;

  std::size_t receive_some(mutable_bytes into, std::error_code& ec, deadline until) {
    return layer_ ? layer_->read_some(d_, into, ec, until) : d_.read_some(into, ec, until);
  }
  std::size_t receive_some(mutable_bytes into, deadline until);
  void finish_layer(deadline until) noexcept { layer_->finish(d_, until); }
  bool fill(deadline until);
  void put_back(const_bytes front);
  std::size_t take(mutable_bytes into) noexcept;

  descriptor d_;
  std::unique_ptr<stream_layer> layer_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0, end_ = 0;
  std::size_t line_limit_ = default_line_limit;
};

}  // namespace leat::net
