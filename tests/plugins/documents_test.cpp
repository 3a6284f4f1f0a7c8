// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/process/registry.hpp>
#include <leat/stock.hpp>

#include "support/paths.hpp"

namespace {

std::string page() {
  std::ostringstream text;
  text << std::ifstream(leat::test::in_source("docs/modbus.md")).rdbuf();
  return text.str();
}

TEST_CASE("the service in docs/modbus.md passes the check without a warning") {
  leat::stock::use();
  const std::string text = page();
  const std::size_t begin = text.find("```toml\n") + 8, end = text.find("\n```", begin);
  REQUIRE(end != std::string::npos);
  const auto checked =
      leat::config::check_text("modbus.md", text.substr(begin, end - begin + 1), leat::program_catalog());
  INFO(leat::config::render(checked.found, checked.sources));
  CHECK(checked.plan.has_value());
  CHECK(checked.found.all().empty());
}

TEST_CASE("what is wrong with registers and buses is told to the column") {
  leat::stock::use();
  const auto checked = leat::config::check_text("x.toml", R"(leat = 1
[process.bus]
use    = "modbus-poll"
config = { bus = "tcp:plc:0", registers = [{ name = "a", type = "u8" }, { name = "a", number = 65536 }] }
out    = { readings = "c" }
[process.set]
use    = "modbus-write"
config = { bus = "tcp:plc", registers = [{ name = "a", table = "input" }] }
in     = { values = "c" }
[channel.c]
)",
                                                leat::program_catalog());
  CHECK(leat::config::render(checked.found, checked.sources) ==
        R"(x.toml:4:18: error: 'bus': '0' is not a port: 1 to 65535
    4 | config = { bus = "tcp:plc:0", registers = [{ name = "a", type = "u8" }, { name = "a", number = 65536 }] }
      |                  ^^^^^^^^^^^
x.toml:4:65: error: 'type' must be one of "bit" "u16" "i16" "u32" "i32" "u64" "i64" "f32" "f64"
    4 | config = { bus = "tcp:plc:0", registers = [{ name = "a", type = "u8" }, { name = "a", number = 65536 }] }
      |                                                                 ^^^^
x.toml:4:73: error: 'registers': two registers are called "a"
    4 | config = { bus = "tcp:plc:0", registers = [{ name = "a", type = "u8" }, { name = "a", number = 65536 }] }
      |                                                                         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
x.toml:4:96: error: 'registers': `number` is 0 to 65535
    4 | config = { bus = "tcp:plc:0", registers = [{ name = "a", type = "u8" }, { name = "a", number = 65536 }] }
      |                                                                                                ^^^^^
x.toml:8:64: error: 'registers': inputs cannot be written; expected "holding" or "coil"
    8 | config = { bus = "tcp:plc", registers = [{ name = "a", table = "input" }] }
      |                                                                ^^^^^^^
)");
}

TEST_CASE("docs/modbus.md tells of both classes and each of their settings") {
  const std::string text = page();
  for (const char* const name : {"modbus-poll", "modbus-write"}) {
    const leat::class_schema* const c = leat::program_catalog().find_class(name);
    REQUIRE(c);
    CHECK(text.find("## `" + c->name + '`') != std::string::npos);
    for (const leat::setting_schema& s : c->settings) {
      CAPTURE(s.name);
      const bool told = text.find('`' + s.name + '`') != std::string::npos ||
                        text.find('`' + s.name + " = ") != std::string::npos;
      CHECK(told);
    }
  }
}

}  // namespace
