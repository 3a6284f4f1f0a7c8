// SPDX-License-Identifier: BSL-1.0
#include <leat/process/message_key.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <leat/process/any_channel.hpp>
#include <leat/process/record.hpp>

using namespace leat;
using namespace std::chrono_literals;

namespace message_key_test {

enum class phase : std::uint8_t { a, b };
LEAT_ENUM(phase, a, b);
struct room {
  std::string name = {};
  std::optional<int> floor = {};
};
LEAT_MESSAGE(room, name, floor);
struct reading {
  std::string sensor = {};
  std::int32_t line = 0;
  std::uint8_t small = 0;
  bool on = false;
  phase at = phase::a;
  std::chrono::milliseconds every{0};
  double value = 0;
  room where = {};
  std::vector<std::int64_t> raw = {};
};
LEAT_MESSAGE(reading, sensor, line, small, on, at, every, value, where, raw);

// Whether two values have the same key, and the hashes agree.
template <class T>
bool same(const char* path, const T& a, const T& b) {
  const auto key = make_message_key(shape_of<T>(), path);
  const bool s = key->same(&a, &b);
  CHECK((key->hash(&a) == key->hash(&b)) == s);
  CHECK(key->same(&a, &a));
  CHECK(key->same(&b, &b));
  return s;
}
std::string fault(const char* path) {
  try {
    (void)make_message_key(shape_of<reading>(), path);
  } catch (const wiring_error& e) {
    return e.what();
  }
  return {};
}

}  // namespace message_key_test
using namespace message_key_test;

TEST_CASE("a field of each kind that can be compared exactly is a key") {
  reading a{"x", -1, 3, true, phase::b, 5ms, 1.0, {"hall", 2}, {7, 8}};
  reading b = a;
  b.value = 2;
  for (const char* const path :
       {"sensor", "line", "small", "on", "at", "every", "where.name", "where.floor", "raw[1]"}) {
    CAPTURE(path);
    CHECK(same(path, a, b));
    CHECK_FALSE(same(path, a, reading{"y", 1, 4, false, phase::a, 6ms, 1.0, {"attic", 3}, {7, 9}}));
  }
}

TEST_CASE("messages that lack it have one key together") {
  reading a, b, c;
  b.sensor = "other";
  c.where.floor = 0;
  c.raw = {0};
  CHECK(same("where.floor", a, b));
  CHECK_FALSE(same("where.floor", a, c));
  CHECK(same("raw[0]", a, b));
  CHECK_FALSE(same("raw[0]", a, c));
}

TEST_CASE("what is no field, or none that can be a key, is said") {
  CHECK(fault("sensr") == "the key 'sensr' of 'reading': there is no such field");
  CHECK(fault("sensor.x") == "the key 'sensor.x' of 'reading': there is no such field");
  CHECK(fault("sensor[0]") == "the key 'sensor[0]' of 'reading': there is no such field");
  CHECK(fault("value") == "the key 'value' of 'reading': a field of type 'double' can be no key");
  CHECK(fault("raw") == "the key 'raw' of 'reading': a field of type 'list of int64' can be no key");
  CHECK(fault("where") == "the key 'where' of 'reading': a field of type 'room' can be no key");
  CHECK_FALSE(fault("a..b").empty());
  CHECK_FALSE(fault("").empty());
}

TEST_CASE("the key of a record is what its field holds") {
  using r = record;
  CHECK(same("k", r{{"k", "x"}, {"v", 1}}, r{{"v", 2}, {"k", "x"}}));
  CHECK_FALSE(same("k", r{{"k", "x"}}, r{{"k", "y"}}));
  CHECK_FALSE(same("k", r{{"k", 1}}, r{{"k", "1"}}));
  CHECK_FALSE(same("k", r{{"k", 1}}, r{{"k", true}}));
  CHECK(same("k", r{{"k", 1}}, r{{"k", 1.0}}));
  CHECK(same("k", r{{"k", 0}}, r{{"k", -0.0}}));
  CHECK_FALSE(same("k", r{{"k", 1.5}}, r{{"k", 1.25}}));
  CHECK(same("k", r{{"k", field_value()}}, r{}));
  CHECK(same("k", r{{"k", field_list{1}}}, r{}));
  CHECK(same("a.b", r{{"a", r{{"b", 3}}}}, r{{"a", r{{"c", 1}, {"b", 3}}}}));
  CHECK_FALSE(same("a.b", r{{"a", r{{"b", 3}}}}, r{{"a", r{{"b", 4}}}}));
}

TEST_CASE("hashes of near keys are far apart") {
  std::set<std::uint64_t> all, low;
  const auto text = make_message_key(shape_of<reading>(), "sensor");
  const auto number = make_message_key(shape_of<reading>(), "line");
  for (int i = 0; i < 10'000; ++i) {
    reading v;
    v.sensor = "sensor-" + std::to_string(i);
    v.line = i;
    all.insert(text->hash(&v));
    low.insert(text->hash(&v) % 16384);
    all.insert(number->hash(&v));
  }
  CHECK(all.size() == 20'000);
  CHECK(low.size() > 6000);
}
