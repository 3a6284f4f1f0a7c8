// SPDX-License-Identifier: BSL-1.0
//
// Shared objects that the `leat` program loads, good ones and others.
#include <doctest/doctest.h>
#include <filesystem>
#include <string>
#include <vector>

#include "program.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

using leat::services::test::scratch_folder;
using leat::test::child_result;
using leat::test::run_program;

namespace {

const std::string plugins = leat::test::in_build("tests/services/plugins");  // a folder

std::string plugin(const std::string& name) { return plugins + "/lib" + name + ".so"; }

child_result run_leat(const std::vector<std::string>& words) {
  return run_program(leat::test::program_path("leat"), words, {.environment = {"NO_COLOR", "LEAT_LOG"}});
}

std::string service(const std::string& list) {
  return "leat = 1\nplugins = [" + list + R"(]
[process.room]
use = "room"
[process.average]
use = "average"
in = { readings = "room.readings" }
)";
}

// One error, at the first name in `plugins`, by each verb that reads the file.
void fails(const std::string& name, const std::string& why) {
  CAPTURE(name);
  const scratch_folder folder;
  const std::string file = folder.file("climate.toml", service('"' + name + '"'));
  for (const char* verb : {"check", "run", "graph"}) {
    const child_result r = run_leat({verb, file});
    CHECK(r.exited(78));
    CAPTURE(r.output);
    CHECK(r.said("climate.toml:2:12: error: plug-in '"));
    CHECK(r.said("' cannot be used: " + why));
    CHECK(r.output.find("error: ") == r.output.rfind("error: "));
  }
}

}  // namespace

TEST_CASE("the classes of a plug-in run in a service like any other") {
  const scratch_folder folder;
  // Relative to the folder of the file, wherever the program was started.
  std::filesystem::create_symlink(plugin("climate"), folder.path() + "/libclimate.so");
  const std::string file = folder.file("climate.toml", service("\"libclimate.so\""));
  const child_result r = run_leat({"run", file});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("average of 3: 21.0\n"));
  CHECK(r.said("channel climate/room.readings  sent 3 = received 3 + dropped 0 + left 0\n"));
  CHECK(run_leat({"check", file}).exited(0));
  CHECK(run_leat({"graph", file}).said("room.readings [single 64, block, reading] --> average.readings"));
}

TEST_CASE("a deployment's plug-ins serve its services, named twice or not") {
  const scratch_folder folder;
  std::filesystem::create_symlink(plugin("climate"), folder.path() + "/alias.so");
  folder.file("climate.toml", service("\"alias.so\""));
  const std::string deployment =
      folder.file("board.toml", "leat = 1\nservices = [\"climate.toml\"]\nplugins = [\"" + plugin("climate") +
                                    "\", \"alias.so\"]\n[runtime]\nprocs = 1\n");
  const child_result r = run_leat({"run", deployment});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("average of 3: 21.0\n"));
}

TEST_CASE("two plug-ins that share a message can talk") {
  const scratch_folder folder;
  const std::string file =
      folder.file("climate.toml", "leat = 1\nplugins = [\"" + plugin("climate") + "\", \"" + plugin("other") +
                                      "\"]\n[process.attic]\nuse = \"attic\"\n[process.average]\nuse = "
                                      "\"average\"\nin = { readings = \"attic.readings\" }\n");
  const child_result r = run_leat({"run", file});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("average of 1: 30.0\n"));
}

TEST_CASE("a process of a plug-in that hangs is taken away and replaced") {
  const scratch_folder folder;
  const std::string file = folder.file("stuck.toml", "leat = 1\nplugins = [\"" + plugin("climate") +
                                                         R"("]
[process.stuck]
use = "stuck"
hang = "50ms"
grace = "20ms"
restart = { when = "failure", burst = 1, backoff = ["1ms", "1ms"] }
)");
  const child_result r = run_leat({"run", file});
  CAPTURE(r.output);
  CHECK(r.exited(1));
  CHECK(r.said("process stuck/stuck  runs 2, failures 2"));
}

TEST_CASE("what cannot be used as a plug-in is an error at its place in the file") {
  const scratch_folder folder;
  const std::string text = folder.file("text.so", "this is no shared object\n");
  fails(plugin("none"), "No such file or directory");
  fails(folder.path(), "it is not a regular file");
  fails(text, "it is not a shared object");
  fails(plugin("no-description"), "it does not say LEAT_PLUGIN(\"name\"), so it is not a plug-in for Leat");
  fails(plugin("old-version"), "it was built with Leat 0.0.9, this program is Leat ");
  fails(plugin("other-abi"), "it was built with another standard library, this program with ");
  fails(plugin("undefined"),
        "nothing here defines 'climate::nowhere(climate::reading const&)', which it uses");
  fails(plugin("class-of-program"),
        "two process classes are called 'log', in this program and in plug-in 'other' "
        "(libclass-of-program.so)");
#if LEAT_SECOND_COPY
  fails(plugin("second-copy"), "it brings a second copy of Leat");
#endif
}

TEST_CASE("a class that two plug-ins have is an error that names both") {
  const scratch_folder folder;
  const std::string file = folder.file(
      "climate.toml", service('"' + plugin("climate") + "\",\n  \"" + plugin("class-of-plugin") + '"'));
  const child_result r = run_leat({"check", file});
  CAPTURE(r.output);
  CHECK(r.exited(78));
  CHECK(r.said("climate.toml:3:3: error: "));
  CHECK(
      r.said("two process classes are called 'room', in plug-in 'climate' (libclimate.so) and in plug-in "
             "'other' (libclass-of-plugin.so)"));
}

TEST_CASE("list, describe and schema take plug-ins") {
  const child_result list =
      run_leat({"list", "--names", "--plugin", plugin("climate"), "--plugin=" + plugin("other")});
  CHECK(list.exited(0));
  for (const char* name : {"\nattic\n", "\naverage\n", "\nroom\n"})
    CHECK(("\n" + list.output).find(name) != std::string::npos);
  const child_result room = run_leat({"describe", "--plugin", plugin("climate"), "room"});
  CHECK(
      room.said("room: how warm it is\n  out readings: reading\n        { celsius: double, where: text }\n"));
  CHECK(run_leat({"schema", "--plugin", plugin("climate")}).said("\"room\""));
  const child_result missing = run_leat({"list", "--plugin", plugin("none")});
  CHECK(missing.exited(1));
  CHECK(missing.said("cannot be used: No such file or directory\n"));
  CHECK(run_leat({"list", "--plugin"}).exited(2));
  CHECK(run_leat({"list", "--names=x"}).exited(2));
  CHECK(run_leat({"run", "--plugin", plugin("climate"), "x.toml"}).exited(2));
}
