// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>
#include <vector>

namespace leat::net::mqtt {

// The identifiers of packets that wait for their answer, 1 to 65535. One that was used lately comes last.
class packet_ids {
 public:
  // 0: all are in use.
  std::uint16_t take() {
    for (unsigned tries = 0; tries < 65535; ++tries) {
      const std::uint16_t id = next_;
      next_ = id == 65535 ? std::uint16_t{1} : static_cast<std::uint16_t>(id + 1);
      if (used_[id]) continue;
      used_[id] = true;
      return id;
    }
    return 0;
  }
  void give_back(std::uint16_t id) noexcept { used_[id] = false; }

 private:
  std::uint16_t next_ = 1;
  std::vector<bool> used_ = std::vector<bool>(65536);
};

}  // namespace leat::net::mqtt
