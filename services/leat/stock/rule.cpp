// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/expressions.hpp>
#include <leat/stock/hold.hpp>
#include <leat/stock/support.hpp>

#include <algorithm>

LEAT_STOCK_ANCHOR(rule)

namespace leat::stock {

enum class alarm_severity : std::uint8_t { info, warning, error, critical };
LEAT_ENUM(alarm_severity, info, warning, error, critical);

// What the next incarnation must know: which alarms stand.
struct standing_alarm {
  std::string key;
  moment since;
};
LEAT_SETTINGS(standing_alarm, key, since);
struct standing_alarms {
  std::vector<standing_alarm> all;
};
LEAT_SETTINGS(standing_alarms, all);

namespace {

using namespace std::chrono_literals;

std::vector<setting_diagnostic> check_rule(const value& settings, const std::vector<record_field>& fields) {
  std::vector<setting_diagnostic> wrong;
  check_condition(settings, "raise", fields, wrong);
  check_condition(settings, "clear", fields, wrong);
  check_message(settings, "message", fields, wrong);
  return wrong;
}

class rule : public process {
  record_in values{this, "values", checked_by(check_rule), "what comes in"};
  record_out alarms{this, "alarms",
                    sends{{"at", value_kind::moment},
                          {"rule", value_kind::text},
                          {"key", value_kind::text},
                          {"state", value_kind::text},
                          {"severity", value_kind::text},
                          {"message", value_kind::text},
                          {"since", value_kind::moment}},
                    "one record when an alarm is raised, one when it is cleared"};
  setting<std::string> raise{this, "raise", required, "the condition of the alarm, such as 'value > 80'",
                             validated_by(validate_condition)};
  setting<std::string> clear{this, "clear", std::string(),
                             "the condition of its end, such as 'value < 75'; empty: `raise` is false",
                             validated_by(validate_optional_condition)};
  setting<nanoseconds> hold{this, "hold", 0s, "`raise` must be true for this long first",
                            between<nanoseconds>(0s, 8760h)};
  setting<nanoseconds> hold_clear{this, "hold_clear", 0s, "and so `clear`", between<nanoseconds>(0s, 8760h)};
  setting<alarm_severity> severity{this, "severity", alarm_severity::warning, "how bad it is"};
  setting<std::string> message{this, "message", std::string(),
                               "the message, with expressions in braces: 'pump {sensor} is at {value}'",
                               validated_by(validate_message)};
  expression_settings common{this};
  state<standing_alarms> standing{this, "standing"};
  errors told{this,
              {{"a record for which `raise` and `clear` are missing", "changes nothing"},
               {"more values of `key` than `keys`, and the alarm of the one that is forgotten stands",
                "it is cleared, which its message says; logged and counted"},
               {"a restart", "alarms that stand stay raised; what was held begins anew"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  struct alarm {
    hold_state held;
    moment since = {};
    std::string message = {};
  };

  record told_as(const std::string& key, const alarm& a, moment at) const {
    return {{"at", at},
            {"rule", name()},
            {"key", key},
            {"state", a.held.is_raised() ? "raised" : "cleared"},
            {"severity", to_text(*severity)},
            {"message", a.message},
            {"since", a.since}};
  }

  void save(keyed<alarm>& all) {
    standing_alarms s;
    for (const auto& [key, a] : all.all())
      if (a.held.is_raised()) s.all.push_back({key, a.since});
    standing.save(std::move(s));
  }

  // False: nobody reads them.
  bool tell(const std::string& key, alarm& a, keyed<alarm>& all, passes& pass) {
    const moment at = moment_now();
    if (a.held.is_raised()) a.since = at;
    save(all);
    return pass(alarms, told_as(key, a, at));
  }

  // Forgets one of those that were silent for longest: rather one whose alarm does not stand, if it is among the last.
  // False: nobody reads them.
  bool make_room(const std::string& key, keyed<alarm>& all, passes& pass, complaints& forgotten) {
    if (!all.displaced_by(key)) return true;
    auto& states = all.all();
    constexpr int most_looked_at = 16;
    auto at = states.end();
    for (int i = 0; i < most_looked_at && at != states.begin(); ++i) {
      --at;
      if (at->second.held.is_raised() || at->second.held.due() != never) continue;
      states.splice(states.end(), states, at);
      return true;
    }
    auto& [oldest, a] = states.back();
    return !a.held.is_raised() || forget(oldest, a, all, pass, forgotten);
  }
  bool forget(const std::string& key, alarm& a, keyed<alarm>& all, passes& pass, complaints& forgotten) {
    forgotten.add("there are more keys than `keys`: the alarm of '" + key + "' is no longer watched");
    a.held = hold_state();
    a.message = "no longer watched: there are more keys than " + std::to_string(*common.keys.most);
    return tell(key, a, all, pass);
  }

  void run() override {
    passes pass(this, &values);
    complaints times(*this, "took the time of arrival"), bad_keys(*this, "took as one"),
        forgotten(*this, "cleared");
    const expression::compile_options how = common.options(expression::truth);
    running_expression raises(*this, "raise", *raise, how);
    std::optional<running_expression> clears;
    if (!clear->empty()) clears.emplace(*this, "clear", *clear, how);
    running_message text(*this, "message", *message, common.options(expression::anything));
    keyed<alarm> all(common.keys.limit());
    const standing_alarms before = standing.load();
    // The one that was used last comes first there. `keys` may be less than it was.
    const std::size_t kept = std::min(before.all.size(), common.keys.limit());
    for (std::size_t i = kept; i-- > 0;)
      all.get(before.all[i].key, [&] { return alarm{hold_state::raised(), before.all[i].since}; });
    for (std::size_t i = kept; i < before.all.size(); ++i) {
      alarm a{hold_state::raised(), before.all[i].since};
      if (!forget(before.all[i].key, a, all, pass, forgotten)) return;
    }
    time_point due = never;  // when the first that is held may be over
    for (;;) {
      std::optional<record> r;
      const recv_status got = values.recv(r, due);
      if (got == recv_status::stopped || got == recv_status::closed) return;
      const time_point now = leat::now();
      if (now >= due) {
        due = never;
        for (auto& [key, a] : all.all()) {
          if (a.held.expire(now) && !tell(key, a, all, pass)) return;
          due = std::min(due, a.held.due());
        }
      }
      if (!r) continue;
      const expression::record_times when = common.when(*r, times);
      const expression::operand up = raises.run(*r, when);
      const bool down = clears ? clears->is_true(*r, when) : up.is_false();
      const field_value* const k = common.keys.key->empty() ? nullptr : common.key_in(*r);
      if (!k && !common.keys.key->empty())
        bad_keys.add("field '" + *common.keys.key + "', the key, is missing");
      const std::string key = k ? to_text(*k) : std::string();
      if (!make_room(key, all, pass, forgotten)) return;
      alarm& a = all.get(key, [] { return alarm(); });
      const bool changed = a.held.see(up.is_true(), down, now, {*hold, *hold_clear});
      if (changed || a.held.due() != never)
        a.message = text.text(*r, when);
      else
        text.see(*r, when);
      if (changed && !tell(key, a, all, pass)) return;
      due = std::min(due, a.held.due());
    }
  }

  static std::string to_text(alarm_severity s) {
    constexpr const char* names[] = {"info", "warning", "error", "critical"};
    return names[static_cast<std::size_t>(s)];
  }
  static std::string to_text(const field_value& v) { return leat::to_text(v); }
};
LEAT_PROCESS(rule, "raises an alarm while a condition holds, and clears it");

}  // namespace
}  // namespace leat::stock
