// SPDX-License-Identifier: BSL-1.0
#include <leat/control/tap_places.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace leat::control {
namespace {

using names = std::vector<std::string>;

TEST_CASE("one peer has so many channels at a time, and gives them back") {
  tap_places places;
  outcome why;
  std::vector<std::shared_ptr<void>> mine;
  for (std::size_t i = 0; i < tap_places::of_peer; ++i) {
    mine.push_back(places.take("me", {"c" + std::to_string(i)}, why));
    REQUIRE(mine.back());
  }
  CHECK(!places.take("me", {"x"}, why));
  CHECK(why.status == "503 Service Unavailable");
  CHECK(why.json.find("one address may look into 8 channels at a time") != std::string::npos);
  CHECK(places.take("you", {"x"}, why));
  CHECK(places.take("", {"x"}, why));
  mine.pop_back();
  CHECK(!places.take("me", {"x", "y"}, why));
  CHECK(places.take("me", {"x"}, why));
}

TEST_CASE("of the places of a channel some are for others, whoever asks") {
  tap_places places;
  outcome why;
  std::vector<std::shared_ptr<void>> all;
  for (std::size_t i = 0; i < tap_places::of_channel; ++i) {
    all.push_back(
        places.take(i % 2 ? "" : "peer " + std::to_string(i), {"a/c", "a/d" + std::to_string(i)}, why));
    REQUIRE(all.back());
  }
  for (const char* const who : {"", "another"}) {
    CHECK(!places.take(who, {"a/other", "a/c"}, why));
    CHECK(why.json.find("look into channel 'a/c' by TCP already") != std::string::npos);
  }
  CHECK(places.take("another", {"a/other"}, why));
  all.pop_back();
  CHECK(places.take("another", {"a/other", "a/c"}, why));
  CHECK(tap_places::of_channel < csp::tap::most_views);
}

}  // namespace
}  // namespace leat::control
