// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log.hpp>
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/expressions.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(where)

namespace leat::stock {
namespace {

std::vector<setting_diagnostic> check_keep(const value& settings, const std::vector<record_field>& fields) {
  std::vector<setting_diagnostic> wrong;
  check_condition(settings, "keep", fields, wrong);
  return wrong;
}

class where : public process {
  record_in values{this, "values", checked_by(check_keep), "what comes in"};
  record_out out{this, "out", fields_like("values"), "those for which `keep` is true"};
  setting<std::string> keep{this, "keep", required, "a condition, such as 'value > 80 && sensor == \"pump\"'",
                            validated_by(validate_condition)};
  expression_settings common{this};
  errors told{this,
              {{"a record for which `keep` is false or missing",
                "not passed on, and not lost: the number is logged at the end"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  void run() override {
    passes pass(this, &values);
    complaints times(*this, "took the time of arrival");
    running_expression condition(*this, "keep", *keep, common.options(expression::truth));
    struct totals {
      const process& owner;
      std::uint64_t passed = 0, others = 0;
      ~totals() { log_info("stock", "{}: {} passed, {} not passed", owner.name(), passed, others); }
    } n{*this};
    for (record& r : taken(this, values)) {
      if (!condition.is_true(r, common.when(r, times))) {
        ++n.others;
        continue;
      }
      if (!pass(out, std::move(r))) return;
      ++n.passed;
    }
  }
};
LEAT_PROCESS(where, "passes on the records for which a condition is true");

}  // namespace
}  // namespace leat::stock
