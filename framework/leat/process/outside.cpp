// SPDX-License-Identifier: BSL-1.0
#include <leat/process/outside.hpp>

#include <atomic>

namespace leat {
namespace {

// Release in the constructor pairs with acquire in `of`: a plug-in may be loaded while others look.
constinit std::atomic<const outside_use*> newest{nullptr};

}  // namespace

outside_use::outside_use(std::string_view class_name, outside what, std::string_view why) noexcept
    : name_(class_name), why_(why), what_(what), next_(newest.load(std::memory_order_relaxed)) {
  newest.store(this, std::memory_order_release);
}

const outside_use* outside_use::of(std::string_view class_name) noexcept {
  for (const outside_use* u = newest.load(std::memory_order_acquire); u; u = u->next_)
    if (u->name_ == class_name) return u;
  return nullptr;
}

}  // namespace leat
