// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/stack.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <leat/base/units.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack_error.hpp>
#include <leat/fiber/stack_region.hpp>

namespace leat::fiber {
namespace {

// The page is another fiber's, perhaps a running one's: look without telling the sanitizers.
LEAT_UNWATCHED std::size_t first_used_word(const char* at, std::size_t bytes) noexcept {
  const auto* word = reinterpret_cast<const volatile std::size_t*>(at);
  std::size_t i = 0;
  while (i < bytes / sizeof(std::size_t) && word[i] == 0) ++i;
  return i * sizeof(std::size_t);
}

}  // namespace

std::size_t room_for(std::size_t promised) noexcept {
#if defined(LEAT_ASAN) && !defined(__OPTIMIZE__)
  return std::min(4 * promised, max_stack_size);
#else
  return promised;
#endif
}

std::size_t stack::high_water() const noexcept {
  constexpr std::size_t pages_at_once = 1024;
  unsigned char resident[pages_at_once];
  const std::size_t page = os_memory::page_size();
  const std::size_t all = mapped();
  for (std::size_t at = 0; at < all; at += pages_at_once * page) {
    const std::size_t bytes = std::min(pages_at_once * page, all - at);
    if (::mincore(low_ + at, bytes, resident) != 0) return 0;
    for (std::size_t i = 0; i < bytes / page; ++i) {
      if (!(resident[i] & 1)) continue;
      const std::size_t unused = at + i * page;
      const char* const deepest = low_ + unused + first_used_word(low_ + unused, page);
      return deepest < high_ ? static_cast<std::size_t>(high_ - deepest) : 0;
    }
  }
  return 0;
}

std::size_t stack::mapped() const noexcept {
  const std::size_t page = os_memory::page_size();
  return (static_cast<std::size_t>(high_ - low_) + page - 1) / page * page;
}

void stack::discard() noexcept { (void)region_->os_.discard(low_, mapped()); }

std::string stack_error::text() const {
  const std::string size = format_size(asked);
  std::string why;
  switch (code) {
    case stack_errc::none: return "no error";
    case stack_errc::bad_size:
      why = "a stack of " + std::to_string(asked) + " bytes is not possible: it must lie between " +
            format_size(min_stack_size) + " and " + format_size(max_stack_size);
      break;
    case stack_errc::too_many_sizes:
      why = "no stack of " + size + ": " + std::to_string(limit) +
            " different stack sizes are in use already, and no more are kept apart; use one of those";
      break;
    case stack_errc::region_full:
      why = "no stack of " + size + ": all " + std::to_string(limit) +
            " that the address space set aside for this size holds are in use";
      if (os_memory::system().space_left() != os_memory::no_limit)
        why += "; it is small because of `ulimit -v`: raise that, or choose smaller stacks";
      break;
    case stack_errc::no_address_space:
      why = "no stack of " + size + ": not even " + format_size(limit) +
            " of address space could be reserved; look at `ulimit -v`";
      break;
    case stack_errc::no_memory:
      why = "no stack of " + size + ": the kernel refused memory after " + std::to_string(limit) + " stacks";
      break;
    case stack_errc::too_many_maps:
      why =
          "no stack of " + size + ": " + std::to_string(limit) +
          " have a guard page each, and the kernel's limit on mappings (vm.max_map_count) is near; raise it "
          "with sysctl, or use Linux 6.13 or newer, where guards need no mapping";
      break;
  }
  if (os_error != 0) why += std::string(" (") + std::strerror(os_error) + ")";
  return why;
}

}  // namespace leat::fiber
