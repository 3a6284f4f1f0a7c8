// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/validators.hpp>
#include <leat/stock/windows.hpp>

LEAT_STOCK_ANCHOR(min_max)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

std::vector<setting_diagnostic> validate_windows(const value& settings) {
  const value *window = settings.find("window"), *every = settings.find("every");
  const bool by_number = window && *window != value(0);
  const bool by_time = every && *every != value(0s);
  if (by_number || by_time) return {};
  return {{"one of `window` and `every` must be given"}};
}

class min_max : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"),
                 sends{{"min", value_kind::real},
                       {"max", value_kind::real},
                       {"mean", value_kind::real},
                       {"count", value_kind::integer}},
                 "the last record of each window, when it is over, with these four added"};
  field_setting<> field{this,
                        "field",
                        "values",
                        value_kind::real,
                        "value",
                        "the number that is looked at",
                        validated_by(validate_field_name)};
  setting<std::int64_t, live> window{
      this, "window", 0, "a window is over after so many numbers; 0: not by that", between(0, 1'000'000'000)};
  setting<nanoseconds, live> every{this, "every", 0s, "a window is over after this long; 0: not by that",
                                   between<nanoseconds>(0s, 8760h)};
  settings_validator together{this, validate_windows};
  key_settings keys{this};
  rejects bad{this};
  errors told{this, {nobody_reads, channel_is_full, no_such_message}};

  struct state {
    extremes numbers = {};
    record last = {};
  };

  bool send(state& s, passes& pass, in_hand& hand) const {
    const extremes n = std::exchange(s.numbers, {});
    s.last["min"] = n.min;
    s.last["max"] = n.max;
    s.last["mean"] = n.mean();
    s.last["count"] = n.count;
    if (!pass(out, std::move(s.last))) return false;
    hand.settle(static_cast<std::uint64_t>(n.count));
    return true;
  }

  // False: nobody reads them.
  bool send_all(keyed<state>& states, passes& pass, in_hand& hand) const {
    for (auto at = states.all().rbegin(); at != states.all().rend(); ++at)
      if (at->second.numbers.count > 0 && !send(at->second, pass, hand)) return false;
    states.clear();
    return true;
  }

  void run() override {
    if (*window == 0 && *every == 0ns) throw setting_error("one of `window` and `every` must be given");
    at_ = field_path::named(*field);
    key_at_ = keys.path();
    passes pass(this, &values);
    in_hand hand(this, values);  // in windows that are not over
    keyed<state> states(keys.limit());
    nanoseconds length = *every;
    const auto a_length_from_now = [&] { return length > 0ns ? saturating_add(leat::now(), length) : never; };
    time_point end = a_length_from_now();
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, end);
      if (got == recv_status::stopped) return;
      if (got == recv_status::closed) return void(send_all(states, pass, hand));
      const time_point now = leat::now();
      const bool over = end != never && now >= end;
      if (over && !send_all(states, pass, hand)) return;
      if (const nanoseconds wanted = *every; wanted != length) {
        length = wanted;
        end = a_length_from_now();
      } else if (over) {
        // Windows by time are even, however late somebody looks.
        end = saturating_add(end, length * (saturating_sub(now, end) / length + 1));
      }
      if (r && !add(*r, states, pass, hand)) return;
    }
  }

  bool add(record& r, keyed<state>& states, passes& pass, in_hand& hand) {
    const std::optional<double> v = number_in(r, at_, bad);
    const std::optional<std::string> key = v ? key_in(r, key_at_, bad) : std::nullopt;
    if (!key) return true;
    if (state* const oldest = states.displaced_by(*key))
      if (oldest->numbers.count > 0 && !send(*oldest, pass, hand)) return false;
    state& s = states.get(*key, [] { return state(); });
    s.numbers.add(*v);
    hand.add();
    s.last = std::move(r);
    const std::int64_t most = *window;
    return most == 0 || s.numbers.count < most || send(s, pass, hand);
  }

  field_path at_, key_at_;
};
LEAT_PROCESS_AS("min-max", min_max,
                "tells the least, the greatest, the mean and the number of values in a window");

}  // namespace
}  // namespace leat::stock
