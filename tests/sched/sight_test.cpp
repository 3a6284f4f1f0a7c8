// SPDX-License-Identifier: BSL-1.0
//
// What Gs do, as others see it.
#include <leat/sched/sight.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <leat/csp/channel.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/net/dial.hpp>
#include <leat/net/listener.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched;
using namespace leat::sched::test;

namespace {

// Nothing: it is not there.
std::optional<g_sight> sight_of(std::uint64_t id) {
  for (const g_sight& s : look_at_gs())
    if (s.g == id) return s;
  return std::nullopt;
}
bool is_seen(std::uint64_t id, g_status status, wait_reason reason = wait_reason::none) {
  const auto s = sight_of(id);
  return s && s->status == status && s->reason == reason;
}
std::int64_t thread_cpu() {
  timespec t{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}
// Of a G that has begun to run.
std::uint64_t id_of(const std::atomic<std::uint64_t>& id) {
  CHECK(eventually([&] { return id.load() != 0; }));
  return id.load();
}

TEST_CASE("outside a runtime nothing is seen") {
  CHECK(look_at_gs().empty());
  watch_cpu(1s);
  void* frames[4];
  CHECK(frames_of(1, frames) == 0);
}

TEST_CASE("who looks sees itself running, on its thread") {
  run_clean(with_procs(1), [] {
    const auto me = sight_of(self().id);
    REQUIRE(me.has_value());
    CHECK(me->status == g_status::running);
    CHECK(me->tid == thread_id());
    CHECK(look_at_gs().size() == 1);
  });
}

TEST_CASE("a G that waits is seen with its reason, since when, and where it stands") {
  run_clean(with_procs(2), [] {
    std::atomic<std::uint64_t> sleeps{0}, receives{0}, sends{0}, locks{0}, joins{0};
    const channel<int> empty, full(1);
    (void)full.send(1);
    leat::mutex lock;
    std::unique_lock held(lock);
    stop_source stop;
    auto a = spawn({.stop = stop}, [&] {
      sleeps = self().id;
      (void)sleep_for(1h);
    });
    auto b = spawn([&] {
      receives = self().id;
      (void)empty.recv();
    });
    auto c = spawn([&] {
      sends = self().id;
      (void)full.send(2);
    });
    auto d = spawn([&] {
      locks = self().id;
      const std::lock_guard mine(lock);
    });
    auto e = spawn([&] {
      joins = self().id;
      d.get();
    });
    CHECK(eventually([&] { return is_seen(id_of(sleeps), g_status::waiting, wait_reason::sleep); }));
    CHECK(eventually([&] { return is_seen(id_of(receives), g_status::waiting, wait_reason::receive); }));
    CHECK(eventually([&] { return is_seen(id_of(sends), g_status::waiting, wait_reason::send); }));
    CHECK(eventually([&] { return is_seen(id_of(locks), g_status::waiting, wait_reason::mutex); }));
    CHECK(eventually([&] { return is_seen(id_of(joins), g_status::waiting, wait_reason::join); }));
    const auto seen = sight_of(sleeps);
    REQUIRE(seen.has_value());
    CHECK(seen->since > 0);
    CHECK(seen->since <= now_ns());
    CHECK(seen->tid == 0);
    CHECK(seen->fd == -1);
    CHECK(peer_of(*seen).empty());
    CHECK(call_of(*seen).empty());
    void* frames[16];
    CHECK(frames_of(sleeps, frames) > 1);
    CHECK(frames_of(self().id, frames) == 0);  // it does not wait

    held.unlock();
    stop.request_stop();
    (void)empty.send(1);
    (void)full.recv();
    a.get();
    b.get();
    c.get();
    e.get();
    CHECK(!sight_of(sleeps));
  });
}

TEST_CASE("one that computes, one in a declared blocking call and one in an undeclared one are told apart") {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  run_clean(with_procs(4), [&] {
    std::atomic<std::uint64_t> computes{0}, declared{0}, undeclared{0};
    std::atomic<bool> over{false};
    auto a = spawn([&] {
      computes = self().id;
      while (!over) {
      }
    });
    auto b = spawn([&] {
      declared = self().id;
      blocking([&] {
        while (!over) std::this_thread::sleep_for(1ms);
      });
    });
    auto c = spawn([&] {
      undeclared = self().id;
      char byte = 0;
      CHECK(::read(ends[0], &byte, 1) == 1);
    });
    CHECK(eventually([&] { return is_seen(id_of(computes), g_status::running); }));
    CHECK(eventually([&] { return is_seen(id_of(declared), g_status::syscall); }));
    CHECK(eventually([&] { return is_seen(id_of(undeclared), g_status::running); }));
    CHECK(call_of(*sight_of(computes)).empty());
    CHECK(eventually([&] { return sight_of(declared)->tid > 0; }));
    CHECK(sight_of(declared)->since > 0);
    const g_sight reader = *sight_of(undeclared);
    // Not everywhere may a program look at its own threads.
    if (::access("/proc/self/syscall", R_OK) == 0)
      CHECK(eventually([&] { return call_of(reader) == "read"; }));
    over = true;
    CHECK(::write(ends[1], "x", 1) == 1);
    a.get();
    b.get();
    c.get();
  });
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("one that waits for the network is seen with its peer") {
  run_clean(with_procs(2), [] {
    net::listener at = net::listen("127.0.0.1:0");
    const std::string there = at.local().text();
    std::atomic<std::uint64_t> id{0};
    auto reader = spawn([&] {
      net::stream s = net::dial(there);
      id = self().id;
      char byte = 0;
      std::error_code ec;
      (void)s.read_some({&byte, 1}, ec);
    });
    net::stream peer = at.accept();
    CHECK(eventually([&] { return is_seen(id_of(id), g_status::waiting, wait_reason::io); }));
    const auto seen = sight_of(id);
    REQUIRE(seen.has_value());
    CHECK(seen->fd >= 0);
    CHECK(std::string_view(seen->operation) == "read");
    CHECK(peer_of(*seen) == there);
    peer.close();
    reader.get();
  });
}

TEST_CASE("while somebody watches, CPU times grow as their Gs use it" * doctest::timeout(120)) {
  run_clean(with_procs(2), [] {
    std::atomic<std::uint64_t> always{0}, sometimes{0}, never{0};
    std::atomic<bool> over{false};
    // As they see it themselves. Neither changes its thread in the middle of a stretch.
    std::atomic<std::int64_t> always_used{0}, sometimes_used{0};
    auto a = spawn([&] {
      always = self().id;
      const std::int64_t begin = thread_cpu();
      while (!over) always_used = thread_cpu() - begin;
    });
    auto b = spawn([&] {
      sometimes = self().id;
      while (!over) {
        const std::int64_t begin = now_ns(), cpu_begin = thread_cpu();
        while (now_ns() - begin < 3'000'000) {
        }
        sometimes_used += thread_cpu() - cpu_begin;
        (void)sleep_for(7ms);
      }
    });
    auto c = spawn([&] {
      never = self().id;
      while (!over) (void)sleep_for(50ms);
    });
    for (const auto* id : {&always, &sometimes, &never}) (void)id_of(*id);
    watch_cpu(1h);
    (void)sleep_for(50ms);  // until it is in force
    const auto cpu = [](const std::atomic<std::uint64_t>& id) {
      return std::uint64_t{1000} * sight_of(id)->cpu_us;
    };
    const std::int64_t begin = now_ns();
    const std::int64_t used_before[] = {always_used, sometimes_used, 0};
    const std::uint64_t before[] = {cpu(always), cpu(sometimes), cpu(never)};
    (void)sleep_for(3s);
    const std::uint64_t after[] = {cpu(always), cpu(sometimes), cpu(never)};
    const double passed = static_cast<double>(now_ns() - begin);
    const std::int64_t used_after[] = {always_used, sometimes_used, 0};
    over = true;
    a.get();
    b.get();
    c.get();
    double share[3], truth[3];
    for (int i = 0; i < 3; ++i) {
      share[i] = static_cast<double>(after[i] - before[i]) / passed;
      truth[i] = static_cast<double>(used_after[i] - used_before[i]) / passed;
    }
    MESSAGE("always " << share[0] << " (" << truth[0] << "), sometimes " << share[1] << " (" << truth[1]
                      << "), never " << share[2]);
    CHECK(share[0] > share[1]);
    CHECK(share[1] > share[2]);
    if (fiber::under_asan || fiber::under_tsan) return;
    for (const int i : {0, 1}) {
      CHECK(share[i] > truth[i] - 0.08);
      CHECK(share[i] < truth[i] + 0.08);
    }
    CHECK(share[2] < 0.05);
  });
}

TEST_CASE("without anybody watching, no CPU time is counted") {
  run_clean(with_procs(2), [] {
    std::atomic<std::uint64_t> id{0};
    std::atomic<bool> over{false};
    auto a = spawn([&] {
      id = self().id;
      while (!over) {
      }
    });
    const std::uint64_t before = sight_of(id_of(id))->cpu_us;
    (void)sleep_for(200ms);
    CHECK(sight_of(id)->cpu_us == before);
    over = true;
    a.get();
  });
}

}  // namespace
