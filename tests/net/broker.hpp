// SPDX-License-Identifier: BSL-1.0
//
// mosquitto on a free port of loopback, with a folder of its own; in a G.
#pragma once
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <leat/net.hpp>
#include <leat/net/mqtt/client.hpp>

#include "net/fixture.hpp"
#include "support/free_port.hpp"

namespace leat::net::mqtt::test {

using namespace leat::net::test;

inline std::string program_path(const char* name) {
  for (const char* folder : {"/usr/sbin/", "/usr/bin/", "/usr/local/sbin/", "/usr/local/bin/"})
    if (std::string path = std::string(folder) + name; std::filesystem::exists(path)) return path;
  return {};
}
// False, and told: the test goes on without.
inline bool has(const char* program) {
  if (!program_path(program).empty()) return true;
  std::printf("skipped: there is no %s here\n", program);
  return false;
}

class broker {
 public:
  explicit broker(std::string more = {}) : more_(std::move(more)) { start(); }

  // Listens again at the same port, with what it had saved.
  void start() {
    const bool first = port_ == 0;
    for (int tries = 0; tries < 20; ++tries) {
      if (first) port_ = leat::test::free_port();
      std::ofstream(folder_ / "conf")
          << "listener " << port_ << " 127.0.0.1\nuser root\npersistence true\n"
          << "persistence_location " << folder_.path() << "/\nlog_type none\n"
          << (more_.find("allow_anonymous") == more_.npos ? "allow_anonymous true\n" : "") << more_;
      program_ = child({program_path("mosquitto"), "-c", folder_ / "conf"},
                       {.in = stdio::null, .out = stdio::null, .err = stdio::null});
      if (eventually([&] {
            std::error_code ec;
            if (program_.wait(ec, deadline(std::chrono::milliseconds(1)))) return true;
            try {
              (void)net::dial(where(), std::chrono::seconds(1));
              return true;
            } catch (const std::system_error&) {
              return false;
            }
          }) &&
          program_.is_running())
        return;
    }
    throw std::runtime_error("mosquitto does not start");
  }
  void kill() {
    program_.kill(SIGKILL);
    (void)program_.wait(patience);
  }
  // All sessions and messages.
  void save() {
    const std::string file = folder_ / "mosquitto.db";
    std::filesystem::remove(file);
    program_.kill(SIGUSR1);
    if (!eventually([&] { return std::filesystem::exists(file); }))
      throw std::runtime_error("it saves nothing");
  }
  std::string where() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string url() const { return "mqtt://" + where(); }
  std::string operator/(std::string_view file) const { return folder_ / file; }

  // mosquitto_pub and mosquitto_sub, with these words behind the address.
  child start(const char* tool, const std::vector<std::string>& words, stdio in = stdio::null) const {
    std::vector<std::string> argv{program_path(tool),   "-V", "mqttv5", "-h", "127.0.0.1", "-p",
                                  std::to_string(port_)};
    argv.insert(argv.end(), words.begin(), words.end());
    return child(argv, {.in = in, .out = stdio::pipe});
  }
  void publish(const std::vector<std::string>& words) const {
    child c = start("mosquitto_pub", words);
    CHECK(c.wait(patience).text() == "exited with 0");
  }

  client_options options(std::string id, std::uint32_t session_expiry = 0) const {
    client_options o;
    o.server = where();
    o.retry = std::chrono::milliseconds(20);
    o.retry_most = std::chrono::milliseconds(200);
    o.session.client_id = std::move(id);
    o.session.session_expiry = session_expiry;
    return o;
  }

 private:
  scratch_directory folder_;
  std::string more_;
  int port_ = 0;
  child program_;
};

// Subscribed when this returns.
inline void subscribe(client& c, std::string filter, qos q = qos::at_least_once) {
  c.subscribe({.filter = std::move(filter), .qos = q});
  const auto answer = c.next_subscribed(patience);
  REQUIRE(answer);
  CHECK(answer->why == "");
}
inline std::string next_payload(client& c, bool acknowledge = true) {
  const auto d = c.receive(patience);
  if (!d) return "nothing came";
  if (acknowledge) c.acknowledge(d->token);
  return d->message.payload;
}
inline publish_result published(client& c, message m) {
  const std::uint64_t token = c.publish(std::move(m), patience);
  CHECK(token != 0);
  const auto r = c.next_result(patience);
  REQUIRE(r);
  CHECK(r->token == token);
  return *r;
}

}  // namespace leat::net::mqtt::test
