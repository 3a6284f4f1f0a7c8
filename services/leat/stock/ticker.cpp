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
  record_out ticks{this, "ticks", sends{{"at", value_kind::moment}, {"count", value_kind::integer}},
                   "one record for each tick: when it was due, and its number from 1"};
  setting<nanoseconds, live> period{this, "period", 1s, "time between two ticks",
                                    between<nanoseconds>(10us, 24h)};
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
    std::uint64_t counted = 0, last = 0;  // before this beat, and in all
    leat::ticker beat(*period, *missed);
    for (;;) {
      std::optional<tick> t;
      const int what =
          select(on_recv(beat, [&](const tick& due) { t = due; }), on_recv(period.changes(), [] {}));
      if (what < 0) return;
      if (!t) {
        // The next one is due a period after the change.
        beat = leat::ticker(*period, *missed);
        counted = last;
        continue;
      }
      const moment due = moment_now() - saturating_sub(leat::now(), t->at);
      last = counted + t->number;
      if (!pass(ticks, record{{"at", due}, {"count", last}})) return;
      if (++sent == *count) return;
    }
  }
};
LEAT_PROCESS(ticker, "sends a record in even times");

}  // namespace
}  // namespace leat::stock
