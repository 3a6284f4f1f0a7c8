// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/keep_alive.hpp>
#include <leat/net/mqtt/packet_ids.hpp>

#include <doctest/doctest.h>

namespace leat::net::mqtt {
namespace {

using namespace std::chrono_literals;

const time_point start = time_point(1h);

TEST_CASE(
    "a PINGREQ is due three quarters of the keep-alive after the last byte of the side that was silent for "
    "longer") {
  keep_alive k;
  k.begin(40, start);
  CHECK(k.due() == start + 30s);
  k.sent(start + 10s);
  CHECK(k.due() == start + 30s);  // the server has said nothing
  k.heard(start + 20s);
  CHECK(k.due() == start + 40s);  // we have not since
  CHECK_FALSE(k.ping_waits());
}

TEST_CASE("a server that does not answer a PINGREQ for a keep-alive has gone") {
  keep_alive k;
  k.begin(40, start);
  k.pinged(start + 30s);
  CHECK(k.ping_waits());
  k.sent(start + 60s);  // what we say is no sign of life of the server's
  CHECK(k.due() == start + 70s);
  k.heard(start + 65s);
  CHECK_FALSE(k.ping_waits());
}

TEST_CASE("while nothing is read, a silent server is not given up, and is still told that we are there") {
  keep_alive k;
  k.begin(40, start);
  k.pinged(start + 30s);
  k.pause(true, start + 31s);
  CHECK_FALSE(k.ping_waits());
  CHECK(k.due() == start + 60s);
  k.pinged(start + 60s);
  CHECK_FALSE(k.ping_waits());
  k.pause(false, start + 500s);  // what it said meanwhile is about to be read
  k.sent(start + 500s);
  CHECK(k.due() == start + 530s);
}

TEST_CASE("without a keep-alive nothing is ever due; the server's word counts") {
  keep_alive k;
  k.begin(0, start);
  CHECK(k.due() == time_point::max());
  k.set_seconds(4);
  CHECK(k.due() == start + 3s);
}

TEST_CASE("identifiers are 1 to 65535, each once, and one that was given back comes last") {
  packet_ids ids;
  for (unsigned i = 1; i <= 65535; ++i) REQUIRE(ids.take() == i);
  CHECK(ids.take() == 0);
  ids.give_back(5);
  CHECK(ids.take() == 5);
  CHECK(ids.take() == 0);
  ids.give_back(9);
  ids.give_back(8);
  CHECK(ids.take() == 8);
  ids.give_back(8);
  CHECK(ids.take() == 9);
  CHECK(ids.take() == 8);
}

}  // namespace
}  // namespace leat::net::mqtt
