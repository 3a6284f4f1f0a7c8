// SPDX-License-Identifier: BSL-1.0
#include <leat/services/doctor.hpp>

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

using namespace leat;
using namespace leat::services;

namespace {

machine_facts good_machine() {
  machine_facts m;
  m.files = 65536;
  m.memory = std::uint64_t{1} << 30;
  m.cpus = {0, 1};
  return m;
}

config::plan small_plan() {
  static const class_schema type{.name = "meter"};
  config::plan p;
  p.files = {"plant.toml"};
  p.services.push_back({.name = "plant"});
  p.processes.push_back({.name = "a", .at = {0, 7, 1, 1}, .type = &type});
  p.memory.stacks = 1 << 20;
  return p;
}

bool lacks(const std::vector<remedy>& all, std::string_view mend) {
  return std::any_of(all.begin(), all.end(), [&](const remedy& r) {
    return r.how == remedy::grade::lacking && r.mend.find(mend) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a machine that has all of it lacks nothing") {
  const config::plan p = small_plan();
  CHECK_FALSE(anything_lacking(examine(good_machine(), &p)));
  CHECK_FALSE(anything_lacking(examine(good_machine(), nullptr)));
  CHECK_FALSE(anything_lacking(examine(look_at_machine(), nullptr)));
}

TEST_CASE("each limit names the line of a unit that mends it") {
  config::plan p = small_plan();
  machine_facts m = good_machine();
  m.files = 32;
  m.tasks = 4;
  m.memory = 1000;
  m.address_space = 1 << 20;
  m.locked_memory = 65536;
  p.runtime.lock_memory = true;
  p.processes[0].thread = {.own = true, .cpu = 9, .priority = 50};
  p.control.listen = "0.0.0.0:80";
  const std::vector<remedy> found = examine(m, &p);
  for (const char* line :
       {"LimitNOFILE=", "TasksMax=", "MemoryMax=", "LimitAS=infinity", "LimitMEMLOCK=infinity",
        "AllowedCPUs=", "LimitRTPRIO=50", "CAP_NET_BIND_SERVICE"}) {
    CAPTURE(line);
    CHECK(lacks(found, line));
  }
  const std::string text = to_text(found, false);
  CHECK(text.find("LACKING open files: 32; this deployment may need") != std::string::npos);
  CHECK(text.find("process 'a', plant.toml:7") != std::string::npos);
}

TEST_CASE("what keeps threads of hung processes from being stopped is told, and is no lack") {
  machine_facts m = good_machine();
  CHECK(to_text(examine(m, nullptr), false).find("good    allocator: marked\n") != std::string::npos);
  m.unsettled = sched::unsettled::static_c_library;
  const std::vector<remedy> found = examine(m, nullptr);
  CHECK_FALSE(anything_lacking(found));
  CHECK(to_text(found, false).find("C library: linked statically; threads of processes that hang run on") !=
        std::string::npos);
}

TEST_CASE("root's rights make up for limits") {
  config::plan p = small_plan();
  machine_facts m = good_machine();
  m.may_set_priority = m.may_bind_low_ports = m.may_lock = true;
  m.locked_memory = 0;
  p.runtime.lock_memory = true;
  p.processes[0].thread = {.own = true, .cpu = {}, .priority = 50};
  p.control.listen = "80";
  CHECK_FALSE(anything_lacking(examine(m, &p)));
}

TEST_CASE("a device that is not there is named with its process") {
  config::plan p = small_plan();
  p.processes[0].settings = value(value::table{{"from", {}, value("serial:/dev/no-such-tty?baud=9600")},
                                               {"other", {}, value("/dev/null")}});
  const std::vector<remedy> found = examine_files(p);
  REQUIRE(found.size() == 2);
  CHECK(found[0].how == remedy::grade::lacking);
  CHECK(found[0].what == "/dev/no-such-tty: No such file or directory");
  CHECK(found[0].because == "process 'a', setting 'from', plant.toml:7");
  CHECK(found[1].how == remedy::grade::good);
}

TEST_CASE("folders that cannot be written are named with who wants them; those that can be made are good") {
  std::string folder = (std::filesystem::temp_directory_path() / "leat-doctor-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  config::plan p = small_plan();
  p.processes[0].state = config::state_plan{.folder = folder + "/made/later"};
  p.processes[0].settings = value(value::table{{"folder", {}, value("/dev/null/records")}});
  p.channels.push_back({.name = "c"});
  p.channels[0].store = config::store_plan{.folder = folder, .at = {0, 9, 1, 1}};
  const std::vector<remedy> found = examine_folders(p);
  std::filesystem::remove_all(folder);
  REQUIRE(found.size() == 3);
  CHECK(found[0].what == folder + "/made/later: can be written");
  CHECK(found[1].how == remedy::grade::lacking);
  CHECK(found[1].what == "/dev/null/records: /dev/null: Not a directory");
  CHECK(found[1].because == "process 'a', setting 'folder', plant.toml:7");
  CHECK(found[2].what == folder + ": can be written");
  CHECK(found[2].because == "store of channel 'c', plant.toml:9");
}

TEST_CASE("a port that somebody has is told as taken, and an address that is another machine's") {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  REQUIRE(::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) == 0);
  REQUIRE(::listen(fd, 1) == 0);
  REQUIRE(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  config::plan p = small_plan();
  p.control.listen = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  p.processes[0].settings = value(value::table{{"listen", {}, value("192.0.2.1:8080")}});
  std::vector<remedy> found = examine_ports(p);
  REQUIRE(found.size() == 2);
  CHECK(found[0].how == remedy::grade::lacking);
  CHECK(found[0].what == p.control.listen + ": taken");
  CHECK(lacks(found, "ss -ltnp"));
  CHECK(found[1].what == "192.0.2.1:8080: no address of this machine");
  CHECK(found[1].because == "process 'a', setting 'listen', plant.toml:7");
  ::close(fd);
  // Names are left to the start, and so are ports that the system chooses.
  for (const char* const other : {"no-such-host.invalid:80", "unix:/tmp/x", "127.0.0.1:0"}) {
    p.control.listen = other;
    CHECK(examine_ports(p).size() == 1);
  }
}
