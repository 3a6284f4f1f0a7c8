// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/expressions.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(route)

namespace leat::stock {
namespace {

constexpr std::string_view route_names[] = {"first", "second", "third", "fourth", "fifth", "sixth"};

std::vector<setting_diagnostic> check_routes(const value& settings, const std::vector<record_field>& fields) {
  std::vector<setting_diagnostic> wrong;
  for (const std::string_view name : route_names) check_condition(settings, name, fields, wrong);
  return wrong;
}

class route : public process {
  // A way out and its condition, by the same name.
  struct way {
    way(process* owner, std::string_view name)
        : out(owner, name, fields_like("values"), "those for which its condition is the first that is true",
              optional_port),
          condition(owner, name, std::string(), "the condition of this port; empty: nothing goes there",
                    validated_by(validate_optional_condition)) {}
    record_out out;
    setting<std::string> condition;
  };

  record_in values{this, "values", checked_by(check_routes), "what comes in"};
  way first{this, route_names[0]}, second{this, route_names[1]}, third{this, route_names[2]},
      fourth{this, route_names[3]}, fifth{this, route_names[4]}, sixth{this, route_names[5]};
  record_out otherwise{this, "otherwise", fields_like("values"), "all others", optional_port};
  expression_settings common{this};
  errors told{this,
              {{"a record that goes nowhere: no condition is true, and `otherwise` is not connected",
                "not passed on, and not lost: the number is logged at the end"},
               {"a port with a condition and no channel, or the other way round", "it fails when it starts"},
               {"the readers of one port have ended", "it ends"},
               channel_is_full,
               no_such_message}};

  void run() override {
    struct open_way {
      const record_out* to;
      running_expression condition;
    };
    std::vector<open_way> ways;
    std::size_t i = 0;
    for (const way* w : {&first, &second, &third, &fourth, &fifth, &sixth}) {
      const std::string name(route_names[i++]);
      const bool wanted = !w->condition->empty();
      if (wanted != w->out.connected())
        throw setting_error(this->name() + ": port '" + name +
                            (wanted
                                 ? "' has a condition and no channel: connect it, or take the condition out"
                                 : "' has a channel and no condition: set '" + name + "'"));
      if (wanted)
        ways.push_back(
            {&w->out, running_expression(*this, name, *w->condition, common.options(expression::truth))});
    }
    passes pass(this, &values);
    complaints times(*this, "took the time of arrival");
    struct totals {
      const process& owner;
      std::uint64_t nowhere = 0;
      ~totals() {
        if (nowhere > 0) log_info("stock", "{}: {} went nowhere", owner.name(), nowhere);
      }
    } n{*this};
    for (record& r : taken(this, values)) {
      const expression::record_times when = common.when(r, times);
      const record_out* to = nullptr;
      // All of them, so that each remembers all records.
      for (open_way& w : ways)
        if (w.condition.is_true(r, when) && !to) to = w.to;
      if (!to && otherwise.connected()) to = &otherwise;
      if (!to) {
        ++n.nowhere;
        continue;
      }
      if (!pass(*to, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(route, "passes on each record to the port whose condition is true");

}  // namespace
}  // namespace leat::stock
