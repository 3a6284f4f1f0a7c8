// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "checking.hpp"

using namespace leat::config;
using namespace leat::config::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  fs::current_path(LEAT_CONFIG_TESTS);
  std::vector<std::string> out;
  for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder))
    if (e.path().extension() == ".toml") out.push_back(e.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("each broken file is reported as expected, to the column") {
  ::unsetenv("LEAT_TEST_UNSET");
  const std::vector<std::string> files = files_in("broken");
  CHECK(files.size() >= 60);
  std::set<std::string_view> rules;
  for (const std::string& file : files) {
    CAPTURE(file);
    const checked c = check({file}, classes());
    CHECK(shown(c) == read_all(fs::path(file).replace_extension(".expected")));
    CHECK(c.plan.has_value() == (c.found.errors() == 0));
    CHECK_FALSE(c.found.all().empty());
    for (const finding& f : c.found.all()) rules.insert(f.rule);
  }
  // Every kind of finding has its file. Some need several files: tests/config/files_test.cpp.
  for (const char* rule : {"toml",
                           "duplicate",
                           "unknown-key",
                           "unknown-class",
                           "unknown-port",
                           "unknown-channel",
                           "unknown-service",
                           "unknown-process",
                           "unknown-setting",
                           "unknown-type",
                           "unknown-reader",
                           "type",
                           "unit",
                           "range",
                           "choice",
                           "missing",
                           "open-port",
                           "no-reader",
                           "no-writer",
                           "unused-channel",
                           "type-mismatch",
                           "cycle",
                           "replicas",
                           "memory",
                           "policy",
                           "capacity",
                           "delivery",
                           "environment",
                           "name",
                           "version",
                           "empty",
                           "file",
                           "thread"}) {
    CAPTURE(rule);
    CHECK(rules.count(rule) == 1);
  }
}

TEST_CASE("a file with many faults shows them all at once") {
  fs::current_path(LEAT_CONFIG_TESTS);
  const checked c = check({"broken/combined.toml"}, classes());
  CHECK(c.found.errors() >= 40);
}

TEST_CASE("each good file gives a plan, and no error") {
  const std::vector<std::string> files = files_in("good");
  CHECK(files.size() >= 5);
  for (const std::string& file : files) {
    if (file == "good/uplink.toml") continue;  // it reads a channel of another service
    CAPTURE(file);
    const checked c = check({file}, classes());
    CHECK(c.found.errors() == 0);
    // Alone, the service that reads what it exports is missing.
    CHECK(c.found.warnings() == (file == "good/climate.toml" ? 1 : 0));
    CHECK(c.plan.has_value());
  }
}

TEST_CASE("a folder is read as a whole") {
  fs::current_path(LEAT_CONFIG_TESTS);
  const checked c = check({"good"}, classes());
  CHECK(c.found.all().empty());
  REQUIRE(c.plan);
  CHECK(c.plan->services.size() == 5);
}
