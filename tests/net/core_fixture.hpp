// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdint>
#include <string>
#include <utility>

#include <leat/net.hpp>

#include "sched/fixture.hpp"
#include "sched/hang_guard.hpp"

namespace leat::net::test {

using namespace leat::sched::test;
using sched::wait_reason;

// body() as the main G at procs 1, 2, 4; nothing may be left behind.
template <class F>
void at_procs(F body) {
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), body);
  }
}

// Both ends of a TCP connection over loopback.
struct connection {
  connection() : connection(listen("127.0.0.1:0")) {}
  explicit connection(listener at) : near(dial(at.local())), far(at.accept()) {}
  stream near, far;
};

// A G that others want to see waiting: it calls here() first.
class whereabouts {
 public:
  void here() noexcept { id_.store(self().id); }
  bool waits(wait_reason why = wait_reason::io) const noexcept {
    const std::uint64_t id = id_.load();
    const sched::G* const g = id != 0 ? sched::scheduler::current()->find_g(id) : nullptr;
    return g && g->status.load() == sched::g_status::waiting && g->reason.load() == why;
  }
  [[nodiscard]] bool will_wait(wait_reason why = wait_reason::io) const {
    return eventually([&] { return waits(why); });
  }

 private:
  std::atomic<std::uint64_t> id_{0};
};

// What a dump says, read from a file: a pipe would fill up.
inline std::string dumped() {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  leat::dump(::fileno(file));
  std::rewind(file);
  std::string text;
  char part[4096];
  for (std::size_t n = 0; (n = std::fread(part, 1, sizeof part, file)) > 0;) text.append(part, n);
  std::fclose(file);
  return text;
}

// CPU time of the whole process.
inline nanoseconds cpu_time() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

// Fewer under sanitizers, which are slower.
inline constexpr int scaled(int n) { return n / (slow_build * (fiber::under_tsan ? 2 : 1)); }

}  // namespace leat::net::test
