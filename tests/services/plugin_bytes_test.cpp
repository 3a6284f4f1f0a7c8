// SPDX-License-Identifier: BSL-1.0
#include <leat/services/plugin_bytes.hpp>

#include <doctest/doctest.h>

#include <leat/process/plugin.hpp>

namespace leat::services {
namespace {

const std::string elf = "\177ELF";

std::string described(std::string_view name, std::string_view version = LEAT_VERSION,
                      std::string_view abi = LEAT_PLUGIN_ABI) {
  const plugin_description d = plugins::describe(name, version, abi);
  return {reinterpret_cast<const char*>(&d), sizeof d};
}

TEST_CASE("a file is a plug-in by the description in its bytes, wherever that lies") {
  const plugin_in_file p = read_plugin(elf + std::string(1000, 'x') + described("climate") + "more");
  CHECK(p.error == "");
  CHECK(p.name == "climate");
  CHECK(read_plugin("#!/bin/sh").error == "it is not a shared object");
  CHECK(read_plugin(elf).error.starts_with("it does not say LEAT_PLUGIN"));
  CHECK(read_plugin(elf + described("cut").substr(0, 200)).error.starts_with("it does not say LEAT_PLUGIN"));
  CHECK(read_plugin(elf + described("old", "0.0.1")).error.starts_with("it was built with Leat 0.0.1"));
}

TEST_CASE("the mark of a description alone does not hide the description behind it") {
  const std::string mark = described("x").substr(0, plugin_description::mark_size);
  const plugin_in_file p = read_plugin(elf + mark + "\1" + std::string(7, '\0') + described("climate"));
  // Format 1, but of no size.
  CHECK(p.error == "");
  CHECK(p.name == "climate");
}

TEST_CASE("what a file says of itself is shown without control characters") {
  CHECK(read_plugin(elf + described("a\33[2Jb")).name == "a?[2Jb");
  CHECK(read_plugin(elf + described("x", "9.9\n.1")).error.find('\n') == std::string::npos);
  CHECK(read_plugin(elf + described("x", LEAT_VERSION, "\33[2J")).error.find('\33') == std::string::npos);
}

}  // namespace
}  // namespace leat::services
