// SPDX-License-Identifier: BSL-1.0
//
// Where live settings are (live_setting.hpp), and how they are changed while others read them.
//
// Who has what: the cells, with the values, are in a setting_store, which all incarnations and replicas of a
// process share; members of an object only refer to them. So whoever sets needs no object, what was set stays
// when a process is restarted, and it reaches one that hangs as well as the others.
//
// Roles: a setter (set: the host's G or the control door's; several may meet), readers (Gs of the process,
// perhaps several), makers (an incarnation that is constructed adds cells for the first time).
//
// Variables: of the store, under its lock: the list of cells, to which is only added, at its front; `set`, the
// table of all that was set, never changed but replaced; the queue of those who wait for a change. Of a cell:
// its value, in an atomic word or as a pointer to something constant that is replaced under the lock; its
// version, counted up under the lock.
//
//   setter                                           reader
//    1 takes `set` and the list, under the lock       a  word: loads it. Else: takes the pointer under the
//    2 outside: reads and checks each value, makes       lock, copies what it points to outside
//      the new table                                  b  live_view: loads the version (acquire); another
//    3 lock; another set or cell since 1: from 1         than it has seen: notes it, then a
//    4 replaces `set`; stores each value, then        c  waits for a change, under the lock: the version is
//      counts its version (release)                      another than its end has seen: notes it, goes on;
//    5 claims all who wait, unlocks, wakes them          else links itself
//    6 outside: frees what was there before
//
//   maker: reads its settings from the file's table and a `set` that it took before; adds its cells under the
//   lock; another `set` since: reads again.
//
// Forbidden: a torn value. Words are atomic; all else is constant, and kept by whoever copies it.
// Forbidden: a value is freed while it is copied. a holds the pointer that it took.
// Forbidden: a lost change. The version of a view or an end that is noted in b or c was counted after its
// value was stored, so the a that follows reads that value or a later one; c looks and links under the lock of
// 5. An end has seen the version of the object's construction at first, not that of its first use.
// Forbidden: a maker puts the file's value into a cell after it was set. 3, and the same of the maker.
// Forbidden: user code under the lock, or memory: 2 and 6 are outside.
// Forbidden: a fenced G holds the lock. All who take it are inside the runtime.
//
// Stress: tests/process/live_setting_test.cpp.
#pragma once
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/base/atom.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/settings.hpp>
#include <leat/sched/entered.hpp>

namespace leat {

// What setting<T, live>::changes() receives.
struct setting_change {
  std::uint64_t number = 0;  // of all sets of it so far: several may be reported as one
};

namespace lives {

// A value that was read and checked; once it is in its cell, the one that was there before.
class staged {
 public:
  staged() = default;
  virtual ~staged() = default;
  staged(const staged&) = delete;
  staged& operator=(const staged&) = delete;
};

class cell_base {
 public:
  cell_base(std::string_view name, const void* type) : name_(name), type_(type) {}
  virtual ~cell_base() = default;
  cell_base(const cell_base&) = delete;
  cell_base& operator=(const cell_base&) = delete;

  const std::string& name() const noexcept { return name_; }
  const void* type() const noexcept { return type_; }
  // Acquire pairs with the release in count(): the value of this version, or a later one, is there.
  std::uint64_t version() const noexcept { return version_.load(std::memory_order_acquire); }

  // Empty: `to` has what was read; else what is wrong. Checked by kind, limits and validators.
  virtual std::string stage(const value& from, std::unique_ptr<staged>& to) const = 0;
  // Under the store's lock, or before anybody else knows the cell.
  virtual void put(staged& s) noexcept = 0;

 protected:
  void count() noexcept {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  friend class leat::setting_store;
  const std::string name_;
  const void* const type_;
  std::atomic<std::uint64_t> version_{0};
  std::unique_ptr<cell_base> next_;  // in the store; never changes once it is there
};

// A value that fits is kept in an atomic word of integers. Not in a std::atomic of it: Clang calls libatomic for what is less
// aligned than it is large, as std::optional<int> is.
using word =
    std::conditional_t<std::atomic<std::uint64_t>::is_always_lock_free, std::uint64_t, std::uintptr_t>;

template <class T>
constexpr bool fits_a_word() noexcept {
  return std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(word);
}
template <class T>
word to_word(const T& v) noexcept {
  word w = 0;
  std::memcpy(&w, &v, sizeof v);
  return w;
}
template <class T>
T of_word(word w) noexcept {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &w, sizeof(T));
  return std::bit_cast<T>(bytes);
}

template <class T>
inline constexpr char type_mark = 0;

template <class T>
class checked_cell : public cell_base {
 public:
  checked_cell(std::string_view name, T otherwise, const limits& l)
      : cell_base(name, &type_mark<T>), default_(std::move(otherwise)), limits_(l) {}

  std::string stage(const value& from, std::unique_ptr<staged>& to) const final {
    T v = default_;  // what a table leaves out of a structure
    std::string wrong = shapes::read_setting(shape_of<T>(), &v, from, limits_);
    if (wrong.empty()) to = hold(std::move(v));
    return wrong;
  }

 protected:
  virtual std::unique_ptr<staged> hold(T v) const = 0;

 private:
  const T default_;
  const limits limits_;
};

template <class T, bool Word = fits_a_word<T>()>
class cell final : public checked_cell<T> {
 public:
  cell(ranked_spinlock&, std::string_view name, T v, T otherwise, const limits& l)
      : checked_cell<T>(name, std::move(otherwise), l), value_(to_word(v)) {}
  T load() const noexcept { return of_word<T>(value_.load(std::memory_order_relaxed)); }
  void put(staged& s) noexcept override {
    value_.store(to_word(static_cast<const held&>(s).value), std::memory_order_relaxed);
    this->count();
  }

 private:
  struct held final : staged {
    explicit held(T v) : value(v) {}
    T value;
  };
  std::unique_ptr<staged> hold(T v) const override { return std::make_unique<held>(v); }

  std::atomic<word> value_;
};

template <class T>
class cell<T, false> final : public checked_cell<T> {
 public:
  cell(ranked_spinlock& lock, std::string_view name, T v, T otherwise, const limits& l)
      : checked_cell<T>(name, std::move(otherwise), l),
        lock_(lock),
        value_(std::make_shared<const T>(std::move(v))) {}
  T load() const {
    std::shared_ptr<const T> now;
    {
      const sched::unfenced in;
      lock_guard hold(lock_);
      now = value_;
    }
    return *now;
  }
  void put(staged& s) noexcept override LEAT_NO_THREAD_SAFETY_ANALYSIS {
    value_.swap(static_cast<held&>(s).value);
    this->count();
  }

 private:
  struct held final : staged {
    explicit held(T v) : value(std::make_shared<const T>(std::move(v))) {}
    std::shared_ptr<const T> value;
  };
  std::unique_ptr<staged> hold(T v) const override { return std::make_unique<held>(std::move(v)); }

  ranked_spinlock& lock_;  // the store's
  std::shared_ptr<const T> value_ LEAT_GUARDED_BY(lock_);
};

// The end at which changes of a cell are received, from this version on. It keeps the store in being.
csp::ref<csp::channel_base> make_changes(std::shared_ptr<setting_store> store, const cell_base& c);

}  // namespace lives

// A table of settings with those of another in their stead. Null: no other.
value settings_with(const value& settings, const value* changes);

// What was set of one process, for all its replicas and incarnations (process_options::live). Any G or thread.
class setting_store {
 public:
  setting_store() = default;
  setting_store(const setting_store&) = delete;
  setting_store& operator=(const setting_store&) = delete;

  // A table of settings: they reach those who run if they are live, and the objects that are made from now on
  // in any case. Empty: done; else what is wrong, and nothing is changed. A live one is checked by what its
  // member says; of the others, and of all together, the caller knows the schema: services::set_settings.
  std::string set(const value& changes);
  // The same, unless something was set since all_set() gave `seen`: then false, and nothing is done.
  bool set_since(const std::shared_ptr<const value>& seen, const value& changes, std::string& wrong);
  // The table of all that was set; null: nothing.
  std::shared_ptr<const value> all_set() const;

  // For the members; not for users. Gives the cell of this name, the one that is there before the one that was
  // made. That was read from `read_from`. Throws setting_error if it is there with another type.
  lives::cell_base& add(std::unique_ptr<lives::cell_base> made, std::shared_ptr<const value> read_from);
  // Null: there is none, or not yet.
  lives::cell_base* find(std::string_view name) const noexcept;
  ranked_spinlock& lock() noexcept { return lock_; }

 private:
  friend class change_channel;
  struct sight {
    lives::cell_base* first;
    std::shared_ptr<const value> set;
  };
  sight look() const;
  static lives::cell_base* find(lives::cell_base* first, std::string_view name) noexcept;
  // Steps 2 to 6. False: something was set, or added, since.
  bool try_set(const sight& now, const value& changes, std::string& wrong);

  mutable ranked_spinlock lock_{lock_rank::channel, "settings"};
  std::unique_ptr<lives::cell_base> first_ LEAT_GUARDED_BY(lock_);  // few
  std::shared_ptr<const value> set_ LEAT_GUARDED_BY(lock_);
  csp::wait_queue waiting_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat
