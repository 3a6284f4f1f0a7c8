// SPDX-License-Identifier: BSL-1.0
#include <sys/stat.h>
#include <filesystem>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

unsigned permissions_of(const std::string& path) {
  struct stat s{};
  REQUIRE(::stat(path.c_str(), &s) == 0);
  return s.st_mode & 0777;
}
std::size_t files_in(const std::string& path) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(path), std::filesystem::directory_iterator()));
}

constexpr open_mode read_write = open_mode::read | open_mode::write | open_mode::create;

TEST_CASE("what was written somewhere is read from there") {
  at_procs([] {
    scratch_directory dir;
    file f(dir / "f", read_write);
    f.write_at(0, "hello world");
    f.write_at(6, "there");
    char data[20];
    CHECK(f.read_at(6, data) == 5);
    CHECK(std::string(data, 5) == "there");
    CHECK(f.read_at(11, data) == 0);
    CHECK(f.read_at(1000, data) == 0);
    CHECK(f.size() == 11);
    f.write_at(20, "x");
    CHECK(f.size() == 21);
    CHECK(f.read_at(11, data) == 10);
    CHECK(data[0] == '\0');
    f.resize(5);
    f.sync();
    CHECK(read_file(dir / "f") == "hello");
  });
}

TEST_CASE("an append goes to the end and leaves later writes where they belong") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    file f(dir / "f", read_write);
    f.append("one ");
    f.append("two ");
    f.write_at(0, "ONE");
    f.append("three");
    CHECK(read_file(dir / "f") == "ONE two three");
  });
}

TEST_CASE("appends of many Gs are all there, each in one piece") {
  at_procs([] {
    scratch_directory dir;
    file f(dir / "f", read_write);
    {
      task_group group;
      for (int i = 0; i < 8; ++i)
        group.go([&, i] {
          for (int k = 0; k < 50; ++k) f.append(std::string(31, static_cast<char>('a' + i)) + "\n");
        });
      group.wait();
    }
    const std::string all = read_file(dir / "f");
    REQUIRE(all.size() == 8 * 50 * 32);
    bool whole = true;
    for (std::size_t i = 0; i < all.size(); i += 32)
      whole &= all.substr(i, 32) == std::string(31, all[i]) + "\n";
    CHECK(whole);
  });
}

TEST_CASE("open modes do what they say, and errors name the path") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const std::string path = dir / "f";
    CHECK(error_of([&] { file f(path); }) == std::errc::no_such_file_or_directory);
    CHECK(text_of<std::system_error>([&] { file f(path); }) ==
          "leat::net: open " + path + ": No such file or directory");
    file(path, open_mode::write | open_mode::create, 0600).append("old");
    CHECK(permissions_of(path) == 0600);
    CHECK(error_of([&] { file f(path, open_mode::write | open_mode::create | open_mode::exclusive); }) ==
          std::errc::file_exists);
    file reads(path);
    CHECK(error_of([&] { reads.write_at(0, "x"); }) == std::errc::bad_file_descriptor);
    file(path, open_mode::write | open_mode::truncate).append("new");
    CHECK(read_file(path) == "new");
    file moved = std::move(reads);
    CHECK_FALSE(reads.is_open());
    char c = 0;
    CHECK(moved.read_at(0, {&c, 1}) == 1);
    CHECK(error_of([&] { (void)reads.read_at(0, {&c, 1}); }) == std::errc::bad_file_descriptor);
  });
}

TEST_CASE("whole files of any size are read, also those that do not tell it") {
  run_clean(with_procs(2), [] {
    scratch_directory dir;
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096},
                                std::size_t{4097}, std::size_t{1} << 20}) {
      std::string text(n, 'x');
      if (n > 0) text.back() = 'y';
      write_file(dir / "f", text);
      CHECK(read_file(dir / "f") == text);
    }
    CHECK(read_file("/proc/self/status").find("\nVmRSS:") != std::string::npos);
    CHECK(error_of([] { (void)read_file("/"); }) == std::errc::is_a_directory);
  });
}

TEST_CASE("a file above the limit is an error, and one at the limit is not") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    write_file(dir / "f", "0123456789");
    CHECK(read_file(dir / "f", 10) == "0123456789");
    CHECK(error_of([&] { (void)read_file(dir / "f", 9); }) == std::errc::file_too_large);
    CHECK(error_of([&] { (void)read_file("/dev/zero", 100'000); }) == std::errc::file_too_large);
  });
}

TEST_CASE("writing a file replaces all of it") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    for (const bool atomic : {false, true}) {
      write_file(dir / "f", "a long text that was there before", {.atomic = atomic});
      write_file(dir / "f", "short", {.atomic = atomic, .sync = true});
      CHECK(read_file(dir / "f") == "short");
    }
    CHECK(files_in(dir.path()) == 1);
    CHECK(error_of([&] { write_file(dir / "no/f", "x"); }) == std::errc::no_such_file_or_directory);
    CHECK(error_of([&] { write_file(dir / "no/f", "x", {.atomic = true}); }) ==
          std::errc::no_such_file_or_directory);
  });
}

TEST_CASE("an atomic replacement keeps permissions and links, and refuses what is no file") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    write_file(dir / "f", "old", {.permissions = 0600});
    REQUIRE(::symlink("f", (dir / "link").c_str()) == 0);
    write_file(dir / "link", "new", {.atomic = true, .permissions = 0644});
    CHECK(read_file(dir / "f") == "new");
    CHECK(permissions_of(dir / "f") == 0600);
    CHECK(std::filesystem::is_symlink(dir / "link"));
    write_file(dir / "fresh", "x", {.atomic = true, .permissions = 0640});
    CHECK(permissions_of(dir / "fresh") == 0640);
    CHECK(error_of([&] { write_file(dir.path(), "x", {.atomic = true}); }) == std::errc::invalid_argument);
    CHECK(files_in(dir.path()) == 3);
  });
}

TEST_CASE("readers see the old or the new contents of a file that is replaced, never a part") {
  at_procs([] {
    scratch_directory dir;
    const std::string path = dir / "f", a(100'000, 'a'), b(100'000, 'b');
    write_file(path, a, {.atomic = true});
    std::atomic<bool> over{false};
    std::atomic<int> torn{0}, looked{0};
    auto reader = spawn([&] {
      while (!over) {
        const std::string text = read_file(path);
        if (text != a && text != b) ++torn;
        ++looked;
      }
    });
    for (int i = 0; i < 20; ++i) write_file(path, i % 2 ? a : b, {.atomic = true});
    CHECK(eventually([&] { return looked > 0; }));
    over = true;
    reader.get();
    CHECK(torn == 0);
    CHECK(files_in(dir.path()) == 1);
  });
}

TEST_CASE("a file that blocks holds no P") {
  run_clean(undisturbed(1), [] {
    scratch_directory dir;
    const std::string fifo = dir / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    // An open of a FIFO waits for the other side, which comes from another G on the same P.
    auto reader = spawn([&] { return read_file(fifo); });
    auto writer = spawn([&] { write_file(fifo, "through"); });
    writer.get();
    CHECK(reader.get() == "through");
  });
}

}  // namespace
}  // namespace leat::net::test
