// SPDX-License-Identifier: BSL-1.0
//
// Any text as an expression: it is refused with places within it, or runs on records of all kinds without end or crash
// of memory, and twice alike.
#include <leat/expression/expression.hpp>
#include <leat/process/message.hpp>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

namespace ex = leat::expression;

const std::vector<record>& some_records() {
  static const std::vector<record> all = [] {
    std::vector<record> out;
    out.push_back({});
    out.push_back({{"a", 1}, {"b", 2.5}, {"c", "text"}, {"d", true}, {"e", {}}});
    out.push_back({{"b", INT64_MAX}, {"a", "12"}, {"c", nanoseconds(5)}, {"d", moment{}}, {"e", 1e308}});
    out.push_back({{"a", record{{"b", 1}, {"c", field_list{field_value(1), field_value("x")}}}},
                   {"b", field_list{field_value(true), field_value(0)}},
                   {"c", 0}});
    return out;
  }();
  return all;
}

std::string results(const std::shared_ptr<const ex::program>& p) {
  ex::evaluator e(p);
  std::string out;
  moment now{};
  for (const record& r : some_records()) {
    const ex::operand v = e.run(r, {.now = now});
    shapes::write_json(v.value(), out);
    now += std::chrono::seconds(1);
  }
  return out;
}

void run(std::string_view input) {
  static const std::vector<record_field> fields{{"a", value_kind::integer},
                                                {"b", value_kind::real},
                                                {"c", value_kind::text},
                                                {"d", value_kind::moment}};
  const unsigned how = choice(input, 3);
  const ex::compile_options options{
      .wanted = how == 1 ? ex::truth : ex::anything, .fields = how == 2 ? &fields : nullptr, .most_keys = 3};
  const ex::compiled made = ex::compile(input, options);
  require(static_cast<bool>(made.result) == made.found.empty(), "it is refused with a reason, or not at all");
  for (const ex::wrong_part& w : made.found) {
    require(w.offset <= input.size() && w.length <= input.size() - w.offset, "an error is within the text");
    require(!w.why.empty() && !ex::render(input, w).empty(), "an error is said");
  }
  if (made.result)
    require(results(made.result) == results(made.result), "the same records give the same results");
}

inputs seeds() {
  inputs all;
  for (const std::string_view text :
       {"a > 80 && c == \"pump\"",
        "a + b * 2 - -1 / 0 % 3",
        "a ? b : c is missing ? 1 : null",
        "avg(a, 10s by c) > previous(b)",
        "rate(a) + sum(b, 3) + count(a, 1h30m) + max(b, 5 by d) - min(a, 2s)",
        "a.b.c[0] == a[\"b\"] || field('c') is not null",
        "c in ['x', 'y', 1] || 5 not in b",
        "lower(c) + upper(c) + trim(c) + replace(c, 't', 'tt') + substring(c, 1, 2)",
        "hour(d) + minute(d) + weekday(d) + year(now())",
        "least(1, 2.5, a) == greatest(a, b) && !contains(c, 'x')",
        "number(c) + length(c) + round(b, 2) + floor(b) + abs(a)",
        "default(a, 0) + default(a.b, 1)",
        "kind(a) + text(b)",
        "-9223372036854775808 % -1",
        "1e308 * 1e308",
        "moment('2026-01-01T00:00:00Z') - d > duration('5s') * 2.5",
        "previous(avg(previous(a), 2)) ? true : false",
        "((((a))))",
        "!!true && !false",
        "\"\\n\\t\\\\\\\"\" + 'x'"}) {
    all.push_back(chosen(0, text));
    all.push_back(chosen(1, text));
    all.push_back(chosen(2, text));
  }
  return all;
}

LEAT_FUZZ_TARGET("expression", run, seeds);

}  // namespace
}  // namespace leat::fuzz
