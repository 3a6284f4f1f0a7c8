// SPDX-License-Identifier: BSL-1.0
//
// What needs no runtime: addresses, lines, formats.
#include <doctest/doctest.h>

#include <leat/stock/csv.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/line_format.hpp>
#include <leat/stock/line_place.hpp>
#include <leat/stock/line_splitter.hpp>

namespace leat::stock {
namespace {

using strings = std::vector<std::string>;

std::string wrong(std::string_view text, direction d = direction::read) {
  try {
    (void)parse_place("from", text, d);
  } catch (const setting_error& e) {
    return e.what();
  }
  return {};
}

TEST_CASE("a place says where lines come from") {
  CHECK(parse_place("from", "stdin", direction::read).medium == medium::standard);
  CHECK(parse_place("to", "stdout", direction::write).medium == medium::standard);
  const line_place f = parse_place("from", "file:/var/log/a:b", direction::read);
  CHECK(f.medium == medium::file);
  CHECK(f.path == "/var/log/a:b");
  CHECK(parse_place("from", "tcp:localhost:http", direction::read).address == "localhost:http");
  CHECK(parse_place("from", "tcp:[::1]:80", direction::read).address == "[::1]:80");
  CHECK(parse_place("from", "tcp-listen:127.0.0.1:0", direction::read).medium == medium::tcp_listen);
  CHECK(parse_place("from", "udp:7000", direction::read).address == "7000");
  CHECK(parse_place("to", "udp:example.org:7000", direction::write).address == "example.org:7000");
  CHECK(parse_place("from", "unix:/run/x", direction::read).address == "unix:/run/x");
  CHECK(parse_place("from", "unix-listen:@x", direction::read).medium == medium::unix_listen);
}

TEST_CASE("settings are judged by their text alone") {
  CHECK(judge_listen("127.0.0.1:8080").empty());
  CHECK(judge_listen("unix:/run/x.sock").empty());
  CHECK(judge_listen("localhost:80") == "'localhost' is no address in numbers");
  CHECK(judge_remote("localhost:http").empty());
  CHECK(judge_remote("localhost:0") == "'0' is no port: 1 to 65535");
  CHECK(judge_url("http://example.org").empty());
  CHECK(judge_url("http://[::1]:8080/in?x=1").empty());
  CHECK(judge_url("http://example.org:99999/") == "'99999' is no port: 1 to 65535");
  CHECK(judge_header("X-Key: a:b").empty());
  CHECK(judge_header("Host: x") == "Host is told by the client itself");
  CHECK(judge_separator(";").empty());
  CHECK(!judge_separator("").empty());
  CHECK(judge_file_prefix("records").empty());
  CHECK(!judge_file_prefix(std::string(300, 'x')).empty());
  CHECK(judge_variable("A").empty());
  CHECK(judge_variable("A=").empty());
  CHECK(judge_command(value(value::list{value("ls"), value("")})).empty());
}

TEST_CASE("no text harms those who judge it") {
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
    for (const text_judge judge :
         {judge_reading, judge_writing, judge_listen, judge_url, judge_header, judge_separator, judge_folder,
          judge_optional_folder, judge_file_prefix, judge_field_name, judge_variable})
      right += judge(text).empty();
    // What is found right must be read without a complaint.
    if (judge_reading(text).empty()) CHECK_NOTHROW(parse_place("from", text, direction::read));
    if (judge_writing(text).empty()) CHECK_NOTHROW(parse_place("to", text, direction::write));
    const value list(value::list{value(text), value(text)});
    CHECK(judge_columns(list).size() == (text.empty() ? 2 : 1));
    (void)judge_command(list);
  }
  CHECK(right > 2000);
}

TEST_CASE("a serial port has its options after a question mark") {
  const line_place p = parse_place(
      "from", "serial:/dev/ttyUSB0?baud=9600&bits=7&parity=even&stop=2&flow=hardware", direction::read);
  CHECK(p.medium == medium::serial);
  CHECK(p.path == "/dev/ttyUSB0");
  CHECK(p.serial.baud == 9600);
  CHECK(p.serial.bits == 7);
  CHECK(p.serial.parity == net::parity::even);
  CHECK(p.serial.stop_bits == 2);
  CHECK(p.serial.flow == net::flow::hardware);
  CHECK(parse_place("from", "serial:/dev/x", direction::read).serial.baud == 115200);
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
  CHECK(wrong("tcp:localhost:0") == "from = \"tcp:localhost:0\": '0' is no port: 1 to 65535");
  CHECK(wrong("tcp:localhost:70000") == "from = \"tcp:localhost:70000\": '70000' is no port: 1 to 65535");
  CHECK(wrong("tcp:::1:80").ends_with("expected HOST:PORT, [ADDRESS]:PORT or PORT"));
  CHECK(wrong("tcp-listen:localhost:80").ends_with("'localhost' is no address in numbers"));
  CHECK(wrong("tcp-listen:unix:/x").ends_with("expected ADDRESS:PORT, [ADDRESS]:PORT or PORT"));
  CHECK(wrong("udp:localhost:80").ends_with("'localhost' is no address in numbers"));
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
  record back = r;
  back["x"] = "true";
  CHECK(all[0].value == back);
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
