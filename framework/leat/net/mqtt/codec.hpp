// SPDX-License-Identifier: BSL-1.0
//
// Packets of MQTT 5 to bytes and back: functions of bytes alone, for both sides of a connection.
//
// decode looks at the front of what has come so far. It believes no length before the bytes are there, reads
// nothing behind the packet's end, and says of what is wrong which reason code the standard has for it: malformed
// packet for bytes that cannot be taken apart, protocol error for what cannot be meant, and the particular ones
// (packet too large, topic name invalid, topic alias invalid, unsupported protocol version).
//
// What decode accepts, encode writes with the same bytes, but for reasons and properties that may be left out:
// a PUBACK with reason 0 and no properties is two bytes long.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <leat/net/mqtt/packet.hpp>

namespace leat::net::mqtt {

inline constexpr std::uint32_t most_remaining = 268'435'455;  // bytes behind the fixed header
inline constexpr std::uint32_t no_packet_limit = most_remaining + 5;

enum class decode_status : std::uint8_t {
  incomplete,  // `size` bytes are needed, as far as is known; at least one more than there are
  complete,    // `size` bytes were the packet
  malformed,   // `why` and `code`
};
struct decoded {
  decode_status status = decode_status::incomplete;
  std::size_t size = 0;
  mqtt::packet packet = pingreq_packet{};
  reason code = reason::success;
  const char* why = "";
};
// A packet of more than `most` bytes, all in all, is packet_too_large as soon as its header is there.
decoded decode(std::string_view bytes, std::uint32_t most = no_packet_limit);

// Appends the packet. Null: done; else why it cannot be written (a text of more than 65535 bytes, more than fits a
// packet), and `out` is as it was.
const char* encode(const packet& p, std::string& out);

}  // namespace leat::net::mqtt
