// SPDX-License-Identifier: BSL-1.0
//
// The programs as their users meet them.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli_fixture.hpp"
#include "config/json.hpp"

using namespace leat::services::test;
using leat::test::child_result;
using leat::test::run_program;
using json = leat::config::test::json;
using leat::config::test::json_reader;

TEST_CASE(
    "the exit status is 0 when all is well, 78 for a bad file, 2 for bad usage, 1 for what fails then") {
  const scratch_folder folder;
  CHECK(run_hello({"run", hello_toml}).exited(0));
  CHECK(run_hello({"check", hello_toml}).exited(0));
  const std::string bad = folder.file("bad.toml", "leat = 1\n[process.p]\nuse = \"greter\"\n");
  for (const char* verb : {"run", "check", "graph"}) {
    const child_result r = run_hello({verb, bad});
    CHECK(r.exited(78));
    CHECK(r.said("bad.toml:3:7: error: "));
    CHECK(r.said("did you mean 'greeter'?"));
  }
  CHECK(run_hello({"run", folder.path() + "/none.toml"}).exited(78));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{},
                                             {"run"},
                                             {"chek", hello_toml},
                                             {"check", "--jsno", hello_toml},
                                             {"list", "more"},
                                             {"describe"},
                                             {"completion", "fish"},
                                             {"help", "chek"},
                                             {"list", "--quiet"}})
    CHECK(run_hello(words).exited(2));
  CHECK(run_hello({"describe", "nobody"}).exited(2));
  CHECK(run_program("/bin/sh", {"-c", hello + " list >/dev/full"}).exited(1));
}

TEST_CASE("run prints what its processes say, and the ledger") {
  const child_result r = run_hello({"run", hello_toml});
  CHECK(r.said("1: hello, you\n2: hello, you\n3: hello, you\n"));
  CHECK(r.said("channel hello/greeter.words  sent 3 = received 3 + dropped 0 + left 0\n"));
  CHECK(r.said("process hello/greeter  runs 1, failures 0, longest run "));
  const child_result quiet = run_hello({"run", "--quiet", hello_toml});
  CHECK(quiet.output == "1: hello, you\n2: hello, you\n3: hello, you\n");
}

TEST_CASE("--set changes one key of what is run and checked, and a mistake is shown in the argument") {
  const child_result r =
      run_hello({"run", "--quiet", "--set", "hello.process.greeter.config.times=2", hello_toml});
  CHECK(r.output == "1: hello, you\n2: hello, you\n");
  const child_result wrong =
      run_hello({"check", hello_toml, "--set=hello.process.greeter.config.times=often"});
  CHECK(wrong.exited(78));
  CHECK(wrong.said("--set:1:"));
  CHECK(run_hello({"check", "--set", "", hello_toml}).exited(2));
}

TEST_CASE("check --expanded prints plain TOML, or writes it to a folder, over nothing that is there") {
  const scratch_folder folder;
  const std::string two = folder.file(
      "two.toml", "leat = 1\nservices = [{ file = \"" + hello_toml + "\", name = \"one\" }, { file = \"" +
                      hello_toml + "\", name = \"two\" }]\n[runtime]\nprocs = \"${LEAT_TEST_PROCS:-1}\"\n");
  const child_result shown = run_hello({"check", "--expanded", two});
  CHECK(shown.exited(0));
  CHECK(shown.said(
      "# ---- deployment.toml\nleat = 1\nservices = [\"one.toml\", \"two.toml\"]\n\n[runtime]\nprocs = 1\n"));
  const std::string into = folder.path() + "/plain";
  CHECK(run_hello({"check", "--expanded", "--into", into, two}).exited(0));
  CHECK(run_hello({"check", into}).said("no errors: 2 services"));
  const child_result again = run_hello({"check", "--expanded", "--into", into, two});
  CHECK(again.exited(1));
  CHECK(again.said("File exists"));
  CHECK(run_hello({"check", "--into", into, two}).exited(2));
  const std::string alone = folder.file("alone.toml", run_hello({"check", "--expanded", hello_toml}).output);
  CHECK(run_hello({"run", "--quiet", alone}).output == run_hello({"run", "--quiet", hello_toml}).output);
}

TEST_CASE("check -v says which key counts of two") {
  const scratch_folder folder;
  const std::string a = folder.file("a.toml", "leat = 1\n[runtime]\nprocs = 1\n");
  const std::string b = folder.file("b.toml", "leat = 1\n[runtime]\nprocs = 2\n");
  CHECK(run_hello({"check", "-v", hello_toml, a, b})
            .said("b.toml:3:1: note: 'procs' of [runtime] is replaced\n"));
  CHECK_FALSE(run_hello({"check", hello_toml, a, b}).said("replaced"));
}

TEST_CASE("each verb explains itself, and so does the program") {
  for (const char* verb : {"run",  "check", "graph",   "list",       "describe", "new",     "schema",
                           "ps",   "top",   "tap",     "inject",     "set",      "restart", "log",
                           "dump", "stop",  "metrics", "completion", "version",  "help"}) {
    const child_result r = run_hello({verb, "--help"});
    CHECK(r.exited(0));
    CHECK(r.output.rfind("usage: hello " + std::string(verb), 0) == 0);
    CHECK(run_hello({"help", verb}).output == r.output);
    CHECK(run_hello({"--help"}).said("\n  " + std::string(verb)));
  }
  CHECK(run_hello({"-h"}).output == run_hello({"help"}).output);
  CHECK(run_hello({"--version"}).output == run_hello({"version"}).output);
  CHECK(run_hello({"--version"}).output.rfind("hello ", 0) == 0);
}

TEST_CASE("a word that is nearly right gets a suggestion") {
  CHECK(run_hello({"chek"}).said("hello: there is no verb 'chek'; did you mean 'check'?\n"));
  CHECK(run_hello({"check", "--jsno", "x"}).said("'check' has no option '--jsno'; did you mean '--json'?\n"));
  CHECK(run_hello({"run", "--json", "x"}).said("'run' has no option '--json'\n"));
  CHECK_FALSE(run_hello({"zzzzzz"}).said("did you mean"));
}

TEST_CASE("a wrong command line is answered in two lines; only who says nothing gets the whole usage") {
  CHECK(run_hello({"run", "--quit", "x"}).output ==
        "hello: 'run' has no option '--quit'; did you mean '--quiet'?\n"
        "`hello run --help` says what there is\n");
  CHECK(run_hello({"chek"}).output ==
        "hello: there is no verb 'chek'; did you mean 'check'?\n`hello --help` says what there is\n");
  CHECK(run_hello({}).said("usage: hello VERB"));
}

TEST_CASE("a CPU that the program may not use is told with its place, before anything starts") {
  const scratch_folder folder;
  std::ifstream in(hello_toml);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::string file = folder.file("far.toml", text + "\n[runtime]\ncpus = [1023]\n");
  const child_result r = run_hello({"run", file});
  CHECK(r.exited(78));
  CHECK_MESSAGE(r.said(":9: error: 'cpus' names CPU 1023, on which this program may not run here\n"),
                r.output);
  CHECK_FALSE(r.said("hello, you"));
  CHECK(run_hello({"check", file}).exited(0));
}

TEST_CASE("what is said to be JSON is") {
  const scratch_folder folder;
  const std::string bad = folder.file("bad \"1\".toml", "leat = 1\n[process.p]\nuse = \"greter\"\n");
  const child_result wrong = run_hello({"check", "--json", bad});
  CHECK(wrong.exited(78));
  const auto diagnostics = json_reader::read(wrong.output);
  REQUIRE(diagnostics);
  REQUIRE(diagnostics->at("errors"));
  CHECK(diagnostics->at("errors")->elements.size() >= 1);
  CHECK(json_reader::read(run_hello({"check", "--json", hello_toml}).output));
  const auto list = json_reader::read(run_hello({"list", "--json"}).output);
  REQUIRE(list);
  REQUIRE(list->elements.size() == 2);
  CHECK(list->elements[0].at("name")->text == "greeter");
  const auto greeter = json_reader::read(run_hello({"describe", "--json", "greeter"}).output);
  REQUIRE(greeter);
  CHECK(greeter->at("ports")->elements.size() == 1);
  CHECK(greeter->at("settings")->elements.size() == 2);
  const auto schema = json_reader::read(run_hello({"schema"}).output);
  REQUIRE(schema);
  CHECK(schema->at("$schema"));
}

TEST_CASE("graph draws in text, for graphviz and for Mermaid") {
  const std::string text = R"(service hello
  greeter (greeter)
    .words --> greeter.words [single 64, block, greeting] --> printer.words
  printer (printer)
)";
  CHECK(run_hello({"graph", hello_toml}).output == text);
  CHECK(run_hello({"graph", "--text", hello_toml}).output == text);
  // Without the lines on how it looks.
  std::string dot = run_hello({"graph", "--dot", hello_toml}).output;
  const std::size_t style = dot.find("    node [shape=ellipse");
  REQUIRE(style != std::string::npos);
  dot.erase(style, dot.find('\n', style) + 1 - style);
  CHECK(dot.rfind("digraph leat {\n  graph [rankdir=LR, ", 0) == 0);
  CHECK(dot.substr(std::min(dot.size(), dot.find("  subgraph"))) == R"(  subgraph cluster_0 {
    label="hello";
    p0 [label="greeter\ngreeter"];
    p1 [label="printer\nprinter"];
    c0 [label="greeter.words\nsingle 64, block"];
  }
  p0 -> c0 [label="words"];
  c0 -> p1 [label="words"];
}
)");
  CHECK(run_hello({"graph", "--mermaid", hello_toml}).output == R"(flowchart LR
  subgraph s0["hello"]
    p0["greeter<br>greeter"]
    p1["printer<br>printer"]
  end
  p0 -->|"greeter.words: single 64, block"| p1
)");
  CHECK(run_program(pipeline, {"graph", pipeline_toml}).output == R"(service pipeline
  source (source)
    .raw --> raw [many 256, block, reading] --> scale.raw
  scale (scale) x2
    .scaled --> scaled [broadcast 256, reading] --> sum.values (block), panel.live (latest)
  panel (panel)
  sum (sum)
)");
}

TEST_CASE("graph --svg draws with graphviz, or says what is missing") {
  const child_result r = run_hello({"graph", "--svg", hello_toml});
  if (r.exited(0)) {
    CHECK(r.said("<svg"));
  } else {
    CHECK(r.exited(1));
    CHECK(r.said("graph --svg needs graphviz's `dot`"));
  }
}

TEST_CASE("list and describe tell what the program has") {
  CHECK(run_hello({"list", "--names"}).output == "greeter\nprinter\n");
  CHECK(run_hello({"describe", "greeter"}).output == R"(greeter: says hello some times
  out words: greeting
        { text: text, number: int32 }
  config
    whom   text, default "world"  # who is greeted
    times  integer 1 to 1000, default 3  # how often
)");
  CHECK(run_hello({"describe", "greter"}).output ==
        "hello: there is no process class 'greter'; did you mean 'greeter'?\n"
        "`hello list` shows those that there are\n");
  CHECK_FALSE(run_hello({"describe", "nobody"}).said("did you mean"));
  CHECK(run_program(leat_program, {"list"}).exited(0));
  CHECK(run_program(leat_program, {"describe", "exec"})
            .said("  limits, unless the file says otherwise\n    grace = \"6s\"  # by its settings\n"));
}
