// SPDX-License-Identifier: BSL-1.0
#include <leat/services/board.hpp>

namespace leat::services {

board::board(std::size_t replicas, std::size_t services)
    : rows_(replicas), services_(services), n_services_(services), gs_(replicas) {}

void board::set_phase(std::size_t service, deployment_phase p, std::size_t alive) noexcept {
  const lock_guard held(lock_);
  services_[service] = {p, alive};
}

std::vector<replica_row> board::rows() const {
  std::vector<replica_row> all;
  all.reserve(gs_.size());  // not under the lock: the heap may be slow
  {
    const lock_guard held(lock_);
    all.assign(rows_.begin(), rows_.end());
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].g = gs_[i].load(std::memory_order_relaxed);
  return all;
}

std::vector<board::service_row> board::services() const {
  std::vector<service_row> all;
  all.reserve(n_services_);  // as above
  const lock_guard held(lock_);
  all.assign(services_.begin(), services_.end());
  return all;
}

}  // namespace leat::services
