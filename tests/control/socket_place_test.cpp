// SPDX-License-Identifier: BSL-1.0
#include <leat/control/socket_place.hpp>

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "sched/fixture.hpp"

namespace leat::control {
namespace {

namespace fs = std::filesystem;

// A folder for the test, and the variables that lead there, as they were before at its end.
class place {
 public:
  place() : path_((fs::temp_directory_path() / "leat-place-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder");
    set("RUNTIME_DIRECTORY", path_ + "/own");
    set("XDG_RUNTIME_DIR", path_ + "/user");
    fs::create_directory(path_ + "/user");
  }
  ~place() {
    for (auto i = before_.rbegin(); i != before_.rend(); ++i)
      i->second ? ::setenv(i->first.c_str(), i->second->c_str(), 1) : ::unsetenv(i->first.c_str());
    fs::remove_all(path_);
  }
  place(const place&) = delete;
  place& operator=(const place&) = delete;

  void set(const std::string& name, const std::string& to) {
    const char* const now = std::getenv(name.c_str());
    before_.emplace_back(name, now ? std::optional<std::string>(now) : std::nullopt);
    ::setenv(name.c_str(), to.c_str(), 1);
  }
  std::string own() const { return path_ + "/own"; }
  std::string user() const { return path_ + "/user/leat"; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

class unix_socket {
 public:
  explicit unix_socket(const std::string& path, bool listens) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path.c_str(), path.size());
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        (listens && ::listen(fd_, 1) != 0))
      throw std::runtime_error("no socket at " + path);
  }
  ~unix_socket() { ::close(fd_); }
  unix_socket(const unix_socket&) = delete;
  unix_socket& operator=(const unix_socket&) = delete;

 private:
  int fd_ = -1;
};

TEST_CASE("the folders come in their order, and only whole paths count") {
  place p;
  std::vector<std::string> all = socket_folders();
  REQUIRE(all.size() >= 3);
  CHECK(all[0] == p.own());
  CHECK(all[1] == p.user());
  CHECK(all.back() == "/tmp/leat-" + std::to_string(::geteuid()));
  if (::geteuid() == 0) CHECK(all[2] == "/run/leat");

  p.set("RUNTIME_DIRECTORY", p.own() + ":/run/other");
  CHECK(socket_folders()[0] == p.own());
  p.set("LEAT_SOCKETS", p.user());
  CHECK(socket_folders() == std::vector<std::string>{p.user()});
  p.set("LEAT_SOCKETS", "");
  p.set("RUNTIME_DIRECTORY", "relative");
  CHECK(socket_folders()[0] == p.user());
  p.set("XDG_RUNTIME_DIR", "");
  CHECK(socket_folders()[0] != p.user());
}

TEST_CASE("programs of one name that start together beside a stale socket get a place each") {
  constexpr std::size_t programs = 4;
  place p;
  REQUIRE(folder_error(p.own(), true).empty());
  for (int round = 0; round < 200; ++round) {
    {
      const unix_socket gone(p.own() + "/climate.sock", true);
    }
    leat::run(sched::test::with_procs(4), [&] {
      std::array<placed_listener, programs> found;  // none is closed before all have tried
      std::atomic<std::size_t> ready{0};
      task_group all;
      for (placed_listener& mine : found)
        all.go([&] {
          ++ready;
          while (ready < programs) yield();
          mine = listen_at_free_path("climate", 1);
        });
      all.wait();
      std::set<std::string> paths;
      for (const placed_listener& f : found) {
        CHECK(f.at.is_open());
        CHECK(f.why.empty());
        CHECK(fs::exists(f.path));
        paths.insert(f.path);
      }
      CHECK(paths.size() == programs);
    });
  }
}

TEST_CASE("a folder is made for us alone, whatever the umask") {
  place p;
  std::string why;
  const mode_t before = ::umask(0);
  CHECK(free_socket_path("climate", why) == p.own() + "/climate.sock");
  ::umask(before);
  struct stat s{};
  REQUIRE(::stat(p.own().c_str(), &s) == 0);
  CHECK((s.st_mode & 07777) == 0700);
  CHECK(why.empty());
}

TEST_CASE("a folder that is not there is a fault for who does not make it") {
  place p;
  CHECK(!folder_error(p.own(), false).empty());
  CHECK(folder_error(p.own(), true).empty());
  CHECK(folder_error(p.own(), false).empty());
}

TEST_CASE("a folder that others can write to is passed over, with the reason") {
  place p;
  fs::create_directory(p.own());
  for (const mode_t mode : {0777u, 0770u, 01777u}) {
    CAPTURE(mode);
    REQUIRE(::chmod(p.own().c_str(), mode) == 0);
    CHECK(folder_error(p.own(), true).find("written by others") != std::string::npos);
    std::string why;
    CHECK(free_socket_path("climate", why) == p.user() + "/climate.sock");
  }
}

TEST_CASE("a folder of another user is passed over") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a folder of another user");
    return;
  }
  place p;
  fs::create_directory(p.own());
  REQUIRE(::chmod(p.own().c_str(), 0700) == 0);
  REQUIRE(::chown(p.own().c_str(), 65534, 65534) == 0);
  CHECK(folder_error(p.own(), true).find("another user") != std::string::npos);
  std::string why;
  CHECK(free_socket_path("climate", why) == p.user() + "/climate.sock");
}

TEST_CASE("a link where the folder should be is not followed, even to a folder of ours") {
  place p;
  fs::create_directory(p.path() + "/elsewhere");
  REQUIRE(::chmod((p.path() + "/elsewhere").c_str(), 0700) == 0);
  fs::create_directory_symlink(p.path() + "/elsewhere", p.own());
  CHECK(folder_error(p.own(), true).find("not a folder") != std::string::npos);
  std::string why;
  CHECK(free_socket_path("climate", why) == p.user() + "/climate.sock");
  CHECK(fs::is_empty(p.path() + "/elsewhere"));
}

TEST_CASE("a link, or a file, where the socket should be is neither followed nor removed") {
  place p;
  fs::create_directory(p.own());
  REQUIRE(::chmod(p.own().c_str(), 0700) == 0);
  const std::string at = p.own() + "/climate.sock";
  SUBCASE("a link to a file") {
    std::ofstream(p.path() + "/precious") << "x";
    fs::create_symlink(p.path() + "/precious", at);
  }
  SUBCASE("a link to nothing") { fs::create_symlink(p.path() + "/nothing", at); }
  SUBCASE("a link to a stale socket") {
    {
      const unix_socket gone(p.path() + "/stale", false);
    }
    fs::create_symlink(p.path() + "/stale", at);
  }
  SUBCASE("a file") { std::ofstream(at) << "x"; }
  SUBCASE("a folder") { fs::create_directory(at); }
  std::string why;
  CHECK(free_socket_path("climate", why) == p.user() + "/climate.sock");
  CHECK(fs::symlink_status(at).type() != fs::file_type::not_found);
}

TEST_CASE("a stale socket's place is free") {
  place p;
  std::string why;
  REQUIRE(folder_error(p.own(), true).empty());
  {
    const unix_socket gone(p.own() + "/climate.sock", true);
  }
  CHECK(fs::exists(p.own() + "/climate.sock"));
  CHECK(free_socket_path("climate", why) == p.own() + "/climate.sock");
}

TEST_CASE("beside living ones of the same name there is a number, also if they are too busy to answer") {
  place p;
  std::string why;
  REQUIRE(folder_error(p.own(), true).empty());
  const unix_socket first(p.own() + "/climate.sock", true);
  CHECK(free_socket_path("climate", why) == p.own() + "/climate-2.sock");
  const unix_socket second(p.own() + "/climate-2.sock", true);
  for (int i = 0; i < 8; ++i) CHECK(free_socket_path("climate", why) == p.own() + "/climate-3.sock");
}

TEST_CASE("a name that is too long for a socket is a fault with a reason, and no other path") {
  place p;
  std::string why;
  CHECK(free_socket_path(std::string(120, 'n'), why).empty());
  CHECK(why.find("too long") != std::string::npos);
}

}  // namespace
}  // namespace leat::control
