// SPDX-License-Identifier: BSL-1.0
//
// The programs as their users meet them.
#include <doctest/doctest.h>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "config/json.hpp"
#include "program.hpp"
#include "support/child.hpp"

using namespace leat::services::test;
using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_program;
using json = leat::config::test::json;
using leat::config::test::json_reader;

namespace {

const std::string hello = LEAT_HELLO, pipeline = LEAT_PIPELINE, leat_program = LEAT_PROGRAM;
const std::string hello_toml = LEAT_EXAMPLES "/hello/hello.toml";
const std::string pipeline_toml = LEAT_EXAMPLES "/pipeline/pipeline.toml";

child_result run_hello(const std::vector<std::string>& words) {
  return run_program(hello, words, {.environment = {"USER=you", "NO_COLOR", "LEAT_LOG"}});
}

// A source without end. The sum reads all; the panel looks once in `pace`.
std::string endless(const std::string& pace, const std::string& panel, const std::string& drain) {
  return R"(leat = 1
[service]
name = "load"
drain = ")" +
         drain + R"("
[process.source]
use = "source"
out = { raw = "raw" }
[process.sum]
use = "sum"
in = { values = "raw" }
[process.panel]
use = "panel"
config = { pace = ")" +
         pace + R"(" }
in = { live = "raw" }
[channel.raw]
capacity = 32
fanout = "copy"
reader = { sum = "block", panel = ")" +
         panel + "\" }\n";
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

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

TEST_CASE("each verb explains itself, and so does the program") {
  for (const char* verb :
       {"run", "check", "graph", "list", "describe", "new", "schema", "completion", "version", "help"}) {
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
  const auto findings = json_reader::read(wrong.output);
  REQUIRE(findings);
  REQUIRE(findings->at("errors"));
  CHECK(findings->at("errors")->elements.size() >= 1);
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
  CHECK(run_hello({"graph", "--dot", hello_toml}).output == R"(digraph leat {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  subgraph cluster_0 {
    label="hello";
    p0 [label="greeter\ngreeter"];
    p1 [label="printer\nprinter"];
    c0 [shape=ellipse, label="greeter.words\nsingle 64, block"];
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
}

TEST_CASE("the completion for bash completes verbs, options, classes and files") {
  const scratch_folder folder;
  folder.file("one.toml", "");
  folder.file("two.txt", "");
  const std::string script = folder.file("complete", run_hello({"completion", "bash"}).output);
  CHECK(run_program("/bin/bash", {"-n", script}).exited(0));
  const auto complete = [&](const std::string& words, int at) {
    return run_program("/bin/bash", {"-c", "cd " + folder.path() + " && . ./complete && COMP_WORDS=(" +
                                               hello + " " + words + ") COMP_CWORD=" + std::to_string(at) +
                                               " && _hello_words && printf '%s\\n' \"${COMPREPLY[@]}\""})
        .output;
  };
  CHECK(complete("de", 1) == "describe\n");
  CHECK(complete("--v", 1) == "--version\n");
  CHECK(complete("graph --m", 2) == "--mermaid\n");
  CHECK(complete("describe pr", 2) == "printer\n");
  CHECK(complete("completion z", 2) == "zsh\n");
  CHECK(complete("help ch", 2) == "check\n");
  CHECK(complete("run o", 2) == "one.toml\n");
  CHECK(complete("run tw", 2) == "\n");
}

TEST_CASE("the completion for zsh completes from the first time on") {
  const scratch_folder folder;
  const std::string text = run_hello({"completion", "zsh"}).output;
  CHECK(text.rfind("#compdef hello\n", 0) == 0);
  const std::string script = folder.file("_hello", text);
  const std::string zsh = "/bin/zsh";
  if (!std::filesystem::exists(zsh)) {
    // Most of what zsh reads, bash does.
    MESSAGE("there is no zsh here; bash has read it");
    CHECK_FALSE(has(text, "mapfile"));
    CHECK(run_program("/bin/bash", {"-n", script}).exited(0));
    return;
  }
  folder.file("one.toml", "");
  // A shell of its own for each, so that each is the first time.
  const std::string driver = folder.file("driver", R"(zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "cd $1; fpath=($1 \$fpath); path=($2 \$path); autoload -U compinit; compinit -u -D; echo re''ady"
said=
await() {
  for i in {1..100}; do
    while zpty -r -t shell part; do said+=$part; done
    [[ $said == *$1* ]] && return
    sleep 0.1
  done
  exit 1
}
await ready
said=
zpty -w -n shell "$3"$'\t'
await "$4"
)");
  const std::string folder_of_hello = hello.substr(0, hello.rfind('/'));
  for (const auto& [words, completed] : {std::pair("hello de", "describe"),
                                         {"hello graph --m", "--mermaid"},
                                         {"hello describe pr", "printer"},
                                         {"hello run o", "one.toml"}}) {
    const std::string typed = words;  // a lambda cannot have a binding
    CAPTURE(typed);
    CHECK(run_program(zsh, {"-f", driver, folder.path(), folder_of_hello, words, completed}).exited(0));
  }
}

TEST_CASE("SIGINT and SIGTERM drain, print the ledger and end with 0, and systemd is told") {
  for (const int number : {SIGINT, SIGTERM}) {
    const scratch_folder folder;
    const notify_socket systemd(folder.path() + "/notify");
    program p({pipeline, "run", folder.file("load.toml", endless("1ms", "latest", "30s"))},
              {systemd.variable()});
    REQUIRE(systemd.next() == "READY=1");
    p.signal(number);
    CHECK(systemd.next() == "STOPPING=1");
    CHECK(p.end() == 0);
    CHECK(has(p.said, "sum of "));
    CHECK(has(p.said, "channel load/raw -> sum "));
    CHECK(has(p.said, " + dropped 0 + left 0\n"));
    CHECK_FALSE(has(p.said, "\033["));
  }
}

TEST_CASE("a second signal ends at once, with 1") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  program p({pipeline, "run", folder.file("load.toml", endless("20h", "block", "20h"))},
            {systemd.variable()});
  REQUIRE(systemd.next() == "READY=1");
  // Before it has got its first value, the panel has nothing to drain. A dump tells.
  bool sleeps = false;
  for (int i = 0; i < 300 && !sleeps; ++i) {
    p.signal(SIGQUIT);
    sleeps = p.says("'panel': waiting for sleep", 100ms);
  }
  REQUIRE(sleeps);
  p.signal(SIGINT);
  REQUIRE(systemd.next() == "STOPPING=1");
  p.signal(SIGINT);
  CHECK(p.end() == 1);
  CHECK(has(p.said, "channel load/raw -> panel"));
  CHECK(has(p.said, "left behind 1"));
}

TEST_CASE("systemd's watchdog is fed as often as it asks, by the process that it asks") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  const std::string file = folder.file("load.toml", endless("1ms", "latest", "30s"));
  {
    const auto begin = std::chrono::steady_clock::now();
    program p({pipeline, "run", file}, {systemd.variable(), "WATCHDOG_USEC=40000"});
    REQUIRE(systemd.next() == "READY=1");
    for (int i = 0; i < 16; ++i) CHECK(systemd.next() == "WATCHDOG=1");
    // The first one comes at once, each of the others 20 ms later.
    CHECK(std::chrono::steady_clock::now() - begin >= 15 * 20ms);
    p.signal(SIGTERM);
    std::string told;
    while ((told = systemd.next()) == "WATCHDOG=1") {
    }
    CHECK(told == "STOPPING=1");
    CHECK(p.end() == 0);
  }
  for (const char* other : {"WATCHDOG_PID=1", "WATCHDOG_USEC=x"}) {
    const notify_socket alone(folder.path() + "/" + other);
    program p(
        {pipeline, "run", file},
        {alone.variable(), other, std::string(other) == "WATCHDOG_USEC=x" ? "A=b" : "WATCHDOG_USEC=1000"});
    REQUIRE(alone.next() == "READY=1");
    std::this_thread::sleep_for(30ms);
    p.signal(SIGTERM);
    CHECK(alone.next() == "STOPPING=1");
    CHECK(p.end() == 0);
  }
}

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
    CHECK(has(p.said, "once more ends it at once\033[K\r\n"));
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

TEST_CASE("findings are coloured on a terminal, unless NO_COLOR is set") {
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
