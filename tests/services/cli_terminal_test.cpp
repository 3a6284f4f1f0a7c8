// SPDX-License-Identifier: BSL-1.0
//
// What a terminal gets: a status line, and colour.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "cli_fixture.hpp"

using namespace leat::services::test;
using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_program;

TEST_CASE("on a terminal a status line shows, no wider than that, and goes away at the end") {
  const scratch_folder folder;
  const std::string file = folder.file("load.toml", endless("1ms", "latest", "30s"));
  for (const std::size_t columns : {100u, 20u}) {
    program p({pipeline, "run", file}, {"TERM=xterm"}, program::at::terminal, columns);
    REQUIRE(p.says("3 running, "));
    const std::size_t begin = p.said.find("3 running, ");
    REQUIRE(p.says("3 running, "));
    p.signal(SIGINT);
    CHECK(p.end() == 0);
    const std::size_t end = p.said.find('\r', begin);
    REQUIRE(end != std::string::npos);
    const std::string line = p.said.substr(begin, end - begin);
    // At the right, and the cursor at the left.
    const std::size_t blank = columns - 1 - line.size();
    CHECK(p.said.substr(0, begin).ends_with("\r\033[K" +
                                            (blank > 0 ? "\033[" + std::to_string(blank) + "C" : "")));
    // A line of the log leaves nothing of it.
    CHECK(has(p.said, "another signal, a second or more from now, ends it at once\033[K\r\n"));
    CHECK(line.size() < columns);
    if (columns == 100) {
      CHECK(has(line, " values/s, fullest load/raw "));
    } else {
      CHECK(line.size() == 19);
    }
    // Cleared before the ledger.
    CHECK(has(p.said, "\r\033[Kchannel load/raw -> sum"));
  }
}

TEST_CASE("without a terminal, with NO_COLOR and with --quiet there is neither status line nor colour") {
  const scratch_folder folder;
  const std::string file = folder.file("load.toml", endless("1ms", "latest", "30s"));
  const auto run_for_a_while = [&](std::vector<std::string> words, std::vector<std::string> environment,
                                   program::at where) {
    const notify_socket systemd(folder.path() + "/notify");
    environment.push_back(systemd.variable());
    program p(std::move(words), std::move(environment), where);
    CHECK(systemd.next() == "READY=1");
    ::unlink((folder.path() + "/notify").c_str());
    // Longer than it takes for one to appear.
    std::this_thread::sleep_for(1300ms);
    p.signal(SIGINT);
    CHECK(p.end() == 0);
    CHECK(has(p.said, "sum of "));
    CHECK_FALSE(has(p.said, "running"));
    return p.said;
  };
  const std::string plain[] = {
      run_for_a_while({pipeline, "run", file}, {"TERM=xterm"}, program::at::pipe),
      run_for_a_while({pipeline, "run", file}, {"TERM=xterm", "NO_COLOR=1"}, program::at::terminal),
      run_for_a_while({pipeline, "run", file}, {"TERM=dumb"}, program::at::terminal)};
  for (const std::string& said : plain) CHECK_FALSE(has(said, "\033"));
  run_for_a_while({pipeline, "run", "--quiet", file}, {"TERM=xterm"}, program::at::terminal);
}

TEST_CASE("diagnostics are coloured on a terminal, unless NO_COLOR is set") {
  const scratch_folder folder;
  const std::string bad = folder.file("bad.toml", "leat = 1\n[process.p]\nuse = \"greter\"\n");
  program coloured({hello, "check", bad}, {"TERM=xterm"}, program::at::terminal);
  CHECK(coloured.end() == 78);
  CHECK(has(coloured.said, "\033["));
  for (const char* variable : {"NO_COLOR=1", "TERM=dumb"}) {
    program plain({hello, "check", bad}, {variable}, program::at::terminal);
    CHECK(plain.end() == 78);
    CHECK(has(plain.said, "error: "));
    CHECK_FALSE(has(plain.said, "\033["));
  }
}
