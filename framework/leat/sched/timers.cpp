// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/timers.hpp>

#include <algorithm>

#include <leat/base/check.hpp>

namespace leat::sched {
namespace {
constexpr std::size_t ways = 4;
}

void timer_heap::sift_up(std::size_t i) noexcept {
  timer* const t = heap_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / ways;
    if (heap_[parent]->when <= t->when) break;
    place(i, heap_[parent]);
    i = parent;
  }
  place(i, t);
}

void timer_heap::sift_down(std::size_t i) noexcept {
  timer* const t = heap_[i];
  const std::size_t n = heap_.size();
  for (;;) {
    const std::size_t first = i * ways + 1;
    if (first >= n) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + ways, n);
    for (std::size_t c = first + 1; c < end; ++c)
      if (heap_[c]->when < heap_[least]->when) least = c;
    if (heap_[least]->when >= t->when) break;
    place(i, heap_[least]);
    i = least;
  }
  place(i, t);
}

void timer_heap::add_locked(timer& t) {
  LEAT_DCHECK(t.index == timer::not_in_heap, "a timer was added twice");
  heap_.push_back(&t);
  t.index = heap_.size() - 1;
  sift_up(t.index);
  if (t.index == 0) publish();
}

void timer_heap::remove_at(std::size_t i) noexcept {
  heap_[i]->index = timer::not_in_heap;
  timer* const last = heap_.back();
  heap_.pop_back();
  if (i < heap_.size()) {
    place(i, last);
    sift_up(i);
    sift_down(last->index);
  }
}

bool timer_heap::remove_locked(timer& t) noexcept {
  if (t.index == timer::not_in_heap) return false;
  const bool first = t.index == 0;
  remove_at(t.index);
  if (first) publish();
  return true;
}

std::size_t timer_heap::take_due(std::int64_t now, G** out, std::size_t most) noexcept {
  if (next_.load(std::memory_order_relaxed) > now) return 0;
  lock_guard hold(lock_);
  std::size_t n = 0;
  while (n < most && !heap_.empty() && heap_[0]->when <= now) {
    out[n++] = heap_[0]->g;
    remove_at(0);
  }
  if (n > 0) publish();
  return n;
}

}  // namespace leat::sched
