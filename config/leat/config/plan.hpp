// SPDX-License-Identifier: BSL-1.0
//
// A checked configuration. Everything is resolved: names have become indexes, texts have become values,
// defaults are filled in. Only places are left to tell where a thing was written. Made by check() alone.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/base/value.hpp>

namespace leat::config {

using index = std::uint32_t;

// What a send does when there is no room; the same as leat::full, in the same order.
enum class overflow : std::uint8_t { block, drop_newest, drop_oldest, latest, fail };
const char* to_string(overflow o) noexcept;  // as in a file: "drop-newest"

enum class delivery : std::uint8_t { at_most_once, at_least_once };
enum class restart_when : std::uint8_t { always, failure, never };
enum class restart_strategy : std::uint8_t { one_for_one, one_for_all, rest_for_one };
enum class limit_action : std::uint8_t { stop_service, exit };
enum class deadlock_action : std::uint8_t { report, restart };

struct restart_plan {
  restart_when when = restart_when::failure;
  restart_strategy strategy = restart_strategy::one_for_one;
  unsigned burst = 5;
  nanoseconds window = std::chrono::seconds(60);
  nanoseconds backoff = std::chrono::milliseconds(100);
  nanoseconds longest_backoff = std::chrono::seconds(10);
};

// [runtime]: the fields of leat::runtime_options, and the limits of memory.
struct runtime_plan {
  std::optional<unsigned> procs = {};
  unsigned run_queue = 256;
  std::optional<unsigned> spinning = {};
  unsigned max_threads = 10000;
  unsigned max_quarantined = 64;
  nanoseconds slice = std::chrono::milliseconds(10);
  std::size_t stack = 64 * 1024;
  std::vector<unsigned> cpus = {};
  std::vector<place> cpus_at = {};  // each of them
  nanoseconds trace = nanoseconds::zero();
  nanoseconds grace = std::chrono::milliseconds(200);
  bool stack_census = false;
  bool lock_memory = false;
  std::optional<std::uint64_t> max_memory = {};
};

struct supervisor_plan {
  limit_action on_limit = limit_action::stop_service;
  deadlock_action on_deadlock = deadlock_action::report;
};

struct thread_plan {
  bool own = false;
  std::optional<unsigned> cpu = {};
  std::optional<unsigned> priority = {};
};

// A field of records at a port: what the process calls it, and what the channel's messages call it.
struct rename_plan {
  std::string here, there;
  place here_at = {}, there_at = {};
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
  place at = {};  // its name
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
  restart_plan restart = {};
  unsigned attempts = 3;
  std::optional<index> dead_letter = {};  // a channel
};

// A port at a channel.
struct endpoint {
  index process = 0;
  index port = 0;
  place at = {};  // where the channel is named; unknown for the writer of an unnamed channel
  overflow full = overflow::block;  // of a reader: when its share is full
};

struct channel_plan {
  std::string name;  // "raw", or "probe.value" for an unnamed one
  bool unnamed = false;
  index service = 0;
  place at = {};
  std::string message = {};
  std::string reply = {};  // not empty: requests that are answered
  std::uint64_t value_size = 0;
  std::size_t capacity = 0;
  overflow full = overflow::block;
  bool copy = false;  // every reading process gets every value
  bool exported = false;
  bool dead_letters = false;  // supervisors write to it as well
  std::vector<endpoint> writers = {};
  std::vector<endpoint> readers = {};
};

struct service_plan {
  std::string name;
  place at = {};
  nanoseconds drain = std::chrono::seconds(10);
  std::vector<index> processes = {};  // in the order of the file
  std::vector<index> channels = {};
};

struct memory_sum {
  std::uint64_t stacks = 0, rings = 0, pools = 0;

  std::uint64_t total() const noexcept { return stacks + rings + pools; }
};

struct plan {
  std::vector<std::string> files = {};  // place::file is an index into it
  runtime_plan runtime = {};
  supervisor_plan supervisor = {};
  std::vector<service_plan> services = {};
  std::vector<process_plan> processes = {};
  std::vector<channel_plan> channels = {};
  memory_sum memory = {};

  // "climate/raw", "climate/filter"
  std::string full_name(const channel_plan& c) const { return services[c.service].name + '/' + c.name; }
  std::string full_name(const process_plan& p) const { return services[p.service].name + '/' + p.name; }
  // "climate.toml:39", for reports while it runs.
  std::string where(const place& at) const;
};

}  // namespace leat::config
