// SPDX-License-Identifier: BSL-1.0
//
// The example applications, as a user runs them; each with what goes wrong in it.
#include <netinet/in.h>
#include <sched.h>
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <ostream>
#include <system_error>
#include <thread>

#include <leat/fiber/annotate.hpp>

#include "services/program.hpp"
#include "support/figure.hpp"
#include "support/free_port.hpp"
#include "support/paths.hpp"
#include "support/soak.hpp"

using namespace leat::services::test;

namespace {

const std::string bin = leat::test::in_build("bin/"), examples = leat::test::in_source("examples/");

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::ptrdiff_t lines_in(const std::string& path) {
  const std::string text = text_of(path);
  return std::count(text.begin(), text.end(), '\n');
}

// Of all threads of a process, in nanoseconds: on a CPU, and waiting for one because others had it.
struct cpu_times {
  double used = 0, waited = 0;
};
cpu_times cpu_times_of(pid_t pid) {
  cpu_times all;
  std::error_code ec;
  for (std::filesystem::directory_iterator at("/proc/" + std::to_string(pid) + "/task", ec), end;
       !ec && at != end; at.increment(ec)) {
    double used = 0, waited = 0;
    if (std::ifstream(at->path() / "schedstat") >> used >> waited) {
      all.used += used;
      all.waited += waited;
    }
  }
  return all;
}

// What it would be if nobody else wanted the CPUs: load makes threads wait, and that is known.
double pictures_a_second(int procs) {
  const scratch_folder folder;
  const std::string board = folder.file(
      "board.toml", "leat = 1\nservices = [\"" + examples +
                        "image-farm/image-farm.toml\"]\n[runtime]\nprocs = " + std::to_string(procs) + "\n");
  program farm({bin + "image-farm", "run", board}, {"FARM_TIME=1s"});
  ::usleep(200'000);
  const cpu_times before = cpu_times_of(farm.pid());
  ::usleep(600'000);
  const cpu_times after = cpu_times_of(farm.pid());
  if (farm.end() != 0) return 0;
  const std::size_t at = farm.said.find("pictures, ");
  const double told = at == std::string::npos ? 0 : std::atof(farm.said.c_str() + at + 10);
  const double used = after.used - before.used, waited = after.waited - before.waited;
  return used > 0 ? told * (1 + waited / used) : told;
}

// What two threads get done of what one does. 2 on two cores; less where others want them too, where two CPUs
// are one core's, and in a container that has many CPUs and the right to use one.
double gain_by_a_second_thread() {
  const auto work = [] {
    // Enough side by side to keep a core busy, as pictures do.
    unsigned x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    double done = 0;
    for (const leat::deadline end(std::chrono::milliseconds(100)); !end.expired(); ++done)
      for (int i = 0; i < 1000; ++i)
        for (unsigned& each : x) {
          each = each * 1664525u + 1013904223u;
          asm volatile("" : "+r"(each));
        }
    return done;
  };
  const double alone = work();
  double other = 0;
  std::thread beside([&] { other = work(); });
  const double here = work();
  beside.join();
  return (here + other) / alone;
}

bool has_command(const char* name) {
  return std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0;
}

}  // namespace

TEST_CASE("each application's readme is short, and its files are right") {
  for (const std::string name :
       {"image-farm", "gnss", "can-logger", "plant-gateway", "climate", "store-and-forward"}) {
    CAPTURE(name);
    std::ifstream readme(examples + name + "/README.md");
    int lines = 0;
    for (std::string line; std::getline(readme, line);) ++lines;
    CHECK(lines > 0);
    CHECK(lines <= 40);
    const std::string program_name = name == "climate" || name == "store-and-forward" ? "leat" : name;
    if (!std::filesystem::exists(bin + program_name)) {
      MESSAGE("not built, for lack of a library: " << name);
      continue;
    }
    program check({bin + program_name, "check", examples + name + '/' + name + ".toml"}, {});
    CHECK(check.end() == 0);
  }
}

TEST_CASE(
    "image-farm: a broken picture costs one replica, and nothing but pictures that were too many is lost") {
  program farm({bin + "image-farm", "run", examples + "image-farm/image-farm.toml"}, {"FARM_TIME=2s"});
  CHECK(farm.end() == 0);
  INFO(farm.said);
  CHECK(has(farm.said, "looked at "));
  CHECK(has(farm.said, "channel farm/findings"));
  CHECK_FALSE(has(farm.said, "(lost"));
}

TEST_CASE("image-farm: two Ps look at more pictures than one" * leat::test::soak) {
  cpu_set_t ours;
  if (::sched_getaffinity(0, sizeof ours, &ours) != 0 || CPU_COUNT(&ours) < 2) {
    MESSAGE("skipped: there is one CPU");
    return;
  }
  // Rounds one after the other, so that a load that comes and goes meets both.
  double one = 0, two = 0, gain = 0;
  bool fair = false, passed = false;
  for (int round = 0; round < 6 && !passed; ++round) {
    // At least what there was before and after.
    gain = std::min(2., gain_by_a_second_thread());
    one = pictures_a_second(1);
    two = pictures_a_second(2);
    gain = std::min(gain, gain_by_a_second_thread());
    REQUIRE(one > 0);
    passed = two / one > 1 + (gain - 1) / 3;
    fair |= gain >= 1.3;
  }
  if (!fair && !passed) {
    MESSAGE("skipped: two threads get no more done than " << gain << " times what one does here");
    return;
  }
  INFO("pictures a second: " << one << " and " << two << "; two threads get " << gain
                             << " times as much done");
  CHECK(passed);
  (void)leat::test::at_least("image-farm: pictures by two Ps for one by one", two / one, "",
                             1 + (gain - 1) / 3);
}

TEST_CASE("gnss: a parser that hangs is replaced, and no position is missing") {
  if (!has_command("socat")) {
    MESSAGE("skipped: socat is not installed");
    return;
  }
  const scratch_folder line;
  const std::string receiver = line.path() + "/receiver", port = line.path() + "/port";
  program ptys({"/usr/bin/socat", "PTY,raw,echo=0,link=" + receiver, "PTY,raw,echo=0,link=" + port}, {});
  const leat::deadline there(patience);
  while (!(std::filesystem::exists(port) && std::filesystem::exists(receiver)) && !there.expired())
    ::usleep(10'000);
  REQUIRE(std::filesystem::exists(port));

  program gnss({bin + "gnss", "run", examples + "gnss/gnss.toml"}, {"GNSS_PORT=" + port});
  // What is written before the port is open is thrown away: so the first sentence is said until it is heard.
  std::ifstream harbour(examples + "gnss/harbour.nmea");
  std::ofstream out(receiver, std::ios::binary);
  std::string first;
  std::getline(harbour, first);
  for (int i = 0;
       i < 600 && !gnss.says("123500.00  54.32500 10.15333  (8 satellites)", std::chrono::milliseconds(100));
       ++i)
    out << first << '\n' << std::flush;
  for (std::string sentence; std::getline(harbour, sentence);) out << sentence << '\n' << std::flush;
  CHECK(gnss.says("123519.00  54.32896 10.15967  (11 satellites)"));
  gnss.signal(SIGINT);
  CHECK(gnss.end() == 0);
  INFO(gnss.said);
  for (int second = 123501; second <= 123519; ++second)
    CHECK(has(gnss.said, std::to_string(second) + ".00  54.3"));
  CHECK(has(gnss.said, "it is quarantined"));
  // Caught inside a function of the sanitizer there may be no trace at all.
  if (leat::fiber::under_asan || leat::fiber::under_tsan) {
    WARN(has(gnss.said, "parser::"));
  } else {
    CHECK(has(gnss.said, "parser::split"));
  }
  CHECK(has(gnss.said, R"(a value is given up after 1 failure: {"text":"$GPTXT*4F"})"));
}

TEST_CASE("can-logger: a frame that is too short is logged, and no frame is missing from the files") {
  const scratch_folder records;
  program logger({bin + "can-logger", "run", examples + "can-logger/can-logger.toml"},
                 {"CAN_FILE=" + examples + "can-logger/drive.log", "CAN_FOLDER=" + records.path()});
  CHECK(logger.end() == 0);
  INFO(logger.said);
  CHECK(has(logger.said, "failed: frame 0C0 has 2 bytes"));
  CHECK(has(logger.said, "a value is given up after 1 failure"));
  // 200 frames of the engine and 40 others; a head line in each file.
  CHECK(lines_in(records.path() + "/frames-000001.csv") == 241);
  CHECK(lines_in(records.path() + "/motion-000001.csv") == 200);
}

TEST_CASE("plant-gateway: a device that falls silent is asked again, and the rest goes on") {
  if (!std::filesystem::exists(bin + "plant-gateway")) {
    MESSAGE("skipped: libmodbus is not installed");
    return;
  }
  const scratch_folder folder;
  // Ports that nobody has; real Modbus servers are there soon. One of the three falls silent.
  const std::string north = std::to_string(leat::test::free_port());
  program plant({bin + "plant", north, "30"}, {});
  REQUIRE(plant.says("plant: at 127.0.0.1:" + north));
  const std::string south = std::to_string(leat::test::free_port());
  program second({bin + "plant", south}, {});
  REQUIRE(second.says("plant: at 127.0.0.1:" + south));
  const std::string east = std::to_string(leat::test::free_port());
  program third({bin + "plant", east}, {});
  REQUIRE(third.says("plant: at 127.0.0.1:" + east));
  program gateway(
      {bin + "plant-gateway", "run", examples + "plant-gateway/plant-gateway.toml"},
      {"PLANT_NORTH=" + north, "PLANT_SOUTH=" + south, "PLANT_EAST=" + east, "PANEL_NORTH=127.0.0.1:0",
       "PANEL_SOUTH=127.0.0.1:0", "PANEL_EAST=127.0.0.1:0", "PLANT_FOLDER=" + folder.path() + "/records"});
  CHECK(plant.says("plant: silent from now on"));
  CHECK(gateway.says("failed: no answer from tcp:127.0.0.1:" + north));
  CHECK(gateway.says(R"(ALARM north {"sensor":"temperature","state":"raised")"));
  CHECK(gateway.says(R"(ALARM south {"sensor":"temperature","state":"raised")"));
  gateway.signal(SIGINT);
  CHECK(gateway.end() == 0);
  const std::string records = text_of(folder.path() + "/records/records-000001.jsonl");
  for (const char* boiler : {"north", "south", "east"})
    CHECK(has(records, R"("boiler":")" + std::string(boiler) + '"'));
  CHECK(has(records, R"("sensor":"pressure")"));
}

TEST_CASE("plant-gateway: on a laptop, one override makes a simulation of all three buses") {
  if (!std::filesystem::exists(bin + "plant-gateway")) {
    MESSAGE("skipped: libmodbus is not installed");
    return;
  }
  const scratch_folder folder;
  program gateway({bin + "plant-gateway", "run", examples + "plant-gateway/plant-gateway.toml",
                   examples + "plant-gateway/laptop.toml", "--set", "plant.process.*-bus.config.period=20ms",
                   "--set", "plant.process.*-bus.config.cycle=1s"},
                  {"PANEL_NORTH=127.0.0.1:0", "PANEL_SOUTH=127.0.0.1:0", "PANEL_EAST=127.0.0.1:0",
                   "PLANT_FOLDER=" + folder.path() + "/records"});
  for (const std::string boiler : {"north", "south", "east"})
    CHECK(gateway.says("ALARM " + boiler + R"( {"sensor":"temperature","state":"raised")"));
  gateway.signal(SIGINT);
  CHECK(gateway.end() == 0);
  INFO(gateway.said);
  CHECK_FALSE(has(gateway.said, "(lost"));
  const std::string records = text_of(folder.path() + "/records/records-000001.jsonl");
  for (const char* boiler : {"north", "south", "east"})
    CHECK(has(records, R"("boiler":")" + std::string(boiler) + '"'));
}

TEST_CASE("plant-gateway: a simulation with faults is the same each time, byte by byte") {
  if (!std::filesystem::exists(bin + "plant-gateway")) {
    MESSAGE("skipped: libmodbus is not installed");
    return;
  }
  const auto simulated = [](const std::string& seed) {
    const scratch_folder folder;
    const std::string faults =
        folder.file("faults.toml",
                    "[[fault]]\nprocess = \"*-bus\"\nwhat = \"throw\"\nevery = \"20s\"\n"
                    "[[fault]]\nprocess = \"plant/north-quiet\"\nwhat = \"hang\"\nat = \"30s\"\n");
    program gateway({bin + "plant-gateway", "simulate", examples + "plant-gateway/plant-gateway.toml",
                     "--for", "2m", "--seed", seed, "--faults", faults},
                    {"PLANT_FOLDER=" + folder.path() + "/records"});
    // A fault may lose a value that a process has in its hands: then it is 1.
    const int status = gateway.end();
    CHECK((status == 0 || status == 1));
    return gateway.said + text_of(folder.path() + "/records-simulated/records-000001.jsonl");
  };
  const std::string first = simulated("3");
  INFO(first);
  CHECK(has(first, "failed: a fault of the simulation"));
  CHECK(has(first, "has run for 2s without entering the runtime"));
  CHECK(has(first, R"(ALARM north {"sensor":"temperature","state":"raised")"));
  CHECK(has(first, R"("boiler":"east")"));
  for (int i = 0; i < 10; ++i) REQUIRE(simulated("3") == first);
  CHECK(simulated("4") != first);
}

TEST_CASE("climate: values reach the page and the files, and Ctrl-C lets all of them arrive") {
  const scratch_folder place;
  program climate(
      {bin + "leat", "run", examples + "climate/climate.toml"},
      {"CLIMATE_RECORDS=" + place.path(), "CLIMATE_LISTEN=127.0.0.1:0", "CLIMATE_CONTROL=127.0.0.1:0"});
  CHECK(climate.says("on http://127.0.0.1:"));
  const std::string file = place.path() + "/records-000001.csv";
  const leat::deadline there(patience);
  while (!std::filesystem::exists(file) && !there.expired()) ::usleep(10'000);
  ::sleep(2);
  climate.signal(SIGINT);
  CHECK(climate.end() == 0);
  INFO(climate.said);
  CHECK(has(climate.said, "channel climate/changed"));
  CHECK_FALSE(has(climate.said, "(lost"));
  std::string line;
  std::getline(std::ifstream(file), line);
  CHECK(line == "sensor,at,value,site");
}

TEST_CASE("store-and-forward: what could not be posted is there after a kill") {
  const scratch_folder place;
  const std::string file = place.path() + "/store-and-forward.to-server.store";
  std::vector<std::string> run{bin + "leat", "run", examples + "store-and-forward/store-and-forward.toml"};
  // Nobody listens there.
  const std::vector<std::string> where{"FORWARD_STORE=" + place.path(), "FORWARD_URL=http://127.0.0.1:1/"};
  {
    program first(run, where);
    const leat::deadline there(patience);
    // The log of the database grows with the first values.
    const auto has_values = [&] {
      std::error_code none;
      return std::filesystem::file_size(file + "-wal", none) > 30'000 && !none;
    };
    while (!has_values() && !there.expired()) ::usleep(10'000);
    first.signal(SIGKILL);
    (void)first.end();
  }
  if (!std::filesystem::exists(file)) {
    MESSAGE("not built, for lack of SQLite");
    return;
  }
  program second(run, where);
  CHECK(second.says("are restored from"));
  CHECK(second.says("cannot post to"));  // it runs, and signals ask it to stop
  second.signal(SIGINT);
  (void)second.end();
  INFO(second.said);
  CHECK(has(second.said, "for the next start; restored: "));
}
