// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/windows.hpp>

LEAT_STOCK_ANCHOR(throttle)

namespace leat::stock {
namespace {

enum class too_fast { drop, wait };
LEAT_ENUM(too_fast, drop, wait);

class throttle : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), "not more of them than allowed"};
  setting<double> rate{this, "rate", required, "most records in a second", between(0.0001, 1e9)};
  setting<double> burst{this, "burst", 1, "so many may come at once after a pause", between(1.0, 1e6)};
  setting<too_fast> over{
      this, "over", too_fast::wait,
      "what becomes of those that come too fast: they wait, and so does the sender when its "
      "channel is full, or they are dropped"};
  errors told{
      this,
      {{"records that come too fast", "as `over` says"}, nobody_reads, channel_is_full, no_such_message}};

  void run() override {
    passes pass(this);
    rate_limit limit(*rate, *burst);
    for (record& r : values) {
      const time_point now = leat::now();
      if (limit.due() > now) {
        if (*over == too_fast::drop) continue;
        if (sleep_until(limit.due()) == sleep_result::stopped) return;
      }
      limit.take(leat::now());
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(throttle, "passes on at most so many records in a second");

}  // namespace
}  // namespace leat::stock
