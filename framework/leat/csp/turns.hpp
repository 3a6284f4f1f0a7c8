// SPDX-License-Identifier: BSL-1.0
//
// In which order a select looks at its cases.
//
// Of those that are ready the first that is looked at is taken, so a fair select needs orders in which the
// first of every subset is equally often each of its members. A random start and a walk from there is no such
// order: of two neighbours among many the second is nearly never the first. A shuffle is. For up to four, one
// is drawn from a table: all orders of two and of three; of four the twelve even ones, which are enough (an
// even order turns any subset into itself with any member of it in front). For more it is shuffled as far as
// it is looked at, which is as a rule not far. Nothing more is looked at than by any other order.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace leat::csp {

class turns {
 public:
  // Up to so many are kept four bits each, in one word; for more the caller has room for n numbers.
  static constexpr std::size_t packed_up_to = 16;
  // Those for which a table holds whole orders.
  static constexpr std::size_t drawn_up_to = 4;

  explicit turns(std::size_t n, std::uint32_t* room = nullptr) noexcept : n_(n), room_(room) {}

  bool begun() const noexcept { return made_ != 0; }
  // As they stand.
  void in_order() noexcept {
    begin();
    made_ = n_;
  }
  // A new order; `random` is 32 bits of it.
  [[gnu::always_inline]] void shuffle(std::uint32_t random) noexcept {
    if (n_ <= drawn_up_to) [[likely]] {
      packed_ = orders[n_][static_cast<std::size_t>((std::uint64_t{random} * orders_each) >> 32)];
      made_ = n_;
    } else {
      shuffle_many(random);
    }
  }
  // The k-th to look at.
  [[gnu::always_inline]] std::size_t at(std::size_t k) noexcept {
    if (k >= made_) [[unlikely]]
      make(k);
    return n_ <= packed_up_to ? static_cast<std::size_t>(packed_ >> (4 * k)) & 15 : room_[k];
  }
  // The same of up to drawn_up_to, after shuffle or in_order: the first in the lowest four bits, and so on.
  std::uint64_t packed() const noexcept { return packed_; }

 private:
  static constexpr std::size_t orders_each = 12;
  using table = std::array<std::array<std::uint16_t, orders_each>, drawn_up_to + 1>;

  // All orders of n, or the even ones of four, each as often as it takes.
  static constexpr table make_table() noexcept;
  static const table orders;

  void begin() noexcept {
    packed_ = 0xfedcba9876543210;
    if (n_ <= packed_up_to) return;
    for (std::size_t i = 0; i < n_; ++i) room_[i] = static_cast<std::uint32_t>(i);
  }
  [[gnu::noinline]] void shuffle_many(std::uint32_t random) noexcept {
    begin();
    made_ = 0;
    random_ = random;
    make(0);
  }
  // The shuffle, up to and including the k-th.
  [[gnu::noinline]] void make(std::size_t k) noexcept {
    for (; made_ <= k; ++made_) {
      random_ = random_ * 6364136223846793005u + 1442695040888963407u;
      const std::size_t j = made_ + static_cast<std::size_t>(((random_ >> 32) * (n_ - made_)) >> 32);
      if (n_ <= packed_up_to) {
        const std::uint64_t differ = ((packed_ >> (4 * made_)) ^ (packed_ >> (4 * j))) & 15;
        packed_ ^= differ << (4 * made_);
        packed_ ^= differ << (4 * j);
      } else {
        const std::uint32_t moved = room_[j];
        room_[j] = room_[made_];
        room_[made_] = moved;
      }
    }
  }

  const std::size_t n_;
  std::uint32_t* const room_;
  std::size_t made_ = 0;
  std::uint64_t packed_;  // these two: once it has begun
  std::uint64_t random_;
};

}  // namespace leat::csp
