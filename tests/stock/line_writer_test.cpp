// SPDX-License-Identifier: BSL-1.0
#include "stock/line_io.hpp"

namespace leat::stock::test {
namespace {

TEST_CASE("lines are appended to a file, with one header, after what was torn") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.csv";
    const auto write = [&](bool append, std::vector<record> all) {
      rig r("line-writer");
      const auto in = r.channel("values");
      r.set("to", "file:" + path).set("format", "csv").set("append", append).start();
      for (record& x : all) in.send(std::move(x));
      in.close();
      CHECK(r.wait() == ended::returned);
    };
    write(true, {{{"a", 1}, {"b", "x"}}, {{"b", "y"}, {"a", 2}}});
    CHECK(content(path) == "a,b\n1,x\n2,y\n");
    put(path, "3,to");
    write(true, {{{"a", 4}, {"b", "z"}}});
    CHECK(content(path) == "a,b\n1,x\n2,y\n3,to\n4,z\n");
    write(false, {{{"c", 5}}});
    CHECK(content(path) == "c\n5\n");
  });
}

TEST_CASE("what is delivered at least once is written before the next is taken") {
  at_procs([] {
    const temp_folder folder;
    rig r("line-writer");
    const auto in = r.channel("values");
    r.deliver_at_least_once("values");
    r.set("to", "file:" + (folder / "a")).start();
    for (const char* line : {"a", "b", "c"}) in.send(text(line));
    // The last one stays in hand; those before it were written when it was taken.
    CHECK(eventually([&] { return content(folder / "a") == "a\nb\nc\n"; }));
    in.close();
    CHECK(r.wait() == ended::returned);

    rig lost("line-writer");
    const auto broken = lost.channel("values");
    lost.deliver_at_least_once("values");
    lost.set("to", "file:/dev/full").start();
    for (const char* line : {"a", "b", "c"}) broken.send(text(line));
    CHECK(lost.wait() == ended::failed);
    CHECK(broken.stats().received == 1);
  });
}

TEST_CASE("a full disk fails the process, and so does a place that cannot be written") {
  at_procs([] {
    const auto why = [](const char* to) {
      rig r("line-writer");
      const auto in = r.channel("values");
      r.set("to", to).start();
      in.send(text("x"));
      return r.failure();
    };
    CHECK(why("file:/dev/full").ends_with("No space left on device"));
    CHECK(why("file:/no/such/folder/x").ends_with("No such file or directory"));
    CHECK(why("tcp:nowhere").find("setting 'to': expected HOST:PORT") != std::string::npos);
  });
}

TEST_CASE("records that are no lines, and fields that are no columns, are told") {
  at_procs([] {
    const temp_folder folder;
    log_reader log;
    rig r("line-writer");
    const auto in = r.channel("values");
    r.set("to", "file:" + (folder / "a")).start();
    in.send({{"value", 5}});
    in.send(text("a\nb"));
    in.send(text("good"));
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(content(folder / "a") == "good\n");
    CHECK(log.has("line-writer: dropped: field 'line' is missing"));
    rig csv("line-writer");
    const auto in2 = csv.channel("values");
    csv.set("to", "file:" + (folder / "b")).set("format", "csv").set("columns", strings{"a"}).start();
    in2.send({{"a", 1}, {"b", 2}});
    in2.close();
    CHECK(csv.wait() == ended::returned);
    CHECK(content(folder / "b") == "a\n1\n");
    CHECK(log.has("left out: 'b', which is none of the columns"));
  });
}

TEST_CASE("a writer waits for its peer, and begins again when it has gone") {
  at_procs([] {
    log_reader log;
    const temp_folder folder;
    const std::string where = "unix:" + (folder / "s");
    rig r("line-writer");
    const auto in = r.channel("values", 4);
    r.set("to", where).set("format", "csv").set("retry", 1ms).set("retry_most", 5ms).start();
    for (int i = 0; i < 3; ++i) in.send({{"n", i}});
    CHECK(eventually([&] { return log.has("no connection"); }));
    net::listener at = net::listen(where);
    {
      net::stream peer = at.accept(patience);
      for (const char* line : {"n", "0", "1", "2"}) CHECK(peer.read_line(patience) == line);
      peer.write("thank you\n", patience);
    }
    // What is sent before the end is seen goes nowhere.
    auto sender = spawn([&] {
      for (int i = 3; in.send({{"n", i}}) == send_status::sent; ++i) (void)sleep_for(1ms);
    });
    net::stream peer = at.accept(patience);
    CHECK(peer.read_line(patience) == "n");
    const int next = std::stoi(peer.read_line(patience).value_or("0"));
    CHECK(next >= 3);
    CHECK(peer.read_line(patience) == std::to_string(next + 1));
    CHECK(log.has("lost unix:"));
    sender.request_stop();
    sender.join();
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a writer that has nobody to write to drops, if it is told to") {
  at_procs([] {
    const temp_folder folder;
    log_reader log;
    rig r("line-writer");
    const auto in = r.channel("values", 1);
    r.set("to", "unix:" + (folder / "s"))
        .set("away", "drop")
        .set("retry", 1ms)
        .set("retry_most", 2ms)
        .start();
    for (int i = 0; i < 100; ++i) CHECK(in.send_until(text("x"), patience) == send_status::sent);
    in.close();
    CHECK(r.wait() == ended::returned);
    r.destroy();
    CHECK(log.has("line-writer: lost"));
    CHECK(log.has("there was no connection"));

    rig waits("line-writer");
    const auto full = waits.channel("values", 1);
    waits.set("to", "unix:" + (folder / "s")).set("retry", 1h).set("retry_most", 1h).start();
    full.send(text("x"));
    full.send(text("y"));
    CHECK(waits.stop() == ended::returned);
  });
}

TEST_CASE("a peer that does not read is given up in time") {
  at_procs([] {
    log_reader log;
    net::listener at = net::listen("127.0.0.1:0");
    rig r("line-writer");
    const auto in = r.channel("values", 4);
    r.set("to", "tcp:" + at.local().text()).set("timeout", 50ms).set("retry", 1ms).start();
    net::stream deaf = at.accept(patience);
    auto sender = spawn([&] {
      const record big{{"line", std::string(60000, 'x')}};
      while (in.send(big) == send_status::sent) {
      }
    });
    net::stream next = at.accept(patience);
    CHECK(next.read_line(patience)->size() == 60000);
    sender.request_stop();
    sender.join();
    CHECK(r.stop() == ended::returned);
    CHECK(log.has("lost 127.0.0.1"));
  });
}

TEST_CASE("where a writer listens, each connection gets the lines from then on, with their header") {
  at_procs([] {
    log_reader log;
    rig r("line-writer");
    const auto in = r.channel("values");
    r.set("to", "tcp-listen:127.0.0.1:0").set("format", "csv").start();
    const std::string where = listens_on(log);
    net::stream a = net::dial(where, patience);
    // Until it is there.
    int n = 0;
    auto sender = spawn([&] {
      while (in.send({{"n", ++n}}) == send_status::sent) (void)sleep_for(1ms);
    });
    CHECK(a.read_line(patience) == "n");
    const int first = std::stoi(a.read_line(patience).value_or("0"));
    CHECK(first > 0);
    CHECK(a.read_line(patience) == std::to_string(first + 1));
    net::stream b = net::dial(where, patience);
    CHECK(b.read_line(patience) == "n");
    int read = std::stoi(b.read_line(patience).value_or("0"));
    CHECK(read > first);
    a.close();
    sender.request_stop();
    sender.join();
    const int last = n;
    in.close();
    CHECK(r.wait() == ended::returned);
    std::string line;
    while (b.read_line(line, patience)) read = std::stoi(line);
    CHECK(read >= last - 1);
  });
}

TEST_CASE("one address cannot have all connections of a writer") {
  run_clean(with_procs(2), [] {
    log_reader log;
    rig r("line-writer");
    const auto in = r.channel("values");
    r.set("to", "tcp-listen:127.0.0.1:0").set("peers", 16).start();
    const std::string where = listens_on(log);
    auto sender = spawn([&] {
      while (in.send(text("a")) == send_status::sent) (void)sleep_for(1ms);
    });
    std::vector<net::stream> mine;
    for (int i = 0; i < 12; ++i) {
      mine.push_back(net::dial(where, patience));
      REQUIRE(mine.back().read_line(patience) == "a");
    }
    net::stream one_more = net::dial(where, patience);
    char byte[1];
    std::error_code ec;
    CHECK(one_more.read_some(byte, ec, patience) == 0);
    CHECK(mine[3].read_line(patience) == "a");
    sender.request_stop();
    sender.join();
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a slow reader of a listening writer misses lines, and holds up nobody") {
  at_procs([] {
    log_reader log;
    rig r("line-writer");
    const auto in = r.channel("values");
    r.set("to", "tcp-listen:127.0.0.1:0").set("behind", 2).set("timeout", 1h).start();
    net::stream slow = net::dial(listens_on(log), patience);
    auto sender = spawn([&] {
      while (in.send({{"line", std::string(60000, 'x')}}) == send_status::sent) yield();
    });
    CHECK(slow.read_line(patience)->size() == 60000);  // it is there
    const std::uint64_t before = in.stats().received;
    CHECK(eventually([&] { return in.stats().received > before + 500; }));
    sender.request_stop();
    sender.join();
    CHECK(r.stop() == ended::returned);
    CHECK(log.has("was too slow for"));
  });
}

TEST_CASE("each line is a datagram; what could not be sent is told") {
  at_procs([] {
    log_reader log;
    net::udp_socket at = net::bind_udp("127.0.0.1:0");
    rig r("line-writer");
    const auto in = r.channel("values");
    r.set("to", "udp:" + at.local().text()).start();
    in.send(text("a"));
    in.send({{"line", std::string(70000, 'x')}});
    in.send(text("b"));
    char data[100];
    CHECK(std::string_view(data, at.receive_from(data, patience).size) == "a\n");
    CHECK(std::string_view(data, at.receive_from(data, patience).size) == "b\n");
    CHECK(log.has("line-writer: lost: Message too long"));
    in.close();
    CHECK(r.wait() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::stock::test
