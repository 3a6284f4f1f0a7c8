// SPDX-License-Identifier: BSL-1.0
#include "expression/fixture.hpp"

#include <cmath>

namespace leat::expression::test {
namespace {

using namespace std::chrono_literals;

// The results of one expression for one record after the other, a second apart.
std::string each(std::string_view source, const std::vector<record>& all, const compile_options& how = {}) {
  evaluator e = made(source, how);
  std::string out;
  leat::moment at = noon;
  for (const record& r : all) {
    out += (out.empty() ? "" : " ") + shown(e.run(r, {.now = at}));
    at += 1s;
  }
  return out;
}
record x(double v) { return {{"x", v}}; }
record x(const char* key, double v) { return {{"k", key}, {"x", v}}; }

TEST_CASE("previous is the value of the record before") {
  CHECK(each("previous(x)", {x(1), x(2), x(3)}) == "missing 1.0 2.0");
  CHECK(each("x - previous(x)", {x(1), x(4), x(9)}) == "missing 3.0 5.0");
  CHECK(each("previous(k) + k", {x("a", 0), x("bb", 0), x("c", 0)}) == "missing \"abb\" \"bbc\"");
  CHECK(each("previous(x)", {x(1), {}, x(3)}) == "missing 1.0 1.0");
}

TEST_CASE("rate is the change in a second") {
  CHECK(each("rate(x)", {x(1), x(3), x(2)}) == "missing 2.0 -1.0");
  evaluator e = made("rate(x)");
  (void)e.run(x(1), {.now = noon});
  CHECK(shown(e.run(x(2), {.now = noon})) == "missing");
  CHECK(e.errors(evaluation_error::division_by_zero) == 1);
  CHECK(shown(e.run(x(2), {.now = noon + 500ms})) == "2.0");
  CHECK(shown(e.run(x(2), {.now = noon})) == "missing");
  CHECK(e.errors(evaluation_error::range) == 1);
  CHECK(shown(e.run(x(4), {.now = noon + 2s, .at = noon + 1s})) == "2.0");
}

TEST_CASE("windows of the last values") {
  CHECK(each("avg(x, 2)", {x(1), x(3), x(5)}) == "1.0 2.0 4.0");
  CHECK(each("max(x, 2) - min(x, 2)", {x(1), x(3), x(5)}) == "0.0 2.0 2.0");
  CHECK(each("sum(x, 3)", {x(1), x(2), x(3), x(4)}) == "1.0 3.0 6.0 9.0");
  CHECK(each("count(x, 3)", {x(1), {}, x(3), x(4), x(5)}) == "1 1 2 3 3");
}

TEST_CASE("windows of time") {
  CHECK(each("avg(x, 2s)", {x(1), x(3), x(5)}) == "1.0 2.0 4.0");
  CHECK(each("count(x, 2500ms)", {x(1), x(1), x(1), x(1)}) == "1 2 3 3");
  CHECK(each("max(x, 1s)", {x(9), {}, x(1)}) == "9.0 missing 1.0");
}

TEST_CASE("by a key, of the expression or of its user") {
  const std::vector<record> all{x("a", 1), x("b", 10), x("a", 3), x("b", 30)};
  CHECK(each("avg(x, 10s by k)", all) == "1.0 10.0 2.0 20.0");
  CHECK(each("previous(x by k)", all) == "missing missing 1.0 10.0");
  CHECK(each("avg(x, 10s)", all, {.key = "k"}) == "1.0 10.0 2.0 20.0");
  CHECK(each("sum(x, 9 by n)", {{{"n", 1}, {"x", 1}}, {{"n", 2}, {"x", 2}}, {{"n", 1}, {"x", 4}}}) ==
        "1.0 2.0 5.0");
}

TEST_CASE("keys are bounded: the one that was not seen for longest is forgotten") {
  CHECK(each("count(x, 9 by k)", {x("a", 1), x("b", 1), x("a", 1), x("c", 1), x("a", 1), x("b", 1)},
             {.most_keys = 2}) == "1 1 2 1 3 1");
}

TEST_CASE("each record counts, wherever a window stands") {
  CHECK(each("x > 2 && count(x, 9) == 3", {x(1), x(2), x(3)}) == "false false true");
  CHECK(each("x > 2 ? sum(previous(x), 9) : 0", {x(1), x(2), x(3), x(4)}) == "0 0 3.0 6.0");
}

TEST_CASE("a window of time with very many values keeps its memory and nearly its edge") {
  evaluator e = made("count(x, 10s)");
  operand last;
  for (int i = 0; i < 100'000; ++i) last = e.run(x(1), {.now = noon + i * 1ms});
  const auto held = static_cast<double>(last.integer());
  CHECK(std::fabs(held - 10'000) < 500);
}

TEST_CASE("a clock that is set back takes what is still to come out of a window") {
  evaluator e = made("count(x, 1h)");
  (void)e.run(x(1), {.now = noon + 30min});
  CHECK(shown(e.run(x(1), {.now = noon})) == "1");
}

TEST_CASE("a record that is late by its own time takes nothing from later ones") {
  evaluator e = made("sum(x, 10s)");
  const auto at = [&](double v, nanoseconds t) { return shown(e.run(x(v), {.now = noon, .at = noon + t})); };
  CHECK(at(1, 0s) == "1.0");
  CHECK(at(2, 5s) == "3.0");
  CHECK(at(4, 8s) == "7.0");
  CHECK(at(8, 6s) == "11.0");  // its window ends with it
  CHECK(at(16, 9s) == "31.0");
  CHECK(at(32, -1h) == "32.0");
  CHECK(at(64, 12s) == "94.0");
  // One from far away does not keep out those that follow.
  CHECK(at(1, 1h) == "1.0");
  CHECK(at(2, 13s) == "2.0");
  CHECK(at(4, 14s) == "6.0");
  CHECK(e.errors(evaluation_error::range) == 0);
}

TEST_CASE("late records go into a window that has joined its values, and times that go back are bounded") {
  evaluator e = made("count(x, 10s)");
  for (int i = 0; i < 5000; ++i) (void)e.run(x(1), {.now = noon, .at = noon + i * 1ms});
  for (int i = 0; i < 1000; ++i) (void)e.run(x(1), {.now = noon, .at = noon + i * 2ms});
  CHECK(shown(e.run(x(1), {.now = noon, .at = noon + 5s})) == "6001");
  memory m({.what = remembering::count, .time = 10s}, 1, std::size_t{1} << 20);
  evaluation_error why = evaluation_error::none;
  for (int i = 0; i < 5000; ++i)
    (void)m.update({}, operand::of(1.0), {.now = noon, .at = noon - i * 1h}, why);
  CHECK(m.bytes() < 100'000);
}

TEST_CASE("what is remembered keeps to its bytes, and to its number") {
  evaluator e = made("sum(x, 1024 by k)", {.most_remembered = 200'000});
  for (int i = 0; i < 1024; ++i)
    for (const char* const key : {"a", "b", "c", "d", "e", "f", "g", "h"})
      (void)e.run(x(key, 1), {.now = noon});
  CHECK(shown(e.run(x("h", 1), {.now = noon})) != "1.0");
  CHECK(shown(e.run(x("a", 1), {.now = noon})) == "1.0");
  CHECK(compile("avg(x, 9) + rate(x)", {.most_memories = 2}).result);
  for (const char* const source : {"avg(x, 9) + rate(x) + previous(x)", "avg(rate(previous(x)), 9)"})
    CHECK(!compile(source, {.most_memories = 2}).result);
}

}  // namespace
}  // namespace leat::expression::test
