// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/live_page.hpp>

#include <chrono>

#include <leat/process/message.hpp>

namespace leat::stock {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string live_page(const page_options& o) {
  const std::string name = escaped(o.title);
  const auto window = std::chrono::duration_cast<std::chrono::milliseconds>(o.window).count();
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         name +
         "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"page.css\">\n"
         "<script src=\"page.js\" defer></script>\n</head>\n<body data-key=\"" +
         escaped(o.key) + "\" data-field=\"" + escaped(o.field) + "\" data-window=\"" +
         std::to_string(window) + "\" data-scales=\"" + escaped(to_json(o.scales)) + "\">\n<header><h1>" +
         name +
         "</h1><p id=\"status\" role=\"status\" class=\"waiting\">connecting</p></header>\n"
         "<main id=\"sensors\"><p id=\"none\">No values yet.</p></main>\n"
         "<footer><a href=\"latest\">latest</a> <a href=\"history?n=100\">history</a> "
         "<a href=\"health\">health</a></footer>\n</body>\n</html>\n";
}

std::string_view live_page_style() { return embedded_files()[0].text; }
std::string_view live_page_script() { return embedded_files()[1].text; }

}  // namespace leat::stock
