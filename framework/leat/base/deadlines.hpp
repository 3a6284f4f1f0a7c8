// SPDX-License-Identifier: BSL-1.0
//
// Which of a number of things is due next: a binary heap that knows where each of them stands. Only `add`
// allocates: whoever supervises others sets times while one of them may hang inside the allocator.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat {

class deadlines {
 public:
  using id = std::size_t;  // 0, 1, 2 ... in the order of add

  id add() {
    all_.push_back({});
    if (heap_.capacity() < all_.size()) heap_.reserve(2 * all_.size());
    return all_.size() - 1;
  }
  // `never`: it is not due.
  void set(id i, time_point at) noexcept {
    entry& e = all_[i];
    if (e.position == nowhere) {
      if (at == never) return;
      e.position = heap_.size();
      heap_.push_back(i);  // there is room for all
    }
    e.at = at;
    if (at == never) return remove(i);
    up(e.position);
    down(e.position);
  }
  time_point at(id i) const noexcept { return all_[i].at; }

  // The first; of two at the same time the one that was added first.
  time_point next_at() const noexcept { return heap_.empty() ? never : all_[heap_.front()].at; }
  id next() const noexcept { return heap_.front(); }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  struct entry {
    time_point at = never;
    std::size_t position = nowhere;  // in heap_
  };

  bool earlier(std::size_t a, std::size_t b) const noexcept {
    return std::pair(all_[heap_[a]].at, heap_[a]) < std::pair(all_[heap_[b]].at, heap_[b]);
  }
  void swap(std::size_t a, std::size_t b) noexcept {
    std::swap(heap_[a], heap_[b]);
    all_[heap_[a]].position = a;
    all_[heap_[b]].position = b;
  }
  void up(std::size_t n) noexcept {
    for (; n > 0 && earlier(n, (n - 1) / 2); n = (n - 1) / 2) swap(n, (n - 1) / 2);
  }
  void down(std::size_t n) noexcept {
    for (;;) {
      std::size_t least = n;
      for (std::size_t below = 2 * n + 1; below < 2 * n + 3 && below < heap_.size(); ++below)
        if (earlier(below, least)) least = below;
      if (least == n) return;
      swap(n, least);
      n = least;
    }
  }
  void remove(id i) noexcept {
    const std::size_t n = all_[i].position;
    const std::size_t last = heap_.size() - 1;
    if (n != last) swap(n, last);
    heap_.pop_back();
    all_[i].position = nowhere;
    if (n == last) return;
    up(n);
    down(n);
  }

  std::vector<entry> all_;
  std::vector<id> heap_;
};

}  // namespace leat
