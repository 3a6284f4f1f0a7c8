// SPDX-License-Identifier: BSL-1.0
//
// What `GET /v1/state` tells, as plain data. What is missing in an answer is empty or 0 here; what is unknown is
// passed over. All texts are printable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/remote/json.hpp>

namespace leat::remote {

struct file_state {
  std::string path, digest;
};

struct wait_state {
  std::string what, channel, peer;
  double since = 0;  // seconds
};

struct process_state {
  std::string name, process, service, process_class, at, state;
  std::optional<wait_state> waits = {};
  std::uint64_t incarnation = 0, restarts = 0, failures = 0, overruns = 0, quarantined = 0, redelivered = 0,
                dead_letters = 0;
  std::string last_failure = {};
  double last_failure_ago = 0;
  std::optional<double> cpu = {};
  bool critical = false, replicated = false;
  std::vector<std::string> in = {}, out = {}, live = {};
};

struct channel_state {
  std::string name, reader, at, message, full, kind;
  std::uint64_t capacity = 0, length = 0;
  bool copy = false;
  std::uint64_t sent = 0, received = 0, dropped = 0, refused = 0, lost = 0, rejected = 0, injected = 0,
                high_water = 0;
  double rate_in = 0, rate_out = 0, rate_dropped = 0;
  std::optional<double> wait = {};
  double full_for = 0;
  std::vector<std::string> blocked = {}, writers = {}, readers = {};

  // As `tap` takes it: "climate/raw", "climate/raw@climate/log".
  std::string full_name() const { return reader.empty() ? name : name + '@' + reader; }
};

struct deployment_state {
  std::string leat, name, since, phase, why;
  std::uint64_t api = 0, pid = 0;
  double uptime = 0;
  bool healthy = true, may_change = false;
  std::optional<double> cpu = {}, rss = {}, delay_p99 = {};
  std::uint64_t procs = 0, threads = 0, gs = 0;
  std::uint64_t fenced = 0, frozen = 0;  // threads of quarantined processes
  std::vector<file_state> files = {};
  std::vector<std::string> services = {};
  std::vector<process_state> processes = {};
  std::vector<channel_state> channels = {};
  std::vector<std::string> blame = {};     // the sentences
  std::vector<std::string> culprits = {};  // processes
};

// The version of the interface that this program reads.
inline constexpr std::uint64_t known_api = 1;

deployment_state read_state(const json& from);

// What `GET /v1/process` tells.
struct process_details {
  struct setting {
    std::string name, text, help;
    bool live = false;
  };
  struct port {
    std::string name, direction;
    std::vector<std::string> channels;
  };
  std::string name, process_class;
  std::vector<setting> settings = {};
  std::vector<port> ports = {};
  std::vector<std::string> trace = {};
};
process_details read_details(const json& from);

}  // namespace leat::remote
