// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "checking.hpp"

using namespace leat::config;
using namespace leat::config::test;
using namespace leat;

namespace {

const process_plan* find_process(const plan& p, std::string_view full_name) {
  for (const process_plan& process : p.processes)
    if (p.full_name(process) == full_name) return &process;
  return nullptr;
}

constexpr const char* reader_of_climate =
    "leat = 1\n[service]\nname = \"uplink\"\n[process.sender]\nuse = \"sink\"\nin = { samples = "
    "\"climate/clean\" }\n";

std::string exporting(const char* exported) {
  std::string text =
      "leat = 1\n[service]\nname = \"climate\"\n[process.probe]\nuse = \"ticker-sim\"\nout = { value = "
      "\"clean\" "
      "}\n[process.own]\nuse = \"sink\"\nin = { samples = \"clean\" }\n[channel.clean]\n";
  text += exported;
  return text;
}

}  // namespace

TEST_CASE("services of a deployment are found beside it, wherever the program runs") {
  scratch_folder f;
  f.file("boards/a/deployment.toml", "leat = 1\nservices = [\"../../s/one.toml\"]\n");
  f.file("s/one.toml", small_service("one"));
  const checked c = check({"boards/a/deployment.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  REQUIRE(c.plan->services.size() == 1);
  CHECK(c.plan->services[0].name == "one");
  CHECK(c.plan->where(c.plan->processes[0].at) == "boards/a/../../s/one.toml:4");
}

TEST_CASE("a '~' at the beginning of a path is told, not taken for a folder of that name") {
  scratch_folder f;
  f.file("d.toml", "leat = 1\nservices = [\"~/one.toml\"]\nplugins = [\"~/libx.so\"]\n");
  const checked c = check({"d.toml"}, classes());
  CHECK_FALSE(c.plan);
  CHECK(shown(c).find("d.toml:2:13: error: '~' is not replaced here; write \"${HOME}/one.toml\"\n") !=
        std::string::npos);
  CHECK(shown(c).find("d.toml:3:12: error: '~' is not replaced here; write \"${HOME}/libx.so\"\n") !=
        std::string::npos);
}

TEST_CASE("plug-ins are loaded before classes are looked up, from the folder of the file that names them") {
  scratch_folder f;
  f.file("a/deployment.toml",
         "leat = 1\nplugins = [\"libx.so\", \"/opt/liby.so\"]\nservices = [\"../s/one.toml\"]\n");
  f.file("s/one.toml", "plugins = [\"libz.so\"]\n" + small_service("one"));
  std::vector<plugin_file> asked;
  options how;
  how.load_plugin = [&](const plugin_file& file, diagnostics&) {
    asked.push_back(file);
    return true;
  };
  const checked c = check({"a/deployment.toml"}, classes(), how);
  CHECK(shown(c) == "");
  CHECK(c.plan);
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].path == "a/libx.so");
  CHECK(asked[0].at.line == 2);
  CHECK(asked[0].at.column == 12);
  CHECK(asked[1].path == "/opt/liby.so");
  CHECK(asked[2].path == "a/../s/libz.so");
}

TEST_CASE("a plug-in that cannot be loaded is one error, whatever its classes are used for") {
  scratch_folder f;
  f.file("one.toml",
         "leat = 1\nplugins = [\"libx.so\"]\n[process.p]\nuse = \"of-x\"\nconfig = { a = 1 }\nout = { o = "
         "\"c\" }\n"
         "[process.q]\nuse = \"of-x-too\"\nin = { i = \"c\" }\n[channel.c]\n");
  options how;
  how.load_plugin = [](const plugin_file& file, diagnostics& found) {
    found.error("plugin", file.at, "broken");
    return false;
  };
  const checked c = check({"one.toml"}, classes(), how);
  CHECK_FALSE(c.plan);
  REQUIRE(c.found.all().size() == 1);
  CHECK(c.found.all()[0].rule == "plugin");
}

TEST_CASE("a mistyped `plugins` is one error") {
  scratch_folder f;
  f.file("one.toml", "leat = 1\nplugin = [\"libx.so\"]\n[process.p]\nuse = \"of-x\"\n");
  const checked c = check({"one.toml"}, classes());
  REQUIRE(c.found.all().size() == 1);
  CHECK(c.found.all()[0].rule == "unknown-key");
  CHECK(c.found.all()[0].suggestion == "plugins");
}

TEST_CASE("a file that is reached in two ways is read once") {
  scratch_folder f;
  f.file("deployment.toml", "leat = 1\nservices = [\"one.toml\", \"./one.toml\"]\n");
  f.file("one.toml", small_service("one"));
  const checked c = check({".", "one.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->services.size() == 1);
}

TEST_CASE("deployments that list each other end") {
  scratch_folder f;
  f.file("a.toml", small_service("a", "[runtime]\nprocs = 2\n").insert(9, "services = [\"b.toml\"]\n"));
  f.file("b.toml", small_service("b").insert(9, "services = [\"a.toml\"]\n"));
  const checked c = check({"a.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->services.size() == 2);
}

TEST_CASE("a service that is there twice is shown in both files") {
  scratch_folder f;
  f.file("a.toml", small_service("climate"));
  f.file("b.toml", small_service("climate"));
  CHECK(shown(check({"a.toml", "b.toml"}, classes())) ==
        "b.toml:3:8: error: service 'climate' is there twice\n"
        "    3 | name = \"climate\"\n"
        "      |        ^^^^^^^^^\n"
        "      in a.toml:3:8:\n"
        "    3 | name = \"climate\"\n"
        "      |        ^^^^^^^^^ first here\n");
}

TEST_CASE("keys of [runtime] that several files give are joined") {
  scratch_folder f;
  f.file("a.toml", small_service("a", "[runtime]\nprocs = 2\nmemory = { max = \"1M\" }\n"));
  f.file("b.toml", "leat = 1\n[runtime]\nrun_queue = 8\nmemory = { lock = true }\n");
  const checked joined = check({"a.toml", "b.toml"}, classes());
  CHECK(shown(joined) == "");
  REQUIRE(joined.plan);
  CHECK(joined.plan->runtime.procs == 2u);
  CHECK(joined.plan->runtime.run_queue == 8u);
  CHECK(joined.plan->runtime.lock_memory);
  CHECK(joined.plan->runtime.max_memory == std::uint64_t{1} << 20);
}

TEST_CASE("an override changes what it names and nothing else") {
  scratch_folder f;
  f.file("climate.toml",
         "leat = 1\n[process.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"5s\", missed = \"burst\" "
         "}\nout = { value = "
         "\"raw\" }\n[process.taker]\nuse = \"sink\"\nin = { samples = \"raw\" }\n[channel.raw]\ncapacity = "
         "8\n");
  f.file("board.toml",
         "leat = 1\nservices = [\"climate.toml\"]\n[override.climate.process.probe]\nconfig = { period = "
         "\"1s\" }\n"
         "replicas = 2\n[override.climate.channel.raw]\ncapacity = 32\n[override.climate.service]\ndrain = "
         "\"3s\"\n");
  const checked c = check({"board.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  const process_plan* probe = find_process(*c.plan, "climate/probe");
  REQUIRE(probe);
  CHECK(to_text(*probe->settings.find("period")) == "\"1s\"");
  CHECK(to_text(*probe->settings.find("missed")) == "\"burst\"");
  CHECK(c.plan->where(probe->settings.find("period")->at()) == "board.toml:4");
  CHECK(probe->replicas == 2);
  CHECK(c.plan->channels[0].capacity == 32);
  CHECK(c.plan->services[0].drain == std::chrono::seconds(3));
}

TEST_CASE("a fault in an override is shown in the file of the override") {
  scratch_folder f;
  f.file("climate.toml", small_service("climate"));
  f.file("board.toml",
         "leat = 1\nservices = [\"climate.toml\"]\n[override.climate.process.probe]\nconfig = { period = "
         "\"0\" }\n");
  CHECK(shown(check({"board.toml"}, classes())) ==
        "board.toml:4:21: error: 'period' is \"0\"; allowed: at least \"1ms\"\n"
        "    4 | config = { period = \"0\" }\n"
        "      |                     ^^^\n");
  f.file("board.toml",
         "leat = 1\nservices = [\"climate.toml\"]\n[override.climate.service]\nname = \"other\"\n");
  CHECK(shown(check({"board.toml"}, classes())) ==
        "board.toml:4:8: error: the name of a service cannot be overridden\n"
        "    4 | name = \"other\"\n"
        "      |        ^^^^^^^\n");
}

TEST_CASE("a channel of another service can be read when it is exported") {
  scratch_folder f;
  f.file("climate.toml", exporting("export = true\nfanout = \"copy\"\n"));
  f.file("uplink.toml", reader_of_climate);
  const checked c = check({"."}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->channels[0].readers.size() == 2);

  f.file("climate.toml", exporting("fanout = \"copy\"\n"));
  CHECK(shown(check({"."}, classes())) ==
        "./uplink.toml:6:18: error: channel 'clean' of service 'climate' is not exported\n"
        "    6 | in = { samples = \"climate/clean\" }\n"
        "      |                  ^^^^^^^^^^^^^^^\n"
        "      in ./climate.toml:10:10:\n"
        "   10 | [channel.clean]\n"
        "      |          ^^^^^ export = true is missing here\n");
}

TEST_CASE("a channel of another service cannot be written, and a mistyped one is not found") {
  scratch_folder f;
  f.file("climate.toml", exporting("export = true\nfanout = \"copy\"\n"));
  f.file("other.toml", "leat = 1\n[process.p]\nuse = \"ticker-sim\"\nout = { value = \"climate/clean\" }\n");
  CHECK(shown(check({"."}, classes())) ==
        "./other.toml:4:17: error: only service 'climate' may write to 'clean'; others may read it\n"
        "    4 | out = { value = \"climate/clean\" }\n"
        "      |                 ^^^^^^^^^^^^^^^\n");
  f.file("other.toml", "leat = 1\n[process.p]\nuse = \"sink\"\nin = { samples = \"climate/claen\" }\n");
  CHECK(shown(check({"."}, classes())) ==
        "./other.toml:4:18: error: service 'climate' has no channel 'claen'; did you mean 'clean'?\n"
        "    4 | in = { samples = \"climate/claen\" }\n"
        "      |                  ^^^^^^^^^^^^^^^\n");
}

TEST_CASE("a policy names a reader of another service by the service or by service/process") {
  scratch_folder f;
  f.file("uplink.toml", reader_of_climate);
  for (const char* name : {"uplink", "\"uplink/sender\""}) {
    f.file("climate.toml", exporting(("export = true\nfanout = \"copy\"\nreader = { " + std::string(name) +
                                      " = \"drop-newest\" }\n")
                                         .c_str()));
    const checked c = check({"."}, classes());
    CHECK(shown(c) == "");
    REQUIRE(c.plan);
    REQUIRE(c.plan->channels[0].readers.size() == 2);
    CHECK(c.plan->channels[0].readers[0].full == leat::full::block);
    CHECK(c.plan->channels[0].readers[1].full == leat::full::drop_newest);
  }
}

TEST_CASE("what cannot be read is said with its reason") {
  scratch_folder f;
  CHECK(shown(check({"no.toml"}, classes())) ==
        "no.toml: error: cannot be read: No such file or directory\n");
  std::filesystem::create_directory("empty");
  CHECK(shown(check({"empty"}, classes())) == "empty: error: cannot be read: the folder has no .toml file\n");
  REQUIRE(::mkfifo("pipe.toml", 0600) == 0);
  CHECK(shown(check({"pipe.toml"}, classes())) ==
        "pipe.toml: error: cannot be read: it is not a regular file\n");
  f.file("big.toml", small_service("big", std::string(2000, '#')));
  CHECK(shown(check({"big.toml"}, classes(), {.max_file_size = 1024})) ==
        "big.toml: error: cannot be read: it is larger than 1K\n");
  CHECK(check({"big.toml"}, classes()).plan);
}

TEST_CASE("a file that is no TOML does not make others' names unknown") {
  scratch_folder f;
  f.file("climate.toml", exporting("export = \n"));
  f.file("uplink.toml", std::string(reader_of_climate) + "replicas = 0\n");
  CHECK(shown(check({"."}, classes())) ==
        "./climate.toml:11:10: error: bad TOML: key-value pair: expected value, saw '\\n'\n"
        "   11 | export = \n"
        "      |          ^\n"
        "./uplink.toml:7:12: error: 'replicas' is 0; allowed: 1 to 65536\n"
        "    7 | replicas = 0\n"
        "      |            ^\n");
}

TEST_CASE("a service without a name is called like its file") {
  scratch_folder f;
  const std::string nameless =
      "leat = 1\n[process.p]\nuse = \"ticker-sim\"\n[process.t]\nuse = \"sink\"\nin = { samples = "
      "\"p.value\" }\n";
  f.file("hello.toml", nameless);
  const checked c = check({"hello.toml"}, classes());
  REQUIRE(c.plan);
  CHECK(c.plan->services[0].name == "hello");
  f.file("hello world.toml", nameless);
  CHECK(shown(check({"hello world.toml"}, classes())) ==
        "hello world.toml:2:2: error: the service has no name, and that of its file is none: write name = "
        "\"...\" in "
        "[service]\n"
        "    2 | [process.p]\n"
        "      |  ^^^^^^^\n");
}

TEST_CASE("variables of the environment are put into texts, and only there") {
  const std::string text =
      "leat = 1\n[service]\nname = \"a-${NAME}\"\ndrain = \"${DRAIN:-7s}\"\n[process.probe]\nuse = "
      "\"${CLASS:-ticker-sim}\"\n"
      "config = { missed = \"${EMPTY:-delay}\" }\n[process.panel]\nuse = \"http-json\"\nin = { live = "
      "\"probe.value\" }\n"
      "config = { listen = \"${HOST}:${PORT} $${HOME} $5 ${INJECT}\" }\n";
  const checked c = check_this(text, {{"NAME", "b"},
                                      {"EMPTY", ""},
                                      {"HOST", "local"},
                                      {"PORT", "80"},
                                      {"INJECT", "\"\n[process.evil]\nuse = \"sink\"\n"}});
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->services[0].name == "a-b");
  CHECK(c.plan->services[0].drain == std::chrono::seconds(7));
  REQUIRE(c.plan->processes.size() == 2);
  CHECK(c.plan->processes[0].settings.find("missed")->get<std::string>() == "delay");
  CHECK(c.plan->processes[1].settings.find("listen")->get<std::string>() ==
        "local:80 ${HOME} $5 \"\n[process.evil]\nuse = \"sink\"\n");
}
