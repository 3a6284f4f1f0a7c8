// SPDX-License-Identifier: BSL-1.0
//
// A running deployment as those see it who look from outside: plain data, taken at one time. What the control
// door tells (view_json.hpp), what the metrics are (metrics.hpp) and what blame is found by (blame.hpp).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/control/delay_histogram.hpp>

namespace leat::control {

struct file_view {
  std::string path;
  std::string digest;  // of its bytes when it was read
};

struct runtime_view {
  unsigned procs = 0, threads = 0;
  std::uint64_t gs = 0;
  double cpu = 0;         // of one core, since the last view
  std::uint64_t rss = 0;  // bytes
  delay_histogram delay = {};
  unsigned fenced = 0, frozen = 0;  // threads of quarantined processes that have not come back
};

struct service_view {
  std::string name, phase;
  std::size_t alive = 0;
};

struct wait_view {
  std::string reason;   // "receive", "send", "I/O", "sleep", "blocking call"...
  std::string channel;  // full name; "" if it is none, or not known
  std::string peer;     // at the network
  double since = 0;     // seconds
};

struct failure_view {
  std::string text;
  double ago = 0;  // seconds
};

// One replica of a process.
struct process_view {
  std::string name;     // "climate/filter/1"
  std::string process;  // "climate/filter"
  std::optional<unsigned> replica = {};
  std::string service, type, at;  // at: "climate.toml:12"
  std::string state;              // computing ready waiting blocking restarting ended failed quarantined
  std::optional<wait_view> waits = {};
  unsigned incarnation = 0, restarts = 0, failures = 0, overruns = 0, quarantined = 0, redelivered = 0,
           dead_letters = 0;
  std::optional<failure_view> last_failure = {};
  std::optional<double> cpu = {};  // of one core
  bool critical = false;
  std::vector<std::string> in = {}, out = {};  // channels
  std::vector<std::string> live = {};          // settings that can be set while it runs
};

struct store_view {
  std::uint64_t values = 0, bytes = 0;  // that the next start would find
  std::uint64_t restored = 0, written = 0, unreadable = 0, failures = 0;
  bool failing = false;
};

// A channel; of one that copies also the share of each reader.
struct channel_view {
  std::string name;
  std::string reader;  // of a share: the process
  std::string at, message, full, kind;
  bool copy = false;
  std::size_t capacity = 0, length = 0;
  std::uint64_t sent = 0, received = 0, dropped = 0, refused = 0, lost = 0, rejected = 0, injected = 0,
                high_water = 0;
  double rate_in = 0, rate_out = 0, rate_dropped = 0;  // a second
  double full_for = 0;                                 // seconds
  double send_blocked = 0;                             // seconds that senders were parked, in all
  std::vector<std::string> senders_blocked = {};       // replicas
  std::vector<std::string> writers = {}, readers = {};
  std::optional<store_view> store = {};
};

struct blame_view {
  std::string culprit, type, at;
  std::vector<std::string> victims = {};
  std::string channel;
  double full_for = 0;
  std::string kind;   // computes, "blocking call", network, lock, timer, channel, drops
  std::string doing;  // "waits for 10.0.0.7:443"
  double share = 0;   // of its time
  std::string text;   // the whole line
};

struct deployment_view {
  std::string version, name;
  int pid = 0;
  std::vector<file_view> files = {};
  std::string since;              // when it started, UTC
  double uptime = 0;              // seconds
  std::string phase = "running";  // running draining stopping
  bool live = true;               // nothing runs or waits for too long without having been replaced
  bool healthy = true;            // live, all services run, nobody has failed for good
  std::string why;                // if not
  runtime_view runtime = {};
  std::vector<service_view> services = {};
  std::vector<process_view> processes = {};
  std::vector<channel_view> channels = {};
  std::vector<blame_view> blame = {};
};

}  // namespace leat::control
