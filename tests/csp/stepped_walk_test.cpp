// SPDX-License-Identifier: BSL-1.0
//
// A walk of the stack after each instruction: through parks at channels, at a select and at a mutex, switches
// to Gs that wait and to Gs that have never run, and ends. It must come to an end, and must read nothing that
// is not there.
#include <doctest/doctest.h>
#include <chrono>
#include <cstdio>
#include <mutex>

#include <leat/leat.hpp>

#include "support/child.hpp"
#include "support/stepping.hpp"

using namespace leat;

namespace {

void use_everything() {
  const channel<int> meet, back;
  const channel<int> ring(1, {.writers = 1, .readers = 1});
  mutex m;
  for (int round = 0; round < 2; ++round) {
    // Main parks first, and what it switches to has never run.
    auto sends = spawn([=] { (void)meet.send(1); });
    (void)meet.recv();
    auto takes = spawn([=] { (void)meet.recv(); });
    (void)meet.send(2);
    auto fills = spawn([=] {
      for (int i = 0; i < 4; ++i) (void)ring.send(i);
    });
    for (int i = 0; i < 4; ++i) (void)ring.recv();
    auto answers = spawn([=] { (void)back.send(3); });
    select(on_recv(meet, [](int) {}), on_recv(back, [](int) {}));
    std::unique_lock hold(m);
    auto locks = spawn([&] { std::scoped_lock waits(m); });
    yield();
    hold.unlock();
    for (task<void>* t : {&sends, &takes, &fills, &answers, &locks}) t->get();
  }
}

}  // namespace

LEAT_CHILD(walk_at_each_step) {
  test::prepare_to_step();
  runtime_options o;
  o.procs = 1;
  o.stack = 256 * 1024;
  o.slice = std::chrono::hours(1);  // no other thread shall go on for this one
  (void)run(o, [] {
    test::begin_to_step();
    use_everything();
    test::end_stepping();
  });
}

TEST_CASE("a walk of the stack that begins anywhere in a switch ends, and harms nothing") {
  const auto child = test::run_self("walk_at_each_step");
  INFO(child.output);
  CHECK(child.exited(0));
  const std::size_t at = child.output.find("stepped ");
  REQUIRE(at != std::string::npos);
  long steps = 0;
  int frames = 0;
  REQUIRE(std::sscanf(child.output.c_str() + at, "stepped %ld, at most %d frames", &steps, &frames) == 2);
  CHECK(steps > 5'000);
  CHECK(frames > 3);
  CHECK(frames < test::stepping::deepest);
}
