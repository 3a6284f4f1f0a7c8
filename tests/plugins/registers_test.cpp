// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "modbus/bus.hpp"
#include "modbus/registers.hpp"

namespace leat::modbus::test {
namespace {

using words = std::vector<std::uint16_t>;

register_setting reg(type t, order o = order::abcd, double scale = 1, double offset = 0) {
  register_setting r;
  r.name = "r";
  r.type = t;
  r.order = o;
  r.scale = scale;
  r.offset = offset;
  return r;
}
words encoded(const register_setting& r, const field_value& v) {
  words w;
  CHECK(encode(r, v, w) == "");
  return w;
}
std::string refused(const register_setting& r, const field_value& v) {
  words w;
  return encode(r, v, w);
}

TEST_CASE("words become numbers by type and order, and back") {
  struct {
    type t;
    order o;
    words w;
    field_value v;
  } const cases[] = {
      {type::u16, order::abcd, {0xfffe}, 65534},
      {type::i16, order::abcd, {0xfffe}, -2},
      {type::u16, order::badc, {0x0201}, 0x0102},
      {type::u32, order::abcd, {0x0102, 0x0304}, 0x01020304},
      {type::u32, order::cdab, {0x0304, 0x0102}, 0x01020304},
      {type::u32, order::badc, {0x0201, 0x0403}, 0x01020304},
      {type::u32, order::dcba, {0x0403, 0x0201}, 0x01020304},
      {type::u32, order::abcd, {0xffff, 0xffff}, 4294967295},
      {type::i32, order::abcd, {0xffff, 0xfffe}, -2},
      {type::f32, order::abcd, {0x3fc0, 0x0000}, 1.5},
      {type::f32, order::cdab, {0x0000, 0x3fc0}, 1.5},
      {type::f64, order::abcd, {0x3ff8, 0, 0, 0}, 1.5},
      {type::f64, order::cdab, {0, 0, 0, 0x3ff8}, 1.5},
      {type::u64, order::abcd, {0, 0, 0, 7}, 7},
      {type::i64, order::dcba, {0xfeff, 0xffff, 0xffff, 0xffff}, -2},
      {type::i64, order::abcd, {0x8000, 0, 0, 0}, std::numeric_limits<std::int64_t>::min()},
  };
  for (const auto& c : cases) {
    const register_setting r = reg(c.t, c.o);
    CHECK(width_of(r) == c.w.size());
    CHECK(decode(r, c.w) == c.v);
    CHECK(encoded(r, c.v) == c.w);
  }
  register_setting coil;
  coil.table = table::coil;
  CHECK(decode(coil, words{1}) == field_value(true));
  CHECK(encoded(coil, false) == words{0});
  CHECK(encoded(coil, 1) == words{1});
}

TEST_CASE("scale and offset make reals, and are undone with rounding") {
  const register_setting r = reg(type::i16, order::abcd, 0.1, -40);
  CHECK(decode(r, words{0}) == field_value(-40.0));
  CHECK(std::fabs(*to_number(decode(r, words{615})) - 21.5) < 1e-9);
  CHECK(encoded(r, 21.5) == words{615});
  CHECK(encoded(r, 21.5449) == words{615});
  CHECK(encoded(reg(type::u16), 3.5) == words{4});
}

TEST_CASE("what a register cannot hold is refused") {
  CHECK(refused(reg(type::u16), -1) == "-1 is more, or less, than the register holds");
  for (const double v : {65536.0, -0.6, 1e300}) CHECK(refused(reg(type::u16), v) != "");
  CHECK(refused(reg(type::i16), 32768) != "");
  CHECK(refused(reg(type::u64), -1) != "");
  CHECK(refused(reg(type::i64), 9.3e18) != "");
  CHECK(refused(reg(type::u64), 1.9e19) != "");
  CHECK(refused(reg(type::f32), 1e39) != "");
  CHECK(refused(reg(type::u16), "warm") == "expected a number, got warm");
  CHECK(refused(reg(type::f64), std::numeric_limits<double>::quiet_NaN()) != "");
  CHECK(refused(reg(type::bit), 2) == "2 is not a bit");
  CHECK(refused(reg(type::u16), {}) != "");
}

TEST_CASE(
    "registers that follow one another are one request, up to its limit, and none between is asked for") {
  std::vector<register_setting> all;
  const auto add = [&](int number, table t = table::holding, type as = type::u16,
                       std::optional<int> unit = {}) {
    register_setting r = reg(as);
    r.number = number;
    r.table = t;
    r.unit = unit;
    all.push_back(r);
  };
  add(12);
  add(10, table::holding, type::u32);
  add(14);
  add(0, table::input);
  add(13, table::holding, type::u16, 2);
  add(11);  // lies within another
  const std::vector<block> b = blocks_of(all, 1);
  REQUIRE(b.size() == 4);
  CHECK((b[0].unit == 1 && b[0].table == table::holding && b[0].first == 10 && b[0].count == 3));
  CHECK(b[0].registers == std::vector<std::size_t>{1, 5, 0});
  CHECK((b[1].first == 14 && b[1].count == 1));
  CHECK(b[2].table == table::input);
  CHECK((b[3].unit == 2 && b[3].first == 13));

  all.clear();
  for (int i = 0; i < 300; ++i) add(i);
  const std::vector<block> many = blocks_of(all, 1);
  CHECK(many.size() == 3);
  for (const block& x : many) CHECK(x.count <= 125);
}

TEST_CASE("the address of a bus is read, or told what is wrong with it") {
  const auto tcp = bus_address::parse("tcp:plc.local:1502");
  REQUIRE(tcp);
  CHECK((!tcp->serial && tcp->host == "plc.local" && tcp->port == "1502"));
  CHECK(bus_address::parse("tcp:10.0.0.1")->port == "502");
  CHECK(bus_address::parse("tcp:[::1]:502")->host == "::1");
  const auto rtu = bus_address::parse("rtu:/dev/ttyUSB0?baud=19200&parity=even&stop=2&bits=7");
  REQUIRE(rtu);
  CHECK((rtu->serial && rtu->device == "/dev/ttyUSB0" && rtu->baud == 19200 && rtu->parity == 'E'));
  CHECK((rtu->stop == 2 && rtu->bits == 7));
  CHECK(validate_bus("udp:x") == "expected \"tcp:HOST:PORT\" or \"rtu:DEVICE?baud=9600\"");
  CHECK(validate_bus("tcp:") == "expected tcp:HOST:PORT");
  CHECK(validate_bus("tcp:x:0") == "'0' is not a port: 1 to 65535");
  CHECK(validate_bus("tcp:[::1") == "expected tcp:[ADDRESS]:PORT");
  CHECK(validate_bus("rtu:") == "expected rtu:DEVICE");
  CHECK(validate_bus("rtu:/dev/x?speed=1") ==
        "unknown option 'speed'; there are baud, bits, parity and stop");
  CHECK(validate_bus("rtu:/dev/x?bits=9") == "bits is 5 to 8, not '9'");
  CHECK(validate_bus("rtu:/dev/x?parity=mark") == "parity is none, even or odd");
}

TEST_CASE("a list of registers is checked before anything runs") {
  const auto of = [](auto... members) { return value(value::table{members...}); };
  const auto text = [](const char* key, const char* v) { return value_member{key, {}, value(v)}; };
  const auto integer = [](const char* key, std::int64_t v) { return value_member{key, {}, value(v)}; };
  const auto why = [](value v) {
    const auto found = validate_writable(value(value::list{std::move(v)}));
    return found.empty() ? std::string() : found.front().why;
  };
  CHECK(why(of(text("name", "a"), integer("number", 65535))) == "");
  CHECK(why(of(integer("number", 1))) == "`name` must be given");
  CHECK(why(of(text("name", "a"), integer("number", 65535), text("type", "u32"))) ==
        "`number` is 0 to 65534");
  CHECK(why(of(text("name", "a"), text("table", "coil"), text("type", "u16"))) ==
        "what coils and discrete inputs hold is a bit");
  CHECK(why(of(text("name", "a"), text("type", "bit"))) == "a register holds no bit");
  CHECK(why(of(text("name", "a"), integer("unit", 256))) == "`unit` is 0 to 255");
  CHECK(why(of(text("name", "a"), value_member{"scale", {}, value(0.0)})) == "`scale` must not be 0");
  CHECK(why(of(text("name", "a"), text("table", "input"))).starts_with("inputs cannot be written"));
  CHECK(validate_registers(value(value::list{})).size() == 1);
}

TEST_CASE("units are those that the bus can have") {
  const auto wrong = [](const char* bus, std::int64_t unit, std::optional<std::int64_t> own, bool reads) {
    value::table r{value_member{"name", {}, value("a")}};
    if (own) r.push_back(value_member{"unit", {}, value(*own)});
    const value all(value::table{value_member{"bus", {}, value(bus)}, value_member{"unit", {}, value(unit)},
                                 value_member{"registers", {}, value(value::list{value(std::move(r))})}});
    const auto found = reads ? validate_units_read(all) : validate_units_written(all);
    return found.empty() ? std::string() : found.front().why;
  };
  const char* const line = "rtu:/dev/ttyS0";
  CHECK(wrong("tcp:x", 0, {}, true) == "");
  CHECK(wrong("tcp:x", 255, {}, true) == "");
  CHECK(wrong(line, 247, {}, true) == "");
  CHECK(wrong(line, 248, {}, false) == "units of a serial line are 1 to 247");
  CHECK(wrong(line, 1, 255, true) == "units of a serial line are 1 to 247");
  CHECK(wrong(line, 0, {}, true) == "unit 0 of a serial line is all devices, and none answers");
  CHECK(wrong(line, 1, 0, true) == "unit 0 of a serial line is all devices, and none answers");
  CHECK(wrong(line, 0, 1, true) == "");
  CHECK(wrong(line, 0, {}, false) == "");
}

}  // namespace
}  // namespace leat::modbus::test
