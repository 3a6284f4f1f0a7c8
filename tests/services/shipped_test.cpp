// SPDX-License-Identifier: BSL-1.0
//
// What is shipped beside the program: deployments for boards, each with a sample service, and the manual
// page.
#include <doctest/doctest.h>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

using leat::services::test::scratch_folder;
using leat::test::child_result;
using leat::test::run_program;

namespace {

namespace fs = std::filesystem;

const std::string hello_toml = leat::test::in_source("examples/hello/hello.toml");

std::string content(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> boards() {
  std::vector<std::string> all;
  for (const auto& entry : fs::directory_iterator(leat::test::in_source("config/boards")))
    if (entry.path().extension() == ".toml") all.push_back(entry.path().string());
  std::sort(all.begin(), all.end());
  return all;
}

// The first words of the lines that begin with two blanks and then `begin`.
std::vector<std::string> first_words(const std::string& text, const std::string& begin) {
  std::vector<std::string> all;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  " + begin)) all.push_back(line.substr(2, line.find(' ', 2) - 2));
  return all;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// As roff has it: \-\-json.
std::string in_roff(std::string text) {
  for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) text.insert(at, "\\");
  return text;
}

}  // namespace

TEST_CASE("each board file is right, whatever machine checks it, and the page tells of it") {
  const std::vector<std::string> all = boards();
  CHECK(all.size() == 3);
  const std::string page = content(leat::test::in_source("config/boards/README.md"));
  for (const std::string& board : all) {
    CAPTURE(board);
    const child_result r = run_program(leat::test::program_path("hello"), {"check", board, hello_toml});
    CAPTURE(r.output);
    CHECK(r.exited(0));
    CHECK(r.output.rfind("no errors: 1 service, 2 processes, 1 channel, ", 0) == 0);
    CHECK(page.find("| [" + fs::path(board).filename().string() + "]") != std::string::npos);
  }
}

TEST_CASE("the overrides that board files show in comments are right") {
  const scratch_folder folder;
  std::size_t shown = 0;
  for (const std::string& board : boards()) {
    CAPTURE(board);
    std::string text = content(board), overrides;
    for (std::size_t at = 0; (at = text.find("# [override.", at)) != std::string::npos; ++at) {
      const std::size_t end = text.find('\n', text.find('\n', at) + 1);
      std::string part = text.substr(at, end - at);
      part.erase(0, 2);
      part.erase(part.find("\n# ") + 1, 2);
      overrides += part + '\n';
      ++shown;
    }
    // The names are those of a service of the reader's.
    const std::string file = folder.file("board.toml", text + overrides);
    const std::string service = folder.file("climate.toml", R"(leat = 1
[process.sampler]
use = "greeter"
[process.uplink]
use = "printer"
in = { words = "sampler.words" }
)");
    const child_result r = run_program(leat::test::program_path("hello"), {"check", file, service});
    CAPTURE(r.output);
    CHECK(r.exited(0));
  }
  CHECK(shown == 3);
}

TEST_CASE("a service runs with a board file") {
  const child_result r =
      run_program(leat::test::program_path("hello"),
                  {"run", leat::test::in_source("config/boards/single-core.toml"), hello_toml});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("sent 3 = received 3 + dropped 0 + left 0\n"));
}

TEST_CASE("with a stack census, the end tells what each process used") {
  const scratch_folder folder;
  const std::string census = folder.file("census.toml", "leat = 1\n[runtime]\nstack_census = true\n");
  const child_result r = run_program(leat::test::program_path("hello"), {"run", census, hello_toml});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  for (const char* name : {"greeter: 1 runs, mean ", "printer: 1 runs, mean "}) CHECK(r.said(name));
  CHECK(r.said(" would do\n"));
}

TEST_CASE("the manual page has every verb and every option") {
  const std::string page = content(leat::test::in_source("services/leat/leat.1"));
  const auto help = [](std::vector<std::string> words) {
    return run_program(leat::test::program_path("leat"), words).output;
  };
  const std::vector<std::string> verbs = first_words(help({"--help"}), "");
  CHECK(verbs.size() >= 10);
  std::size_t options = 0;
  for (const std::string& verb : verbs) {
    CAPTURE(verb);
    std::size_t begin = page.find(".SS \"leat " + verb + ' ');
    if (begin == std::string::npos) begin = page.find(".SS \"leat " + verb + '"');
    REQUIRE(begin != std::string::npos);
    const std::string section = page.substr(begin, page.find("\n.S", begin) - begin);
    for (const std::string& option : first_words(help({verb, "--help"}), "--")) {
      CAPTURE(option);
      ++options;
      // In the heading, and explained.
      CHECK((has(section, '[' + in_roff(option)) || has(section, "| " + in_roff(option))));
      CHECK((has(section, "\n.B " + in_roff(option) + '\n') ||
             has(section, "\n.BI " + in_roff(option) + "\\~ ")));
    }
  }
  CHECK(options >= 12);
  // And no verb that is not there.
  std::size_t sections = 0;
  for (std::size_t at = 0; (at = page.find("\n.SS \"leat ", at)) != std::string::npos; ++at) ++sections;
  CHECK(sections == verbs.size());
}

TEST_CASE("the manual page is good roff, and of this version") {
  const std::string version =
      run_program(leat::test::program_path("leat"), {"version"}).output;  // "leat 0.1.0"
  const std::string minor = version.substr(5, version.rfind('.') - 5);
  CHECK(content(leat::test::in_source("services/leat/leat.1")).find("\"Leat " + minor + '"') !=
        std::string::npos);
  if (!fs::exists("/usr/bin/groff")) {
    MESSAGE("there is no groff here");
    return;
  }
  const child_result r = run_program(
      "/bin/sh",
      {"-c", "groff -ww -man -Tutf8 -Z " + leat::test::in_source("services/leat/leat.1") + " >/dev/null"});
  CHECK(r.exited(0));
  CHECK(r.output == "");
}
