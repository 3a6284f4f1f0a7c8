// SPDX-License-Identifier: BSL-1.0
// A kind of channel that the framework does not know, used in all ways in which a channel can be: what
// framework/leat/csp/channel_base.hpp asks of a kind is enough. It is also the model for a new one.
#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leat/csp/composite.hpp>
#include <leat/csp/gate.hpp>

#include "csp/fixture.hpp"
#include "csp/start_waiting.hpp"
#include "sched/hang_guard.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

// Hands out the greatest of the values that it has. Holds at least one; who finds no room waits.
//
// Invariants, whenever the lock is free, those apart who have been claimed elsewhere:
//   receivers_ not empty  =>  there is no value
//   senders_ not empty    =>  there is no room
//   closed_               =>  nobody waits
// A select that sends here what it receives here itself keeps to them: with a value or room for one of its
// cases, it does not wait.
template <class T>
class greatest_first final : public csp::channel_base {
  static_assert(csp::kept_inline<T>, "values are moved under the lock");

 public:
  explicit greatest_first(std::size_t capacity)
      : channel_base(std::max<std::size_t>(capacity, 1), {.name = "greatest first"}) {
    values_.reserve(capacity_);
  }

  std::size_t size() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(lock_);
    return values_.size();
  }
  bool is_closed() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(lock_);
    return closed_;
  }
  channel_stats stats() const noexcept override {
    const sched::unbroken_look unbroken;
    lock_guard hold(lock_);
    channel_stats s;
    s.sent = received_ + values_.size();
    s.received = received_;
    s.left = values_.size();
    return s;
  }
  void close() noexcept override {
    bool twice = false;
    {
      const csp::entered in;
      csp::waiter_list woken;
      {
        lock_guard hold(lock_);
        twice = std::exchange(closed_, true);
        claim_all(receivers_, csp::ending::closed, woken);
        claim_all(senders_, csp::ending::closed, woken);
      }
      wake_all(in.m, woken);
    }
    if (twice) report_closed_twice();
  }

  csp::ending try_case(csp::entered& in, csp::op_case& c) noexcept override { return go(in, c, nullptr); }
  csp::ending enroll(csp::entered& in, csp::op_case& c, csp::wait& me) noexcept override {
    return go(in, c, &me);
  }
  void withdraw(csp::op_case& c) noexcept override {
    lock_guard hold(lock_);
    if (csp::waiter_list::linked(&c.entry)) (c.kind == csp::op::recv ? receivers_ : senders_).unlink(c.entry);
  }

 private:
  csp::ending go(csp::entered& in, csp::op_case& c, csp::wait* me) noexcept {
    csp::waiter* other = nullptr;
    bool wake_it = false;
    {
      lock_guard hold(lock_);
      const bool receives = c.kind == csp::op::recv;
      const bool ready = receives ? !values_.empty() : !closed_ && values_.size() < capacity_;
      if (!ready) {
        if (closed_) return csp::ending::closed;
        if (me) (receives ? receivers_ : senders_).link(c.entry);
        return csp::ending::pending;
      }
      if (me && me->try_claim(c.entry.index) == csp::wait::claimed::lost) return csp::ending::lost;
      other = receives ? take_locked(*static_cast<std::optional<T>*>(c.slot), wake_it)
                       : put_locked(*static_cast<T*>(c.slot), wake_it);
    }
    if (other && wake_it) other->who->wake(in.m);
    return csp::ending::done;
  }

  // Both: who was served on the way.
  csp::waiter* put_locked(T& v, bool& wake_it) noexcept LEAT_REQUIRES(lock_) {
    csp::waiter* const receiver = claim_first(receivers_, wake_it);
    if (!receiver) {
      push_locked(v);
      return nullptr;
    }
    static_cast<std::optional<T>*>(receiver->slot)->emplace(std::move(v));
    ++received_;
    return receiver;
  }
  csp::waiter* take_locked(std::optional<T>& to, bool& wake_it) noexcept LEAT_REQUIRES(lock_) {
    std::pop_heap(values_.begin(), values_.end());
    to.emplace(std::move(values_.back()));
    values_.pop_back();
    ++received_;
    csp::waiter* const sender = claim_first(senders_, wake_it);
    if (!sender) return nullptr;
    push_locked(*static_cast<T*>(sender->slot));
    return sender;
  }
  void push_locked(T& v) noexcept LEAT_REQUIRES(lock_) {
    values_.push_back(std::move(v));
    std::push_heap(values_.begin(), values_.end());
  }

  mutable ranked_spinlock lock_{lock_rank::channel, "greatest first"};
  std::vector<T> values_ LEAT_GUARDED_BY(lock_);  // a heap, with room for all
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  csp::wait_queue receivers_ LEAT_GUARDED_BY(lock_);
  csp::wait_queue senders_ LEAT_GUARDED_BY(lock_);
  std::uint64_t received_ LEAT_GUARDED_BY(lock_) = 0;
};

template <class T = int>
struct both_ends {
  explicit both_ends(std::size_t capacity) : both_ends(share(new greatest_first<T>(capacity))) {}
  in<T> from;
  out<T> to;

  csp::ref<csp::channel_base> shared() const {
    from.base()->add_ref();
    return csp::ref<csp::channel_base>(from.base());
  }

 private:
  using shared_base = csp::ref<csp::channel_base>;
  explicit both_ends(const shared_base& c) : from(c), to(c) {}
  static shared_base share(csp::channel_base* c) { return shared_base(c); }
};

csp::ref<csp::channel_base> shared(const channel<int>& c) {
  c.base()->add_ref();
  return csp::ref<csp::channel_base>(c.base());
}

}  // namespace

TEST_CASE("a new kind is sent to and received from, tried and closed like any other") {
  at_procs([] {
    const both_ends<> c(3);
    for (const int v : {2, 9, 4}) CHECK(c.to.send(v) == send_status::sent);
    CHECK(c.to.try_send(7) == send_status::full);
    CHECK(c.from.size() == 3);
    CHECK(c.from.recv() == 9);
    CHECK(c.to.try_send(7) == send_status::sent);
    CHECK(c.from.recv() == 7);
    CHECK(c.from.try_recv() == 4);
    CHECK(c.from.recv() == 2);
    std::optional<int> v;
    CHECK(c.from.try_recv(v) == recv_status::empty);
    CHECK(c.to.send(5) == send_status::sent);
    c.to.close();
    CHECK(c.to.closed());
    CHECK(c.to.send(6) == send_status::closed);
    CHECK(c.from.recv(v) == recv_status::received);
    CHECK(v == 5);
    CHECK(c.from.recv(v) == recv_status::closed);
    CHECK(c.from.try_recv(v) == recv_status::closed);
    CHECK(c.from.flavour() == flavour::other);
    CHECK(adds_up(c.from));
  });
}

TEST_CASE("a send that fails on a new kind leaves the value where it was") {
  run_clean(with_procs(1), [] {
    const both_ends<std::string> c(1);
    std::string kept = "a text that is longer than what fits into a string itself";
    const std::string before = kept;
    CHECK(c.to.send("first") == send_status::sent);
    CHECK(c.to.try_send(kept) == send_status::full);
    CHECK(c.to.send_until(std::move(kept), 1ms) == send_status::timeout);
    CHECK(select(on_send(c.to, std::ref(kept), [] {}), otherwise([] {})) == 1);
    CHECK(kept == before);
    CHECK(c.from.recv() == "first");
    CHECK(select(on_send(c.to, std::ref(kept), [] {}), otherwise([] {})) == 0);
    CHECK(c.from.recv() == before);
  });
}

TEST_CASE("who waits at a new kind is served, timed out, stopped and told of a close") {
  at_procs([] {
    const both_ends<> c(1);
    std::optional<int> none;
    CHECK(c.from.recv(none, 1ms) == recv_status::timeout);
    std::optional<int> got;
    auto receives = start_waiting([&] { got = c.from.recv(); });
    CHECK(c.to.send(3) == send_status::sent);
    receives.get();
    CHECK(got == 3);

    CHECK(c.to.send(1) == send_status::sent);
    CHECK(c.to.send_until(2, 1ms) == send_status::timeout);
    auto sends = start_waiting([&] { CHECK(c.to.send(2) == send_status::sent); });
    CHECK(c.from.recv() == 1);
    sends.get();
    CHECK(c.from.recv_until(1h) == 2);

    CHECK(stopped_in(sched::wait_reason::select, [&] { return c.from.recv(none); }) == recv_status::stopped);
    CHECK(c.to.send(1) == send_status::sent);
    CHECK(stopped_in(sched::wait_reason::select, [&] { return c.to.send(2); }) == send_status::stopped);
    auto refused = start_waiting([&] { CHECK(c.to.send(2) == send_status::closed); });
    c.to.close();
    refused.get();
    CHECK(c.from.recv() == 1);
    const both_ends<> empty(1);
    auto told = start_waiting([&] { CHECK_FALSE(empty.from.recv()); });
    empty.to.close();
    told.get();
  });
}

TEST_CASE("a new kind takes part in select, beside all others") {
  at_procs([] {
    const both_ends<> c(1);
    const channel<int> general(1), ring(1, single_options());
    const ticker beat(1h);
    int got = 0;
    const auto take = [&](int v) { got = v; };
    const auto once = [&] {
      return select(on_recv(general, take), on_recv(c.from, take), on_recv(beat, [] {}));
    };
    CHECK(c.to.send(1) == send_status::sent);
    CHECK(once() == 1);
    CHECK(got == 1);
    auto t = start_waiting([&] { CHECK(once() == 1); });
    CHECK(c.to.send(2) == send_status::sent);
    t.get();
    CHECK(got == 2);
    auto other = start_waiting(
        [&] { CHECK(select(on_recv(c.from, take), on_recv(ring, take), on_recv(general, take)) == 1); });
    CHECK(ring.send(3) == send_status::sent);
    other.get();
    CHECK(got == 3);
    CHECK(c.from.size() == 0);

    CHECK(select(on_send(c.to, 4, [] {}), otherwise([] {})) == 0);
    CHECK(select(on_send(c.to, 5, [] {}), otherwise([] {})) == 1);
    CHECK(select(on_send(c.to, 5, [] {}), on_timeout(1ms, [] {})) == 1);
    auto sends = start_waiting([&] { CHECK(select(on_send(c.to, 5, [] {}), on_recv(general, take)) == 0); });
    CHECK(c.from.recv() == 4);
    sends.get();
    CHECK(c.from.recv() == 5);

    // What it sends here is not what it receives here.
    auto both = start_waiting([&] {
      const int first = select(on_recv(c.from, take), on_recv(general, take));
      CHECK(first == 0);
    });
    CHECK(select(on_recv(c.from, take), on_send(c.to, 6, [] {})) == 1);
    both.get();
    CHECK(got == 6);

    bool closed = false;
    auto told = start_waiting(
        [&] { CHECK(select(on_recv(c.from, [&](std::optional<int> v) { closed = !v; })) == 0); });
    c.to.close();
    told.get();
    CHECK(closed);
    CHECK(select(on_recv(c.from, take)) == select_closed);
    std::optional<send_status> s;
    CHECK(select(on_send(c.to, 1, [&](send_status how) { s = how; })) == 0);
    CHECK(s == send_status::closed);
  });
}

TEST_CASE("a new kind is merged, sent to by a fan, and looked at by a gate") {
  at_procs([] {
    const both_ends<> c(2);
    const channel<int> plain(2);
    const in<int> merged(csp::merge({c.shared(), shared(plain)}));
    const out<int> fan(csp::fan_out({c.shared(), shared(plain)}, csp::copier_of<int>));
    CHECK(fan.send(1) == send_status::sent);
    CHECK(merged.recv() == 1);
    CHECK(merged.recv() == 1);
    auto waits = start_waiting([&] { CHECK(merged.recv() == 2); });
    CHECK(c.to.send(2) == send_status::sent);
    waits.get();
    CHECK(select(on_send(fan, 3, [] {})) == 0);
    CHECK(c.from.recv() == 3);
    CHECK(plain.recv() == 3);

    const auto record = std::make_shared<csp::gate_record>();
    const in<int> gated(csp::gate_in(c.shared(), record));
    auto looks = start_waiting([&] { CHECK(select(on_recv(gated, [](int v) { CHECK(v == 4); })) == 0); });
    CHECK(c.to.send(4) == send_status::sent);
    looks.get();
    CHECK(record->passed == 1);
  });
}

// The inlined kinds are not called by it, but whoever has no type can.
TEST_CASE("the inlined kinds answer to the interface like all others") {
  at_procs([] {
    const channel<int> general(1), ring(1, single_options());
    for (csp::channel_base* const c : {general.base(), ring.base()}) {
      int v = 7;
      std::optional<int> to;
      CHECK(c->recv(&to, csp::at_once) == recv_status::empty);
      CHECK(c->send(&v, csp::forever) == send_status::sent);
      CHECK(c->send(&v, csp::at_once) == send_status::full);
      CHECK(c->recv(&to, csp::forever) == recv_status::received);
      CHECK(to == 7);
    }
  });
}

TEST_CASE("a storm at a new kind, by all calls at once, loses nothing") {
  at_procs([] {
    constexpr int writers = 3, readers = 3;
    const int each = scaled(3000);
    const both_ends<> c(2);
    const channel<int> other(1);
    std::atomic<std::int64_t> sent{0}, received{0};
    task_group writing, reading;
    for (int w = 0; w < writers; ++w)
      writing.go([&, w] {
        random_numbers random(static_cast<std::uint64_t>(w) + 1);
        for (int i = 1; i <= each; ++i) {
          bool done = false;
          while (!done) switch (random.below(4)) {
              case 0: done = c.to.try_send(i) == send_status::sent; break;
              case 1:
                done = c.to.send_until(i, nanoseconds(random.below(20'000))) == send_status::sent;
                break;
              case 2:
                done =
                    select(on_send(c.to, i, [] {}), on_recv(other, [](int) {}), on_timeout(20us, [] {})) == 0;
                break;
              default: done = c.to.send(i) == send_status::sent; break;
            }
          sent += i;
        }
      });
    for (int r = 0; r < readers; ++r)
      reading.go([&, r] {
        random_numbers random(static_cast<std::uint64_t>(r) + 100);
        for (bool more = true; more;) {
          std::optional<int> v;
          recv_status s = recv_status::empty;
          switch (random.below(4)) {
            case 0: s = c.from.try_recv(v); break;
            case 1: s = c.from.recv(v, nanoseconds(random.below(20'000))); break;
            case 2:
              (void)select(on_recv(c.from,
                                   [&](std::optional<int> got) {
                                     v = got;
                                     if (!got) s = recv_status::closed;
                                   }),
                           on_send(other, 1, [] {}), on_timeout(20us, [] {}));
              break;
            default: s = c.from.recv(v); break;
          }
          if (v) received += *v;
          more = s != recv_status::closed;
        }
      });
    writing.wait();
    c.to.close();
    reading.wait();
    CHECK(sent == std::int64_t{writers} * each * (each + 1) / 2);
    CHECK(received == sent);
    CHECK(adds_up(c.from));
  });
}
