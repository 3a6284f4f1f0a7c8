// SPDX-License-Identifier: BSL-1.0
#include <leat/control/tap_places.hpp>

#include <mutex>
#include <utility>

namespace leat::control {
namespace {

std::size_t count_of(const std::map<std::string, std::size_t>& all, const std::string& name) {
  const auto at = all.find(name);
  return at == all.end() ? 0 : at->second;
}

void take_off(std::map<std::string, std::size_t>& from, const std::string& name, std::size_t n) noexcept {
  const auto at = from.find(name);
  if (at != from.end() && (at->second -= n) == 0) from.erase(at);
}

}  // namespace

std::shared_ptr<void> tap_places::take(const std::string& peer, const std::vector<std::string>& channels,
                                       outcome& why) {
  // What may find no memory comes first.
  struct taken {
    tap_places& from;
    const std::string peer;
    const std::vector<std::string> channels;
    bool counted = false;
    taken(tap_places& p, std::string who, std::vector<std::string> what)
        : from(p), peer(std::move(who)), channels(std::move(what)) {}
    ~taken() {
      if (counted) from.give_back(peer, channels);
    }
    taken(const taken&) = delete;
    taken& operator=(const taken&) = delete;
  };
  const auto place = std::make_shared<taken>(*this, peer, channels);
  const std::lock_guard held(lock_);
  if (!peer.empty() && count_of(by_peer_, peer) + channels.size() > of_peer) {
    why = refused("503 Service Unavailable",
                  "one address may look into " + std::to_string(of_peer) +
                      " channels at a time without the token: close a tap, or send the token");
    return nullptr;
  }
  for (const std::string& c : channels) {
    if (count_of(by_channel_, c) < of_channel) continue;
    why = refused("503 Service Unavailable", std::to_string(of_channel) + " look into channel '" + c +
                                                 "' by TCP already: close a tap, or use the socket");
    return nullptr;
  }
  for (const std::string& c : channels) by_channel_.try_emplace(c);
  if (!peer.empty()) by_peer_[peer] += channels.size();
  for (const std::string& c : channels) ++by_channel_.find(c)->second;
  place->counted = true;
  return place;
}

void tap_places::give_back(const std::string& peer, const std::vector<std::string>& channels) noexcept {
  const std::lock_guard held(lock_);
  for (const std::string& c : channels) take_off(by_channel_, c, 1);
  if (!peer.empty()) take_off(by_peer_, peer, channels.size());
}

}  // namespace leat::control
