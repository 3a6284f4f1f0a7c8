// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(sample)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class sample_take : std::uint8_t { first, last };
LEAT_ENUM(sample_take, first, last);

class sample : public process {
  record_in values{this, "values", "what comes in"};
  record_out out{this, "out", fields_like("values"), "some of them"};
  setting<std::int64_t, live> nth{this, "nth", 1, "one of each so many is passed on",
                                  between(1, 1'000'000'000)};
  setting<nanoseconds, live> interval{this, "interval", 0s, "and of these one in each such time; 0: all",
                                      between<nanoseconds>(0s, 8760h)};
  setting<sample_take> take{this, "take", sample_take::first,
                            "which one: the first, at once, and none sooner than `interval` after it; or the "
                            "last, at the end of each "
                            "`interval`"};
  key_settings keys{this};
  rejects bad{this};
  errors told{this,
              {{"a key forgotten with a record that waits for the end of `interval`", "that is sent first"},
               {"a stop or a failure while records wait for the end of `interval`",
                "they are lost, counted and logged"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  struct state {
    std::int64_t left_out = 0;  // since the last one
    std::optional<time_point> last = {};
    std::optional<record> waiting = {};
  };

  // Whether it is the one of its `nth`.
  bool counts(state& s) const {
    const std::int64_t group = *nth;
    const std::int64_t at = s.left_out < group ? s.left_out : 0;
    s.left_out = at + 1 == group ? 0 : at + 1;
    return *take == sample_take::first ? at == 0 : at + 1 == group;
  }

  bool send(state& s, passes& pass, in_hand& hand) const {
    if (!s.waiting) return true;
    if (!pass(out, *std::exchange(s.waiting, std::nullopt))) return false;
    hand.settle(1);
    return true;
  }
  bool send_waiting(keyed<state>& states, passes& pass, in_hand& hand) const {
    for (auto at = states.all().rbegin(); at != states.all().rend(); ++at)
      if (!send(at->second, pass, hand)) return false;
    return true;
  }

  // False: nobody reads it, or this process is to stop.
  bool add(record& r, keyed<state>& states, passes& pass, in_hand& hand) {
    const auto leave_out = [&] { return hand.settle(1), true; };
    const std::optional<std::string> key = key_in(r, *keys.key, bad);
    if (!key) return leave_out();
    if (state* const oldest = states.displaced_by(*key))
      if (!send(*oldest, pass, hand)) return false;
    state& s = states.get(*key, [] { return state(); });
    if (!counts(s)) return leave_out();
    const nanoseconds pause = *interval;
    if (pause > 0ns && *take == sample_take::last) {
      if (s.waiting) hand.settle(1);
      s.waiting = std::move(r);
      return true;
    }
    if (pause > 0ns) {
      const time_point now = leat::now();
      if (s.last && saturating_sub(now, *s.last) < pause) return leave_out();
      s.last = now;
    }
    if (!pass(out, std::move(r))) return false;
    hand.settle(1);
    return true;
  }

  void run() override {
    passes pass(this, &values);
    in_hand hand(this, values);
    keyed<state> states(keys.limit());
    const auto end_of = [&](nanoseconds length) {
      return length > 0ns && *take == sample_take::last ? saturating_add(leat::now(), length) : never;
    };
    nanoseconds length = *interval;
    time_point end = end_of(length);
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, end);
      if (got == recv_status::stopped) return;
      if (r) hand.add();
      if (got == recv_status::closed) return void(send_waiting(states, pass, hand));
      const time_point now = leat::now();
      const bool over = end != never && now >= end;
      const nanoseconds wanted = *interval;
      if ((over || wanted != length) && !send_waiting(states, pass, hand)) return;
      if (wanted != length) {
        end = end_of(length = wanted);
      } else if (over) {
        // Even, however late somebody looks.
        end = saturating_add(end, length * (saturating_sub(now, end) / length + 1));
      }
      if (r && !add(*r, states, pass, hand)) return;
    }
  }
};
LEAT_PROCESS(sample, "passes on every nth record, or one in each time");

}  // namespace
}  // namespace leat::stock
