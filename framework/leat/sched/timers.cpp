// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/timers.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include <leat/base/check.hpp>

namespace leat::sched {
namespace {
constexpr std::size_t ways = 4;
}

std::uint64_t timer_heap::first_number() noexcept {
  static std::atomic<std::uint64_t> heaps{1};
  return heaps.fetch_add(1, std::memory_order_relaxed) << 40;
}

void timer_heap::sift_up(std::size_t i) noexcept {
  const entry e = heap_[i];
  while (i > 0) {
    const std::size_t parent = (i - 1) / ways;
    if (heap_[parent].when <= e.when) break;
    heap_[i] = heap_[parent];
    i = parent;
  }
  heap_[i] = e;
}

void timer_heap::sift_down(std::size_t i) noexcept {
  const entry e = heap_[i];
  const std::size_t n = heap_.size();
  for (;;) {
    const std::size_t first = i * ways + 1;
    if (first >= n) break;
    std::size_t least = first;
    const std::size_t end = std::min(first + ways, n);
    for (std::size_t c = first + 1; c < end; ++c)
      if (heap_[c].when < heap_[least].when) least = c;
    if (heap_[least].when >= e.when) break;
    heap_[i] = heap_[least];
    i = least;
  }
  heap_[i] = e;
}

void timer_heap::pop_top() noexcept {
  heap_[0] = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
}

// Restores "the top is live", and rebuilds the heap when most of it is stale.
void timer_heap::drop_stale() noexcept {
  if (stale_ > 64 && stale_ > heap_.size() / 2) {
    std::erase_if(heap_, [this](const entry& e) LEAT_NO_THREAD_SAFETY_ANALYSIS { return !live(e); });
    stale_ = 0;
    for (std::size_t i = heap_.size() / ways + 1; i-- > 0;)
      if (i < heap_.size()) sift_down(i);
    return;
  }
  while (!heap_.empty() && !live(heap_[0])) {
    pop_top();
    --stale_;
  }
}

timer* timer_heap::earliest_without_room() const noexcept {
  timer* least = nullptr;
  for (timer& t : no_room_)
    if (!least || t.when < least->when) least = &t;
  return least;
}

void timer_heap::add_locked(timer& t) noexcept {
  LEAT_DCHECK(t.armed.load(std::memory_order_relaxed) == 0, "a timer was added twice");
  // A deadline may lie before the clock's beginning; as one long past it is as good, and has a difference to any time.
  t.when = std::max(t.when, std::int64_t{0});
  t.armed.store(++numbers_, std::memory_order_relaxed);
  try {
    heap_.push_back({t.when, &t, numbers_});
  } catch (const std::bad_alloc&) {
    no_room_.push_back(&t);
    return publish();
  }
  sift_up(heap_.size() - 1);
  if (heap_[0].t == &t) publish();
}

bool timer_heap::remove_locked(timer& t) noexcept {
  if (t.armed.load(std::memory_order_relaxed) == 0) return false;
  t.armed.store(0, std::memory_order_relaxed);
  if (t.node.linked()) [[unlikely]] {
    no_room_.remove(&t);
    publish();
    return true;
  }
  ++stale_;
  const std::int64_t was = heap_[0].when;
  drop_stale();
  if (heap_.empty() || heap_[0].when != was) publish();
  return true;
}

std::size_t timer_heap::take_due(std::int64_t now, G** out, std::size_t most) noexcept {
  if (next_.load(std::memory_order_relaxed) > now) return 0;
  lock_guard hold(lock_);
  std::size_t n = 0;
  bool any = false;
  while (n < most) {
    timer* t = no_room_.empty() ? nullptr : earliest_without_room();
    const std::int64_t in_heap = heap_.empty() ? no_timer : heap_[0].when;
    if (t && t->when < in_heap) {
      if (t->when > now) break;
      no_room_.remove(t);
      t->armed.store(0, std::memory_order_relaxed);
    } else {
      if (heap_.empty() || in_heap > now) break;
      t = heap_[0].t;
      t->armed.store(0, std::memory_order_relaxed);
      pop_top();
      drop_stale();
    }
    any = true;
    if (!t->claim || t->claim(t->claim_arg)) out[n++] = t->g;
  }
  if (any) publish();
  return n;
}

}  // namespace leat::sched
