// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/windows.hpp>

LEAT_STOCK_ANCHOR(min_max)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

std::vector<fault> judge_windows(const value& settings) {
  const value *window = settings.find("window"), *every = settings.find("every");
  const bool by_number = window && *window != value(0);
  const bool by_time = every && *every != value(0s);
  if (by_number || by_time) return {};
  return {{"one of `window` and `every` must be given"}};
}

class min_max : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"),
                 sends{{"min", field_kind::real},
                       {"max", field_kind::real},
                       {"mean", field_kind::real},
                       {"count", field_kind::integer}},
                 "the last record of each window, when it is over, with these four added"};
  field_setting<> field{this,
                        "field",
                        "values",
                        field_kind::real,
                        "value",
                        "the number that is looked at",
                        judged_by(judge_field_name)};
  setting<std::int64_t> window{this, "window", 0, "a window is over after so many numbers; 0: not by that",
                               between(0, 1'000'000'000)};
  setting<nanoseconds> every{this, "every", 0s, "a window is over after this long; 0: not by that",
                             between<nanoseconds>(0s, 8760h)};
  settings_judge together{this, judge_windows};
  key_settings keys{this};
  rejects bad{this};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  struct state {
    extremes numbers = {};
    record last = {};
  };

  bool send(state& s, passes& pass) const {
    const extremes n = std::exchange(s.numbers, {});
    s.last["min"] = n.min;
    s.last["max"] = n.max;
    s.last["mean"] = n.mean();
    s.last["count"] = n.count;
    return pass(out, std::move(s.last));
  }

  // False: nobody reads them.
  bool send_all(keyed<state>& states, passes& pass) const {
    for (auto at = states.all().rbegin(); at != states.all().rend(); ++at)
      if (at->second.numbers.count > 0 && !send(at->second, pass)) return false;
    states.clear();
    return true;
  }

  void run() override {
    if (*window == 0 && *every == 0ns) throw setting_error("one of `window` and `every` must be given");
    passes pass(this);
    keyed<state> states(keys.limit());
    time_point end = *every > 0ns ? saturating_add(leat::now(), *every) : never;
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, end);
      if (got == recv_status::stopped) return;
      if (got == recv_status::closed) return void(send_all(states, pass));
      // Windows by time are even, however late somebody looks.
      if (const time_point now = leat::now(); end != never && now >= end) {
        if (!send_all(states, pass)) return;
        end = saturating_add(end, *every * (saturating_sub(now, end) / *every + 1));
      }
      if (r && !add(*r, states, pass)) return;
    }
  }

  bool add(record& r, keyed<state>& states, passes& pass) {
    const std::optional<double> v = number_in(r, *field, bad);
    const std::optional<std::string> key = v ? key_in(r, *keys.key, bad) : std::nullopt;
    if (!key) return true;
    if (state* const oldest = states.displaced_by(*key))
      if (oldest->numbers.count > 0 && !send(*oldest, pass)) return false;
    state& s = states.get(*key, [] { return state(); });
    s.numbers.add(*v);
    s.last = std::move(r);
    return s.numbers.count != *window || send(s, pass);
  }
};
LEAT_PROCESS_AS("min-max", min_max,
                "tells the least, the greatest, the mean and the number of values in a window");

}  // namespace
}  // namespace leat::stock
