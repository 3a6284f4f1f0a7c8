// SPDX-License-Identifier: BSL-1.0
//
// Who looks into how many channels by a TCP door. A channel has places for so many views (csp/tap.hpp), and each view
// and each filter takes memory of the service: some of the places stay for the socket, and who has no token cannot have
// those of all others.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <leat/control/deployment.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/tap.hpp>

namespace leat::control {

// The places of a tap of these channels, until the pointer is gone. Null: there are none, and `why` says so.
using tap_admission =
    std::function<std::shared_ptr<void>(const std::vector<std::string>& channels, outcome& why)>;

class tap_places {
 public:
  static constexpr std::size_t of_channel = csp::tap::most_views - 4, of_peer = 8;

  // `peer`: where it comes from (net::address::origin); empty: it may have any number. *this outlives what it gives.
  std::shared_ptr<void> take(const std::string& peer, const std::vector<std::string>& channels, outcome& why);

 private:
  void give_back(const std::string& peer, const std::vector<std::string>& channels) noexcept;

  leat::mutex lock_;
  std::map<std::string, std::size_t> by_channel_, by_peer_;
};

}  // namespace leat::control
