// SPDX-License-Identifier: BSL-1.0
// Intrusive containers: the links live in the items, nothing allocates, nothing is owned. None of
// them locks; who may call is the affair of whoever holds the container.
#pragma once

#include <bit>
#include <cstddef>
#include <iterator>
#include <utility>

#include <leat/base/check.hpp>

namespace leat {

// Both null: in no list. A list is a ring through its own node, so the only item of a list is linked too.
struct list_node {
  list_node* prev = nullptr;
  list_node* next = nullptr;

  bool linked() const noexcept { return next != nullptr; }
};

// Doubly linked. An item leaves from any place in constant time.
template <class T, list_node T::* Node>
class list {
 public:
  // Advance before you remove the item under the iterator.
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;
    explicit iterator(list_node* at) noexcept : at_(at) {}
    T& operator*() const noexcept { return *item_of(at_); }
    T* operator->() const noexcept { return item_of(at_); }
    iterator& operator++() noexcept {
      at_ = at_->next;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      at_ = at_->next;
      return before;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    list_node* at_ = nullptr;
  };

  list() noexcept { reset(); }
  list(list&& other) noexcept {
    reset();
    splice_back(std::move(other));
  }
  // The list that is assigned to must be empty: its items would be left in no list, but linked.
  list& operator=(list&& other) noexcept {
    if (this != &other) {
      LEAT_DCHECK(empty(), "a list with items was assigned to", "size", size());
      splice_back(std::move(other));
    }
    return *this;
  }
  ~list() { LEAT_DCHECK(empty(), "a list died with items in it", "size", size()); }

  bool empty() const noexcept { return head_.next == &head_; }
  // Walks through all of it.
  std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const list_node* at = head_.next; at != &head_; at = at->next) ++n;
    return n;
  }
  T* front() const noexcept { return empty() ? nullptr : item_of(head_.next); }
  T* back() const noexcept { return empty() ? nullptr : item_of(head_.prev); }
  static bool linked(const T* item) noexcept { return (item->*Node).linked(); }

  void push_front(T* item) noexcept { insert_between(&head_, &(item->*Node), head_.next); }
  void push_back(T* item) noexcept { insert_between(head_.prev, &(item->*Node), &head_); }

  // Null when empty.
  T* pop_front() noexcept {
    if (empty()) return nullptr;
    T* item = item_of(head_.next);
    remove(item);
    return item;
  }

  // The item must be in this list; debug builds notice an item in no list, not one in another list.
  void remove(T* item) noexcept {
    list_node& node = item->*Node;
    LEAT_DCHECK(node.next != nullptr && node.prev != nullptr, "removing an item that is in no list", "item",
                static_cast<const void*>(item), "list", static_cast<const void*>(this));
    LEAT_DCHECK(node.next->prev == &node && node.prev->next == &node,
                "the neighbours of an item do not know it", "item", static_cast<const void*>(item), "list",
                static_cast<const void*>(this));
    LEAT_DCHECK(!empty(), "removing an item from an empty list", "item", static_cast<const void*>(item),
                "list", static_cast<const void*>(this));
    node.prev->next = node.next;
    node.next->prev = node.prev;
    node = list_node{};
  }

  // Moves all of other behind the last item.
  void splice_back(list&& other) noexcept {
    LEAT_DCHECK(this != &other, "a list was spliced into itself", "list", static_cast<const void*>(this));
    if (other.empty()) return;
    list_node* first = other.head_.next;
    list_node* last = other.head_.prev;
    first->prev = head_.prev;
    head_.prev->next = first;
    last->next = &head_;
    head_.prev = last;
    other.reset();
  }

  iterator begin() const noexcept { return iterator(head_.next); }
  iterator end() const noexcept { return iterator(const_cast<list_node*>(&head_)); }

 private:
  static T* item_of(list_node* node) noexcept {
    // The Itanium C++ ABI, which all our targets have, represents a pointer to a data member by its offset.
    // NOLINTNEXTLINE(bugprone-sizeof-expression): the size of the member pointer is meant
    static_assert(sizeof(Node) == sizeof(std::ptrdiff_t));
    return reinterpret_cast<T*>(reinterpret_cast<char*>(node) - std::bit_cast<std::ptrdiff_t>(Node));
  }

  void reset() noexcept { head_.prev = head_.next = &head_; }

  void insert_between(list_node* before, list_node* node, list_node* after) noexcept {
    LEAT_DCHECK(node->next == nullptr && node->prev == nullptr, "inserting an item that is in a list already",
                "item", static_cast<const void*>(item_of(node)), "list", static_cast<const void*>(this));
    node->prev = before;
    node->next = after;
    before->next = node;
    after->prev = node;
  }

  list_node head_;
};

// First in, first out, one link per item. An item outside any queue has a null link; debug builds
// check that at each push, though the last item of another queue passes for a free one.
template <class T, T* T::* Next>
class queue {
 public:
  queue() noexcept = default;
  queue(queue&& other) noexcept
      : head_(std::exchange(other.head_, nullptr)),
        tail_(std::exchange(other.tail_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  queue& operator=(queue&& other) noexcept {
    if (this != &other) {
      LEAT_DCHECK(empty(), "a queue with items was assigned to", "size", size_);
      head_ = std::exchange(other.head_, nullptr);
      tail_ = std::exchange(other.tail_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }

  bool empty() const noexcept { return head_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  T* front() const noexcept { return head_; }

  void push_back(T* item) noexcept {
    check_free(item);
    if (tail_) {
      tail_->*Next = item;
    } else {
      head_ = item;
    }
    tail_ = item;
    ++size_;
  }

  void push_front(T* item) noexcept {
    check_free(item);
    item->*Next = head_;
    head_ = item;
    if (!tail_) tail_ = item;
    ++size_;
  }

  // Null when empty.
  T* pop_front() noexcept {
    T* item = head_;
    if (!item) return nullptr;
    head_ = std::exchange(item->*Next, nullptr);
    if (!head_) tail_ = nullptr;
    --size_;
    return item;
  }

  // Moves all of other behind the last item, in constant time.
  void append(queue&& other) noexcept {
    LEAT_DCHECK(this != &other, "a queue was appended to itself", "queue", static_cast<const void*>(this));
    if (other.empty()) return;
    if (tail_) {
      tail_->*Next = other.head_;
    } else {
      head_ = other.head_;
    }
    tail_ = std::exchange(other.tail_, nullptr);
    other.head_ = nullptr;
    size_ += std::exchange(other.size_, 0);
  }

  // Lets go of all items, and unlinks each, so that they may be pushed again.
  void clear() noexcept {
    while (pop_front()) {
    }
  }

 private:
  void check_free(T* item) const noexcept {
    LEAT_DCHECK(item->*Next == nullptr && item != tail_, "pushing an item that is in a queue already", "item",
                static_cast<const void*>(item), "queue", static_cast<const void*>(this), "size", size_);
  }

  T* head_ = nullptr;
  T* tail_ = nullptr;
  std::size_t size_ = 0;
};

// Last in, first out, one link per item.
template <class T, T* T::* Next>
class stack_list {
 public:
  stack_list() noexcept = default;
  stack_list(stack_list&& other) noexcept
      : top_(std::exchange(other.top_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  stack_list& operator=(stack_list&& other) noexcept {
    if (this != &other) {
      LEAT_DCHECK(empty(), "a stack with items was assigned to", "size", size_);
      top_ = std::exchange(other.top_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }

  bool empty() const noexcept { return top_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  T* top() const noexcept { return top_; }

  void push(T* item) noexcept {
    LEAT_DCHECK(item->*Next == nullptr && item != top_, "pushing an item that is in a stack already", "item",
                static_cast<const void*>(item), "stack", static_cast<const void*>(this), "size", size_);
    item->*Next = top_;
    top_ = item;
    ++size_;
  }

  // Null when empty.
  T* pop() noexcept {
    T* item = top_;
    if (!item) return nullptr;
    top_ = std::exchange(item->*Next, nullptr);
    --size_;
    return item;
  }

 private:
  T* top_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace leat
