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
  setting<double, live> rate{this, "rate", required, "most records in a second", between(0.0001, 1e9)};
  setting<double, live> burst{this, "burst", 1, "so many may come at once after a pause", between(1.0, 1e6)};
  setting<too_fast, live> over{
      this, "over", too_fast::wait,
      "what becomes of those that come too fast: they wait, and so does the sender when its "
      "channel is full, or they are dropped"};
  errors told{
      this,
      {{"records that come too fast", "as `over` says"}, nobody_reads, channel_is_full, no_such_message}};

  void run() override {
    passes pass(this, &values);
    double per_second = *rate, at_once = *burst;
    rate_limit limit(per_second, at_once);
    for (record& r : taken(this, values)) {
      const auto due = [&] {
        const double now_rate = *rate, now_burst = *burst;
        if (now_rate != per_second || now_burst != at_once) limit.change(now_rate, now_burst, leat::now());
        per_second = now_rate;
        at_once = now_burst;
        return limit.due();
      };
      bool dropped = false;
      for (time_point at = due(); at > leat::now(); at = due()) {
        if ((dropped = *over == too_fast::drop)) break;
        if (!wait_until(at)) return;
      }
      if (dropped) continue;
      limit.take(leat::now());
      if (!pass(out, std::move(r))) return;
    }
  }

  // Until then, or until something is set. False: it was stopped.
  bool wait_until(time_point at) const {
    const auto nothing = [] {};
    return select(on_timeout(deadline(at), nothing), on_recv(rate.changes(), nothing),
                  on_recv(burst.changes(), nothing), on_recv(over.changes(), nothing)) >= 0;
  }
};
LEAT_PROCESS(throttle, "passes on at most so many records in a second");

}  // namespace
}  // namespace leat::stock
