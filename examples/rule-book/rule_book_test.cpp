// SPDX-License-Identifier: BSL-1.0
//
// Each process by itself: the test has the other side of its ports. <leat/testing.hpp> needs no test framework.
#include <cstdlib>

#include <leat/testing.hpp>

#include "rule_book.hpp"

namespace {

using leat::testing::ended;
using leat::testing::rig;

void check(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::exit(1);
}

leat::value one_rule() {
  leat::value::table r{{"sensor", {}, leat::value("boiler")}, {"above", {}, leat::value(90.0)}};
  return leat::value(leat::value::list{leat::value(std::move(r))});
}

// The book is asked: at a port of its inbox the test is a client.
void the_book_answers() {
  rig<rule_book> r;
  const auto questions = r.requests<measurement, verdict>("inbox.measurement");
  const auto limits = r.requests<new_limit, old_limit>("inbox.new_limit");
  r.set("rules", one_rule()).start();
  const leat::client<measurement, verdict> ask(questions);
  const leat::client<new_limit, old_limit> change(limits);
  const leat::deadline soon(std::chrono::seconds(45));
  check(ask.ask({"boiler", 91}, soon) == verdict{true, "too high"}, "91 is above 90");
  check(change.ask({"boiler", 95}, soon) == old_limit{90}, "the limit was 90");
  check(ask.ask({"boiler", 91}, soon) == verdict{false, "fine"}, "91 is not above 95");
  std::optional<verdict> none;
  check(ask.ask({"sump", 1}, none, soon) == leat::ask_status::failed, "there is no rule for a sump");
  questions.close();
  limits.close();
  check(r.wait() == ended::returned, "it ends with those who ask");
}

// The inspector asks: here the test is the book, and takes each request with its reply.
void the_inspector_asks() {
  rig<inspector> r;
  const auto questions = r.requests<measurement, verdict>("book");
  const auto done = r.channel<protocol>("done");
  leat::value::list lines{leat::value(R"({"sensor":"pump","value":7})"), leat::value("{")};
  r.set("lines", leat::value(std::move(lines))).start();
  auto asked = questions.recv();
  check(asked && asked->value == measurement{"pump", 7}, "it asks what the line says");
  asked->answer({true, "too wet"});
  const auto p = done.recv();
  check(p && p->lines->size() == 2, "each line has its verdict");
  check(p->lines->front() == R"(pump: {"alarm":true,"text":"too wet"})", "it notes the answer");
  check(r.wait() == ended::returned, "it ends after its lines");
}

}  // namespace

int main() {
  leat::run([] {
    the_book_answers();
    the_inspector_asks();
  });
  std::puts("all is well");
}
