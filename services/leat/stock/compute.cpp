// SPDX-License-Identifier: BSL-1.0
#include <leat/leat.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/expressions.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(compute)

namespace leat::stock {
namespace {

std::vector<setting_diagnostic> check_set(const value& settings, const std::vector<record_field>& fields) {
  std::vector<setting_diagnostic> wrong;
  check_new_fields(settings, "set", fields, wrong);
  return wrong;
}

std::optional<std::vector<record_field>> computed_fields(const value& settings,
                                                         const std::vector<record_field>* came_in) {
  if (!came_in) return std::nullopt;
  return with_new_fields(settings, "set", came_in);
}

class compute : public process {
  record_in values{this, "values", checked_by(check_set), "what comes in"};
  record_out out{this, "out", fields_like("values"), sends_by(computed_fields),
                 "the same records with these fields"};
  setting<text_table> set{
      this, "set", required,
      "fields and what they hold, each name = \"expression\"; one may use those before it",
      validated_by(validate_new_fields)};
  expression_settings common{this};
  errors told{this,
              {{"an expression whose result is missing",
                "the record has no such field then, even if it came with one"},
               nobody_reads,
               channel_is_full,
               no_such_message}};

  void run() override {
    struct computed {
      field_path at;
      running_expression value;
    };
    passes pass(this, &values);
    complaints times(*this, "took the time of arrival");
    std::vector<computed> fields;
    fields.reserve(set->all.size());
    for (const text_table::member& m : set->all)
      fields.push_back({field_path::named(m.name), running_expression(*this, "set." + m.name, m.text,
                                                                      common.options(expression::anything))});
    for (record& r : taken(this, values)) {
      const expression::record_times when = common.when(r, times);
      for (computed& f : fields) {
        const expression::operand v = f.value.run(r, when);
        if (v.is(expression::kind::missing)) {
          (void)f.at.erase(r);
          continue;
        }
        // A copy first: it may be a part of the field that it replaces, or move when the record grows.
        field_value made = v.value();
        f.at.put(r, std::move(made));
      }
      if (!pass(out, std::move(r))) return;
    }
  }
};
LEAT_PROCESS(compute, "adds fields that are computed from others");

}  // namespace
}  // namespace leat::stock
