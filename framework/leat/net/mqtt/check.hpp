// SPDX-License-Identifier: BSL-1.0
//
// What may be said, before it is: a server ends the connection for a packet that breaks the rules, and a message that
// is kept until it is answered would break them on each connection again. "" or what is wrong.
#pragma once
#include <string>
#include <string_view>

#include <leat/net/mqtt/packet.hpp>

namespace leat::net::mqtt {

// UTF-8 without zero bytes, at most 65535 of them. `what` begins the sentence.
std::string check_utf8(const char* what, std::string_view text);

// As the decoder of the other side sees them.
std::string check_properties(const properties& all, packet_type t,
                             property_place where = property_place::packet);

// What a client publishes: its properties, and a payload that is what they say.
std::string check_message(const properties& all, std::string_view payload);
std::string check_will(const will_message& w);

}  // namespace leat::net::mqtt
