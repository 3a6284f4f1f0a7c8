// SPDX-License-Identifier: BSL-1.0
//
// What a process hands from one incarnation to the next:
//
//   class meter : public leat::process {
//     leat::in<sample>    raw{this, "raw"};
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
// With `state = { folder = "..." }` in the process's table it outlives the program: what was saved is written to
// a file (state_file.hpp) soon after, and is there to be loaded at the next start. T must be described then
// (shape.hpp); what has changed in it since is brought over field by field (state_migrate.hpp).
//
// Both calls are short visits to the runtime, where a process that was quarantined and runs on behind its fence
// (sched/fence.hpp) ends: it neither changes what its successor has loaded, nor reads what that is writing.
// What user code does, copying and destroying, is done outside. Whoever writes files takes the value out of the
// same box, on a G of its own, so a fenced process has no way to a file either.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/process/process.hpp>
#include <leat/process/state_migrate.hpp>
#include <leat/sched/entered.hpp>

namespace leat {

namespace states {

// Whether a T can be written to a file: what shape_of knows.
template <class T>
inline constexpr bool described =
    std::is_same_v<T, bool> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
    shapes::is_integer<T> || std::is_same_v<T, std::string> || std::is_same_v<T, byte_size> ||
    shapes::is_duration<T> || shapes::is_moment<T> || described_enum<T> || described_structure<T>;
template <class T, class A>
inline constexpr bool described<std::vector<T, A>> = described<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool described<std::optional<T>> = described<T>;

// Of a type that is not described: null.
template <class T>
constexpr shape_fn shape_if_described() noexcept {
  if constexpr (described<T>)
    return &shape_of<T>;
  else
    return nullptr;
}

// One incarnation uses it, and when that is out, the next; beside them, whoever writes it to a file. What they
// share is the value, under a lock and inside the runtime, and the mark that it has not been written.
class box_base {
 public:
  box_base(const void* type, shape_fn how) noexcept : type_(type), shape_(how) {}
  virtual ~box_base() = default;
  box_base(const box_base&) = delete;
  box_base& operator=(const box_base&) = delete;
  const void* type() const noexcept { return type_; }
  // Null: not described.
  shape_fn shape() const noexcept { return shape_; }

  // Before anybody else has it. What of a described value is not as it was written is reported.
  virtual void read(std::span<const std::uint8_t> cbor, std::vector<std::string>& told) = 0;
  // From now on each first save after a write is reported there. Before anybody else has it.
  void keep(const channel<char>& wake);

  // Any G. A described value, as CBOR.
  virtual void write(std::vector<std::uint8_t>& to) const = 0;
  // Whether it was saved since the last call; before write, so that no save is missed.
  bool take_unwritten() noexcept { return unwritten_.exchange(false, std::memory_order_acq_rel); }
  bool is_unwritten() const noexcept { return unwritten_.load(std::memory_order_acquire); }
  void mark_unwritten() noexcept { unwritten_.store(true, std::memory_order_release); }
  // For a successor: the one before may have been fenced before it told.
  void tell_again() const noexcept {
    if (wake_ && is_unwritten()) tell();
  }

 protected:
  // In the visit that stores the value; true: to be followed by a tell outside of it.
  bool note_saved() noexcept { return wake_ && !unwritten_.exchange(true, std::memory_order_acq_rel); }
  void tell() const noexcept;

  mutable ranked_spinlock lock_{lock_rank::channel, "state"};

 private:
  const void* const type_;
  const shape_fn shape_;
  struct bell;
  std::shared_ptr<const bell> wake_;  // null: it lives as long as the service
  std::atomic<bool> unwritten_{false};
};

template <class T>
inline constexpr char type_mark = 0;

template <class T>
void read_value(T& to, std::span<const std::uint8_t> cbor, std::vector<std::string>& told) {
  if constexpr (described<T>) {
    T trial = T();
    migrate_state(shape_of<T>(), &to, &trial, cbor, told);
  }
}
template <class T>
void write_value(const T& v, std::vector<std::uint8_t>& to) {
  if constexpr (described<T>) shapes::write_cbor(shape_of<T>(), &v, to);
}

template <class T, bool Trivial = std::is_trivially_copyable_v<T>>
class box final : public box_base {
 public:
  box() : box_base(&type_mark<T>, shape_if_described<T>()) {}
  T load() const {
    const sched::unfenced in;
    const lock_guard hold(lock_);
    return value_;
  }
  void save(const T& v) {
    bool first = false;
    {
      const sched::unfenced in;
      const lock_guard hold(lock_);
      value_ = v;
      first = note_saved();
    }
    if (first) tell();
  }
  void read(std::span<const std::uint8_t> cbor, std::vector<std::string>& told) override {
    read_value(value_, cbor, told);
  }
  void write(std::vector<std::uint8_t>& to) const override { write_value<T>(load(), to); }

 private:
  T value_ = T();
};

template <class T>
class box<T, false> final : public box_base {
 public:
  box() : box_base(&type_mark<T>, shape_if_described<T>()), current_(std::make_shared<const T>()) {}
  T load() const { return *now(); }
  void save(T v) {
    auto made = std::make_shared<const T>(std::move(v));
    bool first = false;
    {
      const sched::unfenced in;
      const lock_guard hold(lock_);
      current_.swap(made);
      first = note_saved();
    }
    if (first) tell();
    // What was there before is destroyed here, outside.
  }
  void read(std::span<const std::uint8_t> cbor, std::vector<std::string>& told) override {
    if constexpr (described<T>) {
      auto made = std::make_shared<T>();
      read_value(*made, cbor, told);
      current_ = std::move(made);
    }
  }
  void write(std::vector<std::uint8_t>& to) const override { write_value<T>(*now(), to); }

 private:
  std::shared_ptr<const T> now() const {
    const sched::unfenced in;
    const lock_guard hold(lock_);
    return current_;
  }
  std::shared_ptr<const T> current_;
};

// state_store::find
std::shared_ptr<box_base> find(state_store& among, std::string_view name, const void* type,
                               std::shared_ptr<box_base> (*make)());

}  // namespace states

template <class T>
class state {
  static_assert(std::is_default_constructible_v<T> && std::is_copy_constructible_v<T>,
                "a state is default-constructed at first, and copied");

 public:
  state(process* owner, std::string_view name) {
    constexpr auto make = []() -> std::shared_ptr<states::box_base> {
      return std::make_shared<states::box<T>>();
    };
    owner->note_state(name, states::shape_if_described<T>());
    state_store* const kept = owner->states();
    box_ = std::static_pointer_cast<states::box<T>>(
        kept ? states::find(*kept, name, &states::type_mark<T>, make) : make());
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;

  T load() const { return box_->load(); }
  void save(T v) { box_->save(std::move(v)); }

 private:
  std::shared_ptr<states::box<T>> box_;
};

}  // namespace leat
