// SPDX-License-Identifier: BSL-1.0
#include <cmath>
#include <numbers>

#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(sensor_sim)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;

enum class wave { sine, walk, square, noise };
LEAT_ENUM(wave, sine, walk, square, noise);

// splitmix64: the same numbers on every machine, unlike the distributions of <random>.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // -1 to 1.
  double even() noexcept { return static_cast<double>(next() >> 11) * 0x1p-52 - 1; }

 private:
  std::uint64_t state_;
};

std::vector<setting_diagnostic> validate_sensors(const value& names) {
  const auto* const all = names.get_if<value::list>();
  if (!all || !all->empty()) return {};
  return {{"none is named"}};
}

class sensor_sim : public process {
  record_out values{
      this, "values",
      sends{{"sensor", value_kind::text}, {"at", value_kind::moment}, {"value", value_kind::real}},
      "one record of each sensor in each period"};
  setting<std::vector<std::string>> sensors{
      this, "sensors", {"sensor"}, "names of the sensors", validated_by(validate_sensors)};
  setting<wave, live> kind{this, "kind", wave::sine,
                           "how values move: sine and square by `cycle`, walk by small steps, noise anyhow"};
  setting<nanoseconds, live> period{this, "period", 1s, "time between two values of a sensor; 0: none",
                                    between<nanoseconds>(0s, 24h)};
  setting<double, live> middle{this, "middle", 20, "what values move around", between(-1e300, 1e300)};
  setting<double, live> swing{this, "swing", 5, "how far they go to either side", between(0.0, 1e300)};
  setting<nanoseconds, live> cycle{this, "cycle", 60s, "time of one wave of sine and square",
                                   between<nanoseconds>(1ms, 8760h)};
  setting<double, live> noise{this, "noise", 0,
                              "something between this much less and more is added to each value",
                              between(0.0, 1e300)};
  setting<std::int64_t> seed{this, "seed", 1, "values are the same for the same seed"};
  setting<std::int64_t> count{this, "count", 0, "it ends after so many values of each sensor; 0: never",
                              at_least(0)};
  errors told{this,
              {{"a reader that is too slow for `period`", "values come later; none is left out"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  struct simulated {
    dice random;
    double walked = 0;  // -1 to 1
  };

  // How many waves are over. By the number of the value, not by the clock, so that it is the same again.
  struct turns {
    double step = 0;    // of one value
    double before = 0;  // at the value `since`, from which on the step is this one
    std::int64_t since = 0;
    double at(std::int64_t n) const noexcept { return before + step * static_cast<double>(n - since); }
    // A wave goes on from where it was.
    void change(double to, std::int64_t n) noexcept {
      if (to == step) return;
      *this = {to, at(n), n};
    }
  };

  // From -1 to 1.
  double wave_at(simulated& s, wave of, double turn) const {
    switch (of) {
      case wave::sine: return std::sin(2 * std::numbers::pi * turn);
      case wave::square: return turn - std::floor(turn) < 0.5 ? 1 : -1;
      case wave::noise: return s.random.even();
      case wave::walk: break;
    }
    s.walked += 0.1 * s.random.even();
    if (s.walked > 1) s.walked = 2 - s.walked;
    if (s.walked < -1) s.walked = -2 - s.walked;
    return s.walked;
  }

  void run() override {
    passes pass(this);
    std::vector<simulated> all;
    for (std::size_t i = 0; i < sensors->size(); ++i)
      all.push_back({dice(dice(static_cast<std::uint64_t>(*seed) + i).next())});
    nanoseconds pause = *period;
    leat::ticker beat = beat_of(pause);
    turns turn;
    for (std::int64_t n = 0; *count == 0 || n < *count; ++n) {
      if (n > 0 && !next_beat(beat, pause)) return;
      // A period that is told as none still has its place in the wave.
      turn.change(std::chrono::duration<double>(pause > 0ns ? pause : 1s) / *cycle, n);
      const moment at = moment_now();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const double place = turn.at(n) + static_cast<double>(i) / static_cast<double>(all.size());
        const double v = *middle + *swing * wave_at(all[i], *kind, place) + *noise * all[i].random.even();
        if (!pass(values, record{{"sensor", (*sensors)[i]}, {"at", at}, {"value", v}})) return;
      }
    }
  }

  static leat::ticker beat_of(nanoseconds pause) {
    return pause > 0ns ? leat::ticker(pause) : leat::ticker();
  }

  // False: it was stopped.
  bool next_beat(leat::ticker& beat, nanoseconds& pause) const {
    for (bool due = false; !due;) {
      if (const nanoseconds wanted = *period; wanted != pause) beat = beat_of(pause = wanted);
      if (pause == 0ns) return true;
      const auto nothing = [] {};
      if (select(on_recv(beat, [&] { due = true; }), on_recv(period.changes(), nothing)) < 0) return false;
    }
    return true;
  }
};
LEAT_PROCESS_AS("sensor-sim", sensor_sim, "sends values as sensors would, without any");

}  // namespace
}  // namespace leat::stock
