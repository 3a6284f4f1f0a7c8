// SPDX-License-Identifier: BSL-1.0
// Of the cases that are ready each has the same chance.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <leat/csp/turns.hpp>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

constexpr int rounds = scaled(20'000);

// How far the counts are from equal ones; with equal chances it is above `most` once in a million times.
double chi_square(const std::vector<int>& counts) {
  double sum = 0, expected = 0;
  for (const int n : counts) expected += n;
  expected /= static_cast<double>(counts.size());
  for (const int n : counts) sum += (n - expected) * (n - expected) / expected;
  return sum;
}
double most(std::size_t cells) {
  // By Wilson and Hilferty, who are good to a few per cent here.
  const double df = static_cast<double>(cells - 1), z = 4.75;
  const double x = 1 - 2 / (9 * df) + z * std::sqrt(2 / (9 * df));
  return df * x * x * x * 1.1;
}
void check_even(const std::vector<int>& counts) {
  CAPTURE(counts.size());
  CHECK(chi_square(counts) < most(counts.size()));
}

// Selects at run time over n channels of which those in `ready` always hold a value.
std::vector<int> chosen(std::size_t n, const std::vector<std::size_t>& ready, const channel_options& o) {
  std::vector<channel<int>> all;
  std::vector<select_case> cases;
  for (std::size_t i = 0; i < n; ++i) {
    all.emplace_back(1, o);
    cases.emplace_back(on_recv(all.back(), [] {}));
  }
  for (const std::size_t i : ready) (void)all[i].send(1);
  std::vector<int> counts(ready.size(), 0);
  for (int r = 0; r < rounds; ++r) {
    const auto i = static_cast<std::size_t>(select(cases));
    ++counts[static_cast<std::size_t>(std::find(ready.begin(), ready.end(), i) - ready.begin())];
    (void)all[i].send(1);
  }
  return counts;
}

}  // namespace

TEST_CASE("each ready case has the same chance, however many there are and wherever they stand") {
  for (const bool rings : {false, true}) {
    run_clean(with_procs(1), [&] {
      const channel_options o = rings ? single_options() : channel_options{};
      const std::pair<std::size_t, std::vector<std::size_t>> layouts[] = {{2, {0, 1}},
                                                                          {3, {0, 1}},
                                                                          {3, {0, 1, 2}},
                                                                          {4, {2, 3}},
                                                                          {4, {0, 1, 2}},
                                                                          {4, {0, 3}},
                                                                          {4, {0, 1, 2, 3}},
                                                                          {5, {3, 4}},
                                                                          {7, {0, 1, 2, 6}},
                                                                          {16, {14, 15}},
                                                                          {17, {0, 1, 2}},
                                                                          {22, {20, 21}},
                                                                          {40, {0, 1, 2, 20, 39}}};
      for (const auto& [n, ready] : layouts) check_even(chosen(n, ready, o));
    });
  }
}

TEST_CASE("a select written out is fair too, among rings, other channels and sends") {
  run_clean(with_procs(1), [&] {
    const channel<int> ring(1, single_options()), any(1), empty, to(1);
    std::vector<int> counts(3, 0);
    (void)ring.send(1);
    (void)any.send(1);
    for (int r = 0; r < rounds; ++r) {
      switch (
          select(on_recv(ring, [] {}), on_recv(any, [] {}), on_recv(empty, [] {}), on_send(to, 1, [] {}))) {
        case 0:
          ++counts[0];
          (void)ring.send(1);
          break;
        case 1:
          ++counts[1];
          (void)any.send(1);
          break;
        default: ++counts[2]; (void)to.recv();
      }
    }
    check_even(counts);
  });
}

TEST_CASE("the first of every subset is equally often each of its members, exactly so up to four") {
  for (std::size_t n = 1; n <= csp::turns::drawn_up_to; ++n) {
    // Twelve evenly spaced numbers draw each order equally often.
    for (unsigned subset = 1; subset < 1u << n; ++subset) {
      std::vector<int> firsts(n, 0);
      for (std::uint64_t draw = 0; draw < 12; ++draw) {
        csp::turns t(n);
        t.shuffle(static_cast<std::uint32_t>((draw * 2 + 1) * (std::uint64_t{1} << 32) / 24));
        for (std::size_t k = 0; k < n; ++k) {
          if (!((subset >> t.at(k)) & 1)) continue;
          ++firsts[t.at(k)];
          break;
        }
      }
      const int size = __builtin_popcount(subset);
      for (std::size_t i = 0; i < n; ++i) CHECK(firsts[i] == (((subset >> i) & 1) ? 12 / size : 0));
    }
  }
}

TEST_CASE("an order has each index once") {
  for (const std::size_t n : {1u, 4u, 5u, 15u, 16u, 17u, 100u}) {
    std::vector<std::uint32_t> room(n);
    for (std::uint32_t random = 1; random < 200; ++random) {
      csp::turns t(n, room.data());
      t.shuffle(random * 0x9e3779b9u);
      std::vector<bool> seen(n, false);
      for (std::size_t k = 0; k < n; ++k) seen[t.at(k)] = true;
      CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(n));
    }
    csp::turns t(n, room.data());
    t.in_order();
    for (std::size_t k = 0; k < n; ++k) CHECK(t.at(k) == k);
  }
}
