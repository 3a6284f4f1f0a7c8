// SPDX-License-Identifier: BSL-1.0
//
// The completion of the command line, by the shells themselves.
#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "cli_fixture.hpp"

using namespace leat::services::test;
using leat::test::run_program;

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
