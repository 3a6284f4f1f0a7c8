// SPDX-License-Identifier: BSL-1.0
//
// A checked configuration. Everything is resolved: names have become indexes, texts have become values,
// defaults are filled in. Only locations are left to say where a thing was written. Made by check() alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/full.hpp>
#include <leat/base/restart_policy.hpp>
#include <leat/base/runtime_options.hpp>
#include <leat/base/schema.hpp>
#include <leat/base/value.hpp>

namespace leat::config {

using index = std::uint32_t;

enum class delivery : std::uint8_t { at_most_once, at_least_once };
enum class limit_action : std::uint8_t { stop_service, exit };
enum class deadlock_action : std::uint8_t { report, restart };
enum class host_action : std::uint8_t { exit, dump };

// [runtime]: the limits of memory are the program's.
struct runtime_plan : runtime_options {
  std::vector<source_location> cpus_at = {};  // each of cpus
  bool lock_memory = false;
  std::optional<std::uint64_t> max_memory = {};
};

struct supervisor_plan {
  limit_action on_limit = limit_action::stop_service;
  deadlock_action on_deadlock = deadlock_action::report;
  nanoseconds host_hang = std::chrono::seconds(10);
  host_action on_host_hang = host_action::exit;
};

// [control]: the doors by which a running deployment is seen and steered.
struct control_plan {
  std::string name = {};  // empty: by the first file
  bool socket = true;
  std::string listen = {};  // empty: no TCP
  source_location listen_at = {};
  std::vector<std::string> hosts = {};  // empty: this machine's own
  std::string token_file = {};
  source_location token_file_at = {};
  std::size_t clients = 64;
  nanoseconds blame_after = std::chrono::seconds(5);
};

struct thread_plan {
  bool own = false;
  std::optional<unsigned> cpu = {};
  std::optional<unsigned> priority = {};
};

// Where the states of a process outlive the program.
struct state_plan {
  std::string folder;
  source_location at = {};
  nanoseconds every = std::chrono::seconds(1);
};

// Where the values of a channel outlive the program.
struct store_plan {
  std::string folder;
  source_location at = {};
  std::uint64_t max = std::uint64_t{64} << 20;  // bytes
  // How old a value may get before it is on the disk; zero: before its send returns; max(): as the system likes.
  nanoseconds sync = std::chrono::seconds(1);
  leat::full full = leat::full::block;
};

// A field of records at a port: what the process calls it, and what the channel's messages call it.
struct rename_plan {
  std::string here, there;
  source_location here_at = {}, there_at = {};
};

struct port_plan {
  const port_schema* schema = nullptr;  // of the class; lives as long as the catalog
  std::vector<index> channels = {};     // none: unconnected
  config::delivery delivery = config::delivery::at_most_once;
  std::vector<rename_plan> names = {};
};

struct process_plan {
  std::string name;
  index service = 0;
  source_location at = {};  // its name
  const class_schema* type = nullptr;
  value settings = {};                // a table: each setting of the class that is given or has a default
  std::vector<port_plan> ports = {};  // one per port of the class, in its order
  unsigned replicas = 1;
  std::size_t stack = 0;
  thread_plan thread = {};
  nanoseconds hang = std::chrono::seconds(2);
  nanoseconds grace = std::chrono::milliseconds(200);
  std::optional<nanoseconds> watchdog = {};
  bool critical = false;
  restart_policy restart = {};
  unsigned attempts = 3;
  std::optional<index> dead_letter = {};  // a channel
  std::optional<state_plan> state = {};
};

// A port at a channel.
struct endpoint {
  index process = 0;
  index port = 0;
  source_location at = {};  // where the channel is named; unknown for the writer of an unnamed channel
  leat::full full = leat::full::block;  // of a reader: when its share is full
};

struct channel_plan {
  std::string name;  // "raw", or "probe.value" for an unnamed one
  bool unnamed = false;
  index service = 0;
  source_location at = {};
  std::string message = {};
  std::string reply = {};  // not empty: requests that are answered
  std::uint64_t value_size = 0;
  std::size_t capacity = 0;
  leat::full full = leat::full::block;
  bool copy = false;     // every reading process gets every value
  std::string key = {};  // a field of its messages, by its path; empty: none
  source_location key_at = {};
  std::size_t keys = 1024;  // with `latest`
  bool exported = false;
  bool inject = false;                            // another may send into it while it runs
  bool dead_letters = false;                      // supervisors write to it as well
  unknown_fields unknown = unknown_fields::tell;  // of records that are sent into it
  std::optional<store_plan> store = {};           // then `full` is the store's
  std::vector<endpoint> writers = {};
  std::vector<endpoint> readers = {};
};

struct service_plan {
  std::string name;
  source_location at = {};
  nanoseconds drain = std::chrono::seconds(10);
  std::vector<index> processes = {};  // in the order of the file
  std::vector<index> channels = {};
};

struct memory_sum {
  std::uint64_t stacks = 0, rings = 0, pools = 0;

  std::uint64_t total() const noexcept { return stacks + rings + pools; }
};

struct plan {
  std::vector<std::string> files = {};  // source_location::file is an index into it
  runtime_plan runtime = {};
  supervisor_plan supervisor = {};
  control_plan control = {};
  std::vector<service_plan> services = {};
  std::vector<process_plan> processes = {};
  std::vector<channel_plan> channels = {};
  memory_sum memory = {};

  // "climate/raw", "climate/filter"
  std::string full_name(const channel_plan& c) const { return services[c.service].name + '/' + c.name; }
  std::string full_name(const process_plan& p) const { return services[p.service].name + '/' + p.name; }
  // "climate.toml:39", for reports while it runs.
  std::string where(const source_location& at) const;
};

}  // namespace leat::config
