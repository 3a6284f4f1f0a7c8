// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <leat/csp/channel.hpp>
#include <leat/leat.hpp>

#include "csp/fixture.hpp"

namespace leat::csp::test {

template <class T>
channel<T> hub(std::size_t capacity = 4, full policy = full::block) {
  return channel<T>(leat::broadcast, capacity, {.full = policy, .name = "hub"});
}

inline bool adds_up(const channel_stats& s) { return s.sent == s.received + s.dropped + s.left; }

template <class T>
std::vector<T> drain(const leat::in<T>& reader) {
  std::vector<T> got;
  while (auto v = reader.try_recv()) got.push_back(*v);
  return got;
}

// Comes back when the G waits in a channel.
template <class F>
auto spawn_and_let_wait(F f) {
  using sched::wait_reason;
  auto where = std::make_shared<whereabouts>();
  auto t = spawn([where, f = std::move(f)]() mutable {
    where->here();
    return f();
  });
  CHECK(eventually([&] {
    return where->parked(wait_reason::send) || where->parked(wait_reason::receive) ||
           where->parked(wait_reason::select);
  }));
  return t;
}

// Copies throw when told to. Counts how many there are.
struct throwing_copy {
  static inline std::atomic<int> alive{0}, copied{0}, throw_next{0};
  static inline std::atomic<std::uint64_t> one_in{0}, turn{0};
  int writer = 0;
  std::uint64_t number = 0;

  throwing_copy(int w, std::uint64_t n) : writer(w), number(n) { ++alive; }
  throwing_copy(const throwing_copy& o) : writer(o.writer), number(o.number) {
    if (throw_next.load() > 0 && throw_next.fetch_sub(1) > 0) throw std::runtime_error("copy");
    const std::uint64_t n = one_in.load(std::memory_order_relaxed);
    if (n > 0 && turn.fetch_add(1, std::memory_order_relaxed) % n == 0) throw std::runtime_error("copy");
    ++copied;
    ++alive;
  }
  throwing_copy(throwing_copy&& o) noexcept : writer(o.writer), number(std::exchange(o.number, 0)) {
    ++alive;
  }
  throwing_copy& operator=(throwing_copy&& o) noexcept {
    writer = o.writer;
    number = std::exchange(o.number, 0);
    return *this;
  }
  ~throwing_copy() { --alive; }
};

// A select of its own making, to test what channels do for selects. The index of the case that was done, or
// -1 (closed), -2 (timeout).
struct test_case {
  csp::channel_base* on;
  csp::op_case op;
};
inline int choose(std::vector<test_case*> cases, std::int64_t until = csp::forever) {
  csp::entered in;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ending a = cases[i]->on->try_case(in, cases[i]->op);
    if (a == ending::done || a == ending::dropped) return static_cast<int>(i);
    if (a == ending::closed) return -1;
  }
  csp::contested_wait me(in.m ? &in.g() : nullptr);
  int result = -3;
  bool waits = true;
  std::size_t enrolled = 0;
  for (; enrolled < cases.size() && waits; ++enrolled) {
    test_case& c = *cases[enrolled];
    c.op.entry.who = &me;
    c.op.entry.index = static_cast<std::int32_t>(enrolled);
    switch (c.on->enroll(in, c.op, me)) {
      case ending::pending: break;
      case ending::done:
      case ending::dropped:
        result = static_cast<int>(enrolled);
        waits = false;
        break;
      case ending::closed:
        // Claims itself, so that nobody else does; if somebody has, that counts.
        if (me.try_claim(static_cast<std::int32_t>(cases.size())) != csp::wait::claimed::lost) result = -1;
        waits = false;
        break;
      case ending::lost: waits = false; break;
      default: std::abort();
    }
  }
  std::int32_t outcome = me.state();
  if (waits) outcome = me.block(in, csp::wait_reason::select, until);
  for (std::size_t i = 0; i < enrolled; ++i) cases[i]->on->withdraw(cases[i]->op);
  if (result != -3) return result;
  if (outcome < 0) return -2;
  const ending said = cases[static_cast<std::size_t>(outcome)]->op.entry.said;
  return said == ending::done || said == ending::dropped ? outcome : -1;
}

template <class T>
struct recv_test_case : test_case {
  explicit recv_test_case(const leat::in<T>& from) : test_case{from.base(), {}} {
    this->on->stage(op, &value);
  }
  std::optional<T> value;
  T take() {
    this->on->finish(op, &value);
    return std::move(*value);
  }
};
template <class T>
struct send_test_case : test_case {
  send_test_case(const channel<T>& to, T v) : test_case{to.base(), {}}, value(std::move(v)) {
    op.kind = csp::op::send;
    this->on->stage(op, &value);
  }
  ~send_test_case() { this->on->unstage(op, &value); }
  bool taken() const { return !*static_cast<csp::node_ref*>(op.slot); }
  T value;
};

}  // namespace leat::csp::test
