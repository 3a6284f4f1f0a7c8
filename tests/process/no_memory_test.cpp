// SPDX-License-Identifier: BSL-1.0
//
// A supervisor hears of every failure, also of those that cannot be put into words for want of memory.
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>

#include <leat/supervisor.hpp>

#include "sched/fixture.hpp"

namespace {

// The next allocation of this thread that a short text does without.
thread_local bool next_one_fails = false;

}  // namespace

[[gnu::noinline]] void* operator new(std::size_t n) {
  if (next_one_fails && n > 15) {
    next_one_fails = false;
    throw std::bad_alloc();
  }
  if (void* const p = std::malloc(n ? n : 1)) return p;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

using namespace leat;
using namespace leat::sched::test;

TEST_CASE("one that fails with a text for which there is no memory has failed all the same") {
  log_catcher log;
  const std::exception_ptr why =
      std::make_exception_ptr(std::runtime_error("the carrier is gone, and with it all that it carried"));
  run_clean(with_procs(2), [&] {
    int runs = 0;
    supervisor s("gateway");
    child_options o;
    o.restart.backoff = o.restart.longest_backoff = 1ms;
    s.add("reader", o, [&] {
      if (++runs == 2) return;
      next_one_fails = true;
      std::rethrow_exception(why);
    });
    s.run();
    CHECK(runs == 2);
    CHECK(s.report()[0].failures == 1);
  });
  CHECK(log.said("gateway: 'reader' failed: out of memory; restarts in "));
}
