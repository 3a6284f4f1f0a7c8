// SPDX-License-Identifier: BSL-1.0
//
// What --expanded prints is the same configuration: checked again, it gives the same plan, and prints itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "checking.hpp"
#include "plan_text.hpp"
#include "support/paths.hpp"

using namespace leat::config;
using namespace leat::config::test;
namespace fs = std::filesystem;

namespace {

std::optional<std::string> some_variables(std::string_view name) {
  if (name == "PERIOD") return "3s";
  if (name == "NUMBER") return "3";
  if (name == "ODD") return "a ${PERIOD} \"quoted\" $${x}\n\\";
  return std::nullopt;
}

// Checks the plain files as a user would: the first one, which lists the others.
checked check_again(const std::vector<expanded_file>& files) {
  scratch_folder f;
  for (const expanded_file& e : files) f.file(e.name, e.text);
  return check({files.front().name}, classes(), {.environment = some_variables, .expand = true});
}

std::string all_of(const std::vector<expanded_file>& files) {
  std::string out;
  for (const expanded_file& e : files) out += "# " + e.name + '\n' + e.text;
  return out;
}

void same_again(const checked& first) {
  REQUIRE(first.plan);
  REQUIRE_FALSE(first.expanded.empty());
  const checked again = check_again(first.expanded);
  CAPTURE(all_of(first.expanded));
  REQUIRE(shown(again).find("error:") == std::string::npos);
  REQUIRE(again.plan);
  CHECK(plan_text(*again.plan).text() == plan_text(*first.plan).text());
  CHECK(all_of(again.expanded) == all_of(first.expanded));
  for (const char* word : {"[template", "[use.", "[override", "param =", "unset ="})
    CHECK(all_of(first.expanded).find(word) == std::string::npos);
}

// A configuration of templates, uses, variables and overrides that is right, and differs with each seed.
class generator {
 public:
  explicit generator(unsigned seed) : random_(seed) {}

  std::string service(const std::string& name, bool used) {
    std::string out = "leat = 1\n[service]\nname = \"" + name + "\"\n";
    if (used) out += "param = { note = { type = \"text\", default = \"d\" }, n = \"integer\" }\n";
    const int templates = 1 + below(3);
    for (int t = 0; t < templates; ++t) out += a_template("t" + std::to_string(t), used);
    std::string names;
    for (int t = 0; t < templates; ++t) out += uses("t" + std::to_string(t), names);
    out +=
        "[process.all]\nuse = \"sink\"\nin = { samples = [\"spare\"" + names + "] }\n[channel.spare]\n" +
        pick({"", "key = \"at_ms\"\n", "full = \"latest\"\nkey = \"${K:-at_ms}\"\nkeys = \"${NUMBER}\"\n"}) +
        "[process.source]\nuse = \"ticker-sim\"\nout = { value = \"spare\" }\n" +
        pick({"", "replicas = \"${NUMBER}\"\n", "enabled = true\n", "stack = \"${S:-64K}\"\n"});
    return out;
  }

  std::string overrides(const std::string& service) {
    std::string out;
    if (chance())
      out += "[override." + service + ".process.\"*-probe\"]\nconfig = { period = \"${PERIOD}\" }\n";
    if (chance())
      out += "[override.\"*\".process.\"*-probe\"]\nreplicas = " + std::to_string(1 + below(4)) + "\n";
    if (chance()) out += "[override." + service + ".process.\"*-panel\"]\nenabled = false\n";
    if (chance()) out += "[override." + service + ".process.\"*-filter\"]\nunset = [\"config.window\"]\n";
    if (chance())
      out +=
          "[override." + service +
          ".process.source]\nuse = \"relay\"\nin = { left = \"t0a-clean\" }\nout = { right = \"spare\" }\n";
    if (chance())
      out += "[runtime]\nprocs = \"${NUMBER}\"\nmemory = { lock = " + pick({"true", "false"}) + " }\n";
    return out;
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool chance() { return below(2) == 0; }
  std::string pick(const std::vector<std::string>& among) {
    return among[static_cast<std::size_t>(below(static_cast<int>(among.size())))];
  }

  std::string a_template(const std::string& name, bool used) {
    const std::string t = "template." + name;
    std::string out =
        "[" + t +
        "]\nparam = { window = { type = \"integer\", default = 3 }, period = { type = "
        "\"duration\", default = \"${PERIOD}\" }, paths = { type = \"list\", default = [] }, scale = { "
        "type = \"number\", default = 1 } }\n";
    out += "[" + t +
           ".process.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"${period}\" }\nout = { value = "
           "\"raw\" }\n";
    if (used && chance()) out += "replicas = \"${n}\"\n";
    out += "[" + t + ".process.filter]\nuse = \"smooth\"\nconfig = { window = \"" +
           pick({"${window}", "${NUMBER}", "${window:-5}"}) +
           "\" }\nin = { raw = \"raw\" }\nout = { clean = \"clean\" }\n" +
           pick({"", "state = { folder = \"kept/${name}\" }\n",
                 "state = { folder = \"kept\", every = \"${period}\" }\n"});
    out += "[" + t + ".process.panel]\nuse = \"http-json\"\nconfig = { listen = \"${ODD}|" +
           pick({"${name}", "${window}", "$${window}", used ? "${note}" : ""}) +
           "\", paths = \"${paths}\", scale = \"${scale}\" }\nin = { live = \"clean\" }\n";
    out += "[" + t + ".channel.raw]\ncapacity = " + pick({"1", "\"${window}\"", "\"${NUMBER}\""}) + "\n";
    out += "[" + t + ".channel.clean]\nfanout = \"copy\"\nreader = { panel = \"latest\" }\n";
    return out;
  }

  std::string uses(const std::string& name, std::string& names) {
    std::string out = "[use." + name + ".some]\nfor_each = [";
    const int n = 1 + below(3);
    for (int i = 0; i < n; ++i) {
      const std::string as = name + static_cast<char>('a' + i);
      names += ", \"" + as + "-clean\"";
      out +=
          (i > 0 ? ", " : "") + pick({"\"" + as + "\"", "{ name = \"" + as + "\", window = 7 }",
                                      "{ name = \"" + as + "\", paths = [\"${ODD}\", \"b\"], scale = 1.5 }"});
    }
    return out + "]\n" + pick({"", "period = \"1s\"\n", "window = \"${NUMBER}\"\n"});
  }

  std::mt19937 random_;
};

}  // namespace

TEST_CASE("each file of these tests that has a plan has the same one when it is expanded") {
  fs::current_path(leat::test::in_source("tests/config"));
  std::vector<std::string> files = {"good"};
  for (const char* folder : {"good", "broken"})
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder))
      if (e.path().extension() == ".toml") files.push_back(e.path().string());
  std::sort(files.begin(), files.end());
  int plans = 0;
  for (const std::string& file : files) {
    CAPTURE(file);
    const checked c = check({file}, classes(), {.environment = some_variables, .expand = true});
    if (!c.plan) continue;
    ++plans;
    same_again(c);
  }
  CHECK(plans >= 15);
}

TEST_CASE("a configuration of any templates, uses, variables and overrides is the same when it is expanded") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    generator g(seed);
    scratch_folder f;
    const bool several = seed % 3 == 0;
    f.file("plant.toml", g.service("plant", several));
    f.file("board.toml",
           several ? "leat = 1\nservices = [{ file = \"plant.toml\", name = \"plant\", with = { n = 2 } }, "
                     "{ file = \"plant.toml\", name = \"other\", with = { n = 3, note = \"${ODD}\" } }]\n" +
                         g.overrides("plant")
                   : "leat = 1\nservices = [\"plant.toml\"]\n" + g.overrides("plant"));
    std::vector<std::string> set;
    if (seed % 5 == 0) set.push_back("plant.process.t0a-probe.config.period=9s");
    const checked c =
        check({"board.toml"}, classes(), {.environment = some_variables, .set = set, .expand = true});
    CAPTURE(shown(c));
    REQUIRE(c.plan);
    same_again(c);
  }
}

TEST_CASE(
    "a text that looks like a variable is none when it is printed, and a number of a variable is a number") {
  const checked c =
      check_text("t.toml",
                 "leat = 1\n[process.p]\nuse = \"ticker-sim\"\nreplicas = \"${NUMBER}\"\n[process.x]\nuse "
                 "= \"http-json\"\nconfig = { listen = \"$${A} ${ODD}\" }\nin = { live = \"p.value\" }\n",
                 classes(), {.environment = some_variables, .expand = true});
  REQUIRE(c.expanded.size() == 1);
  CHECK(c.expanded[0].name == "t.toml");
  CHECK(c.expanded[0].text ==
        "leat = 1\n\n[service]\nname = \"t\"\n\n[process.p]\nuse = \"ticker-sim\"\nreplicas = "
        "3\n\n[process.x]\nuse = "
        "\"http-json\"\nconfig = { listen = \"$${A} a $${PERIOD} \\\"quoted\\\" $$${x}\\n\\\\\" }\nin = { "
        "live = "
        "\"p.value\" }\n");
  same_again(c);
}
