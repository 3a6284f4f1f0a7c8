// SPDX-License-Identifier: BSL-1.0
#include <sched.h>
#include <functional>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

void refused(const char* key, const std::function<void(runtime_options&)>& change) {
  CAPTURE(key);
  runtime_options o;
  change(o);
  const std::string wrong = check_options(o);
  CHECK(wrong.rfind(key, 0) == 0);
  bool ran = false;
  std::string thrown;
  try {
    leat::run(o, [&] { ran = true; });
  } catch (const std::invalid_argument& e) {
    thrown = e.what();
  }
  CHECK(thrown == wrong);
  CHECK_FALSE(ran);
}

unsigned allowed_cpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  for (unsigned i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) return i;
  return 0;
}

}  // namespace

TEST_CASE("the defaults are right") { CHECK(check_options({}).empty()); }

TEST_CASE("an option out of its range is refused with its name, before anything runs") {
  refused("procs", [](auto& o) { o.procs = 0; });
  refused("procs", [](auto& o) { o.procs = 1025; });
  refused("procs", [](auto& o) { o.procs = 100000; });
  refused("run_queue", [](auto& o) { o.run_queue = 0; });
  refused("run_queue", [](auto& o) { o.run_queue = (1u << 20) + 1; });
  refused("spinning", [](auto& o) {
    o.procs = 2;
    o.spinning = 3;
  });
  refused("spinning", [](auto& o) { o.spinning = 1025; });
  refused("max_threads", [](auto& o) { o.max_threads = 0; });
  refused("max_threads", [](auto& o) { o.max_threads = 1'000'001; });
  refused("max_threads", [](auto& o) {
    o.procs = 4;
    o.max_threads = 3;
  });
  refused("slice", [](auto& o) { o.slice = 99us; });
  refused("slice", [](auto& o) { o.slice = nanoseconds::zero(); });
  refused("slice", [](auto& o) { o.slice = -1ms; });
  refused("slice", [](auto& o) { o.slice = 2h; });
  refused("stack", [](auto& o) { o.stack = 0; });
  refused("stack", [](auto& o) { o.stack = 16 * 1024 - 1; });
  refused("stack", [](auto& o) { o.stack = 8 * 1024 * 1024 + 1; });
  refused("trace", [](auto& o) { o.trace = 1us; });
  refused("trace", [](auto& o) { o.trace = -1s; });
  refused("grace", [](auto& o) { o.grace = -1ns; });
  refused("cpus", [](auto& o) { o.cpus = {CPU_SETSIZE - 1}; });
  refused("cpus", [](auto& o) { o.cpus = {100000}; });
  refused("cpus", [](auto& o) { o.cpus = {allowed_cpu(), CPU_SETSIZE - 1}; });
}

TEST_CASE("the message says the value and what is allowed") {
  runtime_options o;
  o.procs = 100000;
  const std::string text = check_options(o);
  CHECK(text.find("100000") != std::string::npos);
  CHECK(text.find("1 to 1024") != std::string::npos);
}

TEST_CASE("the outermost allowed values work") {
  runtime_options o;
  o.procs = 1;
  o.run_queue = 1;
  o.spinning = 1;
  o.max_threads = 1;
  o.slice = 100us;
  o.stack = 16 * 1024;
  o.trace = 1ms;
  o.grace = nanoseconds::zero();
  o.cpus = {allowed_cpu()};
  log_catcher quiet;
  CHECK(leat::run(o, [] { return spawn([] { return 41; }).get() + 1; }) == 42);
  o = with_procs(runtime_options::max_procs, 1);
  o.spinning = runtime_options::max_procs;
  CHECK(leat::run(o, [] { return static_cast<int>(stats().procs); }) == 1024);
}

TEST_CASE("a time that is too long to count is the longest there is") {
  runtime_options o;
  o.grace = o.trace = std::chrono::hours::max();
  CHECK(check_options(o).empty());
  CHECK(leat::run(o, [] { return spawn([] { return 41; }).get() + 1; }) == 42);
  refused("slice", [](auto& r) { r.slice = std::chrono::hours::max(); });
}

TEST_CASE("cpus holds all threads that run Gs") {
  runtime_options o = with_procs(2);
  o.cpus = {allowed_cpu()};
  run_clean(o, [&] {
    for (int i = 0; i < 20; ++i)
      CHECK(spawn([] { return ::sched_getcpu(); }).get() == static_cast<int>(allowed_cpu()));
  });
}

TEST_CASE("procs = auto is the CPUs of the affinity mask, capped by the quota, and says why") {
  const auto chosen = auto_procs();
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  const auto affinity = static_cast<unsigned>(CPU_COUNT(&set));
  CHECK(chosen.procs >= 1);
  CHECK(chosen.procs <= affinity);
  CHECK(chosen.why.find("affinity " + std::to_string(affinity)) != std::string::npos);
  CHECK(leat::run([] { return static_cast<int>(stats().procs); }) == static_cast<int>(chosen.procs));

  std::thread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(allowed_cpu(), &one);
    REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(auto_procs().procs == 1);
  }).join();
}

TEST_CASE("a cgroup's quota is rounded up to whole CPUs; none, or nonsense, is no quota") {
  using detail::quota_of_cpu_max;
  CHECK(quota_of_cpu_max("max 100000") == 0);
  CHECK(quota_of_cpu_max("100000 100000") == 1);
  CHECK(quota_of_cpu_max("150000 100000") == 2);
  CHECK(quota_of_cpu_max("200000 100000\n") == 2);
  CHECK(quota_of_cpu_max("200001 100000") == 3);
  CHECK(quota_of_cpu_max("1000 100000") == 1);
  CHECK(quota_of_cpu_max("9223372036854775807 1") == 1024);
  for (const char* nonsense :
       {"", "max", "100000", "abc def", "0 100000", "-1 100000", "100000 0", "100000 -5"}) {
    CAPTURE(nonsense);
    CHECK(quota_of_cpu_max(nonsense) == 0);
  }
}
