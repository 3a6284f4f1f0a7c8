// SPDX-License-Identifier: BSL-1.0
// Plain threads at one end of a channel: beside a runtime, and without any.
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {

constexpr auto nothing = [] {};

// A plain thread that waits in the kernel: seen in /proc, so that nobody has to sleep and hope.
class plain_thread {
 public:
  template <class F>
  explicit plain_thread(F body)
      : thread_([this, body = std::move(body)] {
          id_ = thread_id();
          body();
          done_ = true;
        }) {}
  ~plain_thread() {
    if (thread_.joinable()) thread_.join();
  }
  // From a G the join would hold its P.
  void join() {
    CHECK(eventually([&] { return done_.load(); }));
    thread_.join();
  }
  bool done() const { return done_; }
  [[nodiscard]] bool will_sleep() const {
    return eventually([&] { return id_ != 0 && asleep(); });
  }

 private:
  bool asleep() const {
    std::FILE* const f = std::fopen(("/proc/self/task/" + std::to_string(id_) + "/stat").c_str(), "r");
    if (!f) return false;
    char text[256] = {};
    const std::size_t n = std::fread(text, 1, sizeof text - 1, f);
    std::fclose(f);
    const std::string line(text, n);
    const auto paren = line.rfind(") ");
    return paren != std::string::npos && line[paren + 2] == 'S';
  }
  std::atomic<pid_t> id_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

}  // namespace

// --- without a runtime -----------------------------------------------------------------------------------

TEST_CASE("two plain threads talk over every flavour without a runtime") {
  for (const bool single : {false, true}) {
    for (const std::size_t capacity : {0u, 1u, 16u}) {
      const int n = scaled(2000);
      const channel<int> c(capacity, single ? single_options() : channel_options{});
      int next = 0, wrong = 0;
      std::thread reader([&, c] {
        for (const int v : c) wrong += v != next++;
      });
      for (int i = 0; i < n; ++i) CHECK(c.send(i) == send_status::sent);
      c.close();
      reader.join();
      CHECK(next == n);
      CHECK(wrong == 0);
      CHECK(adds_up(c));
    }
  }
}

TEST_CASE("try calls, deadlines and selects of a plain thread without a runtime") {
  const channel<std::unique_ptr<int>> c(1), none;
  auto v = std::make_unique<int>(1);
  CHECK(!c.try_recv());
  CHECK(c.try_send(v) == send_status::sent);
  v = std::make_unique<int>(2);
  CHECK(c.try_send(v) == send_status::full);
  CHECK(c.send_until(std::move(v), 2ms) == send_status::timeout);
  REQUIRE(v);
  CHECK(select(on_send(c, std::move(v), nothing), on_timeout(1ms, nothing)) == 1);
  REQUIRE(v);
  CHECK(select(on_recv(c, [](std::unique_ptr<int> x) { CHECK(*x == 1); }), on_recv(none, nothing)) == 0);
  const auto start = now();
  CHECK(!c.recv_until(2ms));
  CHECK(now() - start >= 2ms);
  CHECK(select(on_recv(c, nothing), on_timeout(2ms, nothing)) == 1);
  CHECK(select(on_recv(c, nothing), otherwise(nothing)) == 1);
  CHECK(in<int>().recv_until(1ms) == std::nullopt);
  CHECK(select(on_recv(in<int>(), nothing), on_timeout(1ms, nothing)) == 1);
  c.close();
  CHECK(!c.recv());
  CHECK(c.send(std::move(v)) == send_status::closed);
  REQUIRE(v);
  CHECK(select(on_recv(c, nothing)) == select_closed);
}

TEST_CASE("plain threads in selects hand on every value once, without a runtime") {
  const int n = scaled(2000);
  const channel<int> a, b(1);
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(2 * n));
  const auto mark = [&](int v) { ++seen[static_cast<std::size_t>(v)]; };
  std::vector<std::thread> all;
  for (int r = 0; r < 2; ++r)
    all.emplace_back([&, a, b] {
      while (select(on_recv(a, mark), on_recv(b, mark)) >= 0) {
      }
    });
  std::atomic<int> senders{2};
  for (int s = 0; s < 2; ++s)
    all.emplace_back([&, a, b, s] {
      for (int i = 0; i < n; ++i)
        CHECK(select(on_send(b, s * n + i, nothing), on_send(a, s * n + i, nothing)) >= 0);
      if (--senders == 0) {
        a.close();
        b.close();
      }
    });
  for (auto& t : all) t.join();
  int wrong = 0;
  for (const auto& times : seen) wrong += times != 1;
  CHECK(wrong == 0);
  CHECK(adds_up(a));
  CHECK(adds_up(b));
}

TEST_CASE("the time that plain threads were blocked is counted without a runtime's clock") {
  const channel<int> c(1);
  const auto start = now();
  (void)c.recv_until(1ms);
  CHECK(c.stats().recv_blocked >= 1ms);
  CHECK(c.stats().recv_blocked <= now() - start);
}

// --- beside a runtime ------------------------------------------------------------------------------------

TEST_CASE("the time that a G was blocked is counted while the whole runtime was asleep") {
  for (const bool single : {false, true}) {
    leat::run(with_procs(1), [&] {
      const keep_alive thread_sends;
      const channel<int> c(1, single ? single_options() : channel_options{});
      whereabouts receiver;
      std::thread outside([&] {
        CHECK(receiver.will_park(sched::wait_reason::receive));
        const auto start = now();
        // Longer than sysmon stays awake beside idle Ps.
        std::this_thread::sleep_for(1300ms);
        const auto slept = now() - start;
        CHECK(c.send(1) == send_status::sent);
        CHECK(c.stats().recv_blocked >= slept);
        CHECK(c.stats().recv_blocked < 1h);
      });
      receiver.here();
      CHECK(c.recv() == 1);
      blocking([&] { outside.join(); });
    });
  }
}

TEST_CASE("a plain thread that waits in a receive is woken by a G, by a close, and by its deadline") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const bool by_select : {false, true}) {
      const auto receive = [by_select](const channel<int>& c, std::optional<int>& v, deadline d) {
        if (!by_select) return c.recv(v, d);
        recv_status s{};
        select(on_recv(c,
                       [&](std::optional<int> x) {
                         v = x;
                         s = x ? recv_status::received : recv_status::closed;
                       }),
               on_timeout(d, [&] { s = recv_status::timeout; }));
        return s;
      };
      const channel<int> c(1, o);
      std::optional<int> v;
      recv_status s{};
      {
        plain_thread t([&, c] { s = receive(c, v, deadline::never()); });
        CHECK(t.will_sleep());
        CHECK(!t.done());
        CHECK(c.send(5) == send_status::sent);
        t.join();
        CHECK(s == recv_status::received);
        CHECK(v == 5);
      }
      {
        plain_thread t([&, c] { s = receive(c, v, 3ms); });
        t.join();
        CHECK(s == recv_status::timeout);
      }
      {
        plain_thread t([&, c] { s = receive(c, v, 1h); });
        CHECK(t.will_sleep());
        c.close();
        t.join();
        CHECK(s == recv_status::closed);
      }
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("a plain thread that waits in a send is woken by a G and by a close, and keeps its value then") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<std::unique_ptr<int>> c(1, o);
    send_status s{};
    std::unique_ptr<int> v;
    std::atomic<int> sent{0};
    plain_thread t([&, c] {
      for (int i = 1; i <= 2; ++i) {
        CHECK(c.send(std::make_unique<int>(i)) == send_status::sent);
        ++sent;
      }
      v = std::make_unique<int>(3);
      s = c.send(std::move(v));
    });
    CHECK(eventually([&] { return sent == 1; }));
    CHECK(t.will_sleep());
    CHECK(sent == 1);
    CHECK(**c.recv() == 1);
    CHECK(eventually([&] { return sent == 2; }));
    CHECK(t.will_sleep());
    CHECK(!t.done());
    c.close();
    t.join();
    CHECK(s == send_status::closed);
    REQUIRE(v);
    CHECK(*v == 3);
    CHECK(**c.recv() == 2);
    CHECK(!c.recv());
    CHECK(adds_up(c));
  });
}

TEST_CASE("a plain thread wakes a waiting G: by a value, by taking one, by a close") {
  at_procs_both_flavours([](const channel_options& o) {
    const keep_alive no_deadlock;
    const channel<int> there(1, o), back(1, o);
    std::thread t([=] {
      for (int i = 0; i < scaled(200); ++i) {
        CHECK(there.send(i) == send_status::sent);
        CHECK(back.recv() == i);
      }
      there.close();
    });
    int next = 0;
    for (const int v : there) {
      CHECK(v == next++);
      CHECK(back.send(v) == send_status::sent);
    }
    CHECK(next == scaled(200));
    blocking([&] { t.join(); });
  });
}

TEST_CASE("plain threads feed and drain a service of Gs: nothing is lost, doubled or reordered") {
  at_procs([] {
    const keep_alive no_deadlock;
    constexpr int threads = 3, gs = 4;
    const int each = scaled(200);
    const channel<std::pair<int, int>> feed(4), result;
    std::atomic<int> feeders{threads}, workers{gs};
    std::vector<std::thread> outside;
    for (int t = 0; t < threads; ++t)
      outside.emplace_back([&, feed, t] {
        for (int i = 0; i < each; ++i) {
          std::pair<int, int> v(t, i);
          switch (i % 4) {  // every way to send
            case 0: CHECK(feed.send(v) == send_status::sent); break;
            case 1:
              while (feed.send_until(v, 100us) != send_status::sent) {
              }
              break;
            case 2: CHECK(select(on_send(feed, v, nothing)) == 0); break;
            case 3:
              while (feed.try_send(v) != send_status::sent) std::this_thread::sleep_for(20us);
              break;
          }
        }
        if (--feeders == 0) feed.close();
      });
    task_group group;
    for (int g = 0; g < gs; ++g)
      group.go([&, feed, result] {
        int last[threads];
        for (int& l : last) l = -1;
        for (const auto& v : feed) {
          CHECK(v.second > last[v.first]);
          last[v.first] = v.second;
          CHECK(result.send(v) == send_status::sent);
        }
        if (--workers == 0) result.close();
      });
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(threads * each));
    const auto mark = [&](const std::pair<int, int>& v) {
      ++seen[static_cast<std::size_t>(v.first * each + v.second)];
    };
    for (int t = 0; t < 2; ++t)
      outside.emplace_back([&, result, t] {
        for (bool open = true; open;) {
          std::optional<std::pair<int, int>> v;
          if (t == 0) {
            open = result.recv(v, 1ms) != recv_status::closed;
            if (v) mark(*v);
          } else {
            open = select(on_recv(result, mark)) != select_closed;
          }
        }
      });
    CHECK(group.wait() == wait_status::done);
    blocking([&] {
      for (auto& t : outside) t.join();
    });
    int wrong = 0;
    for (const auto& times : seen) wrong += times != 1;
    CHECK(wrong == 0);
    CHECK(feed.stats().received == static_cast<std::uint64_t>(threads * each));
    CHECK(result.stats().received == static_cast<std::uint64_t>(threads * each));
    CHECK(adds_up(feed));
    CHECK(adds_up(result));
  });
}

TEST_CASE("a plain thread and a G on the two sides of a single channel, either way round") {
  at_procs([] {
    const keep_alive no_deadlock;
    for (const bool thread_sends : {false, true}) {
      for (const std::size_t capacity : {1u, 8u}) {
        const int n = scaled(1000);
        const channel<int> c(capacity, single_options());
        std::atomic<int> wrong{0}, got{0};
        const auto send_all = [=] {
          for (int i = 0; i < n; ++i) c.send(i);
          c.close();
        };
        const auto receive_all = [&, c] {
          for (const int v : c) wrong += v != got++;
        };
        if (thread_sends) {
          std::thread t(send_all);
          receive_all();
          blocking([&] { t.join(); });
        } else {
          std::thread t(receive_all);
          send_all();
          blocking([&] { t.join(); });
        }
        CHECK(got == n);
        CHECK(wrong == 0);
        CHECK(adds_up(c));
      }
    }
  });
}

TEST_CASE("a channel outlives its runtime, and a thread goes on with what a G left in it") {
  const channel<int> c(4);
  CHECK(c.send(1) == send_status::sent);
  run_clean(with_procs(2), [&] {
    CHECK(c.recv() == 1);
    CHECK(c.send(2) == send_status::sent);
  });
  CHECK(c.recv() == 2);
  CHECK(c.send(3) == send_status::sent);
  run_clean(with_procs(1), [&] { CHECK(c.recv() == 3); });
  CHECK(adds_up(c));
}

TEST_CASE("a plain thread may wait in a channel while runtimes come and go") {
  const channel<int> c, done;
  int sum = 0;
  std::thread t([&, c] {
    for (const int v : c) sum += v;
  });
  for (int i = 1; i <= 20; ++i)
    run_clean(with_procs(2), [&] {
      const keep_alive no_deadlock;
      CHECK(c.send(i) == send_status::sent);
    });
  c.close();
  t.join();
  CHECK(sum == 210);
}
