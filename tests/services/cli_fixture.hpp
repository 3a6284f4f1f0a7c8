// SPDX-License-Identifier: BSL-1.0
//
// The programs that the tests of the command line run, and a service for them.
#pragma once
#include <string>
#include <vector>

#include "program.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

namespace leat::services::test {

inline const std::string hello = leat::test::program_path("hello"),
                         pipeline = leat::test::program_path("pipeline"),
                         leat_program = leat::test::program_path("leat");
inline const std::string hello_toml = leat::test::in_source("examples/hello/hello.toml");
inline const std::string pipeline_toml = leat::test::in_source("examples/pipeline/pipeline.toml");

inline leat::test::child_result run_hello(const std::vector<std::string>& words) {
  return leat::test::run_program(hello, words, {.environment = {"USER=you", "NO_COLOR", "LEAT_LOG"}});
}

// A source without end. The sum reads all; the panel looks once in `pace`.
inline std::string endless(const std::string& pace, const std::string& panel, const std::string& drain) {
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

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace leat::services::test
