// SPDX-License-Identifier: BSL-1.0
// What a report of a deadlock says of channels.
#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include "support/child.hpp"

using namespace leat;

LEAT_CHILD(three_that_wait) {
  leat::run([] {
    const channel<int> orders(0, {.name = "orders"});
    const channel<int> bills(1, {.writers = 1, .readers = 1, .name = "bills"});
    const in<int> nil;
    go("cook", [=] { (void)orders.recv(); });
    go("cashier", [=] {
      (void)bills.send(1);
      (void)bills.send(2);
    });
    (void)nil.recv();
  });
}

TEST_CASE("a report of a deadlock names the channels at which Gs wait") {
  const auto r = test::run_self("three_that_wait");
  CAPTURE(r.output);
  CHECK(r.exited(70));
  CHECK(r.said("'cook': waiting for receive at channel 'orders'"));
  CHECK(r.said("'cashier': waiting for send at channel 'bills'"));
  CHECK(r.said("'main': waiting for receive at channel 'nil'"));
}
