// SPDX-License-Identifier: BSL-1.0
// Cases of a select that have a name, live long or are used again; and loops over channels that are let go.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "csp/fixture.hpp"
#include "csp/fragile.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

constexpr auto nothing = [] {};

// Whether a select of cases of these types compiles.
template <class... Cases>
concept can_select = requires(Cases... cases) { leat::select(static_cast<Cases>(cases)...); };
template <class Value>
using case_sending = decltype(on_send(std::declval<channel<std::string>>(), std::declval<Value>(), nothing));

}  // namespace

TEST_CASE("a case that was made from an rvalue and has a name does not compile") {
  static_assert(can_select<case_sending<std::string>&&>);  // written inside the call
  static_assert(!can_select<case_sending<std::string>&>);  // under a name
  static_assert(!can_select<const case_sending<std::string>&>);
  static_assert(can_select<case_sending<const std::string&>&>);  // a copy of its own
  static_assert(can_select<case_sending<std::reference_wrapper<std::string>>&>);
}

TEST_CASE("a named case sends its own copy, or the value that it refers to") {
  at_procs([] {
    const channel<std::string> c(1);
    std::string text = "a text too long for a string without memory of its own";
    const std::string before = text;
    auto copies = on_send(c, text, nothing);
    text.clear();
    CHECK(select(copies) == 0);
    CHECK(c.recv() == before);
    text = before;
    auto refers = on_send(c, std::ref(text), nothing);
    CHECK(select(refers) == 0);
    CHECK(c.recv() == before);
    CHECK(text.empty());
    text = "again";
    CHECK(select(refers) == 0);
    CHECK(c.recv() == "again");
  });
}

// Boxed, and made into a node: both leave the value's place while the select looks and waits.
TEST_CASE("a value that a select has not sent is back in its place when the select is over") {
  at_procs([] {
    const channel<fragile> boxes(1), hub(broadcast, 1);
    const in<fragile> reader(hub);
    for (const channel<fragile>& c : {boxes, hub}) {
      CHECK(c.send(fragile(1)) == send_status::sent);
      fragile v(2);
      auto sends = on_send(c, std::ref(v), nothing);
      int seen = 0;
      CHECK(select(sends, otherwise([&] { seen = v.value; })) == 1);
      CHECK(seen == 2);
      CHECK(select(sends, on_timeout(1ms, nothing)) == 1);
      CHECK(v.value == 2);
      CHECK((c == hub ? reader : in<fragile>(c)).recv()->value == 1);
      CHECK(select(sends, otherwise(nothing)) == 0);
      CHECK((c == hub ? reader : in<fragile>(c)).recv()->value == 2);
    }
  });
}

TEST_CASE("a case whose channel had no other handle than an rvalue keeps it") {
  at_procs([] {
    auto later = on_recv(after(1ms), nothing);
    CHECK(select(later) == 0);
    CHECK(select(later) == select_closed);

    // An end of its own: the channel has no other handle when the case is used.
    auto c = std::make_unique<channel<std::string>>(1);
    std::string got;
    auto takes = on_recv(in<std::string>(*c), [&](std::string s) { got = std::move(s); });
    const std::string text = "a text that is too long for a string alone";
    auto gives = on_send(out<std::string>(*c), text, nothing);
    auto full = on_send(channel<std::string>(), std::ref(got), nothing);
    c.reset();
    CHECK(select(std::move(gives), full) == 0);
    CHECK(select(takes, full) == 0);
    CHECK(got == "a text that is too long for a string alone");
    CHECK(select(takes, full, otherwise(nothing)) == 2);
  });
}

TEST_CASE("a value that was not sent by a select at run time stays with its owner") {
  at_procs([] {
    const channel<std::unique_ptr<int>> packed(1);
    const channel<int> other(1);
    packed.send(std::make_unique<int>(0));
    other.send(1);
    auto mine = std::make_unique<int>(7);
    {
      std::vector<select_case> cases;
      cases.emplace_back(on_send(packed, std::ref(mine), nothing));
      cases.emplace_back(on_recv(other, nothing));
      CHECK(select(cases) == 1);
      REQUIRE(mine);
      CHECK(*mine == 7);
      (void)packed.recv();
      CHECK(select(cases) == 0);
      CHECK_FALSE(mine);
    }
    CHECK(**packed.recv() == 7);
  });
}

TEST_CASE("a timeout given as a duration counts from each select that it is used in") {
  at_procs([] {
    const channel<int> c(1);
    auto late = on_timeout(20ms, nothing);
    CHECK(select(on_recv(c, nothing), late) == 1);
    // It has run out once; now there is time again, and the value comes first.
    auto sender = spawn([&] {
      (void)sleep_for(1ms);
      c.send(1);
    });
    const time_point begin = now();
    const int chosen = select(on_recv(c, nothing), late);
    // Unless the machine stood still for so long.
    if (now() - begin < 20ms) CHECK(chosen == 0);
    sender.join();
    (void)c.try_recv();
    const time_point again = now();
    CHECK(select(on_recv(c, nothing), late) == 1);
    CHECK(now() - again >= 20ms);
  });
}

TEST_CASE("a timeout given as a moment stays what it is") {
  at_procs([] {
    const channel<int> c;
    auto late = on_timeout(now() + 1ms, nothing);
    CHECK(select(on_recv(c, nothing), late) == 1);
    CHECK(select(on_recv(c, nothing), late) == 1);
  });
}

TEST_CASE("a channel may be let go of inside a loop over it") {
  at_procs_both_flavours([](const channel_options& o) {
    channel<int> c(4, o);
    for (int i = 1; i <= 4; ++i) c.send(i);
    c.close();
    int sum = 0;
    for (const int v : c) {
      sum += v;
      c = channel<int>();
    }
    CHECK(sum == 10);
    in<int> end;
    {
      const channel<int> gone(4, o);
      for (int i = 1; i <= 4; ++i) gone.send(i);
      gone.close();
      end = gone;
    }
    for (const int v : end) {
      sum += v;
      end = {};
    }
    CHECK(sum == 20);
  });
}

TEST_CASE("of two cases with one value, the one that is dropped does not take it from where it was") {
  run_clean(with_procs(1), [] {
    const channel<std::string> first(leat::broadcast, 1), second(leat::broadcast, 1);
    const in<std::string> full(first);
    CHECK(first.send("before") ==
          send_status::sent);  // the first must wait; the second has no reader, and drops
    std::string v = "kept";
    CHECK(select(on_send(first, std::ref(v), [] {}), on_send(second, std::ref(v), [] {})) == 1);
    CHECK(v == "kept");
  });
}
