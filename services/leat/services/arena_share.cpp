// SPDX-License-Identifier: BSL-1.0
#include <leat/services/arena_share.hpp>

#include <malloc.h>
#include <sys/resource.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace leat::services {

std::optional<int> arenas_within(std::uint64_t address_space, unsigned cores) noexcept {
  constexpr std::uint64_t arena = 64 << 20;
  const std::uint64_t fit = std::max<std::uint64_t>(1, address_space / 16 / arena);
  if (fit >= std::uint64_t{8} * std::max(cores, 1u)) return std::nullopt;
  return static_cast<int>(fit);
}

void limit_arenas() noexcept {
#if defined(M_ARENA_MAX)
  rlimit space{};
  if (::getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur == RLIM_INFINITY) return;
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (std::getenv("MALLOC_ARENA_MAX") || (tunables && std::strstr(tunables, "malloc.arena_max"))) return;
  if (const auto fit = arenas_within(space.rlim_cur, std::thread::hardware_concurrency()))
    (void)::mallopt(M_ARENA_MAX, *fit);
#endif
}

}  // namespace leat::services
