// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as the file of a plug-in: it is one of this program, or it is refused with a reason that can be
// shown.
#include <leat/process/plugin.hpp>
#include <leat/services/plugin_bytes.hpp>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

bool can_be_shown(std::string_view text) {
  for (const char c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  return true;
}

std::string bytes_of(const plugin_description& d) { return {reinterpret_cast<const char*>(&d), sizeof d}; }

void run(std::string_view input) {
  const services::plugin_in_file p = services::read_plugin(input);
  require(can_be_shown(p.name) && can_be_shown(p.error), "what is shown has no control characters");
  require(p.name.size() <= sizeof(plugin_description::name), "a name ends with its field");
  const std::string mark = bytes_of(plugins::describe("", "", "")).substr(0, plugin_description::mark_size);
  if (p.error.empty()) require(input.find(mark) != input.npos, "a plug-in has the mark");
  // A mark in front, as a text of the program might have it, changes nothing.
  if (input.size() < 4) return;
  const std::string text = std::string(input.substr(0, 4)) + mark + std::string(sizeof(std::uint32_t), '\1') +
                           std::string(input.substr(4));
  if (p.error.empty()) (void)services::read_plugin(text);
}

inputs seeds() {
  const std::string elf = "\177ELF\2\1\1";
  const auto file = [&](std::string_view name, std::string_view version, std::string_view abi) {
    return elf + bytes_of(plugins::describe(name, version, abi)) + "tail";
  };
  plugin_description other = plugins::describe("other", LEAT_VERSION, LEAT_PLUGIN_ABI);
  other.format = 2;
  plugin_description wrong_size = plugins::describe("wrong", LEAT_VERSION, LEAT_PLUGIN_ABI);
  wrong_size.size = 1;
  plugin_description full = plugins::describe("", LEAT_VERSION, LEAT_PLUGIN_ABI);
  for (char& c : full.name) c = 'x';
  return {"",
          "#!/bin/sh",
          elf,
          file("climate", LEAT_VERSION, LEAT_PLUGIN_ABI),
          file("climate", "9.9.9", LEAT_PLUGIN_ABI),
          file("climate", "", ""),
          file("\33[2J", LEAT_VERSION, "\33[2J"),
          elf + bytes_of(other),
          elf + bytes_of(wrong_size) + bytes_of(plugins::describe("right", LEAT_VERSION, LEAT_PLUGIN_ABI)),
          elf + bytes_of(full),
          elf + bytes_of(full).substr(0, 100)};
}

LEAT_FUZZ_TARGET("plugin", run, seeds);

}  // namespace
}  // namespace leat::fuzz
