// SPDX-License-Identifier: BSL-1.0
//
// Services with a planted cause, and what the observer says of them while they run side by side.
#pragma once
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <atomic>
#include <map>
#include <optional>
#include <set>

#include <leat/csp/mutex.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/dial.hpp>
#include <leat/net/listener.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/services/observer.hpp>

#include "services/fixture.hpp"

namespace leat::services::test {

// What the world outside does to those who depend on it; there while a group of services runs.
struct surroundings {
  leat::mutex lock;    // held by somebody else for most of the time
  std::string peer;    // the address of a server that answers slowly
  int full_pipe = -1;  // somebody reads it slowly
  std::atomic<bool> over{false};
};
inline surroundings* around = nullptr;

inline void compute_for(nanoseconds time) {
  const std::int64_t until = now_ns() + time.count();
  while (now_ns() < until) {
  }
}
inline void block_for(nanoseconds time) {
  timespec t{};
  t.tv_sec = time.count() / 1'000'000'000;
  t.tv_nsec = time.count() % 1'000'000'000;
  (void)::nanosleep(&t, nullptr);
}

enum class labour { nothing, compute, turns, sleep, declared, undeclared, peer, lock, pipe };
LEAT_ENUM(labour, nothing, compute, turns, sleep, declared, undeclared, peer, lock, pipe);

// False: it was asked to stop.
class worker {
 public:
  bool work(labour how, nanoseconds time) {
    switch (how) {
      case labour::nothing: return true;
      case labour::compute: compute_for(time); return true;
      case labour::turns:  // others run in between
        for (int i = 0; i < 20; ++i) {
          compute_for(time);
          yield();
        }
        return true;
      case labour::sleep: return sleep_for(time) != sleep_result::stopped;
      case labour::declared: blocking([&] { block_for(time); }); return true;
      case labour::undeclared: block_for(time); return true;
      case labour::lock: {
        const std::lock_guard held(around->lock);
        return true;
      }
      case labour::peer: {
        if (!peer_.is_open()) peer_ = net::dial(around->peer);
        char byte = 0;
        std::error_code ec;
        return peer_.read_some({&byte, 1}, ec) == 1;
      }
      case labour::pipe: {
        static const char page[4096] = {};
        return ::write(around->full_pipe, page, sizeof page) > 0;
      }
    }
    return true;
  }

 private:
  net::stream peer_;
};

class blame_source : public process {
  out<number> values{this, "values"};
  setting<nanoseconds> every{this, "every", 500us, "between two bursts"};
  setting<int> burst{this, "burst", 8, "values at once"};
  void run() override {
    for (;;) {
      for (int i = 0; i < burst; ++i) {
        const send_status s = values.send({i});
        if (s == send_status::stopped || s == send_status::closed) return;
      }
      if (sleep_for(*every) == sleep_result::stopped) return;
    }
  }
};
class blame_sink : public process {
  in<number> values{this, "values"};
  setting<labour> how{this, "how", labour::nothing, "what it does with each"};
  setting<nanoseconds> time{this, "time", 60ms, "how long"};
  void run() override {
    worker w;
    for (const number& v : values) {
      (void)v;
      if (!w.work(*how, *time)) return;
    }
  }
};
// Only the replica of that number takes its time.
class blame_uneven : public process {
  in<number> values{this, "values"};
  void run() override {
    for (const number& v : values) {
      (void)v;
      if (sleep_for(std::string_view(self().name).ends_with("/1") ? 400ms : 60ms) == sleep_result::stopped)
        return;
    }
  }
};
class blame_relay : public process {
  in<number> values{this, "values"};
  out<number> to{this, "to"};
  setting<labour> how{this, "how", labour::nothing, "what it does with each"};
  setting<nanoseconds> time{this, "time", 60ms, "how long"};
  void run() override {
    worker w;
    for (number v : values)
      if (!w.work(*how, *time) || to.send(v) == send_status::stopped) return;
  }
};
// A G of its own does the work.
class blame_helped : public process {
  in<number> values{this, "values"};
  out<number> to{this, "to"};
  void run() override {
    task_group beside;
    beside.go([this] {
      for (number v : values)
        if (to.send(v) == send_status::stopped) return;
    });
    beside.wait();
  }
};
class blame_fork : public process {
  in<number> values{this, "values"};
  out<number> left{this, "left"}, right{this, "right"};
  void run() override {
    for (number v : values)
      if (left.send(v) != send_status::sent || right.send(v) != send_status::sent) return;
  }
};
class blame_join : public process {
  in<number> left{this, "left"}, right{this, "right"};
  void run() override {
    while (left.recv() && right.recv()) {
    }
  }
};

struct seen_service {
  std::optional<std::int64_t> blocked_at = {};  // ns; when a sender was first seen blocked, or a drop
  std::optional<std::int64_t> named_at = {};    // and somebody was first named
  std::set<std::string> first, last;            // "culprit kind", then and at the end
  std::map<std::string, std::set<std::string>> victims;  // by culprit, at the end
  std::string text;
};

// Runs them for so long, and tells what was seen.
inline std::map<std::string, seen_service> watch(const config::plan& p, nanoseconds time,
                                                 unsigned procs = 4) {
  std::map<std::string, seen_service> seen;
  runtime_options o = runtime_options_of(p);
  o.procs = procs;
  surroundings out;
  around = &out;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  out.full_pipe = ends[1];
  std::thread slow_reader([&] {
    char page[4096];
    while (::read(ends[0], page, sizeof page) > 0) std::this_thread::sleep_for(60ms);
  });
  leat::run(o, [&] {
    net::listener at = net::listen("127.0.0.1:0");
    out.peer = at.local().text();
    task_group beside;
    beside.go([&] {
      net::serve(at, [](net::stream& peer) {
        while (sleep_for(60ms) != sleep_result::stopped) peer.write("x", 10s);
      });
    });
    beside.go([&] {
      while (!stop_requested()) {
        {
          const std::lock_guard held(out.lock);
          (void)sleep_for(60ms);
        }
        yield();
      }
    });
    channel<int> stop(4);
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    beside.go([&] { looks.run(); });
    beside.go([&] {
      const std::int64_t begin = now_ns();
      while (now_ns() - begin < time.count()) {
        const control::deployment_view v = looks.look();
        const std::int64_t now = now_ns();
        for (const control::channel_view& c : v.channels) {
          seen_service& s = seen[c.name.substr(0, c.name.find('/'))];
          if (!s.blocked_at && (!c.senders_blocked.empty() || c.dropped > 0)) s.blocked_at = now;
        }
        for (auto& [name, s] : seen) s.last.clear();
        for (const control::blame_view& b : v.blame) {
          seen_service& s = seen[b.culprit.substr(0, b.culprit.find('/'))];
          s.last.insert(b.culprit + ' ' + b.kind);
          s.victims[b.culprit] = {b.victims.begin(), b.victims.end()};
          s.text = b.text;
        }
        for (auto& [name, s] : seen)
          if (!s.named_at && !s.last.empty()) {
            s.named_at = now;
            s.first = s.last;
          }
        (void)sleep_for(50ms);
      }
      (void)stop.send(1);
      (void)stop.send(1);
    });
    (void)h.run(stop);
    beside.stop();
    beside.wait();
  });
  ::close(ends[1]);
  slow_reader.join();
  ::close(ends[0]);
  around = nullptr;
  return seen;
}

}  // namespace leat::services::test

LEAT_PROCESS_AS("blame-source", leat::services::test::blame_source, "sends");
LEAT_PROCESS_AS("blame-sink", leat::services::test::blame_sink, "takes");
LEAT_PROCESS_AS("blame-uneven", leat::services::test::blame_uneven, "takes, one replica slowly");
LEAT_PROCESS_AS("blame-relay", leat::services::test::blame_relay, "hands on");
LEAT_PROCESS_AS("blame-helped", leat::services::test::blame_helped, "hands on by another G");
LEAT_PROCESS_AS("blame-fork", leat::services::test::blame_fork, "sends to two");
LEAT_PROCESS_AS("blame-join", leat::services::test::blame_join, "takes of two in turn");
