// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <sstream>

#include <leat/stock/csv.hpp>
#include <leat/stock/followed_file.hpp>
#include "stock/line_io.hpp"

namespace leat::stock::test {
namespace {

TEST_CASE("a file is read to its end, with its last line") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.txt";
    put(path, "one\r\ntwo\n\nlast");
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "file:" + path).start();
    CHECK(r.wait() == ended::returned);
    CHECK(texts_of(drained(lines), "line") == strings{"one", "two", "", "last"});
  });
}

TEST_CASE("a long file goes through a narrow channel whole") {
  at_procs([] {
    const temp_folder folder;
    std::string all;
    for (int i = 0; i < 5000; ++i)
      all += "{\"n\":" + std::to_string(i) + ",\"pad\":\"" + std::string(40, 'x') + "\"}\n";
    put(folder / "a.json", all);
    rig r("line-reader");
    const auto lines = r.channel("values", 1);
    r.set("from", "file:" + (folder / "a.json")).set("format", "json").start();
    int right = 0;
    for (int i = 0; i < 5000; ++i)
      if (const auto x = lines.recv_until(patience)) right += x->number("n") == i;
    CHECK(right == 5000);
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("what cannot be read is a clear failure") {
  at_procs([] {
    const auto why = [](const std::string& from, const char* format = "text") {
      rig r("line-reader");
      const auto lines = r.channel("values");
      r.set("from", from).set("format", format).start();
      return r.failure();
    };
    CHECK(why("file:/no/such/file") == "/no/such/file: No such file or directory");
    CHECK(why("file:/dev/null") == "/dev/null is not a regular file: Invalid argument");
    CHECK(why("files:/x").find("setting 'from': expected \"stdin\"") != std::string::npos);
    CHECK(why("serial:/dev/null?baud=51").find("no port has 51 baud") != std::string::npos);
    CHECK(why("udp:127.0.0.1:0", "csv") ==
          "columns: must be given, since a datagram has no first line that could name them");
  });
}

struct reading {
  int n;
};
LEAT_MESSAGE_AS("line-io-reading", reading, n);

TEST_CASE("a line that is no such message as the channel carries is a wrong line") {
  at_procs([] {
    const temp_folder folder;
    put(folder / "a.json", "{}\n{\"n\":1}\n{\"n\":\"x\"}\n{\"n\":2}\n");
    rig r("line-reader");
    const auto readings = r.channel<reading>("values");
    r.set("from", "file:" + (folder / "a.json")).set("format", "json").start();
    CHECK(readings.recv_until(patience) == reading{1});
    CHECK(readings.recv_until(patience) == reading{2});
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("wrong lines are dropped and told, or fail") {
  at_procs([] {
    const temp_folder folder;
    put(folder / "a.json", "{\"n\":1}\n{\"n\":\n" + std::string(3000, 'x') + "\n\xff\n{\"n\":2}\n");
    log_reader log;
    {
      rig r("line-reader");
      const auto lines = r.channel("values");
      r.set("from", "file:" + (folder / "a.json"))
          .set("format", "json")
          .set("longest", byte_size{1000})
          .start();
      CHECK(r.wait() == ended::returned);
      CHECK(texts_of(drained(lines), "n") == strings{"1", "2"});
      CHECK(log.has("line-reader: dropped: line 2: column 6"));
      r.destroy();
    }
    CHECK(log.has("3 in all; the last: line 4: a line that is not UTF-8, or has a zero byte"));
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "file:" + (folder / "a.json")).set("format", "json").set("bad", "fail").start();
    CHECK(r.failure().ends_with("(bad = \"fail\")"));
  });
}

TEST_CASE("a file is followed when it grows, is cut and is replaced") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.log";
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "file:" + path).set("follow", true).set("poll", 1ms).start();
    CHECK(eventually([&] { return log.has("which is not there"); }));
    put(path, "one\ntw");
    CHECK(line_from(lines) == "one");
    put(path, "o\n");
    CHECK(line_from(lines) == "two");
    fs::resize_file(path, 0);
    CHECK(eventually([&] { return log.has("has been cut"); }));
    put(path, "three\n");
    CHECK(line_from(lines) == "three");
    fs::rename(path, path + ".1");
    put(path + ".1", "late\n");
    CHECK(line_from(lines) == "late");
    put(path + ".2", "four\n");
    fs::rename(path + ".2", path);
    CHECK(line_from(lines) == "four");
    const std::size_t gone = log.count("is gone");
    fs::remove(path);
    CHECK(eventually([&] { return log.count("is gone") > gone; }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a file that is replaced again and again is never read twice") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a";
    followed_file f(path);
    std::atomic<bool> over{false};
    auto writer = spawn("writer", [&] {
      for (int i = 0; i < 100 && !stop_requested(); ++i) {
        put(path + ".next", std::to_string(i) + "\n", std::ios::trunc);
        fs::rename(path + ".next", path);
        yield();
      }
      over = true;
    });
    std::string text;
    const deadline end(3 * patience);
    for (;;) {
      char bytes[256];
      std::size_t n = 0;
      const bool last = over;
      const followed_file::status s = f.read(bytes, n);
      text.append(bytes, n);
      if (end.expired() || (last && s == followed_file::status::end)) break;
      if (s != followed_file::status::data) yield();
    }
    writer.get();
    std::istringstream lines(text);
    std::string line;
    int before = -1, wrong = 0;
    for (; std::getline(lines, line); before = std::stoi(line)) wrong += std::stoi(line) <= before;
    CHECK(wrong == 0);
    CHECK(before == 99);
  });
}

TEST_CASE("a file can be followed from its end") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.log";
    put(path, "old\n");
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "file:" + path).set("follow", true).set("start", "end").set("poll", 1ms).start();
    // Until it has looked at the old end.
    int n = 0;
    CHECK(eventually([&] {
      put(path, "new " + std::to_string(++n) + "\n");
      return lines.size() > 0;
    }));
    CHECK(line_from(lines).starts_with("new "));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a connection that ends or falls silent is made again") {
  at_procs([] {
    log_reader log;
    net::listener at = net::listen("127.0.0.1:0");
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "tcp:" + at.local().text())
        .set("format", "csv")
        .set("retry", 1ms)
        .set("retry_most", 1ms)
        .start();
    {
      net::stream peer = at.accept(patience);
      peer.write("a,b\n1,2\n3,", patience);
      CHECK(lines.recv_until(patience) == record{{"a", 1}, {"b", 2}});
      peer.write("4", patience);
    }
    CHECK(lines.recv_until(patience) == record{{"a", 3}, {"b", 4}});
    net::stream peer = at.accept(patience);
    CHECK(log.has("it was closed"));
    peer.write("c\n5\n", patience);
    CHECK(lines.recv_until(patience) == record{{"c", 5}});
    CHECK(r.stop() == ended::returned);

    rig strict("line-reader");
    const auto none = strict.channel("values");
    strict.set("from", "tcp:" + at.local().text()).set("retry", 1ms).set("silence", 20ms).start();
    const net::stream silent = at.accept(patience), again = at.accept(patience);
    CHECK(log.has("nothing came for 20ms"));
    CHECK(strict.stop() == ended::returned);
  });
}

TEST_CASE("nobody at the other side is told once, and tried again until somebody is") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "s";
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "unix:" + path).set("retry", 1ms).set("retry_most", 2ms).start();
    CHECK(eventually([&] { return log.has("no connection: "); }));
    net::listener at = net::listen("unix:" + path);
    net::stream peer = at.accept(patience);
    peer.write("here\n", patience);
    CHECK(line_from(lines) == "here");
    const std::size_t told = log.count("no connection");
    CHECK(told < 5);  // one in ten seconds, of hundreds
    CHECK(r.stop() == ended::returned);

    rig never("line-reader");
    const auto none = never.channel("values");
    never.set("from", "unix:" + (folder / "nobody")).set("retry", 1h).set("retry_most", 1h).start();
    CHECK(eventually([&] { return log.count("no connection") > told; }));
    CHECK(never.stop() == ended::returned);
  });
}

TEST_CASE("a stop while the connection is being made ends it as any other") {
  at_procs([] {
    // Nobody accepts, and the queue is full: the system answers no further connection.
    const net::listener at = net::listen("127.0.0.1:0", 1);
    const std::string where = at.local().text();
    const net::stream first = net::dial(where, patience), second = net::dial(where, patience);
    for (const char* const name : {"line-reader", "line-writer"}) {
      const std::string side = name == std::string("line-reader") ? "from" : "to";
      rig r(name);
      const auto values = r.channel("values");
      r.set(side, "tcp:" + where).start();
      (void)sleep_for(20ms);
      CHECK(r.stop() == ended::returned);
    }
  });
}

TEST_CASE("where it listens, each connection brings lines of its own") {
  at_procs([] {
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values", 1);
    r.set("from", "tcp-listen:127.0.0.1:0").start();
    const std::string where = listens_on(log);
    net::stream a = net::dial(where, patience), b = net::dial(where, patience);
    a.write("from ", patience);
    b.write("from b\n", patience);
    CHECK(line_from(lines) == "from b");
    a.write("a\nlast", patience);
    CHECK(line_from(lines) == "from a");
    a.close();
    CHECK(line_from(lines) == "last");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += std::to_string(i) + "\n";
    b.write(many, patience);
    int right = 0;
    for (int i = 0; i < 1000; ++i) right += line_from(lines) == std::to_string(i);
    CHECK(right == 1000);
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("one that connects and says nothing does not keep its place") {
  at_procs([] {
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "tcp-listen:127.0.0.1:0").set("peers", 1).set("silence", 20ms).start();
    const std::string at = listens_on(log);
    const net::stream silent = net::dial(at, patience);
    CHECK(eventually([&] { return log.has("nothing came for 20ms"); }));
    net::stream other = net::dial(at, patience);
    other.write("here\n", patience);
    CHECK(line_from(lines) == "here");
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a browser that is made to post to it brings no lines") {
  run_clean(with_procs(2), [] {
    log_reader log;
    rig r("line-reader");
    const leat::channel<record> values = r.channel("values");
    r.set("from", "tcp-listen:127.0.0.1:0").start();
    CHECK(eventually([&] { return log.has("listens on "); }));
    const std::string where = log.after("listens on ");
    for (const std::vector<std::string>& parts :
         {std::vector<std::string>{"POST /x HTTP/1.1\r\nHost: localhost\r\n\r\nvalve=open\n"},
          std::vector<std::string>{"GE", "T / HT", "TP/1.0\n"},
          std::vector<std::string>{"GET /" + std::string(20'000, 'x')}}) {
      net::stream peer = net::dial(where, patience);
      std::error_code ec;
      for (const std::string& part : parts) peer.write(part, ec, patience);
      char byte[1];
      CHECK(peer.read_some(byte, ec, patience) == 0);
    }
    CHECK(log.count("it speaks HTTP, and not lines") == 3);
    // What only begins like one is a line.
    net::stream peer = net::dial(where, patience);
    peer.write("PUT 5 INTO 7\nPOS", patience);
    peer.write("T no HTTP/1.1 here\nGET", patience);
    peer.shutdown_write();
    for (const char* line : {"PUT 5 INTO 7", "POST no HTTP/1.1 here", "GET"}) {
      const auto got = values.recv_until(patience);
      REQUIRE(got);
      CHECK(*got->text("line") == line);
    }
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("connections that have sent nothing make room for those that have something to say") {
  run_clean(with_procs(2), [] {
    log_reader log;
    rig r("line-reader");
    const leat::channel<record> values = r.channel("values");
    r.set("from", "tcp-listen:127.0.0.1:0")
        .set("peers", 4)
        .set("per_address", 100)
        .set("silence", 0s)
        .start();
    CHECK(eventually([&] { return log.has("listens on "); }));
    const std::string where = log.after("listens on ");
    net::stream device = net::dial(where, patience);
    device.write("1\n", patience);
    REQUIRE(values.recv_until(patience));
    std::vector<net::stream> silent;
    for (int i = 0; i < 3; ++i) silent.push_back(net::dial(where, patience));
    net::stream other = net::dial(where, patience);
    other.write("2\n", patience);
    CHECK(values.recv_until(patience)->text("line"));
    device.write("3\n", patience);
    CHECK(values.recv_until(patience)->text("line"));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("one address cannot have all connections of a reader") {
  run_clean(with_procs(2), [] {
    log_reader log;
    rig r("line-reader");
    const leat::channel<record> values = r.channel("values");
    r.set("from", "tcp-listen:127.0.0.1:0").set("peers", 16).start();
    const std::string where = listens_on(log);
    std::vector<net::stream> mine;
    for (int i = 0; i < 12; ++i) {
      mine.push_back(net::dial(where, patience));
      mine.back().write("1\n", patience);
      REQUIRE(values.recv_until(patience));
    }
    net::stream one_more = net::dial(where, patience);
    char byte[1];
    std::error_code ec;
    CHECK(one_more.read_some(byte, ec, patience) == 0);
    mine[3].write("2\n", patience);
    CHECK(values.recv_until(patience));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a row of csv has no more fields than there may be columns, whatever its commas") {
  run_clean(with_procs(2), [] {
    csv_splitter s(',', 1 << 20, 1024);
    CHECK(s.feed(std::string(1023, ',')) == csv_splitter::status::row);
    CHECK(s.feed(std::string(1024, ',')) == csv_splitter::status::wrong);
    CHECK(s.why() == "a row of more than 1024 fields");
    CHECK(s.feed(std::string(1'000'000, ',')) == csv_splitter::status::wrong);
    CHECK(s.fields().capacity() <= 2048);
    CHECK(s.feed("a,b") == csv_splitter::status::row);
  });
}

TEST_CASE("a wrong line of one connection can fail the process") {
  at_procs([] {
    const temp_folder folder;
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "unix-listen:" + (folder / "s")).set("format", "json").set("bad", "fail").start();
    (void)listens_on(log);
    net::stream a = net::dial("unix:" + (folder / "s"), patience);
    a.write("{]\n", patience);
    CHECK(r.failure().ends_with("(bad = \"fail\")"));
    r.destroy();
    CHECK_FALSE(fs::exists(folder / "s"));
  });
}

TEST_CASE("a datagram brings lines, its last one with or without an end") {
  at_procs([] {
    log_reader log;
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "udp:127.0.0.1:0").start();
    net::udp_socket s = net::dial_udp(listens_on(log), patience);
    s.send("a\nb", patience);
    CHECK(line_from(lines) == "a");
    CHECK(line_from(lines) == "b");
    s.send("c\n", patience);
    CHECK(line_from(lines) == "c");
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a serial port that vanishes is opened again") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "tty";
    log_reader log;
    net::stream device = new_terminal(path);
    rig r("line-reader");
    const auto lines = r.channel("values");
    r.set("from", "serial:" + path + "?baud=9600").set("retry", 1ms).set("retry_most", 5ms).start();
    CHECK(eventually([&] { return log.has("connected to " + path); }));
    device.write("one\r\n", patience);
    CHECK(line_from(lines) == "one");
    fs::remove(path);
    device.close();
    CHECK(eventually([&] { return log.has("lost " + path); }));
    CHECK(eventually([&] { return log.has("no connection"); }));
    device = new_terminal(path);
    CHECK(eventually([&] { return log.count("connected to " + path) == 2; }));
    device.write("two\n", patience);
    CHECK(line_from(lines) == "two");
    CHECK(r.stop() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::stock::test
