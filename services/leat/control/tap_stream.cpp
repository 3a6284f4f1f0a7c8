// SPDX-License-Identifier: BSL-1.0
#include <leat/control/tap_stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <leat/control/json_writer.hpp>
#include <leat/csp/select.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>

namespace leat::control {

using namespace std::chrono_literals;
namespace http = net::http;

namespace {

constexpr std::size_t most_channels = 16;
constexpr nanoseconds to_write = 10s, tell_every = 1s, sign_every = 5s, gather = 20ms;
constexpr std::size_t batch = 256 * 1024, most_at_once = 4096, then_others = 256;
// For filters: others run after the one, and after the other what there is to tell is told.
constexpr nanoseconds turn = 2ms, longest_look = 100ms;

struct source {
  std::string name;
  std::unique_ptr<csp::tap_view> view;
  std::string begin;          // of each line
  std::uint64_t told = 0;     // not shown, as the client knows
  std::uint64_t printed = 0;  // lines of values
  tap_filter filter = {};
  std::uint64_t not_matching = 0, told_not_matching = 0;
};

class tap_stream {
 public:
  tap_stream(std::vector<source> all, std::uint64_t count) : all_(std::move(all)), count_(count) {}

  void run(net::stream& to) {
    std::vector<select_case> cases;
    for (const source& s : all_) cases.emplace_back(on_recv(s.view->bell(), [] {}));
    cases.emplace_back(on_timeout(tell_every, [] {}));
    time_point next_tell = leat::now() + tell_every, last_write = leat::now();
    bool more = false;
    while (!enough()) {
      const int taken = more ? 0 : select(cases);
      if (taken == select_stopped || taken == select_closed) break;
      // What comes within a moment goes out with it: to be woken, and to write, for each costs more than the
      // values do.
      if (!more && taken + 1 < static_cast<int>(cases.size()) && sleep_for(gather) == sleep_result::stopped)
        break;
      more = false;
      bool stopped = false;
      for (source& s : all_) {
        const looked l = look_into(s);
        more = more || l == looked::more;
        stopped = stopped || l == looked::stopped;
      }
      if (stopped) break;
      if (more && lines_.empty() && sleep_for(gather) == sleep_result::stopped) break;
      const time_point now = leat::now();
      if (now >= next_tell) {
        for (source& s : all_) tell_missing(s);
        next_tell = now + tell_every;
      }
      if (lines_.empty() && now - last_write >= sign_every) lines_ = "\n";  // is anybody there?
      if (lines_.empty()) continue;
      to.write(lines_, to_write);
      lines_.clear();
      last_write = now;
    }
    for (source& s : all_) {
      json_writer w;
      w.object([&] {
        w.member("channel", s.name);
        w.member("end", enough() ? "count" : "stopped");
        w.member("shown", s.printed);
        w.member("not_shown", s.view->count().passed - s.printed - s.not_matching);
        if (s.filter) w.member("not_matching", s.not_matching);
      });
      lines_ += w.text() + "\n";
    }
    to.write(lines_, to_write);
    to.shutdown_write();
  }

 private:
  enum class looked : std::uint8_t { all, more, stopped };

  bool enough() const noexcept { return count_ != 0 && printed_ >= count_; }
  looked look_into(source& s) {
    csp::tapped t;
    const time_point begin = leat::now();
    time_point turn_began = begin;
    // A filter may show none of them for ever, and take its time for each.
    for (std::size_t n = 1; !enough() && s.view->take(t); ++n) {
      add(s, t);
      if (n == most_at_once || lines_.size() >= batch) return looked::more;
      if (!s.filter) continue;
      const time_point now = leat::now();
      if (now - begin >= longest_look) return looked::more;
      if (n % then_others != 0 && now - turn_began < turn) continue;
      if (stop_requested()) return looked::stopped;
      leat::yield();
      turn_began = leat::now();
    }
    return looked::all;
  }
  void add(source& s, const csp::tapped& t) {
    if (s.filter && !s.filter(t.text)) {
      ++s.not_matching;
      return;
    }
    lines_.append(s.begin)
        .append(std::to_string(t.sequence))
        .append(",\"value\":")
        .append(t.text)
        .append("}\n");
    ++s.printed;
    ++printed_;
  }
  void tell_missing(source& s) {
    const std::uint64_t missing = s.view->count().not_shown();
    if (missing == s.told && s.not_matching == s.told_not_matching) return;
    json_writer w;
    w.object([&] {
      w.member("channel", s.name);
      if (missing != s.told) w.member("not_shown", missing - s.told);
      if (s.not_matching != s.told_not_matching)
        w.member("not_matching", s.not_matching - s.told_not_matching);
    });
    lines_ += w.text() + "\n";
    s.told = missing;
    s.told_not_matching = s.not_matching;
  }

  std::vector<source> all_;
  const std::uint64_t count_;
  std::uint64_t printed_ = 0;
  std::string lines_;
};

}  // namespace

http::response tap_response(deployment& d, const std::vector<std::string>& channels, double rate,
                            double count, const std::string& where, const tap_admission& admit) {
  const auto refusal = [](outcome o) {
    http::response a;
    a.status = o.status;
    a.type = "application/json";
    a.body = std::move(o.json) + "\n";
    return a;
  };
  if (channels.empty() || channels.size() > most_channels)
    return refusal(refused("400 Bad Request", "name 1 to 16 channels: /v1/tap?channel=SERVICE/CHANNEL"));
  std::vector<source> all;
  for (std::string name : channels) {
    outcome why;
    auto view = d.tap(name, rate, why);
    if (!view) return refusal(std::move(why));
    if (std::any_of(all.begin(), all.end(), [&](const source& s) { return s.name == name; })) continue;
    std::string begin = "{\"channel\":" + in_quotes(name) + ",\"seq\":";
    source made{std::move(name), std::move(view), std::move(begin)};
    if (!where.empty() && !(made.filter = d.filter(where, channels.size(), why)))
      return refusal(std::move(why));
    all.push_back(std::move(made));
  }
  std::shared_ptr<void> place;
  if (admit) {
    std::vector<std::string> names;
    for (const source& s : all) names.push_back(s.name);
    outcome why;
    place = admit(names, why);
    if (!place) return refusal(std::move(why));
  }
  const auto stream =
      std::make_shared<tap_stream>(std::move(all), static_cast<std::uint64_t>(std::min(count, 1e15)));
  http::response a;
  a.type = "application/x-ndjson";
  a.fields = "Cache-Control: no-store\r\n";
  a.then = [stream, place](net::stream& to) { stream->run(to); };
  return a;
}

}  // namespace leat::control
