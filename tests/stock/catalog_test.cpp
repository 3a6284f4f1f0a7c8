// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <algorithm>

#include <leat/base/schema.hpp>
#include <leat/process/registry.hpp>
#include <leat/stock.hpp>

TEST_CASE("each stock class, port and setting says what it is for, and what may go wrong") {
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
    CHECK(!c->errors.empty());
    for (const leat::error_schema& e : c->errors) {
      CAPTURE(e.what);
      CHECK(!e.answer.empty());
      CHECK(std::count_if(c->errors.begin(), c->errors.end(),
                          [&](const leat::error_schema& other) { return other.what == e.what; }) == 1);
    }
    for (const leat::setting_schema& s : c->settings) {
      CAPTURE(s.name);
      CHECK(!s.help.empty());
    }
  }
}
