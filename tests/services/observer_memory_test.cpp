// SPDX-License-Identifier: BSL-1.0
//
// The observer's own round finds no memory: who looks sees the last one, and the next one comes.
#include <atomic>
#include <cstdlib>
#include <new>

#include <leat/csp/task_group.hpp>
#include <leat/leat.hpp>
#include <leat/sched/info.hpp>
#include <leat/services/observer.hpp>

#include "fixture.hpp"

namespace {

// The G whose allocations fail, once so many have been made.
std::atomic<std::uint64_t> poor_g{0};
std::atomic<int> allocations_left{-1};

void* allocate(std::size_t size) {
  if (allocations_left.load() >= 0 && leat::self().id == poor_g.load() && allocations_left.fetch_sub(1) == 0)
    throw std::bad_alloc();
  if (void* const p = std::malloc(size ? size : 1)) return p;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace leat::services::test {
namespace {

// So slow that no queue is full: the rounds do no more than count.
class pulse : public process {
  out<number> values{this, "values"};
  void run() override {
    while (sleep_for(1ms) == sleep_result::elapsed && values.send({1}) == send_status::sent) {
    }
  }
};
LEAT_PROCESS_AS("pulse", pulse, "sends one after the other");

}  // namespace

TEST_CASE("a round that finds no memory leaves the last one to look at, and the next one comes") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.from]
use = "pulse"
out = { values = "c" }
[process.to]
use = "noting"
in = { values = "c" }
[channel.c]
)");
  log_catcher log;
  (void)leat::run(with_procs(2), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    task_group beside;
    beside.go([&] {
      poor_g = self().id;
      looks.run();
    });
    channel<int> stop(2);
    auto runs = spawn([&] { return h.run(stop); });
    const auto rate = [&] { return looks.look().channels[0].rate_in; };
    REQUIRE(eventually([&] { return rate() > 0; }));
    for (int n = 0; n < 6; ++n) {
      allocations_left = n;
      // Rounds come while it looks.
      REQUIRE(eventually([&] { return rate() > 0 && allocations_left < 0; }));
    }
    CHECK(log.said("a look at the deployment failed"));
    REQUIRE(eventually([&] { return rate() > 0; }));
    (void)stop.try_send(15);
    (void)stop.try_send(15);
    (void)runs.get();
    beside.stop();
    beside.wait();
  });
}

}  // namespace leat::services::test
