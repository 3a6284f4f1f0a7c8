// SPDX-License-Identifier: BSL-1.0
//
// What a stream may have between itself and its descriptor: TLS, for instance (leat/tls/stream.hpp). The
// stream owns both, and lends the layer its descriptor for each call, so that it can be moved and shut down
// as one without a layer.
//
// Errors, deadlines and stops: as descriptor.hpp says, and errors of the layer's own. One G may read while
// another writes: a layer keeps both from waiting for each other.
#pragma once
#include <cstddef>
#include <system_error>

#include <leat/base/clock.hpp>
#include <leat/net/bytes.hpp>
#include <leat/net/descriptor.hpp>

namespace leat::net {

class stream_layer {
 public:
  stream_layer() = default;
  stream_layer(const stream_layer&) = delete;
  stream_layer& operator=(const stream_layer&) = delete;
  virtual ~stream_layer() = default;

  // At least one byte, or 0 at an end that the peer has made on purpose.
  virtual std::size_t read_some(descriptor& under, mutable_bytes into, std::error_code& ec,
                                deadline until) = 0;
  // At least one byte of those given; what was taken has been handed to the system.
  virtual std::size_t write_some(descriptor& under, const_bytes from, std::error_code& ec,
                                 deadline until) = 0;
  // Tells the peer that nothing more comes, if there is time for it. Once; later calls do nothing.
  virtual void finish(descriptor& under, deadline until) noexcept = 0;
};

}  // namespace leat::net
