// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <leat/csp/channel.hpp>
#include <leat/csp/keyed.hpp>
#include <leat/csp/latest_by_key.hpp>

#include "csp/fixture.hpp"

namespace leat::csp::test {

struct item {
  int key = 0, n = 0;
  int writer = 0;
};

template <class T = item>
class item_key final : public key_of {
 public:
  // Few hashes: two keys meet in one chain.
  explicit item_key(std::uint64_t hashes = ~0ull) : hashes_(hashes) {}
  std::uint64_t hash(const void* v) const noexcept override {
    return static_cast<std::uint64_t>(static_cast<const T*>(v)->key) % hashes_;
  }
  bool same(const void* a, const void* b) const noexcept override {
    return static_cast<const T*>(a)->key == static_cast<const T*>(b)->key;
  }

 private:
  const std::uint64_t hashes_;
};

// A keyed channel with so many queues.
struct keyed_ends {
  explicit keyed_ends(std::size_t readers, std::size_t capacity = 4, leat::full policy = leat::full::block) {
    channel_options o{.full = policy, .name = "by key"};
    channel_list all;
    for (std::size_t i = 0; i < readers; ++i) {
      queues.emplace_back(capacity, o);
      queues.back().base()->add_ref();
      all.push_back(ref<channel_base>(queues.back().base()));
    }
    group = new keyed(std::move(all), std::make_shared<item_key<>>(), o);
    to = out<item>(ref<channel_base>(group));
  }
  std::size_t chosen(int key) const {
    const item i{key};
    return group->choose(&i);
  }
  // A key of this queue, other than `but`.
  int key_for(std::size_t queue, int but = -1) const {
    for (int k = 0;; ++k)
      if (k != but && chosen(k) == queue) return k;
  }

  std::vector<channel<item>> queues;
  keyed* group = nullptr;
  out<item> to;
};

}  // namespace leat::csp::test
