// SPDX-License-Identifier: BSL-1.0
#include <sqlite3.h>
#include <sys/resource.h>
#include <csignal>
#include <cstdio>
#include <fstream>

#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using strings = std::vector<std::string>;

// A connection of somebody else.
class database {
 public:
  explicit database(const std::string& path) {
    REQUIRE(::sqlite3_open(path.c_str(), &db_) == SQLITE_OK);
    ::sqlite3_busy_timeout(db_, 45'000);
  }
  ~database() { ::sqlite3_close(db_); }
  database(const database&) = delete;

  void run(const std::string& sql) {
    char* why = nullptr;
    const int code = ::sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, &why);
    const std::string said = why ? why : "";
    ::sqlite3_free(why);
    INFO(said);
    REQUIRE(code == SQLITE_OK);
  }
  // Rows, their values separated by '|'; null is "-".
  strings rows(const std::string& sql) {
    sqlite3_stmt* s = nullptr;
    strings all;
    if (::sqlite3_prepare_v2(db_, sql.c_str(), -1, &s, nullptr) != SQLITE_OK) return {::sqlite3_errmsg(db_)};
    while (::sqlite3_step(s) == SQLITE_ROW) {
      std::string row;
      for (int i = 0; i < ::sqlite3_column_count(s); ++i) {
        const auto* const text = reinterpret_cast<const char*>(::sqlite3_column_text(s, i));
        row += (i > 0 ? "|" : "") + std::string(text ? text : "-");
      }
      all.push_back(row);
    }
    ::sqlite3_finalize(s);
    return all;
  }

 private:
  sqlite3* db_ = nullptr;
};

record number(int n) { return {{"n", n}}; }

// Sends all and closes; how it ended.
ended written(rig& r, const std::vector<record>& all) {
  const auto in = r.channel("values", all.size() + 1);
  for (const record& x : all) in.send(x);
  in.close();
  return r.start().wait();
}

TEST_CASE("records become rows, and their fields columns as they come") {
  at_procs([] {
    const temp_folder folder;
    rig r("sqlite-writer");
    r.set("database", folder / "a.db");
    const moment at = moment(std::chrono::seconds(1'000'000'000));
    CHECK(written(r, {{{"sensor", "a"}, {"value", 1.5}, {"at", at}},
                      {{"value", 2}, {"ok", true}, {"odd \"name\"", "x'y"}},
                      {{"raw", field_list{1, "two", {}}}, {"where", record{{"lat", 54.5}}}, {"wait", 250ms}},
                      {{"sensor", {}}}}) == ended::returned);
    database db(folder / "a.db");
    CHECK(db.rows("SELECT sensor, value, typeof(value), at, ok, \"odd \"\"name\"\"\", raw, \"where\", wait "
                  "FROM records") ==
          strings{"a|1.5|real|2001-09-09T01:46:40Z|-|-|-|-|-", "-|2|integer|-|1|x'y|-|-|-",
                  "-|-|null|-|-|-|[1,\"two\",null]|{\"lat\":54.5}|250ms", "-|-|null|-|-|-|-|-|-"});

    rig again("sqlite-writer");  // goes on with the table that is there
    again.set("database", folder / "a.db");
    CHECK(written(again, {{{"SENSOR", "b"}, {"more", 1}}}) == ended::returned);
    CHECK(db.rows("SELECT sensor, more FROM records WHERE more") == strings{"b|1"});
  });
}

TEST_CASE("declared columns take values from within, and what has no column is told") {
  at_procs([] {
    const temp_folder folder;
    log_reader log;
    const auto column = [](const char* name, const char* type, const char* field) {
      return value(value::table{value_member{"name", {}, value(name)}, value_member{"type", {}, value(type)},
                                value_member{"field", {}, value(field)}});
    };
    rig r("sqlite-writer");
    r.set("database", folder / "a.db").set("table", "odd \"table\"");
    r.set("columns", value::list{column("lat", "real", "where.lat"), column("id", "text", "")});
    CHECK(written(r, {{{"id", 7}, {"where", record{{"lat", 54}}}, {"other", 1}}, {{"id", "x"}}}) ==
          ended::returned);
    r.destroy();
    database db(folder / "a.db");
    CHECK(db.rows("SELECT lat, typeof(lat), id, typeof(id) FROM \"odd \"\"table\"\"\"") ==
          strings{"54.0|real|7|text", "-|null|x|text"});
    CHECK(log.has("sqlite-writer: left out: field \"other\" has no column"));
  });
}

TEST_CASE("a record takes the place of one that is alike, and the oldest rows go") {
  at_procs([] {
    const temp_folder folder;
    rig r("sqlite-writer");
    r.set("database", folder / "a.db").set("unique", strings{"sensor"}).set("keep", 2).set("batch", 1);
    std::vector<record> all;
    for (const char* s : {"a", "b", "a", "c", "a"})
      all.push_back({{"value", static_cast<int>(all.size())}, {"sensor", s}});
    CHECK(written(r, all) == ended::returned);
    database db(folder / "a.db");
    CHECK(db.rows("SELECT sensor, value FROM records ORDER BY value") == strings{"c|3", "a|4"});

    rig plain("sqlite-writer");
    plain.set("database", folder / "b.db").set("keep", 3).set("batch", 4).set("wal", false).set("sync", true);
    all.clear();
    for (int i = 0; i < 10; ++i) all.push_back(number(i));
    CHECK(written(plain, all) == ended::returned);
    CHECK(database(folder / "b.db").rows("SELECT n FROM records") == strings{"7", "8", "9"});
  });
}

TEST_CASE(
    "a transaction is written when it is full, when its time has come, and with at-least-once at each "
    "record") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    database db(path);
    db.run("CREATE TABLE records (n)");
    const auto count = [&] { return db.rows("SELECT count(*) FROM records").at(0); };
    rig full("sqlite-writer");
    const auto in = full.channel("values");
    full.set("database", path).set("batch", 3).set("within", 1h).start();
    for (int i = 0; i < 4; ++i) in.send(number(i));
    CHECK(eventually([&] { return count() == "3"; }));
    full.change("within", nanoseconds(1ms));  // counts for the next one
    in.send(number(4));
    in.send(number(5));
    CHECK(eventually([&] { return count() == "6"; }));
    in.send(number(6));
    CHECK(eventually([&] { return count() == "7"; }));
    CHECK(full.stop() == ended::returned);

    rig each("sqlite-writer");
    const auto one = each.channel("values");
    each.set("database", path).set("within", 1h).deliver_at_least_once("values").start();
    one.send(number(7));
    CHECK(eventually([&] { return count() == "8"; }));
    CHECK(each.stop() == ended::returned);
  });
}

TEST_CASE("it waits while somebody else writes, tells a lasting lock, and goes on after it") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    database db(path);
    db.run("CREATE TABLE records (n)");
    for (const auto busy : {nanoseconds(1h), nanoseconds(1ms)}) {
      log_reader log;
      rig r("sqlite-writer");
      const auto in = r.channel("values");
      r.set("database", path).set("busy", busy).set("retry", 1ms).set("within", 0s).start();
      in.send(number(1));
      CHECK(eventually([&] { return db.rows("SELECT count(*) FROM records").at(0) != "0"; }));
      db.run("BEGIN IMMEDIATE; DELETE FROM records");
      in.send(number(2));
      if (busy < 1s) {
        CHECK(eventually([&] { return log.has("is locked; trying again"); }));
      } else {
        CHECK(eventually([&] { return in.size() == 0; }));
      }
      db.run("COMMIT");
      CHECK(eventually([&] { return db.rows("SELECT n FROM records") == strings{"2"}; }));
      in.close();
      CHECK(r.wait() == ended::returned);
      CHECK(log.count("writing again") == (busy < 1s ? 1 : 0));
      db.run("DELETE FROM records");
    }
  });
}

TEST_CASE(
    "records are dropped while it is locked, or it fails, if it is told so; a stop loses what it has, told") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    database db(path);
    db.run("CREATE TABLE records (n); PRAGMA journal_mode = WAL");
    const auto locked = [&](rig& r, const leat::channel<record>& in) {
      r.set("database", path).set("within", 0s).start();
      in.send(number(1));
      CHECK(eventually([&] { return db.rows("SELECT count(*) FROM records").at(0) != "0"; }));
      db.run("BEGIN IMMEDIATE; DELETE FROM records");
      in.send(number(2));
    };
    log_reader log;
    {
      rig drops("sqlite-writer");
      const auto in = drops.channel("values");
      drops.set("busy", 0s).set("full", "drop").set("retry", 1ms);
      locked(drops, in);
      CHECK(eventually([&] { return log.has("sqlite-writer: dropped"); }));
      db.run("COMMIT");
      CHECK(eventually([&] {
        in.send(number(3));
        return db.rows("SELECT count(*) FROM records").at(0) != "0";
      }));
      CHECK(drops.stop() == ended::returned);
    }
    db.run("DELETE FROM records");
    {
      rig fails("sqlite-writer");
      const auto in = fails.channel("values");
      fails.set("busy", 0s).set("full", "fail");
      locked(fails, in);
      CHECK(fails.failure() == "write to " + path + ": database is locked");
      CHECK(log.has("sqlite-writer: lost 1 record: it failed"));
      db.run("COMMIT");
    }
    {
      rig stops("sqlite-writer");
      const auto in = stops.channel("values");
      stops.set("busy", 1h);
      locked(stops, in);
      CHECK(eventually([&] { return in.size() == 0; }));
      CHECK(stops.stop() == ended::returned);
      CHECK(log.has("sqlite-writer: lost 1 record: it was stopped"));
      db.run("COMMIT");
    }
  });
}

TEST_CASE("a disk that takes no more is told, and written to again when it does") {
  const temp_folder folder;
  const std::string path = folder / "a.db";
  // A limit on files stands for a full disk: the system refuses to make them larger.
  const auto old_action = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  run_clean(with_procs(2), [&] {
    log_reader log;
    rig r("sqlite-writer");
    const auto in = r.channel("values");
    r.set("database", path).set("retry", 1ms).set("within", 0s).start();
    in.send({{"text", "small"}});
    CHECK(eventually([&] { return database(path).rows("SELECT count(*) FROM records") == strings{"1"}; }));
    rlimit small = before;
    small.rlim_cur = 64 << 10;
    CHECK(::setrlimit(RLIMIT_FSIZE, &small) == 0);
    in.send({{"text", std::string(1 << 20, 'x')}});
    CHECK(eventually([&] { return log.has("; trying again"); }));
    CHECK(::setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(eventually([&] { return log.has("writing again"); }));
    CHECK(database(path).rows("SELECT length(text) FROM records") == strings{"5", "1048576"});
    CHECK(r.stop() == ended::returned);
  });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_action);
}

TEST_CASE("what a rule of the table refuses is bad, and the others of its transaction are written") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    database db(path);
    db.run("CREATE TABLE records (n INTEGER CHECK (n < 10), at TEXT)");
    log_reader log;
    rig r("sqlite-writer");
    r.set("database", path);
    CHECK(written(r, {number(1), number(70), number(2), {}}) == ended::returned);
    CHECK(db.rows("SELECT n FROM records") == strings{"1", "2", "-"});
    CHECK(log.has("sqlite-writer: dropped: CHECK constraint failed"));

    rig fails("sqlite-writer");
    fails.set("database", path).set("bad", "fail");
    CHECK(written(fails, {number(3), number(70)}) == ended::failed);
    CHECK(fails.failure().starts_with("CHECK constraint failed"));
    CHECK(db.rows("SELECT n FROM records WHERE n = 3") == strings{"3"});

    rig counts("sqlite-writer");
    counts.set("database", path).set("bad", "fail");
    CHECK(written(counts, {number(70), number(4), number(71), number(72)}) == ended::failed);
    CHECK(db.rows("SELECT n FROM records WHERE n = 4") == strings{"4"});
    CHECK(log.has("sqlite-writer: lost 3 records: it failed"));
  });
}

TEST_CASE("names that can be no columns are left out, told, and refused where columns are declared") {
  at_procs([] {
    const temp_folder folder;
    log_reader log;
    rig r("sqlite-writer");
    r.set("database", folder / "a.db").set("keep", 3);
    std::vector<record> all;
    for (int i = 0; i < 5; ++i)
      all.push_back({{"n", i},
                     {"RowId", 1000 - i},
                     {"oid", 1},
                     {"_rowid_", 1},
                     {std::string("a\0b", 3), 1},
                     {std::string(257, 'x'), 1},
                     {std::string(256, 'y'), 1}});
    CHECK(written(r, all) == ended::returned);
    r.destroy();
    database db(folder / "a.db");
    CHECK(db.rows("SELECT n FROM records") == strings{"2", "3", "4"});
    CHECK(db.rows("SELECT count(*) FROM pragma_table_info('records')") == strings{"2"});
    CHECK(log.has("sqlite-writer: left out 25 more, 25 in all; the last: field \"xxx"));

    const auto why = [&](const char* setting, value v) {
      rig wrong("sqlite-writer");
      const auto none = wrong.channel("values");
      wrong.set("database", folder / "a.db").set(setting, value::list{std::move(v)}).start();
      return wrong.failure();
    };
    const auto named = [](std::string name) {
      return value(value::table{value_member{"name", {}, value(std::move(name))}});
    };
    CHECK(why("columns", named("ROWID")).ends_with("\"ROWID\" is SQLite's name for the number of a row"));
    CHECK(why("columns", named(std::string("a\0b", 3))).ends_with("has no zero byte"));
    CHECK(why("columns", named(std::string(257, 'x'))).ends_with("has at most 256 bytes"));
    CHECK(why("unique", value("oid")).ends_with("\"oid\" is SQLite's name for the number of a row"));
  });
}

TEST_CASE("the newest rows stay, also in a table of somebody else's") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    database db(path);
    const auto left = [&](const std::string& table, std::vector<record> all) {
      db.run("DROP TABLE IF EXISTS records; " + table);
      rig r("sqlite-writer");
      r.set("database", path).set("keep", 3);
      CHECK(written(r, all) == ended::returned);
      return db.rows("SELECT n FROM records ORDER BY n");
    };
    // Numbers with gaps, and a column that has the name of the number.
    CHECK(left("CREATE TABLE records (n INTEGER PRIMARY KEY); INSERT INTO records VALUES (1), (100), (200)",
               {number(300)}) == strings{"100", "200", "300"});
    CHECK(left("CREATE TABLE records (n, rowid); INSERT INTO records VALUES (1, 9), (2, 8), (3, 7)",
               {{{"n", 4}, {"rowid", 1}}}) == strings{"2", "3", "4"});
    rig none("sqlite-writer");
    db.run("DROP TABLE records; CREATE TABLE records (n, rowid, oid, _rowid_)");
    none.set("database", path).set("keep", 3);
    CHECK(written(none, {number(1)}) == ended::failed);
    CHECK(none.failure().find("all the names that the number of a row has") != std::string::npos);

    // Many are removed a hundredth at a time.
    rig many("sqlite-writer");
    std::vector<record> all;
    for (int i = 0; i < 2000; ++i) all.push_back(number(i));
    many.set("database", folder / "b.db").set("keep", 1000).set("batch", 1);
    CHECK(written(many, all) == ended::returned);
    const int rows = std::stoi(database(folder / "b.db").rows("SELECT count(*) FROM records").at(0));
    CHECK((rows >= 1000 && rows <= 1010));
    CHECK(database(folder / "b.db").rows("SELECT max(n) FROM records") == strings{"1999"});
  });
}

TEST_CASE(
    "a column that cannot be added costs its record alone, and one that somebody else added costs none") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    log_reader log;
    database db(path);
    db.run("CREATE TABLE records (n, twice AS (2 * n)); PRAGMA journal_mode = WAL");
    rig r("sqlite-writer");
    const auto in = r.channel("values");
    r.set("database", path).set("batch", 3).set("within", 1h).start();
    in.send(number(1));
    in.send({{"n", 2}, {"twice", 4}});
    in.send(number(3));
    CHECK(eventually([&] { return db.rows("SELECT n FROM records") == strings{"1", "3"}; }));
    CHECK(eventually([&] { return log.has("duplicate column name: twice"); }));
    db.run("ALTER TABLE records ADD COLUMN more");
    in.send({{"n", 4}, {"more", 5}});
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(db.rows("SELECT n, more FROM records WHERE n = 4") == strings{"4|5"});
  });
}

TEST_CASE("a file that is removed is made again; one that is none, or cannot be made, is a failure") {
  at_procs([] {
    const temp_folder folder;
    const std::string path = folder / "a.db";
    log_reader log;
    rig r("sqlite-writer");
    const auto in = r.channel("values");
    r.set("database", path).set("within", 0s).start();
    in.send(number(1));
    CHECK(eventually([&] { return database(path).rows("SELECT n FROM records") == strings{"1"}; }));
    for (const char* end : {"", "-wal", "-shm"}) std::remove((path + end).c_str());
    in.send(number(2));
    CHECK(eventually([&] { return log.has("was removed; going on with another"); }));
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(database(path).rows("SELECT n FROM records") == strings{"2"});

    std::ofstream(folder / "text") << std::string(5000, 'x');
    const auto why = [&](const std::string& file) {
      rig wrong("sqlite-writer");
      const auto none = wrong.channel("values");
      wrong.set("database", file).start();
      return wrong.failure();
    };
    CHECK(why(folder / "text").ends_with("text: file is not a database"));
    CHECK(why(folder / "no/a.db").ends_with("a.db: unable to open database file"));
    CHECK(why(folder.path()).find("unable to open database file") != std::string::npos);
  });
}

}  // namespace
}  // namespace leat::stock::test
