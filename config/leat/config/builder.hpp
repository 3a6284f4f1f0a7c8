// SPDX-License-Identifier: BSL-1.0
//
// A configuration as it was written: names and locations, each key checked by itself, nothing yet looked up. The
// reader makes it, resolve() makes a plan of it; there is no other way from one to the other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/plan.hpp>

namespace leat::config {

struct named {
  std::string text = {};
  source_location at = {};
};

struct port_builder {
  named name;
  source_location at = {};  // what is given for it
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

// A port that an override took from a channel.
struct lost_end {
  std::string process;
  std::string channel;
  port_direction direction = port_direction::in;
  source_location at = {};
  std::string why = {};
};

struct process_builder {
  named id;
  std::string inside = {};  // made by a template: what its names have before them
  bool enabled = true;
  source_location enabled_at = {};
  named use = {};  // without a text: missing, and reported
  value config = {};
  source_location config_at = {};
  std::vector<port_builder> in = {}, out = {};
  std::vector<map_builder> maps = {};
  unsigned replicas = 1;
  source_location replicas_at = {};
  std::optional<std::size_t> stack = {};
  thread_plan thread = {};
  std::optional<nanoseconds> hang = {}, grace = {}, watchdog = {};
  bool critical = false;
  restart_builder restart = {};
  std::vector<delivery_builder> deliveries = {};
  unsigned attempts = 3;
  source_location attempts_at = {};
  std::optional<named> dead_letter = {};
  std::optional<state_plan> state = {};
};

struct reader_builder {
  named reader;
  leat::full full = leat::full::block;
};

struct channel_builder {
  named id;
  std::optional<named> type = {};
  std::size_t capacity = 0;
  source_location capacity_at = {};
  leat::full full = leat::full::block;
  source_location full_at = {};
  bool copy = false;
  source_location fanout_at = {};
  std::optional<named> key = {};
  std::size_t keys = 1024;
  source_location keys_at = {};
  bool exported = false;
  bool inject = false;
  unknown_fields unknown = unknown_fields::tell;
  source_location unknown_at = {};
  std::optional<store_plan> store = {};
  source_location readers_at = {};
  std::vector<reader_builder> readers = {};
};

struct service_builder {
  named name;
  nanoseconds drain = std::chrono::seconds(10);
  std::vector<process_builder> processes = {};
  std::vector<channel_builder> channels = {};
  std::vector<lost_end> lost = {};
};

struct builder {
  // What is missing in files that could not be read must not be reported as missing.
  bool complete = true;
  // The same for classes of plug-ins that could not be loaded.
  bool all_classes = true;
  std::function<std::string(std::string_view class_name)> where_is = {};  // config.hpp
  std::vector<service_builder> services = {};
  runtime_plan runtime = {};
  // Where keys of [runtime] stand that are compared with one another.
  source_location procs_at = {}, spinning_at = {}, max_threads_at = {}, max_memory_at = {};
  supervisor_plan supervisor = {};
  control_plan control = {};
  nanoseconds hang = std::chrono::seconds(2);
  nanoseconds grace = std::chrono::milliseconds(200);
  std::optional<nanoseconds> watchdog = {};
  bool hang_given = false, grace_given = false;  // no defaults
  restart_builder restart = {};
};

}  // namespace leat::config
