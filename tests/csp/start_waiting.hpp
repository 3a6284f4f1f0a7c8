// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <cstdint>
#include <optional>

#include "sched/fixture.hpp"

namespace leat::csp::test {

// Starts f as a G and returns when that waits: for `why`, or for anything.
template <class F>
auto start_waiting(F f, spawn_options o = {}, std::optional<sched::wait_reason> why = {}) {
  std::atomic<std::uint64_t> id{0};
  auto t = spawn(o, [&id, f] {
    id = self().id;
    f();
  });
  CHECK(sched::test::eventually([&] {
    const sched::G* const g = id != 0 ? sched::scheduler::current()->find_g(id) : nullptr;
    return g && g->status.load() == sched::g_status::waiting && (!why || g->reason.load() == *why);
  }));
  return t;
}

}  // namespace leat::csp::test
