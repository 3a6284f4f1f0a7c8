// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>
#include <fstream>

#include <leat/process/state_store.hpp>
#include <leat/stock/csv_table.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

// Records as JSON, and what is bad as told.
strings table(const table_options& o, std::string_view bytes, std::size_t step = 1000) {
  strings all;
  csv_table t(o, [&](line_event e) {
    all.push_back(e.bad.empty() ? to_json(e.value) : e.told());
    return true;
  });
  bool more = true;
  for (; more && !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size())))
    more = t.feed(bytes.substr(0, step));
  if (more) (void)t.finish();
  if (!t.unfit().empty()) all.push_back(t.unfit());
  return all;
}

csv_column column(std::string name, cell_type type, bool required = false) {
  csv_column c;
  c.name = std::move(name);
  c.type = type;
  c.required = required;
  return c;
}

TEST_CASE("a header names the columns, and what cells hold is guessed") {
  const std::string text =
      "\xef\xbb\xbfname , n,x,t\r\nboiler,1,-2.5e1,007\r\n\"a, \"\"b\"\"\r\nc\", 3 ,,\"4\"\r\n\r\nend,,,";
  for (const std::size_t step : {1000U, 1U, 7U})
    CHECK(table({}, text, step) == strings{R"({"name":"boiler","n":1,"x":-25.0,"t":"007"})",
                                           R"({"name":"a, \"b\"\r\nc","n":3,"x":null,"t":"4"})",
                                           R"({"name":"end","n":null,"x":null,"t":null})"});
}

TEST_CASE("declared columns are what they are said to be, wherever they stand") {
  table_options o;
  o.columns = {column("at", cell_type::moment),      column("id", cell_type::text),
               column("ok", cell_type::flag),        column("n", cell_type::integer),
               column("x", cell_type::number, true), column("d", cell_type::duration)};
  CHECK(table(o,
              "x,id,other,at,ok,n,d\n1,007,8,2026-11-15T08:00:00Z,Yes,+7,250ms\n"
              ".5,,a,2026-11-15 08:00:00.5,off,-3,-2s\n2,,,2026-11-15,,,\n3,,,1.5,,,\n") ==
        strings{
            R"({"x":1.0,"id":"007","other":8,"at":"2026-11-15T08:00:00Z","ok":true,"n":7,"d":"250ms"})",
            R"({"x":0.5,"id":null,"other":"a","at":"2026-11-15T08:00:00.5Z","ok":false,"n":-3,"d":"-2s"})",
            R"({"x":2.0,"id":null,"other":null,"at":"2026-11-15T00:00:00Z","ok":null,"n":null,"d":null})",
            R"({"x":3.0,"id":null,"other":null,"at":"1970-01-01T00:00:01.5Z","ok":null,"n":null,"d":null})"});
}

TEST_CASE("moments may leave out seconds, the zone and the time of the day") {
  table_options o;
  o.columns = {column("at", cell_type::moment)};
  CHECK(table(o,
              "at\n2026-11-15 08:30\n2026-11-15T08:30+02:00\n2026-11-15T08:30Z\n2026-11-15 "
              "8:30\n2026-13-01\n-1.5\n") ==
        strings{R"({"at":"2026-11-15T08:30:00Z"})", R"({"at":"2026-11-15T06:30:00Z"})",
                R"({"at":"2026-11-15T08:30:00Z"})",
                "line 5: column \"at\": \"2026-11-15 8:30\" is not a time, such as 2026-11-15T08:00:00Z",
                "line 6: column \"at\": \"2026-13-01\" is not a time, such as 2026-11-15T08:00:00Z",
                R"({"at":"1969-12-31T23:59:58.5Z"})"});
}

TEST_CASE("a bad row is told with its line and column, and the next one is read") {
  table_options o;
  o.columns = {column("n", cell_type::integer), column("x", cell_type::number, true)};
  o.longest = 40;
  CHECK(table(o, "n,x\n1,2\n1.5,2\n1,warm\n1,\n1\n1,2,3\n\"a\nb\n\",1\n1,\"2\"z\n" + std::string(50, 'x') +
                     "\n9223372036854775808,1\n1,nan\n1,1e999\n\xff,1\n4,5\n\"x") ==
        strings{R"({"n":1,"x":2.0})", "line 3: column \"n\": \"1.5\" is not an integer",
                "line 4: column \"x\": \"warm\" is not a number", "line 5: column \"x\" is empty",
                "line 6: a row of 1 fields, with 2 columns", "line 7: a row of 3 fields, with 2 columns",
                "line 8: column \"n\": \"a\\nb\\n\" is not an integer",
                "line 11: something follows after the quote that ends a field",
                "line 12: a line of more than 40 bytes",
                "line 13: column \"n\": \"9223372036854775808\" is not an integer",
                "line 14: column \"x\": \"nan\" is not a number",
                "line 15: column \"x\": \"1e999\" is not a number",
                "line 16: a line that is not UTF-8, or has a zero byte", R"({"n":4,"x":5.0})",
                "line 18: the file ends within quotes"});
}

TEST_CASE("files of other places: semicolons, commas for points, remarks, words for nothing") {
  table_options o;
  o.separator = ';';
  o.decimal = ',';
  o.comment = "#";
  o.none = {"NA", "-"};
  o.skip = 2;
  o.encoding = line_encoding::any;
  o.columns = {column("y", cell_type::number)};
  CHECK(
      table(o, "Station 7\nexported today\n# a remark\nx;y;z\n1,5;2,25;a\nNA;-;1.5\n#1;2;3\n-;NA;\"NA\"\n") ==
      strings{R"({"x":1.5,"y":2.25,"z":"a"})", R"({"x":null,"y":null,"z":"1.5"})",
              R"({"x":null,"y":null,"z":"NA"})"});
  o = {};
  o.header = false;
  o.separator = '\t';
  o.columns = {column("a", cell_type::guess), column("b", cell_type::guess)};
  CHECK(table(o, "1\t2\n\t\n \n3\t\n") ==
        strings{R"({"a":1,"b":2})", R"({"a":null,"b":null})", R"({"a":3,"b":null})"});
}

TEST_CASE("a header that does not fit is an error of the whole file") {
  table_options o;
  CHECK(table(o, "a,a\n1,2\n") == strings{"line 1: two columns are called \"a\""});
  CHECK(table(o, "a,\n1,2\n") == strings{"line 1: column 2 has no name"});
  o.columns = {column("b", cell_type::text)};
  CHECK(table(o, "\na,c\n1,2\n") == strings{"line 2: there is no column \"b\""});
  CHECK(table(o, "") == strings{});
}

TEST_CASE("after a bad header no row is taken for one") {
  table_options o;
  o.longest = 20;
  CHECK(table(o, "a,b\"\n1,2\n3,4\n") ==
        strings{"line 1, column 2: a quote within a field that does not begin with one"});
  CHECK(table(o, "\na,\"b\"c\n1,2\n") ==
        strings{"line 2, column 2: something follows after the quote that ends a field"});
  CHECK(table(o, "a,\xff\n1,2\n") == strings{"line 1: a line that is not UTF-8, or has a zero byte"});
  CHECK(table(o, std::string(30, 'a') + "\n1,2\n") == strings{"line 1: a line of more than 20 bytes"});
  CHECK(table(o, "a,\"b\n1,2\n") == strings{"line 1: the file ends within quotes"});
  // A line that is left out may be of any length.
  o.skip = 1;
  CHECK(table(o, std::string(30, 'a') + "\na,b\n1,2\n") == strings{R"({"a":1,"b":2})"});
}

// ---- the process

void put(const std::string& path, std::string_view text, std::ios::openmode how = std::ios::trunc) {
  std::ofstream(path, how | std::ios::binary) << text;
}
value a_column(const char* name, const char* type) {
  return value(value::table{value_member{"name", {}, value(name)}, value_member{"type", {}, value(type)}});
}

TEST_CASE("a file is read to its end, bad rows are counted, and the process is done") {
  at_procs([] {
    const temp_folder folder;
    put(folder / "in.csv", "sensor,value\na,1\nb,warm\nc,3\n");
    log_reader log;
    rig r("csv-reader");
    const auto out = r.channel("values");
    r.set("file", folder / "in.csv").set("columns", value::list{a_column("value", "number")}).start();
    CHECK(r.wait() == ended::returned);
    CHECK(texts_of(drained(out), "sensor") == strings{"a", "c"});
    CHECK(log.has("csv-reader: dropped: line 3: column \"value\": \"warm\" is not a number"));
  });
}

TEST_CASE("a file that is not there, or is none, or has another header, is a failure that says so") {
  at_procs([] {
    const temp_folder folder;
    put(folder / "in.csv", "a,b\n1,2\n");
    const auto why = [&](const std::string& file) {
      rig r("csv-reader");
      const auto out = r.channel("values");
      r.set("file", file).set("columns", value::list{a_column("value", "number")}).start();
      return r.failure();
    };
    CHECK(why(folder / "none.csv").ends_with("none.csv: No such file or directory"));
    CHECK(why(folder.path()).find("is not a regular file") != std::string::npos);
    CHECK(why(folder / "in.csv").ends_with("in.csv: line 1: there is no column \"value\""));
    rig r("csv-reader");
    const auto out = r.channel("values");
    r.set("file", folder / "in.csv").set("header", false).start();
    CHECK(r.failure().find("must be given, since no header names them") != std::string::npos);
  });
}

TEST_CASE("a file that is followed may come late, grow, be cut and be replaced") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "in.csv";
    log_reader log;
    rig r("csv-reader");
    const auto out = r.channel("values");
    r.set("file", path).set("follow", true).set("poll", 1ms).start();
    const auto next = [&] {
      const auto got = out.recv_until(patience);
      return got ? to_json(*got) : std::string();
    };
    CHECK(eventually([&] { return log.has("which is not there"); }));
    put(folder / "first", "a,b\n1,2\n3,");
    ::rename((folder / "first").c_str(), path.c_str());
    CHECK(next() == R"({"a":1,"b":2})");
    put(path, "4\n", std::ios::app);
    CHECK(next() == R"({"a":3,"b":4})");
    put(folder / "second", "c\n5\n");
    ::rename((folder / "second").c_str(), path.c_str());
    CHECK(next() == R"({"c":5})");
    CHECK(::truncate(path.c_str(), 0) == 0);
    CHECK(eventually([&] { return log.has("has been cut"); }));
    put(path, "d\n6\n", std::ios::app);
    CHECK(next() == R"({"d":6})");
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("after a failure the next object goes on behind the row that failed") {
  at_procs([] {
    const temp_folder folder;
    put(folder / "in.csv", "a,b\n1,1\n2,2\nbad\n3,3\n");
    const auto states = std::make_shared<state_store>();
    const auto out = leat::channel<record>(16);
    const auto once = [&] {
      rig r("csv-reader");
      r.connect("values", out).keep_in(states).set("file", folder / "in.csv").set("bad", "fail").start();
      (void)r.wait();
      return r.failure();
    };
    CHECK(once() == "line 4: a row of 1 fields, with 2 columns (bad = \"fail\")");
    CHECK(texts_of(drained(out), "a") == strings{"1", "2"});
    CHECK(once() == "");
    CHECK(texts_of(drained(out), "a") == strings{"3"});
  });
}

TEST_CASE("a file that was written anew under its number is read from its beginning by the next object") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "in.csv";
    const auto out = leat::channel<record>(16);
    for (const bool follow : {false, true})
      for (const char* const anew :
           {"a,b\n5,5\n6,6\n7,7\n8,8\n", "a,b\n5,5\n", "a,b\n5,5\n\"6\n\n6\",6\n7,7\n8,8\n"}) {
        log_reader log;
        const auto states = std::make_shared<state_store>();
        put(path, "a,b\n1,1\n2,2\nbad\n3,3\n");
        rig first("csv-reader");
        first.connect("values", out).keep_in(states).set("file", path).set("bad", "fail").start();
        CHECK(first.wait() == ended::failed);
        CHECK(texts_of(drained(out), "a") == strings{"1", "2"});
        put(path, anew);  // the same inode
        rig second("csv-reader");
        second.connect("values", out)
            .keep_in(states)
            .set("file", path)
            .set("follow", follow)
            .set("poll", 1ms);
        second.start();
        const auto row = out.recv_until(patience);
        REQUIRE(row);
        CHECK(to_json(*row) == R"({"a":5,"b":5})");
        CHECK((follow ? second.stop() : second.wait()) == ended::returned);
        CHECK(log.has("is no longer what was read up to line 4: reads from its beginning"));
        (void)drained(out);
      }
  });
}

TEST_CASE("a stop ends it while nobody takes what it reads, and nobody reading ends it") {
  at_procs([] {
    const temp_folder folder;
    std::string text = "n\n";
    for (int i = 0; i < 1000; ++i) text += std::to_string(i) + '\n';
    put(folder / "in.csv", text);
    rig r("csv-reader");
    const auto out = r.channel("values", 1);
    r.set("file", folder / "in.csv").start();
    CHECK(eventually([&] { return out.size() == 1; }));
    CHECK(r.stop() == ended::returned);

    rig unread("csv-reader");
    const auto closed = unread.channel("values", 1);
    closed.close();
    unread.set("file", folder / "in.csv").set("follow", true).start();
    CHECK(unread.wait() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::stock::test
