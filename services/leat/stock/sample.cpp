// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(sample)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

class sample : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), "some of them"};
  setting<std::int64_t> nth{this, "nth", 1, "the first of each so many is passed on",
                            between(1, 1'000'000'000)};
  setting<nanoseconds> interval{this, "interval", 0s, "and none sooner than this after the last one; 0: any",
                                between<nanoseconds>(0s, 8760h)};
  key_settings keys{this};
  rejects bad{this};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  struct state {
    std::int64_t until_next = 0;
    std::optional<time_point> last = {};
  };

  void run() override {
    passes pass(this);
    keyed<state> states(keys.limit());
    for (record& r : values) {
      const std::optional<std::string> key = key_in(r, *keys.key, bad);
      if (!key) continue;
      state& s = states.get(*key, [] { return state(); });
      if (s.until_next > 0) {
        --s.until_next;
        continue;
      }
      s.until_next = *nth - 1;
      if (*interval > 0ns) {
        const time_point now = leat::now();
        if (s.last && saturating_sub(now, *s.last) < *interval) continue;
        s.last = now;
      }
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(sample, "passes on every nth record, or at most one in a time");

}  // namespace
}  // namespace leat::stock
