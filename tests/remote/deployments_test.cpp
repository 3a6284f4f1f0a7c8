// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <leat/remote/asking.hpp>
#include <leat/remote/deployments.hpp>

#include "remote/fake_deployment.hpp"

namespace leat::remote {
namespace {

using namespace test;
using namespace std::chrono_literals;

// For the length of a test case: only this folder is looked into. Tests of this file run one after the other.
class only_folder {
 public:
  explicit only_folder(const std::string& path) {
    ::unsetenv("RUNTIME_DIRECTORY");
    ::unsetenv("LEAT_SOCKETS");
    ::setenv("XDG_RUNTIME_DIR", path.c_str(), 1);
  }
  ~only_folder() { ::unsetenv("XDG_RUNTIME_DIR"); }
};

// Others may run on the machine, in /run/leat or /tmp/leat-UID.
std::vector<std::string> names_in(const runtime_folder& f) {
  std::vector<std::string> names;
  for (const endpoint& e : running_deployments())
    if (e.path.starts_with(f.sockets())) names.push_back(e.name);
  return names;
}

failure failure_of(const std::string& chosen) {
  try {
    (void)find_deployment(chosen);
  } catch (const failure& f) {
    return f;
  }
  return {0, "it was found"};
}

}  // namespace

TEST_CASE("deployments are found by their sockets, and those that nobody listens at are passed over") {
  const runtime_folder folder;
  const only_folder only(folder.path());
  CHECK(names_in(folder).empty());
  const fake_deployment one(folder.socket("one")), two(folder.socket("two-2"));
  {
    const fake_deployment gone(folder.socket("gone"));
  }
  // As a program leaves it that is killed.
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::strcpy(at.sun_path, folder.socket("dead").c_str());
  REQUIRE(::bind(dead, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
  ::close(dead);
  CHECK(std::filesystem::exists(folder.socket("dead")));
  CHECK(names_in(folder) == std::vector<std::string>{"one", "two-2"});
  CHECK(find_deployment("two-2").path == folder.socket("two-2"));
  CHECK(failure_of("two").status() == exit_no_deployment);
  CHECK(std::string(failure_of("on").what()).find("did you mean 'one'?") != std::string::npos);
  const std::string several = failure_of("").what();
  CHECK(several.find("several deployments run here: ") == 0);
  CHECK(several.find("choose one with -d NAME") != std::string::npos);
}

TEST_CASE("a link to a socket is passed over, and so is what is no socket") {
  const runtime_folder folder, other;
  const only_folder only(folder.path());
  const fake_deployment one(folder.socket("one")), elsewhere(other.socket("elsewhere"));
  std::filesystem::create_symlink(other.socket("elsewhere"), folder.socket("linked"));
  std::ofstream(folder.socket("file")) << "text";
  CHECK(names_in(folder) == std::vector<std::string>{"one"});
}

TEST_CASE("a socket of somebody else is passed over") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a file away");
    return;
  }
  const runtime_folder folder;
  const only_folder only(folder.path());
  const fake_deployment one(folder.socket("one")), two(folder.socket("two"));
  REQUIRE(::chown(folder.socket("two").c_str(), 65534, 65534) == 0);
  CHECK(names_in(folder) == std::vector<std::string>{"one"});
}

TEST_CASE("a folder that others may write to is passed over") {
  const runtime_folder folder;
  const only_folder only(folder.path());
  const fake_deployment one(folder.socket("one"));
  REQUIRE(::chmod(folder.sockets().c_str(), 0777) == 0);
  CHECK(names_in(folder).empty());
  bool told = false;
  for (const socket_folder& f : socket_folders())
    if (f.path == folder.sockets()) told = !f.passed_over.empty();
  CHECK(told);
  REQUIRE(::chmod(folder.sockets().c_str(), 0700) == 0);
  CHECK(names_in(folder).size() == 1);
}

TEST_CASE("$RUNTIME_DIRECTORY comes first, and may be several folders") {
  const runtime_folder a, b;
  const only_folder only(b.path());
  ::setenv("RUNTIME_DIRECTORY", (a.sockets() + ":/does/not/exist").c_str(), 1);
  const fake_deployment first(a.socket("same")), second(b.socket("same"));
  CHECK(find_deployment("same").path == a.socket("same"));
  ::unsetenv("RUNTIME_DIRECTORY");
}

TEST_CASE("$LEAT_SOCKETS is the one folder that is looked into") {
  const runtime_folder a, b;
  const only_folder only(b.path());
  const fake_deployment first(a.socket("one")), second(b.socket("two"));
  ::setenv("LEAT_SOCKETS", a.sockets().c_str(), 1);
  CHECK(find_deployment("").name == "one");
  CHECK(failure_of("two").status() == exit_no_deployment);
  ::unsetenv("LEAT_SOCKETS");
  CHECK(find_deployment("two").path == b.socket("two"));
}

TEST_CASE("a path and HOST:PORT are taken as they are") {
  CHECK(find_deployment("/x/climate.sock").path == "/x/climate.sock");
  CHECK(find_deployment("/x/climate.sock").name == "climate");
  CHECK(find_deployment("10.0.0.1:9464").host == "10.0.0.1");
  CHECK(find_deployment("[::1]:9464").host == "::1");
  CHECK(find_deployment(":9464").port == "9464");
}

TEST_CASE("names that people shorten are made whole") {
  const deployment_state s = read_state(*read_json(sample_state()).value);
  CHECK(full_channel("raw", s) == "climate/raw");
  CHECK(full_channel("climate/raw", s) == "climate/raw");
  CHECK(full_process("smooth", s) == "climate/smooth");
  CHECK(full_process("smooth/1", s) == "climate/smooth/1");
  const auto said = [&](auto ask_for, const char* word) -> std::string {
    try {
      return ask_for(word, s);
    } catch (const failure& f) {
      return f.what();
    }
  };
  CHECK(said(full_channel, "rwa") == "climate: there is no channel 'rwa'; did you mean 'raw'?");
  CHECK(said(full_channel, "zzz") ==
        "climate: there is no channel 'zzz'; `leat ps --channels` lists those that there are");
  CHECK(full_name("a", {"x/a", "y/b", "x/a"}, "channel", s) == "x/a");
  CHECK_THROWS_AS(full_name("a", {"x/a", "y/a"}, "channel", s), failure);
}

}  // namespace leat::remote
