// SPDX-License-Identifier: BSL-1.0
#include <leat/base/list.hpp>

#include <doctest/doctest.h>
#include <signal.h>

#include <deque>
#include <random>
#include <type_traits>
#include <vector>

#include "support/child.hpp"

using leat::test::child_result;
using leat::test::run_self;

namespace {

struct item {
  explicit item(int v = 0) : value(v) {}
  virtual ~item() = default;  // so that the links are not at offset zero
  int value;
  leat::list_node links;
  leat::list_node other_links;
  item* next = nullptr;
};

using item_list = leat::list<item, &item::links>;
using other_list = leat::list<item, &item::other_links>;
using item_queue = leat::queue<item, &item::next>;
using item_stack = leat::stack_list<item, &item::next>;

template <class List>
std::vector<int> values(const List& items) {
  std::vector<int> result;
  for (const item& i : items) result.push_back(i.value);
  return result;
}

template <class List>
void drain(List& items) {
  while (items.pop_front()) {
  }
}

using ints = std::vector<int>;

}  // namespace

static_assert(!std::is_copy_constructible_v<item_list> && std::is_nothrow_move_constructible_v<item_list>);
static_assert(!std::is_copy_constructible_v<item_queue> && std::is_nothrow_move_constructible_v<item_queue>);
static_assert(!std::is_copy_constructible_v<item_stack> && std::is_nothrow_move_constructible_v<item_stack>);
static_assert(!std::is_copy_assignable_v<item_list> && !std::is_copy_assignable_v<item_queue>);

TEST_CASE("a list keeps the order of its pushes at both ends") {
  item a(1), b(2), c(3);
  item_list items;
  CHECK(items.empty());
  CHECK(items.front() == nullptr);
  CHECK(items.back() == nullptr);
  CHECK(items.pop_front() == nullptr);
  items.push_back(&b);
  items.push_back(&c);
  items.push_front(&a);
  CHECK(values(items) == ints{1, 2, 3});
  CHECK(items.size() == 3);
  CHECK(items.front() == &a);
  CHECK(items.back() == &c);
  CHECK(items.pop_front() == &a);
  CHECK_FALSE(item_list::linked(&a));
  CHECK(item_list::linked(&b));
  drain(items);
}

TEST_CASE("the only item of a list counts as linked, and leaves as unlinked") {
  item a(1);
  item_list items;
  items.push_back(&a);
  CHECK(item_list::linked(&a));
  items.remove(&a);
  CHECK_FALSE(item_list::linked(&a));
  CHECK(a.links.prev == nullptr);
  CHECK(a.links.next == nullptr);
  CHECK(items.empty());
}

TEST_CASE("an item leaves a list from the front, the middle and the back") {
  for (int victim = 1; victim <= 3; ++victim) {
    item all[] = {item(1), item(2), item(3)};
    item_list items;
    for (item& i : all) items.push_back(&i);
    items.remove(&all[victim - 1]);
    ints expected;
    for (int v = 1; v <= 3; ++v)
      if (v != victim) expected.push_back(v);
    CHECK(values(items) == expected);
    items.push_back(&all[victim - 1]);
    CHECK(items.back() == &all[victim - 1]);
    drain(items);
  }
}

TEST_CASE("an item can be in two lists by two nodes") {
  item a(1), b(2);
  item_list one;
  other_list two;
  one.push_back(&a);
  one.push_back(&b);
  two.push_back(&b);
  two.push_back(&a);
  CHECK(values(one) == ints{1, 2});
  CHECK(values(two) == ints{2, 1});
  drain(one);
  drain(two);
}

TEST_CASE("a splice moves all items behind the last and leaves the other list usable") {
  item a(1), b(2), c(3), d(4);
  item_list one, two;
  one.push_back(&a);
  one.splice_back(std::move(two));
  CHECK(values(one) == ints{1});
  two.push_back(&b);
  two.push_back(&c);
  one.splice_back(std::move(two));
  CHECK(values(one) == ints{1, 2, 3});
  CHECK(one.size() == 3);
  CHECK(two.empty());
  two.push_back(&d);
  CHECK(values(two) == ints{4});
  item_list empty;
  empty.splice_back(std::move(one));
  CHECK(values(empty) == ints{1, 2, 3});
  drain(empty);
  drain(two);
}

TEST_CASE("a moved list takes its items along") {
  item a(1), b(2);
  item_list one;
  one.push_back(&a);
  one.push_back(&b);
  item_list two(std::move(one));
  CHECK(one.empty());
  CHECK(values(two) == ints{1, 2});
  one = std::move(two);
  CHECK(two.empty());
  CHECK(one.pop_front() == &a);
  CHECK(one.pop_front() == &b);
  item_list none(std::move(two));
  CHECK(none.empty());
}

TEST_CASE("a list agrees with a deque over random moves") {
  std::mt19937 random(20260);
  std::vector<item> all;
  for (int i = 0; i < 20; ++i) all.emplace_back(i);
  item_list items;
  std::deque<int> model;
  for (int step = 0; step < 20'000; ++step) {
    item& i = all[random() % all.size()];
    if (item_list::linked(&i)) {
      if (random() % 2 != 0) {
        items.remove(&i);
        std::erase(model, i.value);
      } else {
        CHECK(items.pop_front()->value == model.front());
        model.pop_front();
      }
    } else if (random() % 2 != 0) {
      items.push_back(&i);
      model.push_back(i.value);
    } else {
      items.push_front(&i);
      model.push_front(i.value);
    }
    CHECK(items.size() == model.size());
  }
  CHECK(values(items) == ints(model.begin(), model.end()));
  drain(items);
}

TEST_CASE("a queue is first in, first out, and push_front goes first") {
  item a(1), b(2), c(3);
  item_queue items;
  CHECK(items.pop_front() == nullptr);
  items.push_front(&b);
  items.push_back(&c);
  items.push_front(&a);
  CHECK(items.size() == 3);
  CHECK(items.front() == &a);
  CHECK(items.pop_front() == &a);
  CHECK(a.next == nullptr);
  CHECK(items.pop_front() == &b);
  CHECK(items.pop_front() == &c);
  CHECK(items.empty());
  items.push_back(&a);
  CHECK(items.pop_front() == &a);
}

TEST_CASE("queues append, move and clear") {
  item a(1), b(2), c(3), d(4);
  item_queue one, two;
  one.append(std::move(two));
  CHECK(one.empty());
  two.push_back(&a);
  two.push_back(&b);
  one.append(std::move(two));
  CHECK(two.empty());
  CHECK(one.size() == 2);
  two.push_back(&c);
  one.append(std::move(two));
  one.push_back(&d);
  item_queue three(std::move(one));
  CHECK(one.empty());
  CHECK(one.size() == 0);
  CHECK(three.size() == 4);
  for (item* expected : {&a, &b}) CHECK(three.pop_front() == expected);
  one = std::move(three);
  CHECK(one.pop_front() == &c);
  three.push_back(&a);
  three.push_back(&b);
  three.clear();
  CHECK(three.empty());
  CHECK(three.size() == 0);
  three.push_back(&b);
  three.push_back(&a);
  CHECK(three.pop_front() == &b);
}

TEST_CASE("a stack is last in, first out") {
  item a(1), b(2);
  item_stack items;
  CHECK(items.pop() == nullptr);
  items.push(&a);
  items.push(&b);
  CHECK(items.size() == 2);
  CHECK(items.top() == &b);
  item_stack moved(std::move(items));
  CHECK(items.empty());
  CHECK(moved.pop() == &b);
  CHECK(b.next == nullptr);
  CHECK(moved.pop() == &a);
  CHECK(moved.empty());
  CHECK(moved.size() == 0);
}

#if LEAT_DEBUG_CHECKS_ON
LEAT_CHILD(inserts_a_linked_item) {
  item a;
  item_list one, two;
  one.push_back(&a);
  two.push_back(&a);
}
LEAT_CHILD(removes_an_unlinked_item) {
  item a;
  item_list one;
  one.remove(&a);
}
LEAT_CHILD(removes_from_an_empty_list) {
  item a;
  item_list one, two;
  one.push_back(&a);
  two.remove(&a);
}
LEAT_CHILD(destroys_a_list_with_items) {
  item a;
  item_list one;
  one.push_back(&a);
}
LEAT_CHILD(pushes_twice_to_a_queue) {
  item a, b;
  item_queue one;
  one.push_back(&a);
  one.push_back(&b);
  one.push_back(&a);
}
LEAT_CHILD(pushes_the_last_of_a_queue_again) {
  item a;
  item_queue one;
  one.push_back(&a);
  one.push_front(&a);
}
LEAT_CHILD(pushes_twice_to_a_stack) {
  item a;
  item_stack one;
  one.push(&a);
  one.push(&a);
}
LEAT_CHILD(assigns_to_a_queue_with_items) {
  item a;
  item_queue one, two;
  one.push_back(&a);
  one = std::move(two);
}

TEST_CASE("misuse of a list, queue or stack aborts and says what was done") {
  const struct {
    const char* child;
    const char* message;
  } cases[] = {
      {"inserts_a_linked_item", "inserting an item that is in a list already (item=0x"},
      {"removes_an_unlinked_item", "removing an item that is in no list (item=0x"},
      {"removes_from_an_empty_list", "removing an item from an empty list (item=0x"},
      {"destroys_a_list_with_items", "a list died with items in it (size=1)"},
      {"pushes_twice_to_a_queue", "pushing an item that is in a queue already (item=0x"},
      {"pushes_the_last_of_a_queue_again", "pushing an item that is in a queue already (item=0x"},
      {"pushes_twice_to_a_stack", "pushing an item that is in a stack already (item=0x"},
      {"assigns_to_a_queue_with_items", "a queue with items was assigned to (size=1)"},
  };
  for (const auto& c : cases) {
    const child_result result = run_self(c.child);
    CAPTURE(c.child);
    CAPTURE(result.output);
    CHECK(result.died_by(SIGABRT));
    CHECK(result.said(c.message));
  }
}
#endif
