// SPDX-License-Identifier: BSL-1.0
#include <netinet/in.h>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

std::string round_trip(const std::string& text) {
  const auto a = address::parse(text);
  return a ? a->text() : "refused";
}
std::string complaint(const std::string& text) {
  std::string why;
  CHECK_FALSE(address::parse(text, &why));
  return why;
}

TEST_CASE("an address in numbers reads back as it was written") {
  for (const char* const text :
       {"127.0.0.1:8080", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:8080", "[2001:db8::1]:443",
        "unix:/run/leat.sock", "unix:@abstract", "unix:relative"}) {
    CHECK(round_trip(text) == text);
  }
}

TEST_CASE("a bare port means loopback") {
  CHECK(round_trip("8080") == "127.0.0.1:8080");
  CHECK(round_trip("0") == "127.0.0.1:0");
}

TEST_CASE("family and port are those of the text") {
  CHECK(address::parse("[::1]:7")->family() == AF_INET6);
  CHECK(address::parse("[::1]:7")->port() == 7);
  CHECK(address::parse("1.2.3.4:65535")->family() == AF_INET);
  CHECK(address::parse("1.2.3.4:65535")->port() == 65535);
  CHECK(address::parse("unix:/x")->family() == AF_UNIX);
  CHECK(address::parse("unix:/x")->port() == 0);
}

TEST_CASE("text that is no address is refused with a reason") {
  CHECK(complaint("1.2.3.4:65536") == "'65536' is not a port: 0 to 65535");
  CHECK(complaint("1.2.3.4:-1") == "'-1' is not a port: 0 to 65535");
  CHECK(complaint("1.2.3.4:http") == "'http' is not a port: 0 to 65535");
  CHECK(complaint("example.org:80") == "'example.org' is not a numeric address");
  CHECK(complaint("1.2.3:80") == "'1.2.3' is not a numeric address");
  CHECK(complaint("unix:") == "the path after 'unix:' is empty");
  for (const char* const text : {"", ":", ":80", "1.2.3.4:", "::1:80", "[::1]", "[]:80", "host", "80x"})
    CHECK_FALSE(complaint(text).empty());
}

TEST_CASE("a unix path that does not fit is refused, and the longest that fits is not") {
  CHECK(round_trip("unix:/" + std::string(106, 'x')) == "unix:/" + std::string(106, 'x'));
  CHECK(complaint("unix:/" + std::string(107, 'x')) ==
        "a unix socket's path has at most 107 bytes, this one has 108");
}

TEST_CASE("an address of nothing has a text") { CHECK(address().text() == "-"); }

TEST_CASE("a name is resolved, and one that does not exist is an error") {
  run_clean(with_procs(2), [] {
    bool loopback = false;
    for (const address& a : resolve("localhost:80"))
      loopback |= a.text() == "127.0.0.1:80" || a.text() == "[::1]:80";
    CHECK(loopback);
    CHECK(error_of([] { (void)resolve("no-such-host.invalid:80"); }));
    CHECK(text_of<std::invalid_argument>([] { (void)resolve("no-port"); }).find("no-port") !=
          std::string::npos);
  });
}

}  // namespace
}  // namespace leat::net::test
