// SPDX-License-Identifier: BSL-1.0
//
// What a process hands from one incarnation to the next:
//
//   class meter : public leat::process {
//     leat::state<totals> sum{this, "sum"};
//     void run() override {
//       totals t = sum.load();                      // default-constructed at first
//       for (sample s : raw) { t.add(s); sum.save(t); }
//     }
//   };
//
// load() gives the value that was saved last, as a whole: a save that was cut short, because its process was
// quarantined in the middle of it, never happened. Each replica has its own. It lives as long as the service;
// a process made in plain code, without a store, keeps its own.
//
// Of a trivially copyable T there are two, and a number says which one counts; it changes after the other has
// been written. Any other T is copied to the heap, and a pointer changes; what a save that was cut short has
// begun is never touched again, since nobody can tell what it is.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leat/process/process.hpp>

namespace leat {

namespace states {

// One thread at a time: an incarnation uses it, and when that is out, the next.
class box_base {
 public:
  explicit box_base(const void* type) noexcept : type_(type) {}
  virtual ~box_base() = default;
  box_base(const box_base&) = delete;
  box_base& operator=(const box_base&) = delete;
  const void* type() const noexcept { return type_; }

 private:
  const void* const type_;
};

template <class T>
inline constexpr char type_mark = 0;

template <class T, bool Trivial = std::is_trivially_copyable_v<T>>
class box final : public box_base {
 public:
  box() : box_base(&type_mark<T>) {}
  T load() const { return values_[current_.load(std::memory_order_acquire)]; }
  void save(const T& v) {
    const unsigned other = 1 - current_.load(std::memory_order_relaxed);
    values_[other] = v;
    current_.store(other, std::memory_order_release);  // the value is whole; pairs with load
  }

 private:
  T values_[2] = {T(), T()};
  std::atomic<unsigned> current_{0};
};

template <class T>
class box<T, false> final : public box_base {
 public:
  box() : box_base(&type_mark<T>), current_(new T()) {}
  ~box() override { delete current_.load(std::memory_order_acquire); }
  T load() const { return *current_.load(std::memory_order_acquire); }
  void save(T v) {
    T* const made = new T(std::move(v));
    delete current_.exchange(made, std::memory_order_acq_rel);  // pairs with load
  }

 private:
  std::atomic<T*> current_;
};

}  // namespace states

// The states of one process, or of one replica of it.
class state_store {
 public:
  // By name; made at the first use. Throws wiring_error if it is there with another type.
  std::shared_ptr<states::box_base> find(std::string_view name, const void* type,
                                         std::shared_ptr<states::box_base> (*make)());

 private:
  std::vector<std::pair<std::string, std::shared_ptr<states::box_base>>> boxes_;  // few
};

template <class T>
class state {
  static_assert(std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>,
                "a state is default-constructed at first, and copied");

 public:
  state(process* owner, std::string_view name) {
    constexpr auto make = []() -> std::shared_ptr<states::box_base> {
      return std::make_shared<states::box<T>>();
    };
    state_store* const kept = owner->states();
    box_ = std::static_pointer_cast<states::box<T>>(kept ? kept->find(name, &states::type_mark<T>, make)
                                                         : make());
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  T load() const { return box_->load(); }
  void save(T v) { box_->save(std::move(v)); }

 private:
  std::shared_ptr<states::box<T>> box_;
};

}  // namespace leat
