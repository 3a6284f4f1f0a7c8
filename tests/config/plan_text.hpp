// SPDX-License-Identifier: BSL-1.0
//
// All that a plan says but for the places where it was written, as text to be compared.
#pragma once

#include <string>

#include <leat/config/plan.hpp>

namespace leat::config::test {

class plan_text {
 public:
  explicit plan_text(const plan& p) {
    const runtime_plan& r = p.runtime;
    add("runtime", r.procs.value_or(0), r.run_queue, r.spinning.value_or(9999), r.max_threads,
        r.max_quarantined, r.slice.count(), r.stack, r.trace.count(), r.grace.count(), r.stack_census,
        r.lock_memory, r.max_memory.value_or(0));
    for (const unsigned cpu : r.cpus) add("cpu", cpu);
    add("supervisor", static_cast<int>(p.supervisor.on_limit), static_cast<int>(p.supervisor.on_deadlock),
        p.supervisor.host_hang.count(), static_cast<int>(p.supervisor.on_host_hang));
    add("control", p.control.name, p.control.socket, p.control.listen, p.control.token_file,
        p.control.clients, p.control.blame_after.count());
    for (const std::string& h : p.control.hosts) add("host", h);
    for (const service_plan& s : p.services) {
      add("service", s.name, s.drain.count());
      for (const index i : s.processes) add("has", i);
      for (const index i : s.channels) add("has channel", i);
    }
    for (const process_plan& x : p.processes) process(x);
    for (const channel_plan& c : p.channels) channel(c);
    add("memory", p.memory.stacks, p.memory.rings, p.memory.pools);
  }
  const std::string& text() const { return out_; }

 private:
  void process(const process_plan& x) {
    add("process", x.name, x.service, x.type->name, to_text(x.settings), x.replicas, x.stack, x.thread.own,
        x.thread.cpu.value_or(9999), x.thread.priority.value_or(0), x.hang.count(), x.grace.count(),
        x.watchdog ? x.watchdog->count() : -1, x.critical, x.attempts, x.dead_letter.value_or(9999));
    if (x.state) add(" state", x.state->folder, x.state->every.count());
    add(" restart", static_cast<int>(x.restart.when), static_cast<int>(x.restart.strategy), x.restart.burst,
        x.restart.window.count(), x.restart.backoff.count(), x.restart.longest_backoff.count());
    for (const port_plan& port : x.ports) {
      add(" port", port.schema->name, static_cast<int>(port.delivery));
      for (const index c : port.channels) add("  at", c);
      for (const rename_plan& n : port.names) add("  calls", n.there, n.here);
    }
  }

  void channel(const channel_plan& c) {
    add("channel", c.name, c.unnamed, c.service, c.message, c.reply, c.value_size, c.capacity,
        static_cast<int>(c.full), c.copy, c.key, c.keys, c.exported, c.inject, c.dead_letters,
        static_cast<int>(c.unknown));
    for (const endpoint& e : c.writers) add(" writer", e.process, e.port);
    for (const endpoint& e : c.readers) add(" reader", e.process, e.port, static_cast<int>(e.full));
  }

  template <class... T>
  void add(const char* what, const T&... values) {
    out_ += what;
    (one(values), ...);
    out_ += '\n';
  }
  void one(const std::string& text) { out_ += " '" + text + '\''; }
  template <class T>
  void one(const T& number) {
    out_ += ' ' + std::to_string(number);
  }

  std::string out_;
};

}  // namespace leat::config::test
