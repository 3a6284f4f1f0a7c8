// SPDX-License-Identifier: BSL-1.0
//
// Some Gs that wait in places of their own, for gdb_test.sh to look at.
#include <chrono>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

extern "C" [[gnu::noinline]] void look_now() { asm volatile("" : : : "memory"); }

namespace plant {

[[gnu::noinline]] int read_level(const leat::channel<int>& levels, int tank) {
  const auto got = levels.recv();
  asm volatile("" : : : "memory");  // no tail call
  return got ? *got + tank : tank;
}

[[gnu::noinline]] int watch_tanks(const leat::channel<int>& levels) {
  int sum = 0;
  for (int tank = 41; tank < 50; ++tank) sum += read_level(levels, tank + 1);
  return sum;
}

}  // namespace plant

int main() {
  leat::runtime_options o;
  o.procs = 2;
  return leat::run(o, [] {
    const leat::channel<int> levels;
    leat::task_group group;
    group.go("watcher", [=] { (void)plant::watch_tanks(levels); });
    group.go("sleeper", [] { (void)leat::sleep_for(1h); });
    group.go("busy", [] {
      while (!leat::stop_requested()) asm volatile("");
    });
    // Again and again, since nobody but the one who looks can say that they have parked; for a minute at
    // most.
    for (int i = 0; i < 6000; ++i) {
      look_now();
      (void)leat::sleep_for(10ms);
    }
  });
}
