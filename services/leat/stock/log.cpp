// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>

LEAT_STOCK_ANCHOR(log)

namespace leat::stock {
namespace {

enum class level { info, warning, error };
LEAT_ENUM(level, info, warning, error);

class log : public process {
  record_in values{this, "values", "what to write"};
  setting<stock::level> level{this, "level", stock::level::info, "how much it matters"};
  setting<std::string> prefix{this, "prefix", "", "before each line"};
  errors told{this,
              {{"a record of more than about 900 bytes", "its line is cut"},
               {"a level that the log does not show (LEAT_LOG)", "the record is read, and not written"},
               {"a standard error that takes nothing", "it waits, and so does the sender"}}};

  void run() override {
    for (const record& r : values) {
      const std::string text = *prefix + to_json(r);
      switch (*level) {
        case stock::level::info: log_info("stock", "{}: {}", name(), text); break;
        case stock::level::warning: log_warning("stock", "{}: {}", name(), text); break;
        case stock::level::error: log_error("stock", "{}: {}", name(), text); break;
      }
    }
  }
};
LEAT_PROCESS(log, "writes records to the log, as JSON");

}  // namespace
}  // namespace leat::stock
