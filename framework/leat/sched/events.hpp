// SPDX-License-Identifier: BSL-1.0
//
// What the scheduler did lately: a ring of events per P, always on. Written by the P's owner with plain
// stores, so a reader on another thread sees a recent past, not a cut through time.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <leat/base/atom.hpp>
#include <leat/base/safety.hpp>

namespace leat::sched {

enum class event_kind : std::uint8_t {
  none,
  created,
  run,
  parked,
  readied,
  stolen,
  retaken,
  handed_off,
  yielded,
  finished,
  woken,
  overflowed,
  took_global,
  argument,  // in the ring only
};
const char* to_string(event_kind k) noexcept;

struct event {
  std::uint64_t g = 0;  // id
  event_kind kind = event_kind::none;
  std::uint8_t detail = 0;  // parked: wait_reason
  std::uint16_t p = 0;      // whose ring
  std::uint32_t arg = 0;    // stolen, overflowed, took_global: how many; stolen: from whom in the upper half
};

class event_ring {
 public:
  static constexpr std::uint32_t size = 256;

  // The owner of the P.
  void add(event_kind kind, std::uint64_t g, std::uint8_t detail = 0) noexcept {
    if constexpr (!safety::events) return;
    const std::uint32_t i = next_.load(std::memory_order_relaxed);
    slots_[i % size].store(word(kind, g, detail), std::memory_order_relaxed);
    next_.store(i + 1, std::memory_order_relaxed);
  }
  // One after the other.
  void add_two(event_kind first, std::uint64_t g, std::uint8_t detail, event_kind second,
               std::uint64_t h) noexcept {
    if constexpr (!safety::events) return;
    const std::uint32_t i = next_.load(std::memory_order_relaxed);
    slots_[i % size].store(word(first, g, detail), std::memory_order_relaxed);
    slots_[(i + 1) % size].store(word(second, h, 0), std::memory_order_relaxed);
    next_.store(i + 2, std::memory_order_relaxed);
  }
  void add(event_kind kind, std::uint64_t g, std::uint8_t detail, std::uint32_t arg) noexcept {
    add(kind, g, detail);
    add(event_kind::argument, arg);
  }

  // Oldest first. Any thread; exact when the P is quiet.
  void read(std::uint16_t p, std::vector<event>& out) const;

 private:
  // An event in a word: its kind, its detail, and the G's id in 48 bits, which last for years. An argument is
  // a word of its own behind it.
  static std::uint64_t word(event_kind kind, std::uint64_t g, std::uint8_t detail) noexcept {
    return static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(detail) << 8 | g << 16;
  }
  std::array<atom<std::uint64_t>, size> slots_{};
  atom<std::uint32_t> next_{0};
};

}  // namespace leat::sched
