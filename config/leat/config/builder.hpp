// SPDX-License-Identifier: BSL-1.0
//
// A configuration as it was written: names and places, each key checked by itself, nothing yet looked up. The
// reader makes it, resolve() makes a plan of it; there is no other way from one to the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/plan.hpp>

namespace leat::config {

struct named {
  std::string text = {};
  place at = {};
};

struct port_builder {
  named name;
  place at = {};  // what is given for it
  std::vector<named> channels = {};
};

struct restart_builder {
  std::optional<restart_when> when = {};
  std::optional<restart_strategy> strategy = {};
  std::optional<unsigned> burst = {};
  std::optional<nanoseconds> window = {};
  std::optional<nanoseconds> backoff = {};
  std::optional<nanoseconds> longest_backoff = {};
};

struct delivery_builder {
  named port = {};  // without a text: all in ports
  delivery how = delivery::at_most_once;
};

struct map_builder {
  struct rename {
    named here, there;
  };
  named port;
  std::vector<rename> fields = {};
};

struct process_builder {
  named id;
  named use = {};  // without a text: missing, and reported
  value config = {};
  place config_at = {};
  std::vector<port_builder> in = {}, out = {};
  std::vector<map_builder> maps = {};
  unsigned replicas = 1;
  place replicas_at = {};
  std::optional<std::size_t> stack = {};
  thread_plan thread = {};
  std::optional<nanoseconds> hang = {}, grace = {}, watchdog = {};
  bool critical = false;
  restart_builder restart = {};
  std::vector<delivery_builder> deliveries = {};
  unsigned attempts = 3;
  place attempts_at = {};
  std::optional<named> dead_letter = {};
};

struct reader_builder {
  named reader;
  overflow full = overflow::block;
};

struct channel_builder {
  named id;
  std::optional<named> type = {};
  std::size_t capacity = 0;
  place capacity_at = {};
  overflow full = overflow::block;
  place full_at = {};
  bool copy = false;
  place fanout_at = {};
  bool exported = false;
  place readers_at = {};
  std::vector<reader_builder> readers = {};
};

struct service_builder {
  named name;
  nanoseconds drain = std::chrono::seconds(10);
  std::vector<process_builder> processes = {};
  std::vector<channel_builder> channels = {};
};

struct builder {
  // What is missing in files that could not be read must not be reported as missing.
  bool complete = true;
  // The same for classes of plug-ins that could not be loaded.
  bool all_classes = true;
  std::vector<service_builder> services = {};
  runtime_plan runtime = {};
  // Where keys of [runtime] stand that are compared with one another.
  place procs_at = {}, spinning_at = {}, max_threads_at = {}, max_memory_at = {};
  supervisor_plan supervisor = {};
  nanoseconds hang = std::chrono::seconds(2);
  nanoseconds grace = std::chrono::milliseconds(200);
  std::optional<nanoseconds> watchdog = {};
  restart_builder restart = {};
};

}  // namespace leat::config
