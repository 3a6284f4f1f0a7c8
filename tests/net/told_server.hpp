// SPDX-License-Identifier: BSL-1.0
//
// An MQTT server that does as it is told, for one client after the other; in a G.
#pragma once
#include <atomic>
#include <functional>
#include <string>

#include <leat/net.hpp>
#include <leat/net/mqtt/codec.hpp>

#include "net/fixture.hpp"

namespace leat::net::mqtt::test {

using namespace leat::net::test;

class told_server {
 public:
  using answer = std::function<void(stream& peer, const packet& p)>;
  explicit told_server(answer a) {
    group_.go([this, a] {
      for (;;) {
        stream peer = at_.accept();
        ++connections;
        std::string unread;
        char bytes[4096];
        std::error_code ec;
        while (const std::size_t n = peer.read_some(bytes, ec)) {
          unread.append(bytes, n);
          for (decoded d = decode(unread); d.status == decode_status::complete; d = decode(unread)) {
            unread.erase(0, d.size);
            a(peer, d.packet);
          }
        }
      }
    });
  }
  static void say(stream& to, const packet& p) {
    std::string bytes;
    REQUIRE(encode(p, bytes) == nullptr);
    to.write(bytes, patience);
  }
  std::string where() const { return at_.local().text(); }
  std::atomic<int> connections{0};

 private:
  listener at_ = listen("127.0.0.1:0");
  task_group group_;
};

}  // namespace leat::net::mqtt::test
