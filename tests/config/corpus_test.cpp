// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "checking.hpp"
#include "support/paths.hpp"

using namespace leat::config;
using namespace leat::config::test;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> files_in(const std::string& folder) {
  fs::current_path(leat::test::in_source("tests/config"));
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
    const fs::path expected = fs::path(file).replace_extension(".expected");
    // After a change of wording; then look at the difference.
    if (std::getenv("LEAT_WRITE_EXPECTED")) std::ofstream(expected, std::ios::binary) << shown(c);
    CHECK(shown(c) == read_all(expected));
    CHECK(c.plan.has_value() == (c.found.errors() == 0));
    CHECK_FALSE(c.found.all().empty());
    for (const diagnostic& f : c.found.all()) rules.insert(f.rule);
  }
  // Every kind of diagnostic has its file. Some need several files: tests/config/files_test.cpp.
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
                           "compete",
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
                           "thread",
                           "map",
                           "unknown-field",
                           "field-type",
                           "syntax",
                           "home",
                           "parameter",
                           "unknown-parameter",
                           "unknown-template",
                           "unused-template",
                           "disabled",
                           "unset"}) {
    CAPTURE(rule);
    CHECK(rules.count(rule) == 1);
  }
}

TEST_CASE("everything that the documents say is found has a file in which it alone is found") {
  struct row {
    const char* what;
    std::string_view rule;
    std::vector<std::string> files;
  };
  const row rows[] = {
      {"bad TOML",
       "toml",
       {"toml-escape", "toml-string", "toml-utf8", "toml-deep", "toml-bare-word", "toml-bare-path",
        "toml-flag", "toml-inline-lines", "toml-inline-comma"}},
      {"unknown keys", "unknown-key", {"top-unknown-key", "process-unknown-key", "runtime-unknown-key"}},
      {"unknown classes", "unknown-class", {"process-unknown-class", "process-unknown-class-far"}},
      {"unknown ports", "unknown-port", {"port-unknown", "port-inbox-unknown", "port-unnamed-port"}},
      {"unknown channels", "unknown-channel", {"channel-unknown"}},
      {"unknown services", "unknown-service", {"service-unknown-ref", "override-service"}},
      {"wrong types", "type", {"process-replicas-type", "port-type", "setting-type", "top-process-type"}},
      {"wrong units", "unit", {"process-stack-unit", "service-drain-unit"}},
      {"wrong ranges", "range", {"process-replicas-range", "setting-range", "channel-capacity-range"}},
      {"unconnected required ports", "open-port", {"port-open-in", "port-open-out", "port-open-inbox"}},
      {"a channel without a reader", "no-reader", {"channel-no-reader"}},
      {"a channel without a writer", "no-writer", {"channel-no-writer"}},
      {"type mismatches", "type-mismatch", {"channel-types", "channel-types-reply", "channel-types-unnamed"}},
      {"readers that share values, where the file does not say so",
       "compete",
       {"channel-compete", "channel-compete-moved"}},
      {"texts with a syntax of their own, such as addresses",
       "syntax",
       {"setting-syntax", "setting-syntax-together", "setting-syntax-thrown"}},
      {"fields of records that are not there",
       "unknown-field",
       {"field-unknown", "field-default", "field-needed", "field-by-settings", "field-by-settings-default"}},
      {"fields that hold something else", "field-type", {"field-kind"}},
      {"fields that a message has no place for",
       "field-left-out",
       {"field-left-out", "field-left-out-unsaid"}},
      {"duplicate ids", "duplicate", {"duplicate-process", "duplicate-key", "duplicate-channel-in-port"}},
      {"values that cannot be copied and would have to be",
       "policy",
       {"channel-copy-moved", "channel-copy-requests", "port-fan-out-moved", "port-fan-out-moved-record"}},
      {"cycles of channels that block", "cycle", {"cycle", "cycle-self"}},
      {"replicas on ports that cannot be shared", "replicas", {"replicas-unshareable"}},
      {"templates, parameters and uses that do not fit", "unknown-parameter", {"template-parameter-unknown"}},
      {"overrides that take away what is not there", "unset", {"override-unset-unknown"}},
      {"more memory than `memory.max`, with the sum: stacks + rings + pools", "memory", {"memory"}},
  };
  std::set<std::string> tested;
  fs::current_path(leat::test::in_source("tests/config"));
  for (const row& r : rows) {
    tested.insert(r.what);
    for (const std::string& file : r.files) {
      CAPTURE(file);
      const checked c = check({"broken/" + file + ".toml"}, classes());
      CHECK_FALSE(c.found.all().empty());
      for (const diagnostic& f : c.found.all()) CHECK(f.rule == r.rule);
    }
  }
  std::set<std::string> told;
  const std::string page = read_all(leat::test::in_source("docs/configuration.md"));
  std::istringstream list(page.substr(page.find("<!-- finds: begin -->"),
                                      page.find("<!-- finds: end -->") - page.find("<!-- finds: begin -->")));
  for (std::string line; std::getline(list, line);)
    if (line.starts_with("- ")) told.insert(line.substr(2));
  CHECK(told == tested);
}

TEST_CASE("a mistyped name of a section is one error, and what is in it counts") {
  const checked c = check_this(
      "leat = 1\n[proces.probe]\nuse = \"ticker-sim\"\nreplicas = 0\n"
      "out = { value = \"nowhere\" }\n");
  REQUIRE(c.found.errors() == 3);
  CHECK(c.found.all()[0].rule == "unknown-key");
  CHECK(c.found.all()[1].rule == "range");
  CHECK(c.found.all()[2].rule == "unknown-channel");
}

TEST_CASE("a file with many faults shows them all at once") {
  fs::current_path(leat::test::in_source("tests/config"));
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
  fs::current_path(leat::test::in_source("tests/config"));
  const checked c = check({"good"}, classes());
  CHECK(c.found.all().empty());
  REQUIRE(c.plan);
  CHECK(c.plan->services.size() == 7);
}
