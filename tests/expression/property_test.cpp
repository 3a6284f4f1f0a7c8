// SPDX-License-Identifier: BSL-1.0
//
// Random expressions over random records: what is compiled and run gives what the reference gives, with the
// same errors.
#include "expression/fixture.hpp"

#include <cstdio>
#include <cstdlib>
#include <random>

#include "expression/reference.hpp"

namespace leat::expression::test {
namespace {

namespace ref = reference;
using ref::node;
using tree = std::unique_ptr<node>;

class maker {
 public:
  explicit maker(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return random_() % n; }

  ref::value any_value() {
    static const std::int64_t integers[] = {
        0, 1, -1, 2, 7, 80, INT64_MAX, INT64_MIN + 1, 1'000'000'007, 1LL << 53};
    static const double reals[] = {0.0, 0.5, -1.5, 80.0, 81.5, 1e18, -9.3e18, 1e308, 9007199254740992.0};
    static const char* const texts[] = {"", "a", "pump", "PuMp", "b"};
    static const std::int64_t times[] = {0, 1, 1'000'000'000, 250'000'000, 5'000'000'000'000'000'000};
    switch (below(9)) {
      case 0: return ref::null();
      case 1: return below(2) == 0;
      case 2:
      case 3: return integers[below(std::size(integers))];
      case 4:
      case 5: return reals[below(std::size(reals))];
      case 6: return std::string(texts[below(std::size(texts))]);
      case 7: return ref::duration{times[below(std::size(times))]};
      default: return ref::moment{times[below(std::size(times))]};
    }
  }

  tree make(int depth) {
    auto n = std::make_unique<node>();
    using enum node::type;
    const std::size_t choice = depth <= 0 ? below(2) : below(14);
    const auto part = [&] { n->parts.push_back(make(depth - 1)); };
    switch (choice) {
      case 0:
        n->what = literal;
        n->literal = any_value();
        if (ref::is<ref::moment>(n->literal)) n->literal = std::int64_t{3};  // there is no such literal
        break;
      case 1:
      case 2:
        n->what = field;
        n->name = std::string(1, static_cast<char>('a' + below(5)));
        break;
      case 3:
        n->what = below(2) == 0 ? unary_minus : not_;
        part();
        break;
      case 4:
      case 5:
      case 6:
      case 7: {
        static const char* const all[] = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="};
        n->what = binary;
        n->name = all[below(std::size(all))];
        part(), part();
        break;
      }
      case 8:
        n->what = below(2) == 0 ? and_ : or_;
        part(), part();
        break;
      case 9:
        n->what = choose;
        part(), part(), part();
        break;
      case 10:
        n->what = below(2) == 0 ? is_missing : is_null;
        part();
        break;
      case 11:
        n->what = in;
        part();
        for (std::size_t i = below(4); i > 0; --i) part();
        break;
      case 12: {
        static const char* const all[] = {"abs",   "floor",    "length",   "lower",  "upper",
                                          "least", "greatest", "contains", "default"};
        n->what = call;
        const std::size_t which = below(std::size(all));
        n->name = all[which];
        part();
        if (which >= 5) part();
        break;
      }
      default: {
        static const char* const all[] = {"previous", "rate", "avg", "min", "max", "sum", "count"};
        n->what = memory;
        const std::size_t which = below(std::size(all));
        n->name = all[which];
        part();
        if (which >= 2 && below(2) == 0)
          n->values = static_cast<int>(1 + below(4));
        else
          n->time = static_cast<std::int64_t>(1 + below(4)) * 1'000'000'000;
        if (below(2) == 0) n->key = "k";
      }
    }
    return n;
  }

 private:
  std::mt19937_64 random_;
};

std::string literal_text(const ref::value& v) {
  if (ref::is<ref::null>(v)) return "null";
  if (ref::is<bool>(v)) return std::get<bool>(v) ? "true" : "false";
  if (ref::is<std::string>(v)) return '"' + std::get<std::string>(v) + '"';
  if (ref::is<ref::duration>(v)) return std::to_string(std::get<ref::duration>(v).ns) + "ns";
  if (ref::is<std::int64_t>(v)) return std::to_string(std::get<std::int64_t>(v));
  char digits[40];
  std::snprintf(digits, sizeof digits, "%.17e", std::get<double>(v));
  return digits;
}

// Each part in parentheses, but for fields, which must stand bare.
std::string text_of(const node& n) {
  using enum node::type;
  const auto part = [&](std::size_t i) {
    return n.parts[i]->what == field ? n.parts[i]->name : '(' + text_of(*n.parts[i]) + ')';
  };
  switch (n.what) {
    case literal: return literal_text(n.literal);
    case field: return n.name;
    case unary_minus: return "-" + part(0);
    case not_: return "!" + part(0);
    case binary: return part(0) + ' ' + n.name + ' ' + part(1);
    case and_: return part(0) + " && " + part(1);
    case or_: return part(0) + " || " + part(1);
    case choose: return part(0) + " ? " + part(1) + " : " + part(2);
    case is_missing: return part(0) + " is missing";
    case is_null: return part(0) + " is null";
    case in: {
      std::string out = part(0) + " in [";
      for (std::size_t i = 1; i < n.parts.size(); ++i) out += (i > 1 ? ", " : "") + part(i);
      return out + ']';
    }
    case call: {
      std::string out = n.name + '(' + part(0);
      for (std::size_t i = 1; i < n.parts.size(); ++i) out += ", " + part(i);
      return out + ')';
    }
    case memory: {
      std::string out = n.name + '(' + part(0);
      if (n.values > 0) out += ", " + std::to_string(n.values);
      if (n.values == 0 && n.name != "previous" && n.name != "rate")
        out += ", " + std::to_string(n.time) + "ns";
      return out + (n.key.empty() ? ")" : " by " + n.key + ")");
    }
  }
  return {};
}

field_value to_field(const ref::value& v) {
  if (ref::is<bool>(v)) return std::get<bool>(v);
  if (ref::is<std::int64_t>(v)) return std::get<std::int64_t>(v);
  if (ref::is<double>(v)) return std::get<double>(v);
  if (ref::is<std::string>(v)) return std::get<std::string>(v);
  if (ref::is<ref::duration>(v)) return nanoseconds(std::get<ref::duration>(v).ns);
  if (ref::is<ref::moment>(v)) return leat::moment(nanoseconds(std::get<ref::moment>(v).ns));
  return {};
}

TEST_CASE("any expression gives what the reference gives, error for error, record for record") {
  const char* const given = std::getenv("LEAT_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  MESSAGE("LEAT_SEED=" << seed);
  maker random(seed);
  int run = 0, present = 0;
  for (int i = 0; i < 30'000; ++i) {
    const tree t = random.make(static_cast<int>(1 + random.below(5)));
    const std::string source = text_of(*t);
    if (source.size() > longest_source) continue;
    const compiled c = compile(source);
    if (!c.result) continue;  // it can never be: a text times a text
    ++run;
    evaluator e(c.result);
    ref::errors wanted;
    std::int64_t now = 1'000'000'000'000;
    for (int k = 0; k < 6; ++k) {
      now += static_cast<std::int64_t>(random.below(4)) * 500'000'000;
      ref::fields fields;
      record r;
      for (const char name : {'a', 'b', 'c', 'd', 'e'}) {
        if (random.below(5) == 0) continue;
        const std::string field(1, name);
        fields[field] = random.any_value();
        // Now and then in another place.
        if (random.below(4) == 0) r["x" + field] = 1;
        r[field] = to_field(fields[field]);
      }
      if (random.below(8) != 0) {
        fields["k"] = random.below(2) == 0 ? ref::value(std::string("one")) : ref::value(std::int64_t{2});
        r["k"] = to_field(fields["k"]);
      }
      const ref::value expected = ref::evaluation(fields, now, wanted).run(*t);
      const operand got = e.run(r, {.now = leat::moment(nanoseconds(now))});
      const ref::errors counted{static_cast<int>(e.errors(evaluation_error::missing)),
                                static_cast<int>(e.errors(evaluation_error::wrong_kind)),
                                static_cast<int>(e.errors(evaluation_error::division_by_zero)),
                                static_cast<int>(e.errors(evaluation_error::range))};
      const bool same = got.is(kind::missing)
                            ? ref::is<ref::missing>(expected)
                            : !ref::is<ref::missing>(expected) && got.value() == to_field(expected);
      present += !got.is(kind::missing);
      if (same && counted == wanted) continue;
      INFO(source);
      INFO("record " << k << " " << to_json(r));
      INFO("got " << shown(got));
      INFO("errors " << counted.missing << ' ' << counted.wrong_kind << ' ' << counted.zero << ' '
                     << counted.range << ", wanted " << wanted.missing << ' ' << wanted.wrong_kind << ' '
                     << wanted.zero << ' ' << wanted.range);
      CHECK(same);
      REQUIRE(counted == wanted);
      REQUIRE(same);
    }
  }
  MESSAGE(run << " expressions, " << present << " results that are not missing");
  CHECK(run > 5000);
  CHECK(present > 20'000);
}

}  // namespace
}  // namespace leat::expression::test
