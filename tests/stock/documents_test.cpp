// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/process/registry.hpp>
#include <leat/stock.hpp>

namespace {

std::string document() {
  std::ostringstream text;
  text << std::ifstream(LEAT_STOCK_DOCUMENT).rdbuf();
  return text.str();
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
    const auto checked = leat::config::check_text("stock.md", piece, leat::program_catalog());
    INFO(leat::config::render(checked.found, checked.sources));
    CHECK(checked.plan.has_value());
    CHECK(checked.found.all().empty());
  }
  CHECK(pieces > 2);
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
