// SPDX-License-Identifier: BSL-1.0
//
// Packets of MQTT 5 as bytes: those that the text of the standard gives, others of each kind, and what no packet may
// look like with the reason code for it.
#pragma once
#include <string>
#include <string_view>

#include <leat/net/mqtt/reason.hpp>

namespace leat::net::mqtt::test {

// Blanks are left out.
inline std::string bytes_of(std::string_view hex) {
  std::string out;
  int high = -1;
  for (const char c : hex) {
    if (c == ' ') continue;
    const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
    if (high < 0) {
      high = digit;
    } else {
      out += static_cast<char>(high * 16 + digit);
      high = -1;
    }
  }
  return out;
}

// Accepted, and written back with the same bytes.
inline constexpr std::string_view good_packets[] = {
    // 3.1.2.12, 3.1.3: the CONNECT of figure 3-6, with a payload: "c", will topic "w" payload "x", "u", "p".
    "10 20 0004 4D515454 05 CE 000A 05 11 0000000A 0001 63 00 0001 77 0001 78 0001 75 0001 70",
    // 3.1.3.1: an empty client identifier.
    "10 0D 0004 4D515454 05 02 0000 00 0000",
    // 3.3.2.3.9: the PUBLISH of figure 3-9: "a/b", packet identifier 10, no properties.
    "32 08 0003 612F62 000A 00",
    // 3.8.3: the SUBSCRIBE of figure 3-21: "a/b" with QoS 1, "c/d" with QoS 2.
    "82 0F 000A 00 0003 612F62 01 0003 632F64 02",
    // 3.10.3: the UNSUBSCRIBE of figure 3-31.
    "A2 0D 000A 00 0003 612F62 0003 632F64",
    // 3.12, 3.13
    "C0 00",
    "D0 00",
    // 1.5.4: "A" and U+2A6D4 as a topic; a U+FEFF stays.
    "30 0B 0005 41 F0AA9B94 00 68 69 21",
    "30 06 0003 EFBBBF 00",
    // A will with all that it may have.
    "10 33 0004 4D515454 05 2E 003C 00 0001 63 1F 18 00000005 01 01 02 0000000A 03 0001 74 08 0001 72 09 "
    "0001 00 "
    "26 0001 6B 0001 76 0001 77 0000",
    // CONNACK: session present; all that a server may say.
    "20 03 01 00 00",
    "20 18 00 00 15 21 0014 22 000A 24 01 25 01 27 00010000 28 01 29 01 2A 00",
    "20 0E 00 9D 0B 1C 0001 62 1F 0001 77 13 000A",
    "20 06 00 87 03 12 0000",
    "20 08 00 00 05 11 00000000",
    // PUBLISH: retained; QoS 2, duplicate; alias without topic; identifiers of subscriptions.
    "31 04 0001 61 00",
    "3C 06 0001 61 FFFF 00",
    "30 06 0000 03 23 0001",
    "30 0A 0001 61 05 0B 01 0B FF 7F 21",
    // Answers, short and long.
    "40 02 000A",
    "40 03 000A 10",
    "40 09 000A 87 05 1F 0002 6E6F",
    "50 02 0001",
    "62 02 0001",
    "62 03 0001 92",
    "70 02 0001",
    "90 05 000A 00 01 02",
    "90 04 000A 00 87",
    "B0 05 000A 00 00 11",
    // A shared subscription with an identifier and options.
    "82 13 0001 02 0B 05 000B 24 73 68 61 72 65 2F 67 2F 61 2F 29",
    "E0 00",
    "E0 01 04",
    "E0 07 00 05 11 00000000",
    "F0 00",
    "F0 09 18 07 15 0004 61 62 63 64",
};

struct bad_packet {
  std::string_view hex;
  reason code;
};
inline constexpr bad_packet bad_packets[] = {
    {"00 00", reason::malformed_packet},                           // type 0
    {"42 02 0001", reason::malformed_packet},                      // reserved bits
    {"60 02 0001", reason::malformed_packet},                      // PUBREL needs 0010
    {"80 07 0001 00 0001 61 00", reason::malformed_packet},        // SUBSCRIBE too
    {"36 05 0001 61 0001", reason::malformed_packet},              // QoS 3
    {"38 04 0001 61 00", reason::malformed_packet},                // duplicate with QoS 0
    {"C0 80 00", reason::malformed_packet},                        // a length that is too long
    {"30 FF FF FF FF 01", reason::malformed_packet},               // one of five bytes
    {"C0 01 00", reason::malformed_packet},                        // a PINGREQ with a body
    {"40 02 0000", reason::protocol_error},                        // packet identifier 0
    {"32 06 0001 61 0000 00", reason::protocol_error},             //
    {"40 01 00", reason::malformed_packet},                        // half an identifier
    {"40 03 0001 01", reason::protocol_error},                     // a reason that PUBACK has not
    {"30 04 0005 61 00", reason::malformed_packet},                // a text beyond the end
    {"30 03 0000 00", reason::protocol_error},                     // neither topic nor alias
    {"30 04 0001 2B 00", reason::topic_name_invalid},              // "+"
    {"30 04 0001 00 00", reason::malformed_packet},                // U+0000
    {"30 06 0003 EDA080 00", reason::malformed_packet},            // a surrogate
    {"30 05 0002 C0AF 00", reason::malformed_packet},              // overlong UTF-8
    {"30 07 0001 61 03 23 0000", reason::topic_alias_invalid},     // alias 0
    {"30 0A 0001 61 06 23 0001 23 0001", reason::protocol_error},  // twice
    {"30 08 0001 61 04 01 01 01 01", reason::protocol_error},      //
    {"30 06 0001 61 02 01 02", reason::protocol_error},            // a boolean of 2
    {"30 06 0001 61 02 24 01", reason::malformed_packet},          // not a property of PUBLISH
    {"30 06 0001 61 02 7F 01", reason::malformed_packet},          // of nobody
    {"30 06 0001 61 02 0B 00", reason::protocol_error},            // subscription identifier 0
    {"30 08 0001 61 04 08 0001 23", reason::protocol_error},       // a response topic "#"
    {"20 02 00 00", reason::malformed_packet},                     // of MQTT 3.1.1
    {"20 03 02 00 00", reason::malformed_packet},                  // reserved bits
    {"20 03 01 87 00", reason::protocol_error},                    // a session and an error
    {"20 03 00 01 00", reason::protocol_error},                    // no such reason
    {"20 06 00 00 03 21 0000", reason::protocol_error},            // Receive Maximum 0
    {"20 08 00 00 05 27 00000000", reason::protocol_error},        // Maximum Packet Size 0
    {"20 07 00 00 04 16 0001 61", reason::protocol_error},         // data without a method
    {"10 0D 0004 4D515454 04 02 0000 00 0000", reason::unsupported_protocol_version},
    {"10 0D 0004 4D515458 05 02 0000 00 0000", reason::unsupported_protocol_version},
    {"10 0D 0004 4D515454 05 03 0000 00 0000", reason::malformed_packet},  // reserved bit
    {"10 0D 0004 4D515454 05 0A 0000 00 0000", reason::malformed_packet},  // a will's QoS without it
    {"10 0D 0004 4D515454 05 1E 0000 00 0000", reason::malformed_packet},  // a will with QoS 3
    {"82 03 0001 00", reason::protocol_error},                             // no filter
    {"82 07 0001 00 0001 61 03", reason::malformed_packet},                // QoS 3
    {"82 07 0001 00 0001 61 30", reason::protocol_error},                  // retain handling 3
    {"82 07 0001 00 0001 61 40", reason::malformed_packet},                // reserved
    {"82 08 0001 00 0002 6123 00", reason::topic_filter_invalid},          // "a#"
    {"82 11 0001 00 000B 24 73 68 61 72 65 2F 67 2F 61 2F 04", reason::protocol_error},  // shared, no local
    {"82 0B 0001 04 0B 01 0B 01 0001 61 00", reason::protocol_error},                    // two identifiers
    {"A2 03 0001 00", reason::protocol_error},                                           //
    {"90 03 0001 00", reason::protocol_error},                                           // no reason
    {"90 04 0001 00 03", reason::protocol_error},                                        // QoS 3 granted
    {"E0 01 01", reason::protocol_error},                                                //
    {"F0 01 80", reason::protocol_error},                                                //
};

}  // namespace leat::net::mqtt::test
