// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(ticker)

namespace leat {
LEAT_ENUM(missed, skip, burst, delay);
}

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

class ticker : public process {
  record_out ticks{this, "ticks", sends{{"at", field_kind::moment}, {"count", field_kind::integer}},
                   "one record for each tick: when it was due, and its number from 1"};
  setting<nanoseconds> period{this, "period", 1s, "time between two ticks", between<nanoseconds>(10us, 24h)};
  setting<leat::missed> missed{this, "missed", leat::missed::skip,
                               "ticks that could not be sent in time: all but the last are left out, all are "
                               "sent at once, or all later ones are put off"};
  setting<std::int64_t> count{this, "count", 0, "it ends after so many; 0: never", at_least(0)};
  errors told{this,
              {{"ticks that could not be sent in time", "as `missed` says"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  void run() override {
    passes pass(this);
    std::int64_t sent = 0;
    for (const tick& t : leat::ticker(*period, *missed)) {
      const moment due = moment_now() - saturating_sub(leat::now(), t.at);
      if (!pass(ticks, record{{"at", due}, {"count", t.number}})) return;
      if (++sent == *count) return;
    }
  }
};
LEAT_PROCESS(ticker, "sends a record in even times");

}  // namespace
}  // namespace leat::stock
