// SPDX-License-Identifier: BSL-1.0
//
// The language once more, as plainly as it can be said: a tree that is walked, values that are copied,
// histories that are kept whole. It shares nothing with what it is compared with.
#pragma once
#include <cctype>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace leat::expression::test::reference {

struct missing {
  bool operator==(const missing&) const = default;
};
struct null {
  bool operator==(const null&) const = default;
};
struct duration {
  std::int64_t ns;
  bool operator==(const duration&) const = default;
};
struct moment {
  std::int64_t ns;
  bool operator==(const moment&) const = default;
};
using value = std::variant<missing, null, bool, std::int64_t, double, std::string, duration, moment>;

template <class T>
bool is(const value& v) {
  return std::holds_alternative<T>(v);
}

struct errors {
  int missing = 0, wrong_kind = 0, zero = 0, range = 0;
  bool operator==(const errors&) const = default;
};

struct node {
  enum class type {
    literal,
    field,
    unary_minus,
    not_,
    binary,
    and_,
    or_,
    choose,
    is_missing,
    is_null,
    in,
    call,
    memory
  };
  type what = type::literal;
  value literal = {};
  std::string name = {};  // of a field, an operator or a function
  std::vector<std::unique_ptr<node>> parts = {};
  // Memories.
  int values = 0;
  std::int64_t time = 0;
  std::string key = {};
  struct seen {
    std::int64_t at;
    std::string key;
    value v;
  };
  std::vector<seen> history = {};
  value result = {};
};

using fields = std::map<std::string, value>;

class evaluation {
 public:
  evaluation(const fields& f, std::int64_t now, errors& count) : fields_(f), now_(now), count_(count) {}

  value run(node& n) {
    feed(n);
    return eval(n);
  }

 private:
  bool is_number(const value& v) const { return is<std::int64_t>(v) || is<double>(v); }
  double real(const value& v) const {
    return is<double>(v) ? std::get<double>(v) : static_cast<double>(std::get<std::int64_t>(v));
  }
  value wrong() { return ++count_.wrong_kind, missing(); }
  value out_of_range() { return ++count_.range, missing(); }
  value zero() { return ++count_.zero, missing(); }
  value finite(double d) { return std::isfinite(d) ? value(d) : out_of_range(); }

  template <class T>
  value whole(long double exact, T made) {
    if (exact < -9223372036854775808.0L || exact > 9223372036854775807.0L) return out_of_range();
    return made(static_cast<std::int64_t>(exact));
  }

  void feed(node& n) {
    for (auto& p : n.parts) feed(*p);
    if (n.what == node::type::memory) n.result = remember(n);
  }

  std::string key_text(const value& v) const {
    if (is<std::string>(v)) return "t" + std::get<std::string>(v);
    if (is<std::int64_t>(v)) return "t" + std::to_string(std::get<std::int64_t>(v));
    return "?" + std::to_string(v.index());
  }

  value remember(node& n) {
    const value v = eval(*n.parts[0]);
    std::string key;
    if (!n.key.empty()) {
      const value k = load(n.key, false);
      if (is<missing>(k)) return missing();
      key = key_text(k);
    }
    std::vector<const node::seen*> mine;
    for (const auto& s : n.history)
      if (s.key == key) mine.push_back(&s);
    if (n.name == "previous") {
      const value before = mine.empty() ? value(missing()) : mine.back()->v;
      if (!is<missing>(v)) n.history.push_back({now_, key, v});
      return before;
    }
    if (n.name == "rate") {
      if (is<missing>(v)) return missing();
      if (!is_number(v)) return wrong();
      const auto last = mine.empty() ? std::nullopt : std::optional(*mine.back());
      if (last && last->at == now_) return zero();
      n.history.push_back({now_, key, v});
      if (!last) return missing();
      return finite((real(v) - real(last->v)) / (static_cast<double>(now_ - last->at) / 1e9));
    }
    if (is_number(v))
      n.history.push_back({now_, key, v});
    else if (!is<missing>(v))
      ++count_.wrong_kind;
    std::vector<double> inside;
    for (const auto& s : n.history)
      if (s.key == key && (n.values > 0 || now_ - s.at < n.time)) inside.push_back(real(s.v));
    if (n.values > 0 && inside.size() > static_cast<std::size_t>(n.values))
      inside.erase(inside.begin(), inside.end() - n.values);
    if (n.name == "count") return static_cast<std::int64_t>(inside.size());
    if (inside.empty()) return missing();
    double sum = 0, least = inside[0], most = inside[0];
    for (const double d : inside) sum += d, least = std::fmin(least, d), most = std::fmax(most, d);
    if (n.name == "min") return least;
    if (n.name == "max") return most;
    const double made = n.name == "sum" ? sum : sum / static_cast<double>(inside.size());
    // One error for one operation.
    return std::isfinite(made) || is_number(v) || is<missing>(v) ? finite(made) : value(missing());
  }

  value load(const std::string& name, bool quiet) {
    const auto at = fields_.find(name);
    if (at != fields_.end()) return at->second;
    if (!quiet) ++count_.missing;
    return missing();
  }

  value truth(const value& v) { return is<bool>(v) || is<missing>(v) ? v : wrong(); }

  // -1, 0, 1; none: not to be compared.
  std::optional<int> order(const value& a, const value& b) const {
    const auto of = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (is_number(a) && is_number(b)) {
      const auto wide = [](const value& v) {
        return is<double>(v) ? static_cast<long double>(std::get<double>(v))
                             : static_cast<long double>(std::get<std::int64_t>(v));
      };
      return of(wide(a), wide(b));
    }
    if (a.index() != b.index()) return std::nullopt;
    if (is<std::string>(a)) return of(std::get<std::string>(a), std::get<std::string>(b));
    if (is<duration>(a)) return of(std::get<duration>(a).ns, std::get<duration>(b).ns);
    if (is<moment>(a)) return of(std::get<moment>(a).ns, std::get<moment>(b).ns);
    return std::nullopt;
  }
  bool equal(const value& a, const value& b) const {
    if (const auto o = order(a, b)) return *o == 0;
    return a == b;
  }

  value binary(const std::string& op, const value& a, const value& b) {
    if (is<missing>(a) || is<missing>(b)) return missing();
    if (op == "==" || op == "!=") {
      const bool comparable = order(a, b) || (is<bool>(a) && is<bool>(b)) || is<null>(a) || is<null>(b);
      if (!comparable) return wrong();
      return equal(a, b) == (op == "==");
    }
    if (op == "<" || op == "<=" || op == ">" || op == ">=") {
      const auto o = order(a, b);
      if (!o) return wrong();
      return op == "<" ? *o < 0 : op == "<=" ? *o <= 0 : op == ">" ? *o > 0 : *o >= 0;
    }
    const auto as_integer = [](std::int64_t i) { return value(i); };
    const auto as_duration = [](std::int64_t i) { return value(duration{i}); };
    const auto as_moment = [](std::int64_t i) { return value(moment{i}); };
    if (is<std::int64_t>(a) && is<std::int64_t>(b) && op != "/") {
      const std::int64_t x = std::get<std::int64_t>(a), y = std::get<std::int64_t>(b);
      const long double p = x, q = y;
      if (op == "+") return whole(p + q, as_integer);
      if (op == "-") return whole(p - q, as_integer);
      if (op == "*") return whole(p * q, as_integer);
      if (y == 0) return zero();
      return y == -1 ? std::int64_t{0} : x % y;
    }
    if (is_number(a) && is_number(b)) {
      const double x = real(a), y = real(b);
      if (op == "+") return finite(x + y);
      if (op == "-") return finite(x - y);
      if (op == "*") return finite(x * y);
      if (y == 0) return zero();
      return finite(op == "/" ? x / y : std::fmod(x, y));
    }
    if (op == "+" && is<std::string>(a) && is<std::string>(b))
      return std::get<std::string>(a) + std::get<std::string>(b);
    const auto ns = [](const value& v) -> long double {
      return is<duration>(v) ? std::get<duration>(v).ns : std::get<moment>(v).ns;
    };
    if (op == "+" && is<duration>(a) && is<duration>(b)) return whole(ns(a) + ns(b), as_duration);
    if (op == "-" && is<duration>(a) && is<duration>(b)) return whole(ns(a) - ns(b), as_duration);
    if (op == "+" && is<duration>(a) && is<moment>(b)) return whole(ns(a) + ns(b), as_moment);
    if (op == "+" && is<moment>(a) && is<duration>(b)) return whole(ns(a) + ns(b), as_moment);
    if (op == "-" && is<moment>(a) && is<duration>(b)) return whole(ns(a) - ns(b), as_moment);
    if (op == "-" && is<moment>(a) && is<moment>(b)) return whole(ns(a) - ns(b), as_duration);
    if (op == "/" && is<duration>(a) && is<duration>(b)) {
      if (ns(b) == 0) return zero();
      return finite(static_cast<double>(std::get<duration>(a).ns) /
                    static_cast<double>(std::get<duration>(b).ns));
    }
    const bool left = is<duration>(a) && is_number(b), right = op == "*" && is_number(a) && is<duration>(b);
    if ((op == "*" && (left || right)) || (op == "/" && left)) {
      const value &d = left ? a : b, &f = left ? b : a;
      if (op == "*" && is<std::int64_t>(f))
        return whole(ns(d) * static_cast<long double>(std::get<std::int64_t>(f)), as_duration);
      if (op == "/" && real(f) == 0) return zero();
      const double time = static_cast<double>(std::get<duration>(d).ns);
      const double made = op == "*" ? time * real(f) : time / real(f);
      if (!std::isfinite(made) || std::nearbyint(made) < -0x1p63 || std::nearbyint(made) >= 0x1p63)
        return out_of_range();
      return duration{static_cast<std::int64_t>(std::nearbyint(made))};
    }
    return wrong();
  }

  value call(node& n) {
    std::vector<value> a;
    for (auto& p : n.parts)
      a.push_back(n.name == "default" && p->what == node::type::field ? load(p->name, true) : eval(*p));
    if (n.name == "default") return is<missing>(a[0]) || is<null>(a[0]) ? a[1] : a[0];
    // The first that is missing or wrong decides.
    const auto takes = [&](const value& v) {
      if (n.name == "abs") return is_number(v) || is<duration>(v);
      if (n.name == "floor") return is_number(v);
      if (n.name == "least" || n.name == "greatest")
        return is_number(v) || is<std::string>(v) || is<duration>(v) || is<moment>(v);
      return is<std::string>(v);
    };
    for (const value& v : a) {
      if (is<missing>(v)) return missing();
      if (!takes(v)) return wrong();
    }
    if (n.name == "abs") {
      if (is<double>(a[0])) return std::fabs(std::get<double>(a[0]));
      if (is<duration>(a[0]))
        return whole(std::fabs(static_cast<long double>(std::get<duration>(a[0]).ns)),
                     [](std::int64_t i) { return value(duration{i}); });
      return whole(std::fabs(static_cast<long double>(std::get<std::int64_t>(a[0]))),
                   [](std::int64_t i) { return value(i); });
    }
    if (n.name == "floor") {
      if (is<std::int64_t>(a[0])) return a[0];
      return whole(std::floor(static_cast<long double>(std::get<double>(a[0]))),
                   [](std::int64_t i) { return value(i); });
    }
    if (n.name == "least" || n.name == "greatest") {
      value best = a[0];
      for (std::size_t i = 1; i < a.size(); ++i) {
        const auto o = order(a[i], best);
        if (!o) return wrong();
        if (n.name == "least" ? *o < 0 : *o > 0) best = a[i];
      }
      return best;
    }
    const std::string& text = std::get<std::string>(a[0]);
    if (n.name == "length") return static_cast<std::int64_t>(text.size());  // ASCII
    if (n.name == "contains") return text.find(std::get<std::string>(a[1])) != std::string::npos;
    std::string out;
    for (const char c : text) out += static_cast<char>(n.name == "upper" ? std::toupper(c) : std::tolower(c));
    return out;
  }

  value eval(node& n) {
    using enum node::type;
    switch (n.what) {
      case literal: return n.literal;
      case field: return load(n.name, false);
      case memory: return n.result;
      case call: return this->call(n);
      case unary_minus: {
        const value v = eval(*n.parts[0]);
        if (is<missing>(v)) return v;
        if (is<double>(v)) return -std::get<double>(v);
        if (is<duration>(v))
          return whole(-static_cast<long double>(std::get<duration>(v).ns),
                       [](std::int64_t i) { return value(duration{i}); });
        if (is<std::int64_t>(v))
          return whole(-static_cast<long double>(std::get<std::int64_t>(v)),
                       [](std::int64_t i) { return value(i); });
        return wrong();
      }
      case not_: {
        const value v = truth(eval(*n.parts[0]));
        return is<bool>(v) ? value(!std::get<bool>(v)) : v;
      }
      case binary: {
        const value a = eval(*n.parts[0]), b = eval(*n.parts[1]);
        return this->binary(n.name, a, b);
      }
      case and_:
      case or_: {
        const bool decides = n.what == or_;
        const value a = truth(eval(*n.parts[0]));
        if (is<bool>(a) && std::get<bool>(a) == decides) return a;
        const value b = truth(eval(*n.parts[1]));
        if (is<bool>(b) && std::get<bool>(b) == decides) return b;
        if (is<missing>(a) || is<missing>(b)) return missing();
        return !decides;
      }
      case choose: {
        const value by = truth(eval(*n.parts[0]));
        if (is<missing>(by)) return by;
        return eval(*n.parts[std::get<bool>(by) ? 1 : 2]);
      }
      case is_missing:
      case is_null: {
        node& of = *n.parts[0];
        const value v = of.what == field ? load(of.name, true) : eval(of);
        return n.what == is_missing ? is<missing>(v) : is<null>(v);
      }
      case in: {
        const value v = eval(*n.parts[0]);
        bool unknown = false, found = false;
        for (std::size_t i = 1; i < n.parts.size(); ++i) {
          const value e = eval(*n.parts[i]);
          unknown = unknown || is<missing>(e);
          found = found || (!is<missing>(e) && !is<missing>(v) && equal(v, e));
        }
        if (is<missing>(v)) return v;
        return found ? value(true) : unknown ? value(missing()) : value(false);
      }
    }
    return missing();
  }

  const fields& fields_;
  const std::int64_t now_;
  errors& count_;
};

}  // namespace leat::expression::test::reference
