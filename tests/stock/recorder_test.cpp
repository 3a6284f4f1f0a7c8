// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "fixture.hpp"
#include "small_disk.hpp"

namespace leat::stock::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::string contents(const std::string& path) {
  std::ifstream f(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(f), {}};
}
void put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::vector<std::string> names(const std::string& folder) {
  std::vector<std::string> all;
  for (const auto& e : fs::directory_iterator(folder)) all.push_back(e.path().filename());
  std::sort(all.begin(), all.end());
  return all;
}

// A recorder on files in a folder of its own.
struct recording {
  temp_folder place;
  std::string folder = place.path() + "/records";
  rig r{"recorder"};
  leat::channel<record> values = r.channel("values", 4);

  recording() { r.set("folder", folder); }
  std::string file(int n, const char* extension = "csv") const {
    return folder + "/records-00000" + std::to_string(n) + "." + extension;
  }
  ended finish() {
    values.close();
    return r.wait();
  }
};

record numbered(int n) { return {{"n", n}}; }

TEST_CASE("records become lines of CSV under the names of their fields") {
  run_clean(with_procs(2), [] {
    recording x;
    x.r.start();
    x.values.send({{"sensor", "boiler, \"old\""}, {"value", 71.5}, {"ok", true}});
    x.values.send({{"value", 3}, {"sensor", "two\nlines"}});  // another order, one missing
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(1)) == "sensor,value,ok\n\"boiler, \"\"old\"\"\",71.5,true\ntwo\\nlines,3,\n");
  });
}

TEST_CASE("records become lines of JSON, all fields or those that are asked for") {
  run_clean(with_procs(2), [] {
    recording all;
    all.r.set("format", "json").start();
    all.values.send({{"b", "x\ny"}, {"a", 1}});
    CHECK(all.finish() == ended::returned);
    CHECK(contents(all.file(1, "jsonl")) == "{\"b\":\"x\\ny\",\"a\":1}\n");

    recording some;
    some.r.set("format", "json").set("fields", value::list{value("a"), value("c")}).start();
    some.values.send({{"b", 2}, {"c", 3}, {"a", 1}});
    some.values.send({{"b", 2}, {"c", 4}});
    CHECK(some.finish() == ended::returned);
    CHECK(contents(some.file(1, "jsonl")) == "{\"a\":1,\"c\":3}\n{\"c\":4}\n");
  });
}

TEST_CASE("a record with other fields goes on in a new file with columns for all") {
  run_clean(with_procs(2), [] {
    recording x;
    x.r.start();
    for (int i = 0; i < 3; ++i) {
      x.values.send({{"a", i}});
      x.values.send({{"b", i}});
    }
    CHECK(x.finish() == ended::returned);
    CHECK(names(x.folder).size() == 2);
    CHECK(contents(x.file(1)) == "a\n0\n");
    CHECK(contents(x.file(2)) == "a,b\n,0\n1,\n,1\n2,\n,2\n");
  });
}

TEST_CASE("new fields push no older file out, before and after a restart") {
  run_clean(with_procs(2), [] {
    temp_folder place;
    const std::string folder = place.path() + "/records";
    fs::create_directory(folder);
    const auto file = [&](int n) { return folder + "/records-00000" + std::to_string(n) + ".csv"; };
    put(file(1), "n\n1\n");
    put(file(2), "n\n2\n");
    const auto record_these = [&](const std::vector<record>& all) {
      rig r("recorder");
      const leat::channel<record> values = r.channel("values", 16);
      r.set("folder", folder).set("keep", 3).set("rotate_size", byte_size{200}).start();
      for (const record& x : all) values.send(x);
      values.close();
      CHECK(r.wait() == ended::returned);
    };
    // Lines of somebody who makes up names.
    record_these({{{"n", 3}}, {{"x1", 1}}, {{"x2", 1}}, {{"x3", 1}}});
    CHECK(contents(file(1)) == "n\n1\n");
    CHECK(contents(file(2)) == "n\n2\n3\n");
    CHECK(contents(file(5)) == "n,x1,x2,x3\n,,,1\n");
    record_these({{{"x4", 1}}, {{"x5", 1}}, {{"x6", 1}}});
    CHECK(names(folder).size() == 8);
    CHECK(contents(file(1)) == "n\n1\n");
    // What is full is followed by another as ever: then all files that belong together go at once.
    record_these({{{"n", std::string(180, 'y')}}});
    CHECK(contents(file(1)) == "n\n1\n");
    record_these({{{"n", std::string(180, 'y')}}});
    CHECK(names(folder) ==
          std::vector<std::string>{"records-000002.csv", "records-000003.csv", "records-000004.csv",
                                   "records-000005.csv", "records-000006.csv", "records-000007.csv",
                                   "records-000008.csv", "records-000009.csv", "records-000010.csv"});
  });
}

TEST_CASE("names of columns take no more room than a head may have") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    x.r.start();
    record r;
    for (int i = 0; i < 500; ++i) r[std::string(250, 'x') + std::to_string(i)] = i;
    x.values.send(r);
    CHECK(x.finish() == ended::returned);
    const std::string text = contents(x.file(1));
    CHECK(text.find('\n') < 64 * 1024);
    CHECK(log.has("left out"));
  });
}

TEST_CASE("a link that somebody planted is neither followed nor written to") {
  run_clean(with_procs(2), [] {
    recording x;
    fs::create_directory(x.folder);
    const std::string precious = x.place / "precious";
    put(precious, "mine");
    put(x.file(1), "n\n1\n");
    fs::create_symlink(precious, x.file(2));
    fs::create_symlink(x.place / "not-there-yet", x.file(3));
    x.r.set("rotate_size", byte_size{6}).start();
    x.values.send(numbered(2));
    x.values.send(numbered(3));
    CHECK(x.finish() == ended::returned);
    CHECK(contents(precious) == "mine");
    CHECK(!fs::exists(x.place / "not-there-yet"));
    CHECK(contents(x.file(1)) == "n\n1\n2\n");
    CHECK(contents(x.file(4)) == "n\n3\n");

    recording y;
    fs::create_directory(y.folder);
    fs::create_symlink(precious, y.file(1));
    y.r.start();
    y.values.send(numbered(1));
    CHECK(y.finish() == ended::returned);
    CHECK(contents(precious) == "mine");
    CHECK(contents(y.file(2)) == "n\n1\n");
  });
}

TEST_CASE("with fields that were asked for, further ones make no new file") {
  run_clean(with_procs(2), [] {
    recording x;
    x.r.set("fields", value::list{value("a")}).start();
    x.values.send({{"a", 1}});
    x.values.send({{"b", 2}, {"a", 2}});
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(1)) == "a\n1\n2\n");
  });
}

TEST_CASE("a file that would grow too large is followed by the next, and old ones are removed") {
  run_clean(with_procs(2), [] {
    recording x;
    fs::create_directory(x.folder);
    put(x.folder + "/records-notes.csv", "mine");
    put(x.folder + "/other-000001.csv", "mine");
    x.r.set("rotate_size", byte_size{40}).set("keep", 3).start();
    for (int i = 100; i < 200; ++i) x.values.send(numbered(i));
    CHECK(x.finish() == ended::returned);
    // Each has its head and nine lines.
    const std::vector<std::string> all = names(x.folder);
    CHECK(all == std::vector<std::string>{"other-000001.csv", "records-000010.csv", "records-000011.csv",
                                          "records-000012.csv", "records-notes.csv"});
    CHECK(contents(x.folder + "/records-000012.csv") == "n\n199\n");
    CHECK(contents(x.folder + "/records-000011.csv").starts_with("n\n190\n191\n"));
    for (const std::string& name : all) CHECK(fs::file_size(x.folder + '/' + name) <= 40);
  });
}

TEST_CASE("a file of an earlier hour is followed by a new one") {
  run_clean(with_procs(2), [] {
    recording x;
    fs::create_directory(x.folder);
    put(x.file(1), "n\n1\n");
    fs::last_write_time(x.file(1), fs::file_time_type::clock::now() - 25h);
    x.r.set("rotate_every", 24h).start();
    x.values.send(numbered(2));
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(1)) == "n\n1\n");
    CHECK(contents(x.file(2)) == "n\n2\n");
  });
}

TEST_CASE("it goes on with the last file, without the line that was not finished") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    fs::create_directory(x.folder);
    put(x.file(1), "n\n1\n");
    put(x.file(2), "n\n2\n3\n41" + std::string(5000, '7'));
    x.r.start();
    x.values.send(numbered(5));
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(2)) == "n\n2\n3\n5\n");
    CHECK(log.count("cut 5002 bytes of an unfinished line off " + x.file(2)) == 1);
    CHECK(names(x.folder).size() == 2);
  });
}

TEST_CASE("a file whose very head was not finished gets a new one") {
  run_clean(with_procs(2), [] {
    recording x;
    fs::create_directory(x.folder);
    put(x.file(1), "sens");
    x.r.start();
    x.values.send(numbered(1));
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(1)) == "n\n1\n");
  });
}

TEST_CASE("a file with other columns than those asked for is left as it is") {
  run_clean(with_procs(2), [] {
    recording x;
    fs::create_directory(x.folder);
    put(x.file(1), "m\n1\n");
    x.r.set("fields", value::list{value("n")}).start();
    x.values.send(numbered(1));
    CHECK(x.finish() == ended::returned);
    CHECK(contents(x.file(1)) == "m\n1\n");
    CHECK(contents(x.file(2)) == "n\n1\n");
  });
}

TEST_CASE("a record may wait for others before it is written; a stop writes them all") {
  run_clean(with_procs(2), [] {
    recording x;
    x.r.set("flush", 1h).start();
    for (int i = 0; i < 10; ++i) x.values.send(numbered(i));
    CHECK(eventually([&] { return x.values.size() == 0; }));
    CHECK(contents(x.file(1)) == "");
    CHECK(x.r.stop() == ended::returned);
    CHECK(contents(x.file(1)) == "n\n0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    recording y;
    y.r.deliver_at_least_once("values").set("flush", 1h).start();  // then it does not wait
    y.values.send(numbered(1));
    CHECK(eventually([&] { return contents(y.file(1)) == "n\n1\n"; }));
    CHECK(y.finish() == ended::returned);
  });
}

TEST_CASE("a record is written when its time has come, and told when it is") {
  run_clean(with_procs(2), [] {
    recording x;
    leat::channel<record> written = x.r.channel("written");
    x.r.set("flush", 1ms).set("sync", true).start();
    x.values.send(numbered(7));
    std::optional<record> r = written.recv_until(patience);
    REQUIRE(r);
    CHECK(*r == numbered(7));
    CHECK(contents(x.file(1)) == "n\n7\n");
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("a full disk holds up who sends, and nothing is lost or torn when there is room again") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    const small_disk disk(20);
    x.r.set("retry", 1ms).start();
    auto sender = spawn([&] {
      for (int i = 1000; i < 1040; ++i) x.values.send(numbered(i));
      x.values.close();
    });
    // Three lines fit, and half of the fourth.
    CHECK(eventually([&] { return log.count("waiting") == 1; }));
    CHECK(log.count("File too large") == 1);
    CHECK(x.values.stats().received <= 4);
    CHECK(eventually([&] { return contents(x.file(1)) == "n\n1000\n1001\n1002\n"; }));
    disk.room(100'000);
    CHECK(x.r.wait() == ended::returned);
    std::string all = "n\n";
    for (int i = 1000; i < 1040; ++i) all += std::to_string(i) + '\n';
    CHECK(contents(x.file(1)) == all);
    CHECK(log.count("File too large") == 1);  // told once
    CHECK(log.count("writing again, 0 records dropped") == 1);
  });
}

TEST_CASE("a full disk can be told to cost records instead, which are counted") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    const small_disk disk(20);
    x.r.set("retry", 1ms).set("full", "drop").start();
    for (int i = 1000; i < 1010; ++i) x.values.send(numbered(i));
    CHECK(eventually([&] { return log.count("dropping records") == 1 && x.values.size() == 0; }));
    disk.room(100'000);
    int sent = 1010;
    CHECK(eventually([&] {
      x.values.send(numbered(sent++));
      return log.count("writing again") == 1;
    }));
    CHECK(x.finish() == ended::returned);
    const std::string text = contents(x.file(1));
    CHECK(text.starts_with("n\n1000\n1001\n1002\n"));
    CHECK(text.ends_with(std::to_string(sent - 1) + "\n"));
    // What is there and what was counted is all that was sent.
    const auto lines = std::count(text.begin(), text.end(), '\n') - 1;
    CHECK(log.has(": " + std::to_string(sent - 1000 - lines) + " records could not be written"));
  });
}

TEST_CASE("a full disk can be told to be a failure") {
  run_clean(with_procs(2), [] {
    recording x;
    const small_disk disk(20);
    x.r.set("full", "fail").start();
    for (int i = 1000; i < 1004; ++i) x.values.send(numbered(i));
    CHECK(x.r.wait() == ended::failed);
    CHECK(x.r.failure() == "write to " + x.file(1) + ": File too large");
    CHECK(contents(x.file(1)) == "n\n1000\n1001\n1002\n");
  });
}

TEST_CASE("a stop ends the wait for room, and what could not be written is told") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    const small_disk disk(8);
    x.r.set("retry", 1h).start();
    x.values.send(numbered(1000));
    x.values.send(numbered(1001));
    CHECK(eventually([&] { return log.count("waiting") == 1; }));
    CHECK(x.r.stop() == ended::returned);
    CHECK(log.count("1 records could not be written") == 1);
    CHECK(contents(x.file(1)) == "n\n1000\n");
  });
}

TEST_CASE("a folder that vanishes is made again") {
  run_clean(with_procs(2), [] {
    log_reader log;
    recording x;
    leat::channel<record> written = x.r.channel("written");
    x.r.start();
    x.values.send(numbered(1));
    CHECK(written.recv_until(patience));
    fs::remove_all(x.folder);
    x.values.send(numbered(2));
    CHECK(written.recv_until(patience));
    CHECK(log.count("was removed") == 1);
    CHECK(x.finish() == ended::returned);
    REQUIRE(names(x.folder).size() == 1);
    CHECK(contents(x.folder + '/' + names(x.folder)[0]) == "n\n2\n");
  });
}

TEST_CASE("a folder that cannot be made fails at the start, and is waited for later") {
  run_clean(with_procs(2), [] {
    for (const char* full : {"wait", "drop", "fail"}) {
      recording impossible;
      put(impossible.folder, "in the way");
      impossible.r.set("full", full).start();
      CHECK(impossible.r.failure() == "make or read the folder " + impossible.folder + ": Not a directory");
      recording nowhere;
      nowhere.r.set("prefix", "no-such").set("full", full);
      fs::create_directory(nowhere.folder);
      fs::create_directory(nowhere.folder + "/no-such-000001.csv");
      nowhere.r.start();
      CHECK(nowhere.r.failure().ends_with("Is a directory"));
    }
    log_reader log;
    recording x;
    leat::channel<record> written = x.r.channel("written");
    x.r.set("retry", 1ms).start();
    x.values.send(numbered(1));
    CHECK(written.recv_until(patience));
    fs::remove_all(x.folder);
    put(x.folder, "in the way");
    x.values.send(numbered(2));
    CHECK(eventually([&] { return log.count("waiting") == 1; }));
    fs::remove(x.folder);
    CHECK(written.recv_until(patience));
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("fields above the most columns are left out and counted, and empty records are told") {
  run_clean(with_procs(2), [] {
    log_reader log;
    {
      recording x;
      x.r.start();
      x.values.send(record());
      record wide;
      for (int i = 0; i < 1030; ++i) wide["f" + std::to_string(i)] = i;
      x.values.send(wide);
      CHECK(x.finish() == ended::returned);
      const std::string text = contents(x.file(1));
      CHECK(std::count(text.begin(), text.end(), '\n') == 2);
      CHECK(std::count(text.begin(), text.end(), ',') == 2 * 1023);
      CHECK(log.has("dropped: a record without any field"));
      CHECK(log.has("above 1024 columns or 64 KiB of their names"));
    }
  });
}

TEST_CASE("two recorders do not write to one file") {
  run_clean(with_procs(2), [] {
    recording x;
    leat::channel<record> written = x.r.channel("written");
    x.r.start();
    x.values.send(numbered(1));
    CHECK(written.recv_until(patience));
    rig second("recorder");
    (void)second.channel("values");
    second.set("folder", x.folder).start();
    CHECK(second.wait() == ended::failed);
    CHECK(second.failure() == "another recorder writes to " + x.file(1));
    CHECK(x.finish() == ended::returned);
  });
}

TEST_CASE("a prefix that leads out of the folder is refused") {
  run_clean(with_procs(2), [] {
    recording x;
    x.r.set("prefix", "../up").start();
    CHECK(x.r.wait() == ended::failed);
    CHECK(x.r.failure().find("cannot be part of a file name") != std::string::npos);
  });
}

}  // namespace
}  // namespace leat::stock::test
