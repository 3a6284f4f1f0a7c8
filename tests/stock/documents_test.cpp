// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/net/child.hpp>
#include <leat/process/registry.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/time.hpp>
#include <leat/services/describe.hpp>
#include <leat/stock.hpp>

#include "support/paths.hpp"

namespace {

constexpr auto patience = std::chrono::seconds(60);

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}
std::string document() { return content(leat::test::in_source("docs/stock.md")); }

// A class that this build leaves out, for lack of a library.
bool is_left_out(const std::string& text) {
  return text.find("\"sqlite-writer\"") != std::string::npos &&
         !leat::program_catalog().find_class("sqlite-writer");
}
// Lines of the table that tell of such.
std::string without_left_out(const std::string& table) {
  if (leat::program_catalog().find_class("sqlite-writer")) return table;
  std::string kept, line;
  for (std::istringstream in(table); std::getline(in, line);)
    if (!line.starts_with("| `sqlite-writer` ")) kept += line + '\n';
  return kept;
}

}  // namespace

TEST_CASE("each piece of TOML in docs/stock.md passes the check without a warning") {
  leat::stock::use();
  const std::string text = document();
  std::size_t pieces = 0;
  for (std::size_t at = 0; (at = text.find("\n```toml\n", at)) != std::string::npos; ++pieces) {
    at += 9;
    const std::size_t end = text.find("\n```", at);
    REQUIRE(end != std::string::npos);
    const std::string piece = text.substr(at, end - at + 1);
    if (is_left_out(piece)) continue;
    const auto checked = leat::config::check_text("stock.md", piece, leat::program_catalog());
    INFO(leat::config::render(checked.found, checked.sources));
    CHECK(checked.plan.has_value());
    CHECK(checked.found.all().empty());
  }
  CHECK(pieces > 2);
}

TEST_CASE(
    "what is wrong with settings of a syntax of their own is told to the column, before anything runs") {
  leat::stock::use();
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(leat::test::in_source("tests/stock/broken"));
  std::size_t files = 0;
  for (const auto& e : std::filesystem::directory_iterator(".")) {
    if (e.path().extension() != ".toml") continue;
    ++files;
    const std::string name = e.path().filename().string();
    CAPTURE(name);
    const auto checked = leat::config::check({name}, leat::program_catalog());
    const std::string shown = leat::config::render(checked.found, checked.sources);
    const std::string expected = name.substr(0, name.rfind('.')) + ".expected";
    // After a change of wording; then look at the difference.
    if (::getenv("LEAT_WRITE_EXPECTED")) std::ofstream(expected) << shown;
    CHECK(shown == content(expected));
    CHECK(!checked.plan.has_value());
  }
  CHECK(files >= 7);
  std::filesystem::current_path(before);
}

TEST_CASE("docs/stock.md tells of each class and each of its settings") {
  leat::stock::use();
  const std::string text = document();
  for (const leat::class_schema* c : leat::program_catalog().classes()) {
    CAPTURE(c->name);
    CHECK(text.find('`' + c->name + '`') != std::string::npos);
    for (const leat::setting_schema& s : c->settings) {
      CAPTURE(s.name);
      const bool told = text.find('`' + s.name + '`') != std::string::npos ||
                        text.find('`' + s.name + " = ") != std::string::npos;
      CHECK(told);
    }
  }
}

TEST_CASE("docs/stock.md has the errors that the classes tell of themselves") {
  leat::stock::use();
  std::string table = "| class | what happens | what it does |\n|---|---|---|\n";
  for (const leat::class_schema* c : leat::program_catalog().classes())
    for (const leat::error_schema& e : c->errors)
      table += "| `" + c->name + "` | " + e.what + " | " + e.answer + " |\n";
  std::string text = document();
  const std::string begin = "<!-- errors: begin -->\n", end = "<!-- errors: end -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  const std::string told = text.substr(from + begin.size(), to - from - begin.size());
  // After a change of wording; then look at the difference.
  if (::getenv("LEAT_WRITE_EXPECTED") && told != table)
    std::ofstream(leat::test::in_source("docs/stock.md"))
        << text.replace(from + begin.size(), told.size(), table);
  CHECK(without_left_out(told) == table);
}

TEST_CASE("describe tells the errors of a class, to people and to programs") {
  leat::stock::use();
  const leat::class_schema& c = *leat::program_catalog().find_class("log");
  const std::string text = leat::services::describe_text(c, leat::program_catalog());
  CHECK(text.find("\n  errors\n    a record of more than about 900 bytes -> its line is cut\n") !=
        std::string::npos);
  const leat::class_schema& s = *leat::program_catalog().find_class("select-fields");
  CHECK(leat::services::describe_text(s, leat::program_catalog()).find("sends { what settings say }\n") !=
        std::string::npos);
  CHECK(leat::services::describe_json(c).find(
            R"("errors":[{"what":"a record of more than about 900 bytes","answer":"its line is cut"},)") !=
        std::string::npos);
}

TEST_CASE("a program that has become another user's is left behind, and holds up no stop") {
  std::string folder = (std::filesystem::temp_directory_path() / "leat-stock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  namespace fs = std::filesystem;
  if (::geteuid() != 0 || !fs::exists("/usr/bin/setpriv")) {
    MESSAGE("skipped: only root can make a program that changes its user, and with setpriv");
    fs::remove_all(folder);
    return;
  }
  const auto to_all = fs::perms::owner_all | fs::perms::group_exec | fs::perms::group_read |
                      fs::perms::others_exec | fs::perms::others_read;
  fs::permissions(folder, to_all);
  fs::copy_file(leat::test::program_path("leat"), folder + "/leat");
  fs::permissions(folder + "/leat", to_all);
  fs::copy_file("/usr/bin/setpriv", folder + "/become");
  fs::permissions(folder + "/become", to_all | fs::perms::set_uid);
  std::ofstream(folder + "/t.toml")
      << "leat = 1\n[process.p]\nuse = \"exec\"\ngrace = \"60s\"\n[process.p.config]\n"
         "patience = \"20ms\"\ncommand = [\"" +
             folder +
             "/become\", \"--reuid=0\", \"--regid=0\", \"--clear-groups\", "
             "\"sh\", \"-c\", \"echo $$ >" +
             folder + "/pid; exec sleep 1000\"]\n";
  leat::run({.procs = 2}, [&] {
    leat::net::child c(
        {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", folder + "/leat", "run",
         folder + "/t.toml"},
        {.in = leat::net::stdio::null, .out = leat::net::stdio::null, .err = leat::net::stdio::pipe});
    int pid = 0;
    const leat::deadline end(patience);
    while (!(std::ifstream(folder + "/pid") >> pid) && c.is_running() && !end.expired())
      (void)leat::sleep_for(std::chrono::milliseconds(5));
    if (pid > 1) {
      c.kill(SIGTERM);
      std::string said;
      while (const auto line = c.err().read_line(patience)) said += *line + '\n';
      INFO(said);
      CHECK(said.find("cannot be killed, and is left behind") != std::string::npos);
    } else {
      MESSAGE("skipped: programs do not change their user here");
      if (c.is_running()) c.kill(SIGKILL);
    }
    (void)c.wait(patience);
    if (pid > 1) CHECK(::kill(pid, SIGKILL) == 0);  // it was still there
  });
  fs::remove_all(folder);
}

TEST_CASE("standard input becomes records, and records standard output") {
  std::string folder = (std::filesystem::temp_directory_path() / "leat-stock-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()));
  const auto put = [&](const char* name, const char* text) { std::ofstream(folder + name) << text; };
  put("/t.toml", R"(leat = 1
[process.in]
use    = "line-reader"
config = { from = "stdin", format = "csv" }
out    = { values = "records" }
[process.out]
use    = "line-writer"
config = { to = "stdout", format = "json" }
in     = { values = "records" }
[channel.records]
)");
  put("/in.csv", "a,b\n1,x\n2,y");
  leat::run({.procs = 2}, [&] {
    const std::string command =
        leat::test::program_path("leat") + " run " + folder + "/t.toml 2>" + folder + "/err";
    const std::string wanted = "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n";
    {
      leat::net::child c({"sh", "-c", command},
                         {.in = leat::net::stdio::pipe, .out = leat::net::stdio::pipe});
      c.in().write("a,b\n1,x\n", patience);
      CHECK(c.out().read_line(patience) == "{\"a\":1,\"b\":\"x\"}");
      c.in().write("2,y", patience);
      c.in().close();
      CHECK(c.out().read_line(patience) == "{\"a\":2,\"b\":\"y\"}");
      CHECK(c.wait(patience).ok());
    }
    leat::net::child files({"sh", "-c", command + " <" + folder + "/in.csv" + " >" + folder + "/out"});
    CHECK(files.wait(patience).ok());
    CHECK(content(folder + "/out") == wanted);
    leat::net::child nothing({"sh", "-c", command},
                             {.in = leat::net::stdio::null, .out = leat::net::stdio::null});
    CHECK(nothing.wait(patience).ok());
  });
  std::filesystem::remove_all(folder);
}
