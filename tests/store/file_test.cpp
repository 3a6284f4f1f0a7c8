// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <sqlite3.h>
#include <fstream>
#include <iterator>

#include "faulty_vfs.hpp"
#include "fixture.hpp"

using namespace leat;
using namespace leat::store;
using namespace leat::store::test;

namespace {

std::string refusal(const std::string& path, const store_file::identity& whose) {
  try {
    const store_file f(path, whose);
  } catch (const store_error& e) {
    return e.what();
  }
  return "";
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  REQUIRE(::sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  REQUIRE(::sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  ::sqlite3_close(db);
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("values come back in order, and those that were removed do not") {
  const temporary_folder t;
  {
    store_file f(t.file(), ours);
    CHECK(f.at_open().values == 0);
    append(f, 1, 10);
    store_file::batch b;
    b.remove = {1, 2, 5};
    f.write(b);
  }
  store_file f(t.file(), ours);
  CHECK(f.at_open().values == 7);
  CHECK(f.at_open().bytes == 7 * (20 + store_file::overhead));
  CHECK(f.at_open().first == 3);
  CHECK(f.at_open().last == 10);
  const auto rows = f.read(4, 3, 0);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].number == 4);
  CHECK(rows[0].body == body_of(4));
  CHECK(rows[1].number == 6);
  CHECK(rows[2].number == 7);
  CHECK(f.read(3, 1, 40).size() == 2);  // until so many bytes are together
  CHECK(f.read(11, 100, 1 << 20).empty());
}

TEST_CASE("the oldest are dropped until enough bytes are gone") {
  const temporary_folder t;
  store_file f(t.file(), ours);
  append(f, 1, 10);
  store_file::batch b;
  b.drop_from = 3;
  b.drop_bytes = 2 * (20 + store_file::overhead) + 1;
  const store_file::dropped d = f.write(b);
  CHECK(d.values == 3);
  CHECK(d.bytes == 3 * (20 + store_file::overhead));
  CHECK(d.last == 5);
  const auto rows = f.read(1, 3, 0);
  REQUIRE(rows.size() == 3);
  CHECK(rows[1].number == 2);
  CHECK(rows[2].number == 6);
}

TEST_CASE("what cannot be read is set aside, not thrown away") {
  const temporary_folder t;
  store_file f(t.file(), ours);
  append(f, 1, 3);
  store_file::batch b;
  b.set_aside = {2};
  f.write(b);
  CHECK(f.read(1, 9, 1 << 20).size() == 2);
  run_sql(t.file(), "CREATE TABLE IF NOT EXISTS probe AS SELECT * FROM unreadable WHERE number = 2");
}

TEST_CASE("files that are not ours are refused, and left as they are") {
  const temporary_folder t;
  SUBCASE("no database") {
    std::ofstream(t.file()) << std::string(5000, 'x');
    const std::string before = bytes_of(t.file());
    CHECK(refusal(t.file(), ours).find("no SQLite database") != std::string::npos);
    CHECK(bytes_of(t.file()) == before);
  }
  SUBCASE("somebody else's database") {
    run_sql(t.file(), "CREATE TABLE mine(x); INSERT INTO mine VALUES(1)");
    const std::string before = bytes_of(t.file());
    CHECK(refusal(t.file(), ours).find("somebody else's") != std::string::npos);
    CHECK(bytes_of(t.file()) == before);
  }
  SUBCASE("of another channel") {
    {
      const store_file f(t.file(), ours);
    }
    CHECK(refusal(t.file(), {"plant/other", ours.shape}).find("'plant/raw'") != std::string::npos);
  }
  SUBCASE("of a later layout") {
    {
      store_file f(t.file(), ours);
      append(f, 1, 5);
    }
    run_sql(t.file(), "PRAGMA user_version = 2");
    CHECK(refusal(t.file(), ours).find("later version of Leat") != std::string::npos);
    run_sql(t.file(), "PRAGMA user_version = 1");
    CHECK(store_file(t.file(), ours).at_open().values == 5);
  }
  SUBCASE("a folder") {
    std::filesystem::create_directory(t.file());
    CHECK(refusal(t.file(), ours).find("cannot be opened") != std::string::npos);
  }
  SUBCASE("a link") {
    std::filesystem::create_symlink(t.file("elsewhere"), t.file());
    CHECK(refusal(t.file(), ours).find("cannot be opened") != std::string::npos);
  }
}

TEST_CASE("a torn file is refused, whatever part of it is missing") {
  const temporary_folder t;
  {
    store_file f(t.file(), ours);
    append(f, 1, 2000, true, 100);
  }
  const std::string whole = bytes_of(t.file());
  REQUIRE(whole.size() > 100'000);
  for (const std::size_t keep : {std::size_t{50}, std::size_t{4096}, whole.size() / 2, whole.size() - 4096}) {
    std::filesystem::resize_file(t.file(), keep);
    CHECK(refusal(t.file(), ours) != "");
    CHECK(bytes_of(t.file()) == whole.substr(0, keep));
    std::ofstream(t.file(), std::ios::binary) << whole;
  }
  std::string holed = whole;
  holed.replace(whole.size() / 2, 4096, 4096, '\xff');
  std::ofstream(t.file(), std::ios::binary) << holed;
  CHECK(refusal(t.file(), ours).find("damaged") != std::string::npos);
}

TEST_CASE("another shape is refused with the field that differs; fields may be added") {
  const temporary_folder t;
  {
    store_file f(t.file(), ours);
    append(f, 1, 2);
  }
  CHECK(refusal(t.file(), {ours.channel, "sample\nsensor text\ncelsius float\n"}) ==
        "its values have another shape: field 'celsius' is double in the file, and float in the program");
  CHECK(refusal(t.file(), {ours.channel, "sample\nsensor text\n"}) ==
        "its values have another shape: field 'celsius' is double in the file, and not in the program");
  CHECK(refusal(t.file(), {ours.channel, "other\nsensor text\ncelsius double\n"}).find("it holds 'sample'") !=
        std::string::npos);
  const std::string more = ours.shape + "room text\n";
  {
    const store_file f(t.file(), {ours.channel, more});
    CHECK(f.at_open().added == std::vector<std::string>{"room"});
    CHECK(f.at_open().values == 2);
  }
  // It is of the new shape now.
  CHECK(refusal(t.file(), ours).find("field 'room'") != std::string::npos);
}

TEST_CASE("a disk that is full or broken fails a write whole, and it can be tried again") {
  const temporary_folder t;
  faulty_disk& disk = faulty_disk::get();
  for (const int code : {SQLITE_FULL, SQLITE_IOERR_WRITE}) {
    disk.power_on();
    std::filesystem::remove(t.file());
    store_file f(t.file(), ours, faulty_disk::name);
    append(f, 1, 5, true);
    disk.fails_with = code;
    CHECK_THROWS_AS(append(f, 6, 500, true), store_error);
    CHECK_THROWS_AS(append(f, 6, 500, true), store_error);
    CHECK(f.read(1, 1000, 1 << 20).size() == 5);
    disk.fails_with = SQLITE_OK;
    append(f, 6, 500, true);
    CHECK(f.read(1, 1000, 1 << 20).size() == 500);
  }
}

TEST_CASE("names of files hold whatever channels are called") {
  CHECK(store_file::file_name("plant", "raw") == "plant.raw.store");
  CHECK(store_file::file_name("a.b", "c/d") == "a%2Eb.c%2Fd.store");
}

namespace shape_test {
enum class level { low, high };
LEAT_ENUM(level, low, high);
struct place {
  double lat = 0;
  std::optional<std::string> note;
};
LEAT_MESSAGE(place, lat, note);
struct tree {
  std::vector<tree> below;
  std::vector<place> at;
  level l = level::low;
};
LEAT_MESSAGE(tree, below, at, l);
}  // namespace shape_test

TEST_CASE("a shape is told by its fields, down to the smallest") {
  CHECK(shape_text(shape_of<shape_test::tree>()) ==
        "tree\nbelow[] tree\nat[].lat double\nat[].note? text\nl one of low|high\n");
  CHECK(shape_text(shape_of<int>()) == "int32\n. int32\n");
}

TEST_CASE("a value that was set aside keeps its number") {
  const temporary_folder t;
  {
    store_file f(t.file(), ours);
    append(f, 1, 3);
    store_file::batch b;
    b.set_aside = {3};
    f.write(b);
  }
  const store_file f(t.file(), ours);
  CHECK(f.at_open().values == 2);
  CHECK(f.at_open().last == 3);
}

TEST_CASE("a sync of a file that does not change reaches the disk each time") {
  const temporary_folder t;
  faulty_disk& disk = faulty_disk::get();
  disk.power_on();
  for (int life = 0; life < 2; ++life) {
    store_file f(t.file(), ours, faulty_disk::name);
    store_file::batch b;
    b.sync = true;
    b.remove = {77};  // is not there
    for (int i = 0; i < 3; ++i) {
      const std::size_t before = disk.syncs;
      f.write(b);
      CHECK(disk.syncs > before);
    }
  }
}
