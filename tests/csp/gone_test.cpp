// SPDX-License-Identifier: BSL-1.0
//
// A wait that is over: what was waited at may be gone before the G that waited has run again, and nothing of
// the runtime touches it, whether the G is stopped meanwhile or not.
//
// Most of it is at one P, where the G that has been served runs when main lets it and not before. What a
// channel had in memory is handed to a stranger, who looks whether it stays as it is; other things live in a
// page that nobody may touch afterwards.
#include <sys/mman.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "csp/fixture.hpp"
#include "csp/fragile.hpp"
#include "csp/keyed_fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {

// Pieces of memory as large as a channel, where one was just freed.
class strangers {
 public:
  strangers() {
    for (auto& p : pieces_) p = std::make_unique<piece>();
  }
  bool untouched() const {
    return std::all_of(pieces_.begin(), pieces_.end(), [](const auto& p) {
      return std::all_of(p->begin(), p->end(), [](unsigned char c) { return c == 0; });
    });
  }

 private:
  using piece = std::array<unsigned char, sizeof(csp::many_channel<bool>) + 64>;
  std::array<std::unique_ptr<piece>, 4> pieces_;
};

// A T in a page of its own, which faults on every touch once the T is gone.
template <class T>
class in_a_page {
 public:
  template <class... Args>
  explicit in_a_page(Args&&... args)
      : page_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(page_ != MAP_FAILED);
    thing_ = new (page_) T(std::forward<Args>(args)...);
  }
  ~in_a_page() { ::munmap(page_, 4096); }
  in_a_page(const in_a_page&) = delete;
  in_a_page& operator=(const in_a_page&) = delete;
  T& operator*() const { return *thing_; }
  T* operator->() const { return thing_; }
  void destroy() {
    thing_->~T();
    REQUIRE(::mprotect(page_, 4096, PROT_NONE) == 0);
  }

 private:
  void* page_;
  T* thing_ = nullptr;
};

// One that waits: starts f as a G of the stop source, and sees it parked.
class waiting_one {
 public:
  template <class F>
  waiting_one(const stop_source& stop, wait_reason why, F f) {
    t_ = spawn({.stop = stop}, [this, f] {
      at_.here();
      f();
    });
    CHECK(at_.will_park(why));
  }
  void join() { (void)t_.join(); }

 private:
  whereabouts at_;
  task<void> t_;
};

// `wait` parks at a channel<bool>, `serve` ends that wait; then the channel goes, and a stop comes.
template <class Wait, class Serve>
void at_a_channel(wait_reason why, Wait wait, Serve serve, std::size_t capacity = 0) {
  for (const bool stopped : {true, false}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      auto c = std::make_unique<channel<bool>>(capacity);
      waiting_one g(stop, why, [&wait, end = c.get()] { wait(*end); });
      serve(*c);
      c.reset();
      const strangers where_it_was;
      if (stopped) stop_source(stop).request_stop();
      CHECK(where_it_was.untouched());
      g.join();
      CHECK(where_it_was.untouched());
    });
  }
}

// The same at a T.
template <class T, class Wait, class Serve>
void at_a(wait_reason why, Wait wait, Serve serve, int waiters = 1) {
  for (const bool stopped : {true, false}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      in_a_page<T> thing(0u);
      std::vector<std::unique_ptr<waiting_one>> all;
      for (int i = 0; i < waiters; ++i)
        all.push_back(std::make_unique<waiting_one>(stop, why, [&] { wait(*thing); }));
      serve(*thing);
      thing.destroy();
      if (stopped) stop_source(stop).request_stop();
      for (auto& g : all) g->join();
    });
  }
}

}  // namespace

TEST_CASE("a sender that has been served is not looked for at a channel that is gone") {
  const auto serve = [](const channel<bool>& c) { CHECK(c.recv() == true); };
  at_a_channel(
      wait_reason::send, [](const channel<bool>& c) { CHECK(c.send(true) == send_status::sent); }, serve);
  at_a_channel(
      wait_reason::send, [](const channel<bool>& c) { CHECK(c.send_until(true, 1h) == send_status::sent); },
      serve);
  at_a_channel(
      wait_reason::select, [](const channel<bool>& c) { CHECK(select(on_send(c, true, [] {})) == 0); },
      serve);
}

TEST_CASE("a receiver that has been served is not looked for at a channel that is gone") {
  const auto serve = [](const channel<bool>& c) { CHECK(c.send(true) == send_status::sent); };
  at_a_channel(wait_reason::receive, [](const channel<bool>& c) { CHECK(c.recv() == true); }, serve);
  at_a_channel(wait_reason::receive, [](const channel<bool>& c) { CHECK(c.recv_until(1h) == true); }, serve);
  at_a_channel(
      wait_reason::select, [](const channel<bool>& c) { CHECK(select(on_recv(c, [] {})) == 0); }, serve);
}

TEST_CASE("a receiver that has been told of the close is not looked for at a channel that is gone") {
  const auto close = [](const channel<bool>& c) { c.close(); };
  at_a_channel(wait_reason::receive, [](const channel<bool>& c) { CHECK(c.recv() == std::nullopt); }, close);
  at_a_channel(
      wait_reason::receive, [](const channel<bool>& c) { CHECK(c.recv_until(1h) == std::nullopt); }, close);
  at_a_channel(
      wait_reason::select,
      [](const channel<bool>& c) {
        CHECK(select(on_recv(c, [](std::optional<bool> v) { CHECK(!v); })) == 0);
      },
      close);
}

TEST_CASE("a sender that has been told of the close is not looked for at a channel that is gone") {
  const auto close = [](const channel<bool>& c) { c.close(); };
  at_a_channel(
      wait_reason::send, [](const channel<bool>& c) { CHECK(c.send(true) == send_status::closed); }, close);
}

TEST_CASE("a select that has been served does not go back to its other channels, which are gone") {
  for (const bool stopped : {true, false}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      auto done = std::make_unique<channel<bool>>(), quit = std::make_unique<channel<bool>>();
      int chosen = -1;
      waiting_one g(stop, wait_reason::select,
                    [&] { chosen = select(on_send(*done, true, [] {}), on_recv(*quit, [] {})); });
      CHECK(done->recv() == true);
      done.reset();
      quit.reset();
      const strangers where_they_were;
      if (stopped) stop_source(stop).request_stop();
      g.join();
      CHECK(chosen == 0);
      CHECK(where_they_were.untouched());
    });
  }
}

TEST_CASE("a ring's reader that has been told of the close does not look at the ring again") {
  for (const bool stopped : {true, false}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      auto c = std::make_unique<channel<bool>>(4, single_options());
      waiting_one g(stop, wait_reason::receive, [&] { CHECK(c->recv() == std::nullopt); });
      c->close();
      c.reset();
      if (stopped) stop_source(stop).request_stop();
      g.join();
    });
  }
}

TEST_CASE("one who has got its permit is not looked for at a semaphore that is gone") {
  const auto serve = [](semaphore& s) { s.release(); };
  at_a<semaphore>(
      wait_reason::semaphore, [](semaphore& s) { CHECK(s.acquire() == acquire_status::acquired); }, serve);
  at_a<semaphore>(
      wait_reason::semaphore, [](semaphore& s) { CHECK(s.acquire_for(1h) == acquire_status::acquired); },
      serve);
}

TEST_CASE("those who have waited for a wait_group are not looked for when it is gone") {
  struct counted_group : wait_group {
    explicit counted_group(unsigned) : wait_group(1) {}
  };
  const auto serve = [](counted_group& g) { g.done(); };
  at_a<counted_group>(
      wait_reason::join, [](counted_group& g) { CHECK(g.wait() == wait_status::done); }, serve, 3);
  at_a<counted_group>(
      wait_reason::join, [](counted_group& g) { CHECK(g.wait_for(1h) == wait_status::done); }, serve, 3);
}

TEST_CASE("those who have been notified are not looked for at a condition_variable that is gone") {
  mutex m;
  struct condition : condition_variable {
    explicit condition(unsigned) {}
  };
  const auto wait = [&m](condition& c) {
    std::unique_lock hold(m);
    c.wait(hold);
  };
  at_a<condition>(wait_reason::condition, wait, [](condition& c) { c.notify_all(); }, 3);
  at_a<condition>(wait_reason::condition, wait, [](condition& c) { c.notify_one(); });
}

TEST_CASE("of several whose wait is over, the first to run may destroy what they waited at") {
  constexpr int rounds = scaled(500);
  for (const unsigned procs : {2u, 4u}) {
    run_clean(with_procs(procs), [&] {
      for (int i = 0; i < rounds; ++i) {
        const stop_source stop;
        auto group = std::make_unique<wait_group>(1);
        std::atomic<bool> gone{false};
        std::vector<std::unique_ptr<waiting_one>> all;
        for (int k = 0; k < 3; ++k)
          all.push_back(std::make_unique<waiting_one>(stop, wait_reason::join, [&] {
            if (group->wait() == wait_status::done && !gone.exchange(true)) group.reset();
          }));
        wait_group& counts = *group;
        auto stopper = spawn([stop] { stop_source(stop).request_stop(); });
        counts.done();
        for (auto& g : all) g->join();
        stopper.join();
      }
    });
  }
}

TEST_CASE("a channel may go as soon as its value has been received, while stops come from elsewhere") {
  constexpr int rounds = scaled(4'000);
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [&] {
      for (int i = 0; i < rounds; ++i) {
        const stop_source stop;
        const auto gave_up = std::make_shared<std::atomic<bool>>(false);
        auto stopper = spawn([stop] { stop_source(stop).request_stop(); });
        {
          channel<int> done;
          // By reference: main knows when the channel is not needed any more.
          go({.stop = stop}, [&done, gave_up, how = i % 3] {
            bool sent = false;
            if (how == 0) sent = done.send(1) == send_status::sent;
            if (how == 1) sent = done.send_until(1, 1h) == send_status::sent;
            if (how == 2) sent = select(on_send(done, 1, [] {})) == 0;
            if (!sent) *gave_up = true;
          });
          while (!done.try_recv() && !*gave_up) yield();
        }
        stopper.join();
      }
    });
  }
}

TEST_CASE("a broadcast that is gone is not looked at by a sender whom it has told of its close") {
  for (const bool stopped : {true, false}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      auto c = std::make_unique<channel<bool>>(leat::broadcast, 1);
      auto reader = std::make_unique<in<bool>>(*c);
      CHECK(c->send(true) == send_status::sent);
      waiting_one g(stop, wait_reason::send,
                    [end = c.get()] { CHECK(end->send(true) == send_status::closed); });
      c->close();
      reader.reset();
      c.reset();
      const strangers where_it_was;
      if (stopped) stop_source(stop).request_stop();
      g.join();
      CHECK(where_it_was.untouched());
    });
  }
}

TEST_CASE("a broadcast that is gone is not looked at by a reader that has been served") {
  for (const int readers : {1, 2}) {
    run_clean(undisturbed(1), [&] {
      const stop_source stop;
      auto c = std::make_unique<channel<bool>>(leat::broadcast, 1);
      std::vector<std::unique_ptr<in<bool>>> all;
      for (int i = 0; i < readers; ++i) all.push_back(std::make_unique<in<bool>>(*c));
      waiting_one g(stop, wait_reason::receive, [end = all[0].get()] { CHECK(end->recv() == true); });
      CHECK(c->send(true) == send_status::sent);
      c.reset();
      all.clear();
      const strangers where_it_was;
      g.join();
      CHECK(where_it_was.untouched());
    });
  }
}

TEST_CASE("an after that is gone is not looked at by one whom it has told that it was cancelled") {
  run_clean(undisturbed(1), [&] {
    const stop_source stop;
    auto a = std::make_unique<after>(1h);
    waiting_one g(stop, wait_reason::receive, [end = a.get()] { CHECK_FALSE(end->recv()); });
    CHECK(a->cancel());
    a.reset();
    const strangers where_it_was;
    g.join();
    CHECK(where_it_was.untouched());
  });
}

namespace {

// Its move may throw, and it has a key.
struct fragile_item {
  explicit fragile_item(int v) : value(v) {}
  int key = 0;
  fragile value;
};

// A receiver parks at one of `ends`, is given a value, and they go; then the move to it throws.
template <class Ends, class Send>
void throws_at_the_end(Send send) {
  run_clean(undisturbed(1), [&] {
    const stop_source stop;
    auto all = std::make_unique<Ends>();
    bool threw = false;
    waiting_one g(stop, wait_reason::receive, [&threw, from = &all->from] {
      try {
        (void)from->recv();
      } catch (const fragile::broken&) {
        threw = true;
      }
    });
    send(*all);
    fragile::countdown = 0;
    all.reset();
    const strangers where_it_was;
    g.join();
    fragile::countdown = -1;
    CHECK(threw);
    CHECK(where_it_was.untouched());
  });
  CHECK(fragile::live == 0);
}

}  // namespace

TEST_CASE(
    "a receiver whose value cannot be moved gives it back to a channel that everybody else has let go of") {
  struct plain {
    channel<fragile> from{0};
  };
  throws_at_the_end<plain>([](plain& c) { CHECK(c.from.send(fragile(1)) == send_status::sent); });
  struct all_get {
    channel<fragile> to{broadcast, 4};
    in<fragile> from = to.subscribe(4);
  };
  throws_at_the_end<all_get>([](all_get& c) { CHECK(c.to.send(fragile(1)) == send_status::sent); });
  struct latest {
    latest()
        : latest(csp::ref<csp::channel_base>(new csp::latest_by_key(
              4, {.full = full::latest, .name = "latest"}, std::make_shared<item_key<fragile_item>>(),
              &csp::keep_value<fragile_item>))) {}
    explicit latest(const csp::ref<csp::channel_base>& c) : from(c), to(c) {}
    in<fragile_item> from;
    out<fragile_item> to;
  };
  throws_at_the_end<latest>([](latest& c) { CHECK(c.to.send(fragile_item(1)) == send_status::sent); });
}
