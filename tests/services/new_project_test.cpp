// SPDX-License-Identifier: BSL-1.0
//
// What `leat new` makes, and what it refuses. That a project builds and passes its own test is tested by
// tests/consumer/run.sh, with Leat installed.
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

using leat::services::test::scratch_folder;
using leat::test::child_result;
using leat::test::run_program;

namespace {

namespace fs = std::filesystem;

child_result make_new(const scratch_folder& folder, const std::string& words) {
  return run_program("/bin/sh", {"-c", "cd '" + folder.path() + "' && " + leat::test::program_path("leat") +
                                           " new " + words});
}

std::string content(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::size_t entries(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("new makes a whole project, with its name in every place") {
  const scratch_folder folder;
  const child_result r = make_new(folder, "pump-2");
  CHECK(r.exited(0));
  CHECK(r.said("\nnext:\n  cd pump-2\n  cmake -B build\n"));
  CHECK(r.said("  build/pump-2 run pump-2.toml\n"));
  const fs::path made = fs::path(folder.path()) / "pump-2";
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(made)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    CAPTURE(entry.path().string());
    const std::string text = content(entry.path());
    CHECK_FALSE(text.empty());
    CHECK(text.find("{{") == std::string::npos);
    CHECK(text.find("SPDX") == std::string::npos);
    CHECK(r.said("  pump-2/" + fs::relative(entry.path(), made).string() + "\n"));
  }
  CHECK(files == 8);
  CHECK(content(made / "pump-2.toml").find("name = \"pump-2\"") != std::string::npos);
  CHECK(content(made / "CMakeLists.txt").find("project(pump-2 ") != std::string::npos);
  CHECK(content(made / ".gitignore") == "/build/\n");
  const std::string unit = content(made / "pump-2.service.in");
  for (const char* line :
       {"Type=notify\n", "WatchdogSec=", "Restart=on-failure\n", "StateDirectory=pump-2\n"})
    CHECK(unit.find(line) != std::string::npos);
}

TEST_CASE("new never touches what is there") {
  const scratch_folder folder;
  REQUIRE(make_new(folder, "demo").exited(0));
  const fs::path toml = fs::path(folder.path()) / "demo/demo.toml";
  std::ofstream(toml) << "mine";
  const child_result again = make_new(folder, "demo");
  CHECK(again.exited(1));
  CHECK(again.said("'demo' is already there; nothing was changed\n"));
  CHECK(content(toml) == "mine");
  folder.file("taken", "a file");
  CHECK(make_new(folder, "taken").exited(1));
  CHECK(content(folder.path() + "/taken") == "a file");
}

TEST_CASE("new says what is wrong with a name, and makes nothing") {
  const scratch_folder folder;
  const std::pair<std::string, std::string> wrong[] = {
      {"''", "a project needs a name"},
      {"a/b", "'a/b' is a path; go to the folder where you want it and give its name alone"},
      {"..", "'..' does not begin with a letter"},
      {"2fast", "'2fast' does not begin with a letter"},
      {"'two words'", "'two words' has characters other than letters, digits, - and _"},
      {"'$(id)'", "does not begin with a letter"},
      {"pümpe", "has characters other than letters, digits, - and _"},
      {"test", "'test' has another meaning for CMake or Leat; take another name"},
      {"leat", "'leat' has another meaning for CMake or Leat; take another name"},
      {std::string(65, 'x'), "is too long: at most 64 characters"}};
  for (const auto& one : wrong) {
    CAPTURE(one.first);
    const child_result r = make_new(folder, one.first);
    CHECK(r.exited(2));
    CHECK(r.said(one.second));
  }
  CHECK(make_new(folder, "").exited(2));
  CHECK(make_new(folder, "one two").exited(2));
  CHECK(entries(folder.path()) == 0);
  CHECK(make_new(folder, std::string(64, 'x')).exited(0));
}

TEST_CASE("new leaves nothing behind when it cannot write") {
  const scratch_folder folder;
  // No file may become larger than a block: the first that is longer fails.
  const child_result r =
      run_program("/bin/sh", {"-c", "cd '" + folder.path() + "' && trap '' XFSZ && ulimit -f 1 && " +
                                        leat::test::program_path("leat") + " new demo"});
  CHECK(r.exited(1));
  CHECK(r.said("cannot be written: File too large"));
  CHECK(entries(folder.path()) == 0);
}
