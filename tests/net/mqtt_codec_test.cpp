// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/net/mqtt/codec.hpp>
#include <leat/net/mqtt/topic.hpp>

#include "net/mqtt_cases.hpp"

#include <algorithm>

namespace leat::net::mqtt::test {
namespace {

TEST_CASE("packets are read and written back with the same bytes") {
  for (const std::string_view hex : good_packets) {
    CAPTURE(std::string(hex));
    const std::string bytes = bytes_of(hex);
    const decoded d = decode(bytes);
    CHECK(std::string(d.why) == "");
    REQUIRE(d.status == decode_status::complete);
    CHECK(d.size == bytes.size());
    std::string again;
    CHECK(encode(d.packet, again) == nullptr);
    CHECK(again == bytes);
  }
}

TEST_CASE("what is no packet is refused with the reason code of the standard") {
  for (const bad_packet& b : bad_packets) {
    CAPTURE(std::string(b.hex));
    const decoded d = decode(bytes_of(b.hex));
    REQUIRE(d.status == decode_status::malformed);
    CHECK(to_string(d.code) == std::string(to_string(b.code)));
    CHECK(std::string(d.why) != "");
  }
}

TEST_CASE("a packet that has not come to its end is waited for, never read beyond") {
  for (const std::string_view hex : good_packets) {
    const std::string bytes = bytes_of(hex);
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      const decoded d = decode(std::string_view(bytes).substr(0, n));
      CHECK(d.status == decode_status::incomplete);
      CHECK(d.size > n);
      CHECK(d.size <= std::max<std::size_t>(bytes.size(), 2));
    }
    const decoded d = decode(bytes + "\xff\xff");
    CHECK(d.status == decode_status::complete);
    CHECK(d.size == bytes.size());
  }
}

TEST_CASE("lengths are encoded as in the table of the standard") {
  const struct {
    std::uint32_t length;
    std::string_view hex;
  } table[] = {{127, "7F"},          {128, "80 01"},          {16'383, "FF 7F"},
               {16'384, "80 80 01"}, {2'097'151, "FF FF 7F"}, {2'097'152, "80 80 80 01"}};
  for (const auto& t : table) {
    publish_packet p;
    p.topic = "t";
    p.payload.assign(t.length - 4, 'x');
    std::string out;
    REQUIRE(encode(p, out) == nullptr);
    const std::string head = bytes_of(t.hex);
    CHECK(out.substr(1, head.size()) == head);
    const decoded d = decode(out);
    REQUIRE(d.status == decode_status::complete);
    CHECK(std::get<publish_packet>(d.packet).payload.size() == p.payload.size());
  }
  // The largest that there is: its head is enough to know.
  const decoded d = decode(bytes_of("30 FF FF FF 7F"));
  CHECK(d.status == decode_status::incomplete);
  CHECK(d.size == 5 + std::size_t{268'435'455});
}

TEST_CASE("a packet that is larger than was agreed on is refused by its head") {
  const decoded d = decode(bytes_of("30 80 80 01"), 1000);
  CHECK(d.status == decode_status::malformed);
  CHECK(d.code == reason::packet_too_large);
  CHECK(decode(bytes_of("C0 00"), 2).status == decode_status::complete);
}

TEST_CASE("what does not fit a packet is not written") {
  publish_packet p;
  p.topic.assign(65'536, 't');
  std::string out = "before";
  CHECK(encode(p, out) != nullptr);
  CHECK(out == "before");
  p.topic = "t";
  p.properties.set(property_id::content_type, std::string(70'000, 'c'));
  CHECK(encode(p, out) != nullptr);
  CHECK(out == "before");
}

TEST_CASE("a will, credentials and properties are what was given") {
  connect_packet c;
  c.client_id = "gateway";
  c.clean_start = false;
  c.keep_alive = 30;
  c.user_name = "u";
  c.password = std::string("\0p", 2);
  c.will = will_message{.topic = "gone", .payload = "bye", .qos = qos::at_least_once, .retain = true};
  c.will->properties.set(property_id::will_delay_interval, 7).add_user("a", "1").add_user("a", "2");
  c.properties.set(property_id::session_expiry_interval, 3600).set(property_id::receive_maximum, 5);
  std::string out;
  REQUIRE(encode(c, out) == nullptr);
  const decoded d = decode(out);
  REQUIRE(d.status == decode_status::complete);
  CHECK(std::get<connect_packet>(d.packet) == c);
  CHECK(std::get<connect_packet>(d.packet).will->properties.all().size() == 3);
}

TEST_CASE("topic names and filters") {
  for (const char* good : {"a", "/", "a/b", "/finance", "a//b", "$SYS/x", "Accounts payable"})
    CHECK(check_topic(good) == "");
  for (const char* bad : {"", "a/+", "#", "a#", "\xff"}) CHECK(check_topic(bad) != "");
  for (const char* good : {"#", "+", "a/#", "+/tennis/#", "/+", "sport+x", "$share/g/a/+", "$share/g//"}) {
    CAPTURE(good);
    CHECK((check_filter(good) == "") == (std::string_view(good) != "sport+x"));
  }
  for (const char* bad : {"", "sport/tennis#", "sport/tennis/#/ranking", "sport+", "$share/g", "$share//a",
                          "$share/+/a", "$share/g/"})
    CHECK(check_filter(bad) != "");
}

// 4.7.1, 4.7.2.
TEST_CASE("filters match as the standard's examples say") {
  for (const char* t :
       {"sport/tennis/player1", "sport/tennis/player1/ranking", "sport/tennis/player1/score/wimbledon"})
    CHECK(matches("sport/tennis/player1/#", t));
  CHECK(matches("sport/#", "sport"));
  CHECK(matches("#", "a/b"));
  CHECK(matches("sport/tennis/+", "sport/tennis/player1"));
  CHECK(!matches("sport/tennis/+", "sport/tennis/player1/ranking"));
  CHECK(!matches("sport/+", "sport"));
  CHECK(matches("sport/+", "sport/"));
  CHECK(matches("+/+", "/finance"));
  CHECK(matches("/+", "/finance"));
  CHECK(!matches("+", "/finance"));
  CHECK(!matches("#", "$SYS/x"));
  CHECK(!matches("+/monitor/Clients", "$SYS/monitor/Clients"));
  CHECK(matches("$SYS/#", "$SYS/x"));
  CHECK(matches("$share/g/a/+", "a/b"));
  CHECK(!matches("$share/g/a/+", "b/b"));
  CHECK(!matches("a/b", "a"));
  CHECK(!matches("a", "a/b"));
}

}  // namespace
}  // namespace leat::net::mqtt::test
