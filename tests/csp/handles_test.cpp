// SPDX-License-Identifier: BSL-1.0
// Handles as values: compared, hashed, and of messages that hold a handle of their own kind.
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

// Its answer comes through a channel of its own kind.
struct question {
  std::string text;
  channel<question> answer;
  in<question> from;
  out<question> to;
};

}  // namespace

TEST_CASE("a message may hold a channel of its own kind") {
  at_procs([] {
    const channel<question> ask;
    auto t = spawn([&] {
      auto q = ask.recv();
      REQUIRE(q);
      q->answer.send({.text = q->text + "!", .answer = q->answer, .from = {}, .to = {}});
    });
    question q{.text = "well", .answer = channel<question>(1), .from = {}, .to = {}};
    ask.send(q);
    CHECK(q.answer.recv()->text == "well!");
    t.get();
  });
}

TEST_CASE("handles are equal if they are of the same channel") {
  const channel<int> a, b;
  const channel<int> also_a = a;
  CHECK(a == also_a);
  CHECK(a != b);
  CHECK(in<int>(a) == in<int>(a));
  CHECK(in<int>(a) != in<int>(b));
  CHECK(out<int>(a) == out<int>(also_a));
  CHECK(in<int>() == in<int>());
  CHECK(in<int>() != in<int>(a));
  const channel<int> all(broadcast, 1);
  CHECK(in<int>(all) != in<int>(all));  // two readers
}

TEST_CASE("handles are keys of hash tables") {
  const channel<int> a, b;
  std::unordered_map<channel<int>, int> number{{a, 1}, {b, 2}};
  const channel<int> also_a = a;
  CHECK(number.at(also_a) == 1);
  CHECK(number.at(b) == 2);
  std::unordered_set<in<int>> readers{a, b, also_a};
  CHECK(readers.size() == 2);
  std::unordered_set<out<int>> writers{a, b, also_a};
  CHECK(writers.size() == 2);
}
