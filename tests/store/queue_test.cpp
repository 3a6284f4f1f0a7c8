// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <leat/store/store_queue.hpp>
#include <random>

using namespace leat;
using namespace leat::store;

namespace {

stored_value* value_of(std::uint64_t size) {
  auto* const v = new stored_value;
  v->size = size;
  v->body.resize(4);
  return v;
}

struct any_value final : csp::kept_value {
  any_value() { ++made; }
  ~any_value() override { --made; }
  const void* value() const noexcept override { return nullptr; }
  void restore(void*) override {}
  void unpack(void*) override {}
  static inline int made = 0;
};

// As the keeper does it with a file that works.
void write(store_queue& q) {
  dead_values dead;
  store_queue::work w = q.take_work(true, dead);
  q.written(w, 0, 0, 0, dead);
}

store_queue::limits small() {
  store_queue::limits l;
  l.max = 100;
  l.buffer = 50;
  l.window = 2;
  l.window_bytes = 0;
  return l;
}

}  // namespace

TEST_CASE("what is dealt with before it is written never gets to the file") {
  store_queue q({}, 0, 0, 0, 0);
  dead_values dead;
  q.put(value_of(10), true, dead);  // to a receiver that waits; its pointer is found again below
  store_queue::work w = q.take_work(true, dead);
  CHECK(w.writes == 1);
  q.failed(w);
  CHECK(q.failing());
  stored_value* const v = value_of(10);
  q.put(v, true, dead);
  q.settle(v, dead);
  w = q.take_work(true, dead);
  CHECK(w.writes == 1);
  stored_value* const first = w.write.front();
  q.written(w, 0, 0, 0, dead);
  CHECK(q.bytes() == 10);
  q.settle(first, dead);
  CHECK(q.bytes() == 0);
  w = q.take_work(true, dead);
  CHECK(w.removes == 1);
  q.written(w, 0, 0, 0, dead);
}

TEST_CASE("a sender waits for room, in all and in memory") {
  store_queue q(small(), 0, 0, 0, 0);
  dead_values dead;
  CHECK(q.room_for(101) == store_queue::room::never);
  q.put(value_of(30), false, dead);
  CHECK(q.room_for(30) == store_queue::room::wait_for_it);  // the buffer
  write(q);
  CHECK(q.room_for(30) == store_queue::room::there_is);
  q.put(value_of(45), false, dead);
  write(q);
  CHECK(q.room_for(30) == store_queue::room::wait_for_it);  // the whole
  stored_value* const v = q.take();
  CHECK(q.room_for(30) == store_queue::room::wait_for_it);  // in hand
  q.settle(v, dead);
  CHECK(q.room_for(30) == store_queue::room::there_is);
}

TEST_CASE("what does not fit into the window is behind, and comes back in order") {
  store_queue q(small(), 0, 0, 0, 0);
  dead_values dead;
  CHECK(q.put(value_of(5), false, dead));
  CHECK(q.put(value_of(5), false, dead));
  CHECK_FALSE(q.put(value_of(5), false, dead));
  CHECK(q.left() == 3);
  CHECK_FALSE(q.wants_to_load());
  stored_value* v = q.take();
  CHECK(v->number == 1);
  q.settle(v, dead);
  // There would be room, but it must not overtake the third.
  CHECK_FALSE(q.put(value_of(5), false, dead));
  CHECK(q.wants_to_load());
  store_queue::work w = q.take_work(true, dead);
  CHECK(w.load_from == 3);
  CHECK(w.load == 1);
  q.written(w, 0, 0, 0, dead);
  read_list rows;
  auto* const third = value_of(5);
  third->number = 3;
  rows.push_back(third);
  q.loaded(rows, 3, 0, 0);
  v = q.take();
  CHECK(v->number == 2);
  q.settle(v, dead);
  v = q.take();
  CHECK(v->number == 3);
  q.settle(v, dead);
  CHECK(q.take() == nullptr);
  CHECK(q.left() == 1);
  CHECK(q.sent() == q.received() + q.dropped() + q.left());
}

TEST_CASE("drop-oldest drops what nobody has received, and never what is in hand") {
  store_queue::limits l = small();
  l.drop_oldest = true;
  l.window = 10;
  store_queue q(l, 0, 0, 0, 0);
  dead_values dead;
  q.put(value_of(40), false, dead);
  stored_value* const v = q.take();
  write(q);
  q.put(value_of(40), false, dead);
  write(q);
  q.put(value_of(40), false, dead);
  CHECK(q.dropped() == 1);
  CHECK(q.bytes() == 80);
  write(q);
  stored_value* const next = q.take();
  CHECK(next->number == 3);
  q.settle(v, dead);
  q.settle(next, dead);
  CHECK(q.bytes() == 0);
}

TEST_CASE("while the file fails, drop-oldest goes on in memory, and block waits") {
  for (const bool drop : {false, true}) {
    store_queue::limits l = small();
    l.drop_oldest = drop;
    l.window = 1;
    store_queue q(l, 0, 0, 0, 0);
    dead_values dead;
    q.put(value_of(20), false, dead);
    q.put(value_of(20), false, dead);
    store_queue::work w = q.take_work(true, dead);
    q.failed(w);
    if (!drop) {
      CHECK(q.room_for(20) == store_queue::room::wait_for_it);
      continue;
    }
    REQUIRE(q.room_for(20) == store_queue::room::there_is);
    q.put(value_of(20), false, dead);
    CHECK(q.dropped() == 1);
    CHECK(q.left() == 2);
    CHECK(q.take() == nullptr);  // the first, which was ready, is gone
    w = q.take_work(true, dead);
    CHECK(w.writes == 2);
    q.written(w, 0, 0, 0, dead);
    CHECK(q.sent() == q.received() + q.dropped() + q.left());
  }
}

TEST_CASE("values that somebody else took out of the file are told, and not waited for") {
  store_queue q(small(), 4, 40, 1, 4);
  dead_values dead;
  CHECK(q.restored() == 4);
  CHECK(q.missing(4) == 4);
  CHECK(q.left() == 0);
  CHECK(q.bytes() == 0);
  CHECK(q.dropped() == 4);
}

// A round of the keeper without writes, while the file fails.
std::size_t decode(store_queue& q) {
  dead_values dead;
  store_queue::work w = q.take_work(false, dead);
  std::size_t n = 0;
  for (stored_value* v = w.decode.front(); v; v = v->next_to_read, ++n)
    v->value = std::make_unique<any_value>();
  q.decoded(w);
  return n;
}

void fail(store_queue& q) {
  dead_values dead;
  store_queue::work w = q.take_work(true, dead);
  q.failed(w);
}

TEST_CASE("while the file fails, what is behind comes from memory, in order") {
  store_queue q(small(), 0, 0, 0, 0);
  dead_values dead;
  for (int i = 0; i < 6; ++i) q.put(value_of(5), false, dead);
  fail(q);
  std::vector<std::uint64_t> got;
  while (got.size() < 6) {
    if (q.wants_to_load()) REQUIRE(decode(q) > 0);
    stored_value* const v = q.take();
    REQUIRE(v);
    got.push_back(v->number);
    q.settle(v, dead);
  }
  CHECK(got == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
  CHECK_FALSE(q.wants_to_load());
  CHECK_FALSE(q.has_unwritten());
  CHECK(q.bytes() == 0);
}

TEST_CASE("a body that cannot be decoded now stays behind, with those after it") {
  store_queue q(small(), 0, 0, 0, 0);
  dead_values dead;
  for (int i = 0; i < 5; ++i) q.put(value_of(5), false, dead);
  fail(q);
  q.settle(q.take(), dead);
  q.settle(q.take(), dead);
  store_queue::work w = q.take_work(false, dead);
  w.decode.front()->value = std::make_unique<any_value>();
  q.decoded(w);
  CHECK(q.left() == 3);
  stored_value* const v = q.take();
  REQUIRE(v);
  CHECK(v->number == 3);
  CHECK(q.take() == nullptr);
  q.settle(v, dead);
  CHECK(decode(q) == 2);
}

TEST_CASE("what a reader let go while the file fails is not taken for one that is behind") {
  store_queue::limits l = small();
  l.drop_oldest = true;
  store_queue q(l, 0, 0, 0, 0);
  dead_values dead;
  q.put(value_of(20), false, dead);
  stored_value* const v = q.take();
  fail(q);
  q.let_go(v, dead);
  q.put(value_of(20), false, dead);
  q.put(value_of(20), false, dead);  // drops the first
  CHECK(q.dropped() == 0);
  CHECK(q.sent() == q.received() + q.dropped() + q.left());
}

TEST_CASE("drop-oldest on a file that fails keeps no nodes of what is gone") {
  store_queue::limits l = small();
  l.drop_oldest = true;
  l.max = 10'000;
  l.window = 1000;
  store_queue q(l, 0, 0, 0, 0);
  dead_values first;
  q.put(value_of(20), false, first);
  write(q);  // the front of the ready stays
  fail(q);
  any_value::made = 0;
  for (int i = 0; i < 10'000; ++i) {
    dead_values dead;
    stored_value* const v = value_of(20);
    v->value = std::make_unique<any_value>();
    q.put(v, false, dead);
  }
  CHECK(any_value::made < 200);
  CHECK(q.sent() == q.received() + q.dropped() + q.left());
  stored_value* const oldest = q.take();
  CHECK(oldest->number == 1);
  q.settle(oldest, first);
}

TEST_CASE("what is to be removed while the file fails is rows of numbers") {
  store_queue::limits l = small();
  l.max = 1 << 20;
  l.buffer = 1 << 20;
  l.window = 1 << 16;
  store_queue q(l, 0, 0, 0, 0);
  dead_values dead;
  constexpr std::uint64_t n = 1000;
  for (std::uint64_t i = 0; i < n; ++i) q.put(value_of(20), false, dead);
  write(q);
  std::vector<stored_value*> hand;
  for (std::uint64_t i = 0; i < n; ++i) hand.push_back(q.take());
  // By two readers, one of them always late; the last but one stays in hand.
  for (std::size_t i = 0; i + 2 < n; i += 2) {
    q.settle(hand[i + 1], dead);
    q.settle(hand[i], dead);
  }
  q.settle(hand[n - 1], dead);
  for (int again = 0; again < 3; ++again) {
    store_queue::work w = q.take_work(true, dead);
    CHECK(w.removes == 2);
    CHECK(w.remove.front()->number == 1);
    CHECK(w.remove.front()->last == n - 2);
    CHECK(w.remove.front()->next_to_read->number == n);
    q.failed(w);
  }
  q.settle(hand[n - 2], dead);
  store_queue::work w = q.take_work(true, dead);
  CHECK(w.removes == 1);
  CHECK(w.remove.front()->last == n);
  q.written(w, 0, 0, 0, dead);
}

TEST_CASE("a value that was dropped in a receiver's hand does not come back to the ready") {
  store_queue::limits l = small();
  l.drop_oldest = true;
  store_queue q(l, 0, 0, 0, 0);
  dead_values dead;
  q.put(value_of(30), false, dead);
  fail(q);
  stored_value* const v = q.take();
  q.put(value_of(30), false, dead);
  q.give_back(v);
  CHECK(q.left() == 1);
  stored_value* const next = q.take();
  REQUIRE(next);
  CHECK(next->number == 2);
  q.settle(next, dead);
  CHECK(q.sent() == q.received() + q.dropped() + q.left());
  CHECK(q.bytes() == 0);
}

TEST_CASE("drop-oldest drops what is ready before what the file alone has") {
  store_queue::limits l = small();
  l.drop_oldest = true;
  l.window = 1;
  store_queue q(l, 3, 60, 1, 3);
  dead_values dead;
  q.put(value_of(30), false, dead);
  q.put(value_of(20), false, dead);  // 110 of 100; nothing is ready yet
  store_queue::work w = q.take_work(false, dead);
  read_list rows;
  auto* const first = value_of(20);
  first->number = 1;
  rows.push_back(first);
  q.loaded(rows, 1, 0, 0);
  w = q.take_work(true, dead);
  CHECK(w.drop_bytes == 0);
  CHECK(w.removes == 1);
  CHECK(w.remove.front()->number == 1);
  CHECK(q.dropped() == 1);
  q.written(w, 0, 0, 0, dead);
}

TEST_CASE("a sender takes a value back, unless a write or a receiver has it") {
  store_queue q(small(), 0, 0, 0, 0);
  dead_values dead;
  std::unique_ptr<csp::kept_value> back;
  for (int i = 0; i < 4; ++i) {
    stored_value* const v = value_of(5);
    v->value = std::make_unique<any_value>();
    q.put(v, false, dead);
  }
  store_queue::work w = q.take_work(true, dead);
  CHECK(q.take_back(4, back, dead) == store_queue::taken::not_now);
  q.failed(w);
  stored_value* const one = q.take();
  CHECK(q.take_back(1, back, dead) == store_queue::taken::too_late);
  CHECK(q.take_back(4, back, dead) == store_queue::taken::back);  // behind
  CHECK(!back);
  CHECK(q.take_back(2, back, dead) == store_queue::taken::back);  // ready
  CHECK(back);
  CHECK(q.left() == 1);
  CHECK(q.sent() == 2);
  CHECK(q.sent() == q.received() + q.dropped() + q.left());
  CHECK(decode(q) == 1);
  stored_value* const three = q.take();
  CHECK(three->number == 3);
  q.settle(three, dead);
  q.settle(one, dead);
  CHECK(q.take_back(1, back, dead) == store_queue::taken::too_late);
}

// Against a plain list.
TEST_CASE("at random, nothing is lost, doubled or out of order") {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random); };
    store_queue::limits l;
    l.max = 400;
    l.buffer = 120;
    l.window = 1 + below(6);
    l.window_bytes = 0;
    store_queue q(l, 0, 0, 0, 0);
    std::vector<std::uint64_t> file, order;
    std::vector<stored_value*> hand;
    dead_values dead;
    for (int step = 0; step < 400; ++step) {
      switch (below(5)) {
        case 0:
        case 1:
          if (q.room_for(20) == store_queue::room::there_is) q.put(value_of(20), false, dead);
          break;
        case 2:
          if (stored_value* const v = q.take()) {
            order.push_back(v->number);
            hand.push_back(v);
          }
          break;
        case 3:
          if (!hand.empty()) {
            const std::size_t i = below(static_cast<unsigned>(hand.size()));
            q.settle(hand[i], dead);
            hand.erase(hand.begin() + static_cast<std::ptrdiff_t>(i));
          }
          break;
        default: {
          store_queue::work w = q.take_work(true, dead);
          if (below(4) == 0) {
            q.failed(w);
            break;
          }
          for (const stored_value* v = w.write.front(); v; v = v->next_to_write) file.push_back(v->number);
          for (const stored_value* v = w.remove.front(); v; v = v->next_to_read)
            std::erase_if(file, [&](std::uint64_t n) { return v->number <= n && n <= v->last; });
          read_list rows;
          std::uint64_t upto = w.load_from - 1;
          std::size_t n = 0;
          for (const std::uint64_t number : file) {
            if (n == w.load || number < w.load_from) continue;
            stored_value* const v = value_of(20);
            v->number = upto = number;
            rows.push_back(v);
            ++n;
          }
          const bool loads = w.load > 0;
          q.written(w, 0, 0, 0, dead);
          if (loads && n > 0) q.loaded(rows, upto, 0, 0);
          if (loads && n == 0) CHECK(q.missing(w.upto) == 0);
          // What is in hand, behind or ready and not in the file is unwritten: nothing else may be missing.
          CHECK(file.size() >= q.left());
        }
      }
      REQUIRE(q.sent() == q.received() + q.dropped() + q.left());
      REQUIRE(q.bytes() == (q.left() + hand.size()) * 20);
    }
    for (std::size_t i = 0; i < order.size(); ++i) REQUIRE(order[i] == i + 1);
    for (stored_value* const v : hand) q.settle(v, dead);
  }
}
