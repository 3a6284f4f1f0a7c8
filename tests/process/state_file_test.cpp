// SPDX-License-Identifier: BSL-1.0
#include <leat/process/state_file.hpp>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>
#include <leat/process/state_migrate.hpp>

using namespace leat;
using namespace std::chrono_literals;

namespace state_file_test {

enum class mode : std::uint8_t { off, on };
LEAT_ENUM(mode, off, on);

struct old_place {
  double lat = 0, lon = 0;
  int floor = 3;
};
LEAT_MESSAGE(old_place, lat, lon, floor);
struct old_totals {
  std::int64_t count = 5;
  double sum = 2.0;
  std::string unit = "C";
  mode how = mode::on;
  old_place where = {};
  std::vector<old_place> seen = {};
  std::optional<int> limit = {};
  std::vector<int> last = {1, 2};
  std::chrono::milliseconds every{20};
  std::chrono::system_clock::time_point at{};
};
LEAT_MESSAGE(old_totals, count, sum, unit, how, where, seen, limit, last, every, at);

struct new_place {
  double lat = 0, lon = 0;
  std::string name = "unnamed";
};
LEAT_MESSAGE(new_place, lat, lon, name);
struct new_totals {
  double count = -1;          // was a whole number
  std::int64_t sum = -1;      // was a real
  int unit = 7;               // was a text
  std::string how = "unset";  // was an enumeration
  new_place where = {};       // has other fields
  std::vector<new_place> seen = {};
  std::optional<int> limit = 9;
  std::vector<std::string> last = {"a"};  // of another element
  std::chrono::nanoseconds added = 250ms;
  std::chrono::microseconds every{0};
  std::chrono::system_clock::time_point at{};
};
LEAT_MESSAGE(new_totals, count, sum, unit, how, where, seen, limit, last, added, every, at);

struct folder {
  std::string path = (std::filesystem::temp_directory_path() / "leat-state-XXXXXX").string();
  folder() { REQUIRE(::mkdtemp(path.data())); }
  ~folder() { std::filesystem::remove_all(path); }
};

state_content a_content() { return {"s/p/0/sum", "totals", to_cbor(old_totals{})}; }

template <class T>
T migrated(const std::vector<std::uint8_t>& cbor, std::vector<std::string>& told) {
  T v{}, trial{};
  migrate_state(shape_of<T>(), &v, &trial, cbor, told);
  return v;
}

}  // namespace state_file_test
using namespace state_file_test;

TEST_CASE("what is packed is unpacked as it was") {
  const state_content c = a_content();
  const state_content back = unpack_state(pack_state(c));
  CHECK(back.whose == c.whose);
  CHECK(back.type == c.type);
  CHECK(back.value == c.value);
  CHECK(unpack_state(pack_state({})).value.empty());
}

TEST_CASE("a file of which any byte is missing, added or another is not believed") {
  const std::vector<std::uint8_t> whole = pack_state(a_content());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const std::vector<std::uint8_t> torn(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
    CHECK_THROWS_AS((void)unpack_state(torn), state_file_error);
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::uint8_t> flipped = whole;
      flipped[n] = static_cast<std::uint8_t>(flipped[n] ^ 1u << bit);
      CHECK_THROWS_AS((void)unpack_state(flipped), state_file_error);
    }
    std::vector<std::uint8_t> zeroed = whole;
    std::fill(zeroed.begin() + static_cast<std::ptrdiff_t>(n), zeroed.end(), std::uint8_t{0});
    if (zeroed != whole) CHECK_THROWS_AS((void)unpack_state(zeroed), state_file_error);
  }
  std::vector<std::uint8_t> longer = whole;
  longer.push_back(0);
  CHECK_THROWS_WITH_AS((void)unpack_state(longer),
                       (std::to_string(whole.size() - 23) + " bytes are there where " +
                        std::to_string(whole.size() - 24) + " were written")
                           .c_str(),
                       state_file_error);
}

TEST_CASE("a file is replaced as a whole, and set aside under names of their own") {
  const folder f;
  const std::string path = f.path + "/x.state";
  const std::vector<std::uint8_t> first = {1, 2, 3}, second(100'000, 7);
  replace_file(path, first);
  CHECK(read_whole_file(path) == first);
  replace_file(path, second);
  CHECK(read_whole_file(path) == second);
  CHECK_FALSE(std::filesystem::exists(path + ".new"));
  CHECK(set_aside(path) == path + ".bad-1");
  CHECK_FALSE(std::filesystem::exists(path));
  replace_file(path, first);
  CHECK(set_aside(path) == path + ".bad-2");
  CHECK(read_whole_file(path + ".bad-1") == second);
  CHECK_THROWS_AS(replace_file(f.path + "/none/x.state", first), std::system_error);
  CHECK_THROWS_AS((void)read_whole_file(path), std::system_error);
}

TEST_CASE("a link, a pipe and a file that is too large are neither read nor written to") {
  const folder f;
  const std::string path = f.path + "/x.state", other = f.path + "/other";
  const std::vector<std::uint8_t> bytes = {1, 2, 3};
  replace_file(other, bytes);
  REQUIRE(::symlink(other.c_str(), path.c_str()) == 0);
  CHECK_THROWS_AS((void)read_whole_file(path), std::system_error);
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS((void)read_whole_file(path),
                       ("'" + path + "' is not a regular file: Invalid argument").c_str(), std::system_error);
  std::filesystem::remove(path);
  std::ofstream(path).close();
  std::filesystem::resize_file(path, longest_state_file + 1);
  CHECK_THROWS_AS((void)read_whole_file(path), std::system_error);
  replace_file(path, bytes);
  CHECK_THROWS_AS(replace_file(path, std::vector<std::uint8_t>(longest_state_file + 1)), std::system_error);
  CHECK(read_whole_file(path) == bytes);
}

TEST_CASE("what has the name of the new file is taken away, not written to") {
  const folder f;
  const std::string path = f.path + "/x.state", other = f.path + "/other";
  const std::vector<std::uint8_t> bytes = {1, 2, 3}, others = {4};
  replace_file(other, others);
  REQUIRE(::link(other.c_str(), (path + ".new").c_str()) == 0);
  replace_file(path, bytes);
  CHECK(read_whole_file(other) == others);
  REQUIRE(::symlink(other.c_str(), (path + ".new").c_str()) == 0);
  replace_file(path, bytes);
  CHECK(read_whole_file(other) == others);
  REQUIRE(::mkfifo((path + ".new").c_str(), 0600) == 0);
  replace_file(path, others);
  CHECK(read_whole_file(path) == others);
}

TEST_CASE("a file's name tells whose it is, whatever the names are") {
  CHECK(state_file_name("climate", "meter", 2, "sum") == "climate.meter.2.sum.state");
  for (const char* const name : {"sum", "a.b", "../x", "\xc3\xa4", "%41", "a b", "x.state"}) {
    CAPTURE(name);
    const std::string file = state_file_name("s.t", "p/q", 0, name);
    CHECK(file.find('/') == std::string::npos);
    CHECK(state_of_file(file, "s.t", "p/q", 0) == name);
    CHECK(state_of_file(file, "s.t", "p/q", 1).empty());
    CHECK(state_of_file(file + ".bad-1", "s.t", "p/q", 0).empty());
    CHECK(state_of_file(file + ".new", "s.t", "p/q", 0).empty());
  }
  CHECK(state_of_file("s.p.0..state", "s", "p", 0).empty());
  CHECK(state_of_file("s.p.0.%4.state", "s", "p", 0).empty());
  CHECK(state_of_file("s.p.0.%61.state", "s", "p", 0).empty());  // we write "a"
}

TEST_CASE("a value of the same type comes back as it was, and nothing is told") {
  old_totals t;
  t.count = 41;
  t.how = mode::off;
  t.seen = {{1, 2, 3}, {4, 5, 6}};
  t.limit = 8;
  std::vector<std::string> told;
  CHECK(migrated<old_totals>(to_cbor(t), told) == t);
  CHECK(told.empty());
  CHECK(migrated<std::int64_t>(to_cbor(std::int64_t{-3}), told) == -3);
  CHECK(migrated<std::string>(to_cbor(std::string("x")), told) == "x");
  CHECK(told.empty());
}

TEST_CASE("a value of another version is taken over field by field") {
  old_totals t;
  t.count = 41;
  t.sum = 12.0;
  t.where = {1.5, 2.5, 4};
  t.seen = {{1, 2, 3}, {4, 5, 6}};
  t.every = 3h;
  t.at += 100 * 24h;
  std::vector<std::string> told;
  const new_totals n = migrated<new_totals>(to_cbor(t), told);
  CHECK(n.count == 41.0);
  CHECK(n.sum == 12);
  CHECK(n.unit == 7);
  CHECK(n.how == "on");
  CHECK(n.where == new_place{1.5, 2.5, "unnamed"});
  CHECK(n.seen == std::vector<new_place>{{1, 2, "unnamed"}, {4, 5, "unnamed"}});
  CHECK_FALSE(n.limit);
  CHECK(n.last == std::vector<std::string>{"a"});
  CHECK(n.added == 250ms);
  CHECK(n.every == 3h);
  CHECK(n.at == t.at);
  const std::vector<std::string> expected = {
      "field 'unit' is not taken over, and begins anew: byte 0: expected a whole number, got a text",
      "field 'where.floor' is gone, and is left out", "field 'seen[0].floor' is gone, and is left out",
      "field 'seen[1].floor' is gone, and is left out",
      "field 'last' is not taken over, and begins anew: byte 1: [0]: expected a text, got a number"};
  CHECK(told == expected);
}

TEST_CASE("numbers that do not fit are told, and take the default") {
  std::vector<std::string> told;
  CHECK(migrated<std::int8_t>(to_cbor(300), told) == 0);
  CHECK(migrated<std::int64_t>(to_cbor(2.5), told) == 0);
  CHECK(migrated<std::int64_t>(to_cbor(1e300), told) == 0);
  CHECK(migrated<std::int64_t>(to_cbor(std::numeric_limits<double>::quiet_NaN()), told) == 0);
  CHECK(migrated<new_place>(to_cbor(5), told) == new_place{});
  CHECK(told.size() == 5);
  CHECK(told.back() == "it was no table, and begins anew");
}

TEST_CASE("bytes that are no CBOR change nothing, and what is told has an end") {
  std::vector<std::uint8_t> bytes = to_cbor(old_totals{});
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    std::vector<std::string> told;
    (void)migrated<new_totals>({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)}, told);
    CHECK_FALSE(told.empty());
  }
  old_totals many;
  many.seen.resize(1000);
  std::vector<std::string> told;
  CHECK(migrated<new_totals>(to_cbor(many), told).seen.size() == 1000);
  CHECK(told.size() == 33);
}
