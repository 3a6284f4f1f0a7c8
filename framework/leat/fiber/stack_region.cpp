// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/stack_region.hpp>

#include <algorithm>
#include <cerrno>
#include <leat/base/check.hpp>
#include <leat/base/safety.hpp>
#include <leat/fiber/overflow.hpp>
#include <new>

namespace leat::fiber {
namespace {

constexpr std::size_t fewest_stacks = 8;
constexpr std::size_t maps_left_to_program = 4096;

// Stacks lie at multiples of whole pages, so the same depth of all of them falls into the same few sets of
// the first cache, and into one in 64 of the second: the innermost frames of some hundred parked fibers push
// each other out. So they begin 128 bytes (what x86-64 fetches at once) apart, in turn, and are given a page
// more to do it in. ARCHITECTURE's table of tricks has what that wins, and where it loses; on Neoverse V1 it
// was 10 % slower, on other AArch64 it has not been measured.
#if defined(__x86_64__)
constexpr std::size_t colours = 16, colour_step = 128;
#else
constexpr std::size_t colours = 1, colour_step = 0;
#endif
std::size_t colour_of(std::size_t i) noexcept { return i * 7 % colours * colour_step; }
std::size_t colour_room() noexcept { return colours > 1 ? os_memory::page_size() : 0; }

std::size_t round_up(std::size_t n, std::size_t unit) noexcept { return (n + unit - 1) / unit * unit; }

}  // namespace

// An odd number of pages: at an even distance the pages in use would fall into half of the sets of a second TLB, or
// fewer. The odd one lies unused above the stack. With 18 pages each instead of 19 a sieve takes 1.12 to 1.18 times
// as long (AMD EPYC).
std::size_t stack_region::stride(std::size_t size) noexcept {
  const std::size_t page = os_memory::page_size();
  const std::size_t used = size + page + colour_room();
  return used / page % 2 == 0 ? used + page : used;
}

stack_region::stack_region(os_memory& os, std::size_t size, std::size_t limit, stack_error& error)
    : os_(os), size_(size), stride_(stride(size)) {
  const std::size_t page = os_memory::page_size();
  const std::size_t wanted = std::max<std::size_t>(limit, 1);
  const std::size_t fewest = std::min(fewest_stacks, wanted);
  for (limit_ = wanted; limit_ >= fewest; limit_ /= 2) {
    space_bytes_ = limit_ * stride_;
    space_ = static_cast<char*>(os_.reserve(space_bytes_));
    if (!space_) continue;
    records_bytes_ = round_up(limit_ * sizeof(stack), page);
    records_ = static_cast<stack*>(os_.reserve(records_bytes_));
    if (records_) break;
    os_.release(space_, space_bytes_);
    space_ = nullptr;
  }
  if (!space_) {
    error = {stack_errc::no_address_space, size, fewest * stride_, errno};
    return;
  }
  const std::size_t maps = os_.max_maps();
  map_guards_left_ = maps > 2 * maps_left_to_program ? (maps - maps_left_to_program) / 2 : maps / 4;
  register_region(this);
}

stack_region::~stack_region() {
  if (!space_) return;
  unregister_region(this);
  const region_counts c = counts();
  LEAT_CHECK(c.free_warm + c.free_fresh == c.carved, "a stack region died with stacks in use", "size", size_,
             "carved", c.carved, "free", c.free_warm + c.free_fresh);
  for (std::size_t i = 0; i < c.carved; ++i) {
    note_stack_unmapped(records_[i].valgrind_id_);
    records_[i].~stack();
  }
  os_.release(space_, space_bytes_);
  os_.release(records_, records_bytes_);
}

bool stack_region::open_more_locked(stack_error& error) {
  const std::size_t page = os_memory::page_size();
  const std::size_t step = std::min(std::clamp<std::size_t>(opened_ / 4, 16, 4096), limit_ - opened_);
  const std::size_t need = std::min(round_up((opened_ + step) * sizeof(stack), page), records_bytes_);
  if (need > records_open_bytes_) {
    if (const int e =
            os_.open(reinterpret_cast<char*>(records_) + records_open_bytes_, need - records_open_bytes_)) {
      error = {stack_errc::no_memory, size_, opened_, e};
      return false;
    }
    records_open_bytes_ = need;
  }
  if (const int e = os_.open(space_ + opened_ * stride_, step * stride_)) {
    error = {stack_errc::no_memory, size_, opened_, e};
    return false;
  }
  opened_ += step;
  return true;
}

stack* stack_region::carve_locked(stack_error& error) {
  const std::size_t i = carved_.load(std::memory_order_relaxed);
  if (i == limit_) {
    error = {stack_errc::region_full, size_, limit_, 0};
    return nullptr;
  }
  if (i == opened_ && !open_more_locked(error)) return nullptr;
  char* const at = space_ + i * stride_;
  const std::size_t page = os_memory::page_size();
  if (safety::guards && !guard_refused_) {
    const int e = os_.guard(at, page);
    if (e == ENOMEM || e == EAGAIN) {
      error = {stack_errc::no_memory, size_, i, e};
      return nullptr;
    }
    guard_refused_ = e != 0;
  }
  if (safety::guards && guard_refused_) {
    if (map_guards_left_ == 0) {
      error = {stack_errc::too_many_maps, size_, i, 0};
      return nullptr;
    }
    if (const int e = os_.protect(at, page)) {
      error = {e == ENOMEM ? stack_errc::too_many_maps : stack_errc::no_memory, size_, i, e};
      return nullptr;
    }
    --map_guards_left_;
  }
  stack* s = new (&records_[i]) stack;
  s->low_ = at + page;
  s->high_ = s->low_ + size_ + colour_room() - colour_of(i);
  s->size_ = static_cast<std::uint32_t>(size_);
  s->region_ = this;
  s->valgrind_id_ = note_stack_mapped(s->low_, s->high_);
  carved_.store(i + 1, std::memory_order_release);  // pairs with find
  return s;
}

stack* stack_region::take(std::size_t most, std::size_t& got, stack_error& error) {
  lock_guard hold(lock_);
  stack* first = nullptr;
  stack** tail = &first;
  for (got = 0; got < most; ++got) {
    stack* s = nullptr;
    if (warm_) {
      s = warm_;
      warm_ = s->next_;
      --n_warm_;
    } else if (got > 0) {
      break;  // fresh ones cost a fault each: never more than asked for
    } else if (cold_) {
      s = cold_;
      cold_ = s->next_;
      --n_cold_;
    } else {
      s = carve_locked(error);
      if (!s) break;
    }
    s->next_ = nullptr;
    *tail = s;
    tail = &s->next_;
  }
  return first;
}

void stack_region::give(stack* first, stack* last, std::size_t count) noexcept {
  lock_guard hold(lock_);
  for (stack* s = first;; s = s->next_) {
    s->freed_in_ = round_;
    if (s == last) break;
  }
  last->next_ = warm_;
  warm_ = first;
  n_warm_ += count;
}

std::size_t stack_region::trim(std::uint32_t rounds) noexcept {
  stack* old = nullptr;
  {
    lock_guard hold(lock_);
    ++round_;
    // The list is LIFO: everything behind the first old one is at least as old.
    stack** at = &warm_;
    std::size_t kept = 0;
    while (*at && round_ - (*at)->freed_in_ <= rounds) {
      at = &(*at)->next_;
      ++kept;
    }
    old = *at;
    *at = nullptr;
    n_warm_ = kept;
  }
  // The system calls are made without the lock; nobody else holds these stacks.
  std::size_t n = 0;
  stack* last = nullptr;
  for (stack* s = old; s; s = s->next_) {
    s->discard();
    last = s;
    ++n;
  }
  if (n > 0) {
    lock_guard hold(lock_);
    last->next_ = cold_;
    cold_ = old;
    n_cold_ += n;
  }
  return n;
}

region_counts stack_region::counts() const noexcept {
  lock_guard hold(lock_);
  return {limit_, carved_.load(std::memory_order_relaxed), n_warm_, n_cold_, guard_refused_};
}

const stack* stack_region::find(const void* address, bool& in_guard) const noexcept {
  const auto* p = static_cast<const char*>(address);
  if (p < space_ || p >= space_ + limit_ * stride_) return nullptr;
  const auto i = static_cast<std::size_t>(p - space_) / stride_;
  if (i >= carved_.load(std::memory_order_acquire)) return nullptr;  // pairs with carve_locked
  in_guard = p < records_[i].low_;
  return &records_[i];
}

}  // namespace leat::fiber
