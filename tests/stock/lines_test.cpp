// SPDX-License-Identifier: BSL-1.0
//
// What needs no runtime: addresses, lines, formats.
#include <doctest/doctest.h>

#include <leat/stock/csv.hpp>
#include <leat/stock/line_endpoint.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/line_splitter.hpp>
#include <leat/stock/validators.hpp>

namespace leat::stock {
namespace {

using strings = std::vector<std::string>;

std::string wrong(std::string_view text, direction d = direction::read) {
  try {
    (void)parse_endpoint("from", text, d);
  } catch (const setting_error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("a place says where lines come from") {
  CHECK(parse_endpoint("from", "stdin", direction::read).medium == medium::standard);
  CHECK(parse_endpoint("to", "stdout", direction::write).medium == medium::standard);
  const line_endpoint f = parse_endpoint("from", "file:/var/log/a:b", direction::read);
  CHECK(f.medium == medium::file);
  CHECK(f.path == "/var/log/a:b");
  CHECK(parse_endpoint("from", "tcp:localhost:http", direction::read).address == "localhost:http");
  CHECK(parse_endpoint("from", "tcp:[::1]:80", direction::read).address == "[::1]:80");
  CHECK(parse_endpoint("from", "tcp-listen:127.0.0.1:0", direction::read).medium == medium::tcp_listen);
  CHECK(parse_endpoint("from", "udp:7000", direction::read).address == "7000");
  CHECK(parse_endpoint("to", "udp:example.org:7000", direction::write).address == "example.org:7000");
  CHECK(parse_endpoint("from", "unix:/run/x", direction::read).address == "unix:/run/x");
  CHECK(parse_endpoint("from", "unix-listen:@x", direction::read).medium == medium::unix_listen);
}

TEST_CASE("settings are validated by their text alone") {
  CHECK(validate_listen("127.0.0.1:8080").empty());
  CHECK(validate_listen("unix:/run/x.sock").empty());
  CHECK(validate_listen("localhost:80") == "'localhost' is not a numeric address");
  CHECK(validate_remote("localhost:http").empty());
  CHECK(validate_remote("localhost:0") == "'0' is not a port: 1 to 65535");
  CHECK(validate_url("http://example.org").empty());
  CHECK(validate_url("http://[::1]:8080/in?x=1").empty());
  CHECK(validate_url("http://example.org:99999/") == "'99999' is not a port: 1 to 65535");
  CHECK(validate_header("X-Key: a:b").empty());
  CHECK(validate_header("Host: x") == "Host is set by the client itself");
  CHECK(validate_separator(";").empty());
  CHECK(!validate_separator("").empty());
  CHECK(validate_file_prefix("records").empty());
  CHECK(!validate_file_prefix(std::string(300, 'x')).empty());
  CHECK(validate_variable("A").empty());
  CHECK(validate_variable("A=").empty());
  CHECK(validate_command(value(value::list{value("ls"), value("")})).empty());
}

TEST_CASE("no text harms those who validate it") {
  const std::string seeds[] = {"tcp:[::1]:80", "serial:/dev/x?baud=9600&parity=even&stop=1",
                               "unix:@x",      "http://user@host:80/a?b#c",
                               "Name: value",  "A=b",
                               "udp:0.0.0.0:7"};
  std::uint64_t state = 1;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  std::size_t right = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string text = seeds[random(std::size(seeds))];
    for (std::uint64_t n = random(6); n > 0; --n) {
      const std::size_t at = random(text.size() + 1);
      switch (random(4)) {
        case 0: text.insert(at, 1, static_cast<char>(random(256))); break;
        case 1: text.erase(at, random(4)); break;
        case 2: text.insert(at, text.substr(random(text.size() + 1), random(8))); break;
        default: text.insert(at, 1, ":?&=[]@/#\0 \r"[random(13)]); break;
      }
    }
    for (const text_validator validate :
         {validate_reading, validate_writing, validate_listen, validate_url, validate_header,
          validate_separator, validate_folder, validate_optional_folder, validate_file_prefix,
          validate_field_name, validate_variable})
      right += validate(text).empty();
    // What is found right must be read without a complaint.
    if (validate_reading(text).empty()) CHECK_NOTHROW(parse_endpoint("from", text, direction::read));
    if (validate_writing(text).empty()) CHECK_NOTHROW(parse_endpoint("to", text, direction::write));
    const value list(value::list{value(text), value(text)});
    CHECK(validate_columns(list).size() == (text.empty() ? 2 : 1));
    (void)validate_command(list);
  }
  CHECK(right > 2000);
}

TEST_CASE("a serial port has its options after a question mark") {
  const line_endpoint p = parse_endpoint(
      "from", "serial:/dev/ttyUSB0?baud=9600&bits=7&parity=even&stop=2&flow=hardware", direction::read);
  CHECK(p.medium == medium::serial);
  CHECK(p.path == "/dev/ttyUSB0");
  CHECK(p.serial.baud == 9600);
  CHECK(p.serial.bits == 7);
  CHECK(p.serial.parity == net::parity::even);
  CHECK(p.serial.stop_bits == 2);
  CHECK(p.serial.flow == net::flow::hardware);
  CHECK(parse_endpoint("from", "serial:/dev/x", direction::read).serial.baud == 115200);
}

TEST_CASE("what is wrong with a place is told") {
  CHECK(wrong("tpc:localhost:1") ==
        "from = \"tpc:localhost:1\": expected \"stdin\", \"file:PATH\", \"serial:DEVICE?baud=9600\", "
        "\"tcp:HOST:PORT\", \"tcp-listen:ADDRESS:PORT\", \"udp:ADDRESS:PORT\", \"unix:PATH\" or "
        "\"unix-listen:PATH\"");
  CHECK(wrong("").starts_with("from = \"\": expected"));
  CHECK(wrong("/dev/ttyUSB0").starts_with("from = \"/dev/ttyUSB0\": expected"));
  CHECK(wrong("stdout") == "from = \"stdout\": stdout cannot be read: \"stdin\"?");
  CHECK(wrong("stdin", direction::write) == "from = \"stdin\": stdin cannot be written to: \"stdout\"?");
  CHECK(wrong("file:") == "from = \"file:\": a path is missing");
  CHECK(wrong("tcp:") == "from = \"tcp:\": an address is missing");
  CHECK(wrong("tcp:localhost") == "from = \"tcp:localhost\": expected HOST:PORT, [ADDRESS]:PORT or PORT");
  CHECK(wrong("tcp:localhost:0") == "from = \"tcp:localhost:0\": '0' is not a port: 1 to 65535");
  CHECK(wrong("tcp:localhost:70000") == "from = \"tcp:localhost:70000\": '70000' is not a port: 1 to 65535");
  CHECK(wrong("tcp:::1:80").ends_with("expected HOST:PORT, [ADDRESS]:PORT or PORT"));
  CHECK(wrong("tcp-listen:localhost:80").ends_with("'localhost' is not a numeric address"));
  CHECK(wrong("tcp-listen:unix:/x").ends_with("expected ADDRESS:PORT, [ADDRESS]:PORT or PORT"));
  CHECK(wrong("udp:localhost:80").ends_with("'localhost' is not a numeric address"));
  CHECK(wrong("unix:").ends_with("a path is missing"));
  CHECK(!wrong("unix:/" + std::string(200, 'x')).empty());
  CHECK(wrong(std::string_view("file:a\0b", 8)).ends_with("a path has a zero byte in it"));
  CHECK(wrong("serial:?baud=1").ends_with("a device is missing"));
  CHECK(wrong("serial:/dev/x?baud=fast").ends_with("baud is a number from 50 to 4000000, not \"fast\""));
  CHECK(wrong("serial:/dev/x?bits=9").ends_with("bits is a number from 5 to 8, not \"9\""));
  CHECK(wrong("serial:/dev/x?parity=maybe").ends_with("parity is one of none, even, odd, not \"maybe\""));
  CHECK(wrong("serial:/dev/x?speed=1")
            .ends_with("a serial port has no \"speed\": baud, bits, parity, stop or flow"));
}

struct lines_taken {
  strings all;
  int long_ones = 0;
  bool line(std::string_view text) {
    all.emplace_back(text);
    return true;
  }
  bool too_long() {
    ++long_ones;
    return true;
  }
};

// In pieces of this size.
lines_taken split(std::string_view bytes, std::size_t piece, std::size_t limit = 100) {
  lines_taken t;
  line_splitter s(limit);
  for (std::size_t at = 0; at < bytes.size(); at += piece) s.feed(bytes.substr(at, piece), t);
  s.finish(t);
  return t;
}

TEST_CASE("lines are the same however their bytes come") {
  for (std::size_t piece = 1; piece < 20; ++piece) {
    CAPTURE(piece);
    CHECK(split("one\ntwo\r\n\n\r\nlast", piece).all == strings{"one", "two", "", "", "last"});
    CHECK(split("a\rb\n", piece).all == strings{"a\rb"});
    CHECK(split("a\r", piece).all == strings{"a"});
    CHECK(split("", piece).all.empty());
    CHECK(split(std::string_view("a\0b\n", 4), piece).all == strings{std::string("a\0b", 3)});
  }
}

TEST_CASE("a line that is too long is skipped to its end, and the next one is read") {
  for (std::size_t piece = 1; piece < 30; ++piece) {
    CAPTURE(piece);
    const lines_taken t = split("12345\n123456\n12345\r\n123456\r\n1234567890123\nok\n12345678", piece, 5);
    CHECK(t.all == strings{"12345", "12345", "ok"});
    CHECK(t.long_ones == 4);
  }
}

std::vector<line_event> parsed(const line_options& o, std::string_view bytes) {
  std::vector<line_event> all;
  line_parser p(o, [&](line_event e) {
    all.push_back(std::move(e));
    return true;
  });
  p.feed(bytes);
  p.finish();
  return all;
}

TEST_CASE("a line of text is a record, if it is text") {
  const auto all = parsed({}, std::string_view("\xef\xbb\xbfgr\xc3\xbcn\n\xff\na\0b\n\nend", 19));
  REQUIRE(all.size() == 5);
  CHECK(all[0].value == record{{"line", "gr\xc3\xbcn"}});
  CHECK(all[1].bad == "a line that is not UTF-8, or has a zero byte");
  CHECK(all[2].bad == "a line that is not UTF-8, or has a zero byte");
  CHECK(all[3].value == record{{"line", ""}});
  CHECK(all[4].value == record{{"line", "end"}});
  CHECK(parsed({.encoding = line_encoding::any}, "\xff\n")[0].value == record{{"line", "\xff"}});
  CHECK(parsed({.longest = 3}, "1234\n123\n")[0].bad == "a line of more than 3 bytes");
}

TEST_CASE("a line of JSON is a record, or wrong") {
  const auto all = parsed({.form = line_form::json}, "{\"a\":1}\n\n  \n{\"a\":\n[1]\n{\"b\":\"x\"}");
  REQUIRE(all.size() == 4);
  CHECK(all[0].value == record{{"a", 1}});
  CHECK(all[1].told().starts_with("line 4: column 6"));
  CHECK(!all[2].bad.empty());
  CHECK(all[3].value == record{{"b", "x"}});
}

TEST_CASE("CSV has its columns' names in the first line, quotes and numbers") {
  const auto all = parsed({.form = line_form::csv},
                          "\xef\xbb\xbfid,\"the name\",v\r\n1,\"a \"\"b\"\", c\",2.5\r\n007,x,\n"
                          "\"1\",\"two\nlines\",-1e3\n\nnan,+1,.5\n");
  REQUIRE(all.size() == 4);
  CHECK(all[0].value == record{{"id", 1}, {"the name", "a \"b\", c"}, {"v", 2.5}});
  CHECK(all[1].value == record{{"id", "007"}, {"the name", "x"}, {"v", {}}});
  CHECK(all[2].value == record{{"id", "1"}, {"the name", "two\nlines"}, {"v", -1000.0}});
  CHECK(all[3].value == record{{"id", "nan"}, {"the name", "+1"}, {"v", ".5"}});
}

TEST_CASE("a wrong row of CSV is told, and the next one is read") {
  const line_options o{.form = line_form::csv, .longest = 20, .columns = {"a", "b"}, .separator = ';'};
  const auto all = parsed(o, "1\n1;2;3\nx\"y;1\n\"x\"y;1\n1;2\n\"" + std::string(15, 'q') + "\n" +
                                 std::string(15, 'r') + "\n3;4\n\"open");
  strings bad;
  for (const line_event& e : all) bad.push_back(e.bad);
  CHECK(bad == strings{"a row of 1 fields, with 2 columns", "a row of 3 fields, with 2 columns",
                       "a quote within a field that does not begin with one",
                       "something follows after the quote that ends a field", "",
                       "a row is longer than 20 bytes", "", "the end came within quotes"});
  CHECK(all[4].value == record{{"a", 1}, {"b", 2}});
  const auto twice = parsed({.form = line_form::csv}, "a,a\na,\na,b\n1,2\n");
  REQUIRE(twice.size() == 3);
  CHECK(twice[0].bad == "two columns are called \"a\"");
  CHECK(twice[1].bad == "column 2 has no name");
  CHECK(twice[2].value == record{{"a", 1}, {"b", 2}});
}

TEST_CASE("a row of CSV that a bad line is part of is not made up without it") {
  const line_options o{.form = line_form::csv, .longest = 20, .columns = {"a", "b"}};
  for (const std::string& bad : {std::string("\xff"), std::string(30, 'x')}) {
    const auto all = parsed(o, "1,\"one\n" + bad + "\nthree\"\n2,\"x\"\n");
    strings why;
    for (const line_event& e : all) why.push_back(e.bad);
    CHECK(why == strings{bad.size() == 1 ? "a line that is not UTF-8, or has a zero byte"
                                         : "a line of more than 20 bytes",
                         "a quote within a field that does not begin with one", ""});
    CHECK(all.back().value == record{{"a", 2}, {"b", "x"}});
  }
}

TEST_CASE("a line end within quotes of CSV is read as it stands there") {
  const line_options o{.form = line_form::csv, .columns = {"a", "b"}};
  const auto all = parsed(o, "1,\"x\r\ny\nz\r\r\n\"\r\n");
  REQUIRE(all.size() == 1);
  CHECK(all[0].value == record{{"a", 1}, {"b", "x\r\ny\nz\r\r\n"}});
  line_maker m(o, "line");
  std::string row;
  CHECK(m.add(all[0].value, row).empty());
  REQUIRE(parsed(o, row).size() == 1);
  CHECK(parsed(o, row)[0].value == all[0].value);
}

TEST_CASE("a text of CSV that begins with a byte order mark keeps it") {
  line_maker m({.form = line_form::csv}, "line");
  const record r{{"\xef\xbb\xbfname", "\xef\xbb\xbfvalue"}};
  std::string rows;
  CHECK(m.add(r, rows).empty());
  const auto all = parsed({.form = line_form::csv}, m.header() + rows);
  REQUIRE(all.size() == 1);
  CHECK(all[0].value == r);
}

TEST_CASE("a record whose only column is empty is a row, and one with fields without names is none") {
  line_maker m({.form = line_form::csv}, "line");
  std::string rows;
  CHECK(m.add({{"", 1}, {"b", 2}}, rows) == "column 1 has no name");
  CHECK(m.add({{"a", {}}}, rows).empty());
  CHECK(rows == "null\n");
  CHECK(parsed({.form = line_form::csv}, m.header() + rows).size() == 1);
}

TEST_CASE("CSV has a column for each value within tables and lists") {
  line_maker m({.form = line_form::csv}, "line");
  const record r{{"name", "buoy"},
                 {"where", record{{"lat", 54.5}, {"odd.name", {}}}},
                 {"raw", field_list{1, {}, record{{"x", "null"}}}},
                 {"none", field_list()},
                 {"empty", record()},
                 {"temp [C]", 20}};
  std::string rows;
  CHECK(m.add(r, rows).empty());
  CHECK(m.left_out() == 0);
  CHECK(m.header() ==
        "name,where.lat,\"where[\"\"odd.name\"\"]\",raw[0],raw[1],raw[2].x,none,empty,temp [C]\n");
  CHECK(rows == "buoy,54.5,null,1,null,\"null\",[],{},20\n");
  const auto all = parsed({.form = line_form::csv}, m.header() + rows);
  REQUIRE(all.size() == 1);
  CHECK(all[0].value == r);
  // What has no column is told; a list that was empty is written as its JSON.
  rows.clear();
  CHECK(m.add({{"raw", field_list{1, 2, 3, 4}}, {"none", field_list{5, 6}}}, rows).empty());
  CHECK(rows == ",,,1,2,,\"[5,6]\",,\n");
  CHECK(m.left_out() == 2);
  CHECK(m.first_left_out() == "raw[2]");
}

TEST_CASE("columns of CSV that are in each other's way, or no path, are told or taken as they are") {
  const line_options csv{.form = line_form::csv};
  const auto json_of = [&](const char* text) {
    const auto all = parsed(csv, text);
    REQUIRE(all.size() == 1);
    return all[0].bad.empty() ? to_json(all[0].value) : all[0].bad;
  };
  CHECK(json_of("a.b,a.c\n1,2\n") == R"({"a":{"b":1,"c":2}})");
  CHECK(json_of("a.b,a.c\n,2\n") == R"({"a":{"c":2}})");
  CHECK(json_of("a,a.b\n,2\n") == R"({"a":{"b":2}})");
  CHECK(json_of("a.b,a\n2,\n") == R"({"a":{"b":2}})");
  CHECK(json_of("a,a.b\n,\n") == R"({"a":null})");
  CHECK(json_of("a,a.b\n1,2\n") == R"({"a":1,"a.b":2})");
  CHECK(json_of("a.b,a\n2,1\n") == R"({"a.b":2,"a":1})");
  CHECK(json_of("a.b,a\n2,[]\n") == "two values for column 'a'");
  // No list is made up.
  CHECK(json_of("a[60000],b\n1,2\n") == R"({"a[60000]":1,"b":2})");
  CHECK(json_of("a[0],a[1]\n,2\n") == R"({"a":[null,2]})");
}

TEST_CASE("what CSV writes, it reads") {
  line_maker m({.form = line_form::csv}, "line");
  const record r{{"t", "a,\"b\"\nc"}, {"n", 1},     {"d", 0.5}, {"s", "12"},
                 {"e", ""},           {"none", {}}, {"x", true}};
  std::string rows;
  CHECK(m.add(r, rows).empty());
  CHECK(m.left_out() == 0);
  CHECK(m.header() == "t,n,d,s,e,none,x\n");
  const auto all = parsed({.form = line_form::csv}, m.header() + rows);
  REQUIRE(all.size() == 1);
  CHECK(all[0].value == r);
  rows.clear();
  CHECK(m.add({{"n", 2}, {"other", 3}}, rows).empty());
  CHECK(rows == ",2,,,,,\n");
  CHECK(m.left_out() == 1);
}

TEST_CASE("text and JSON are one line each") {
  line_maker text({}, "msg");
  std::string out;
  CHECK(text.add({{"msg", 71.5}}, out).empty());
  CHECK(out == "71.5\n");
  CHECK(text.add({{"line", "x"}}, out) == "field 'msg' is missing");
  CHECK(text.add({{"msg", "a\nb"}}, out) == "field 'msg' has a line break in it");
  CHECK(text.header().empty());
  line_maker json({.form = line_form::json}, "msg");
  out.clear();
  CHECK(json.add({{"msg", "a\nb"}}, out).empty());
  CHECK(out == "{\"msg\":\"a\\nb\"}\n");
}

}  // namespace
}  // namespace leat::stock
