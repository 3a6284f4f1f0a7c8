// SPDX-License-Identifier: BSL-1.0
#include <chrono>

#include <leat/base/log.hpp>
#include <leat/base/log_output.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>

LEAT_STOCK_ANCHOR(log)

namespace leat::stock {
namespace {

enum class level { info, warning, error };
LEAT_ENUM(level, info, warning, error);

class log : public process {
  record_in values{this, "values", "what to write"};
  setting<stock::level, live> level{this, "level", stock::level::info, "how much it matters"};
  setting<std::string, live> prefix{this, "prefix", "", "before each line"};
  errors told{this,
              {{"a record of more than about 900 bytes", "its line is cut"},
               {"a level that the log does not show (LEAT_LOG)", "the record is read, and not written"},
               {"a standard error that takes nothing", "it waits, and so does the sender"}}};

  static constexpr std::size_t most_kept = 16 * 1024;

  void run() override {
    live_view<std::string> before(prefix);
    for (const record& r : values) {
      const std::string text = before.get() + to_json(r);
      // The log itself waits for nobody and loses lines; values are not lost.
      while (detail::log_backlog() > most_kept)
        if (sleep_for(std::chrono::milliseconds(5)) == sleep_result::stopped) break;
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
