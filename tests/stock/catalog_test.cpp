// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/base/schema.hpp>
#include <leat/process/registry.hpp>
#include <leat/stock.hpp>

TEST_CASE("each stock class, port and setting says what it is for") {
  leat::stock::use();
  CHECK(leat::catalog_problems().empty());
  CHECK(leat::program_catalog().find_class("log"));
  for (const leat::class_schema* c : leat::program_catalog().classes()) {
    CAPTURE(c->name);
    CHECK(!c->help.empty());
    for (const leat::port_schema& p : c->ports) {
      CAPTURE(p.name);
      CHECK(!p.help.empty());
    }
    for (const leat::setting_schema& s : c->settings) {
      CAPTURE(s.name);
      CHECK(!s.help.empty());
    }
  }
}
