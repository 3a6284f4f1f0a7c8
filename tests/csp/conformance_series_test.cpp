// SPDX-License-Identifier: BSL-1.0
// Power series as nets of channels, after a well-known Go program.
#include <functional>
#include <numeric>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

// Exact, and small enough for the first dozen coefficients of what is tested.
struct rational {
  std::int64_t num = 0, den = 1;

  rational() = default;
  rational(std::int64_t n, std::int64_t d = 1) : num(n), den(d) {
    const std::int64_t g = std::gcd(num, den);
    if (g > 1) {
      num /= g;
      den /= g;
    }
    if (den < 0) {
      num = -num;
      den = -den;
    }
  }
  friend rational operator+(rational a, rational b) {
    return {plus(times(a.num, b.den), times(b.num, a.den)), times(a.den, b.den)};
  }
  friend rational operator*(rational a, rational b) { return {times(a.num, b.num), times(a.den, b.den)}; }
  // The Gs compute some coefficients more than anybody asks for; what does not fit there does not matter.
  static std::int64_t plus(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    return __builtin_add_overflow(a, b, &r) ? 1 : r;
  }
  static std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t r = 0;
    return __builtin_mul_overflow(a, b, &r) ? 1 : r;
  }
  friend bool operator==(rational, rational) = default;
};

// A power series is a channel of its coefficients, made as they are asked for. All Gs of a net belong to one
// source, whose stop ends them: the series are endless.
using series = in<rational>;

class series_net {
 public:
  explicit series_net(const channel_options& o) : options_(o) {}

  series make(const std::function<void(const out<rational>&)>& body) {
    const channel<rational> c(1, options_);
    group_.go([=] { body(c); });
    return c;
  }
  series constant_tail(rational first, const series& rest) {
    return make([=](const out<rational>& to) {
      if (to.send(first) != send_status::sent) return;
      while (const auto x = rest.recv())
        if (to.send(*x) != send_status::sent) return;
    });
  }
  series add(const series& a, const series& b) {
    return make([=](const out<rational>& to) {
      for (;;) {
        const auto x = a.recv(), y = b.recv();
        if (!x || !y || to.send(*x + *y) != send_status::sent) return;
      }
    });
  }
  series scale(rational by, const series& a) {
    return make([=](const out<rational>& to) {
      while (const auto x = a.recv())
        if (to.send(by * *x) != send_status::sent) return;
    });
  }
  // Each value to both, by select: whichever is asked first, each at most one ahead of what is sent on.
  std::pair<series, series> split(const series& a) {
    const channel<rational> l(64, options_), r(64, options_);
    group_.go([=] {
      while (const auto x = a.recv()) {
        out<rational> left = l, right = r;
        while (left || right)
          if (select(on_send(left, *x, [&] { left = {}; }), on_send(right, *x, [&] { right = {}; })) < 0)
            return;
      }
    });
    return {l, r};
  }
  series integral(rational constant, const series& a) {
    return make([=](const out<rational>& to) {
      if (to.send(constant) != send_status::sent) return;
      for (std::int64_t n = 1;; ++n) {
        const auto x = a.recv();
        if (!x || to.send(rational(1, n) * *x) != send_status::sent) return;
      }
    });
  }
  series multiply(const series& a, const series& b) {
    return make([=](const out<rational>& to) {
      std::vector<rational> as, bs;
      for (;;) {
        const auto x = a.recv(), y = b.recv();
        if (!x || !y) return;
        as.push_back(*x);
        bs.push_back(*y);
        rational sum;
        for (std::size_t i = 0; i < as.size(); ++i) sum = sum + as[i] * bs[bs.size() - 1 - i];
        if (to.send(sum) != send_status::sent) return;
      }
    });
  }
  // The solution of f' = f, f(0) = 1, as a loop of channels: the integral of what comes out goes in.
  series exp() {
    const channel<rational> back(64, options_);
    const auto [result, again] = split(integral(1, back));
    feed(again, back);
    return result;
  }
  // sin' = cos, cos' = -sin: two integrals that feed each other.
  std::pair<series, series> sin_and_cos() {
    const channel<rational> to_sin(64, options_), to_cos(64, options_);
    const auto [sine, sine_again] = split(integral(0, to_sin));
    const auto [cosine, cosine_again] = split(integral(1, to_cos));
    feed(cosine_again, to_sin);
    feed(scale(-1, sine_again), to_cos);
    return {sine, cosine};
  }

 private:
  void feed(const series& from, const out<rational>& to) {
    group_.go([=] {
      while (const auto x = from.recv())
        if (to.send(*x) != send_status::sent) return;
    });
  }

  channel_options options_;
  task_group group_;
};

std::vector<rational> first(std::size_t n, const series& s) {
  std::vector<rational> got;
  while (got.size() < n) got.push_back(s.recv().value());
  return got;
}

}  // namespace

TEST_CASE("go: power series: exp, sin and cos come out of nets of channels") {
  at_procs_both_flavours([](const channel_options& o) {
    constexpr std::size_t terms = 10;
    {
      series_net net(o);
      std::vector<rational> expected{1};
      for (std::int64_t n = 1; n < static_cast<std::int64_t>(terms); ++n)
        expected.push_back(expected.back() * rational(1, n));
      CHECK(first(terms, net.exp()) == expected);
    }
    {
      series_net net(o);
      const auto [sine, cosine] = net.sin_and_cos();
      // sin^2 + cos^2 = 1, which takes every coefficient of both.
      const auto [s1, s2] = net.split(sine);
      const auto [c1, c2] = net.split(cosine);
      std::vector<rational> one(terms);
      one[0] = 1;
      CHECK(first(terms, net.add(net.multiply(s1, s2), net.multiply(c1, c2))) == one);
    }
    {
      series_net net(o);
      const auto [sine, cosine] = net.sin_and_cos();
      CHECK(first(6, sine) == std::vector<rational>{0, 1, 0, {-1, 6}, 0, {1, 120}});
    }
  });
}
