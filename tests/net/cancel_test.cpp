// SPDX-License-Identifier: BSL-1.0
//
// Cancellation at every stage: reads whose deadline or stop comes before, while and after the bytes do.
// Each round sends one message. The read gets it or says that it did not; then another read does. What a
// cancelled read was given to write into is looked at afterwards: nobody may have touched it.
// LEAT_ROUNDS sets how many rounds there are in all.
#include <array>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <cstdlib>
#include <cstring>

#include "core_fixture.hpp"

using namespace leat;
using namespace leat::net::test;
using asio::ip::tcp;

namespace {

constexpr std::uint32_t poison = 0xabadcafeu;

int rounds_in_all() {
  const char* const given = std::getenv("LEAT_ROUNDS");
  return given ? std::atoi(given) : scaled(100'000);
}

// Five kinds of test at three numbers of procs.
int rounds() { return rounds_in_all() / 15 + 1; }

// The far end sends message after message, each some time after it was asked to.
class sender {
 public:
  sender() : at_(net::listen("127.0.0.1:0")), near_(net::dial(at_.local())) {
    g_ = spawn([this, far = at_.accept()]() mutable {
      for (std::uint32_t i = 0; auto delay = asked_.recv(); ++i) {
        spin(*delay);
        far.write({&i, sizeof i});
      }
    });
  }
  ~sender() {
    asked_.close();
    g_.get();
  }
  // Up to `us` microseconds, with others running meanwhile.
  static void spin(int us) {
    if (us < 0) return;
    for (const auto until = now() + std::chrono::microseconds(us); now() < until;) yield();
  }
  void send_after(int us) { asked_.send(us); }
  net::stream take() { return std::move(near_); }

 private:
  net::listener at_;
  net::stream near_;
  channel<int> asked_{1};
  task<void> g_;
};

// Delays in microseconds; -1: at once.
struct plan {
  int bytes, end;
};
plan random_plan(random_numbers& random) {
  const auto some = [&] { return random.one_in(6) ? -1 : static_cast<int>(random.below(60)); };
  return {some(), some()};
}

// read(buffer, deadline) -> bytes, 0 for a timeout.
template <class Read>
void race_with_deadlines(Read read, sender& from, random_numbers& random, hang_guard& guard) {
  rounds_of all(rounds());
  for (std::uint32_t i = 0; all.more(); ++i) {
    const plan p = random_plan(random);
    std::array<std::uint32_t, 4> got{poison, poison, poison, poison};
    from.send_after(p.bytes);
    const std::size_t n = read(got, deadline(std::chrono::microseconds(p.end)));
    std::uint32_t message = got[0];
    if (n == 0) {
      message = poison;
      CHECK(read(message, deadline::never()) == sizeof message);
      CHECK(got[0] == poison);
    } else {
      CHECK(n == sizeof message);
    }
    CHECK(message == i);
    CHECK((got[1] == poison && got[2] == poison && got[3] == poison));
    guard.progress();
  }
}

template <class Read>
void race_with_stops(Read read, sender& from, random_numbers& random, hang_guard& guard) {
  rounds_of all(rounds());
  for (std::uint32_t i = 0; all.more(); ++i) {
    const plan p = random_plan(random);
    std::array<std::uint32_t, 4> got{poison, poison, poison, poison};
    from.send_after(p.bytes);
    auto t = spawn([&] { return read(got, deadline::never()); });
    sender::spin(p.end);
    t.request_stop();
    const std::size_t n = t.get();
    std::uint32_t message = got[0];
    if (n == 0) {
      message = poison;
      CHECK(read(message, deadline::never()) == sizeof message);
      CHECK(got[0] == poison);
    } else {
      CHECK(n == sizeof message);
    }
    CHECK(message == i);
    CHECK((got[1] == poison && got[2] == poison && got[3] == poison));
    guard.progress();
  }
}

template <class T>
net::mutable_bytes bytes_of(T& t) {
  return {&t, sizeof t};
}

struct stream_reader {
  net::stream s;
  template <class T>
  std::size_t operator()(T& into, deadline until) {
    std::error_code ec;
    const std::size_t n = s.read_some(bytes_of(into), ec, until);
    const bool expected = !ec || ec == std::errc::timed_out || ec == std::errc::operation_canceled;
    CHECK(expected);
    CHECK((n == 0) == static_cast<bool>(ec));
    return n;
  }
};

struct asio_reader {
  tcp::socket s;
  template <class T>
  std::size_t operator()(T& into, deadline until) {
    const auto [ec, n] = s.async_read_some(asio::buffer(&into, sizeof into), await_tuple(until));
    const bool expected = !ec || ec == asio::error::timed_out || ec == asio::error::operation_aborted;
    CHECK(expected);
    CHECK((n == 0) == static_cast<bool>(ec));
    return n;
  }
};

tcp::socket as_asio(net::stream s) { return {io(), tcp::v4(), s.release()}; }

template <class F>
void race(const char* what, F body) {
  const std::uint64_t seed = seed_for(what);
  at_procs([&] {
    random_numbers random(seed);
    hang_guard guard(what, seed, 5s * slow_build);
    sender from;
    body(from, random, guard);
  });
}

}  // namespace

TEST_CASE("a stream's read and its deadline: the bytes are told or left, never both" *
          doctest::timeout(600)) {
  race("stream and deadline", [](sender& from, random_numbers& random, hang_guard& guard) {
    race_with_deadlines(stream_reader{from.take()}, from, random, guard);
  });
}

TEST_CASE("a stream's read and a stop: the bytes are told or left, never both" * doctest::timeout(600)) {
  race("stream and stop", [](sender& from, random_numbers& random, hang_guard& guard) {
    stream_reader reader{from.take()};
    race_with_stops([&](auto& into, deadline until) { return reader(into, until); }, from, random, guard);
  });
}

TEST_CASE("an awaited read and its deadline: the bytes are told or left, never both" *
          doctest::timeout(600)) {
  race("await and deadline", [](sender& from, random_numbers& random, hang_guard& guard) {
    race_with_deadlines(asio_reader{as_asio(from.take())}, from, random, guard);
  });
}

TEST_CASE("an awaited read and a stop: the bytes are told or left, never both" * doctest::timeout(600)) {
  race("await and stop", [](sender& from, random_numbers& random, hang_guard& guard) {
    asio_reader reader{as_asio(from.take())};
    race_with_stops([&](auto& into, deadline until) { return reader(into, until); }, from, random, guard);
  });
}

TEST_CASE("a composed read and its deadline: what it got before is told" * doctest::timeout(600)) {
  race("composed and deadline", [](sender& from, random_numbers& random, hang_guard& guard) {
    tcp::socket s = as_asio(from.take());
    // The message in two halves of two bytes: steps of the operation lie between them.
    std::uint32_t expected = 0;
    std::array<unsigned char, 4> message{};
    for (rounds_of all(rounds()); all.more();) {
      const plan p = random_plan(random);
      from.send_after(p.bytes);
      message.fill(0xee);
      std::array<asio::mutable_buffer, 2> halves{asio::buffer(message.data(), 1),
                                                 asio::buffer(message.data() + 1, 3)};
      const auto [ec, n] =
          asio::async_read(s, halves, await_tuple(deadline(std::chrono::microseconds(p.end))));
      CHECK((!ec || ec == asio::error::timed_out));
      CHECK(!ec == (n == 4));
      for (std::size_t k = n; k < 4; ++k) CHECK(message[k] == 0xee);
      if (n < 4) (void)asio::async_read(s, asio::buffer(message.data() + n, 4 - n), await);
      std::uint32_t got = 0;
      std::memcpy(&got, message.data(), 4);
      CHECK(got == expected++);
      guard.progress();
    }
  });
}

TEST_CASE("a timer and its deadline at the same moment") {
  at_procs([] {
    for (rounds_of all(scaled(2000)); all.more();) {
      asio::steady_timer t(io(), 20us);
      const auto [ec] = t.async_wait(await_tuple(20us));
      CHECK((!ec || ec == asio::error::timed_out));
    }
  });
}
