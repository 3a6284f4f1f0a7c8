// SPDX-License-Identifier: BSL-1.0
//
// What stock classes have in common. Not installed.
#pragma once
#include <cstdint>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/csp/channel_base.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/process.hpp>
#include <leat/process/record.hpp>
#include <leat/process/record_port.hpp>
#include <leat/process/settings.hpp>

namespace leat::stock {

// Something that goes wrong again and again, told in the log: the first at once, then at most one line in 10
// seconds with their number, and at the end those that have not been reported. One G.
class complaints {
 public:
  static constexpr nanoseconds pause = std::chrono::seconds(10);
  // Whether the ledger counts them as well (process::count_lost).
  enum class ledger : std::uint8_t { no, lost };

  // `what` is a literal: "dropped", "cut".
  complaints(const process& owner, std::string_view what, ledger counts = ledger::no) noexcept
      : owner_(owner), what_(what), counts_(counts) {}
  complaints(const complaints&) = delete;
  complaints& operator=(const complaints&) = delete;
  ~complaints() { tell(); }

  void add(std::string why, std::uint64_t n = 1) { add_at(leat::now(), std::move(why), n); }
  void add_at(time_point now, std::string why, std::uint64_t n = 1);
  std::uint64_t count() const noexcept { return count_; }

 private:
  void tell() noexcept;

  const process& owner_;
  const std::string_view what_;
  const ledger counts_;
  std::string why_;
  std::uint64_t count_ = 0, told_ = 0;
  time_point next_{};
};

enum class on_bad : std::uint8_t { drop, fail };
LEAT_ENUM(on_bad, drop, fail);

// Records that a class can do nothing with, and input that becomes none.
class rejects {
 public:
  explicit rejects(process* owner,
                   std::string_view what = "a record that lacks a field, or has another kind of value in it")
      : owner_(*owner), bad_(owner, "bad", on_bad::drop, what), told_(*owner, "dropped") {
    owner->note_error(what, "dropped, counted and logged; with bad = \"fail\" the process fails");
  }

  // Throws std::runtime_error if the setting says so. Any G of the process.
  void add(std::string why);
  // The same for input from outside, which the ledger does not count as lost.
  void add_input(std::string why);

 private:
  void tell(std::string why);

  const process& owner_;
  setting<on_bad> bad_;
  std::mutex lock_;
  complaints told_;
};

// What all have in common that send records to a port.
inline constexpr errors::note nobody_reads{"all readers of what it sends have ended", "it ends"};
inline constexpr errors::note channel_is_full{"a channel with full = \"fail\" has no room",
                                              "the record is lost, counted and logged"};
inline constexpr errors::note no_such_message{
    "a channel of messages that need a field which a record does not have, or has as another kind",
    "the process fails"};

// The finite number in this field, or none, which is then rejected.
std::optional<double> number_in(const record& r, const field_path& field, rejects& bad);
// The text of this field, or none, which is then rejected; "" if the path is empty.
std::optional<std::string> key_in(const record& r, const field_path& field, rejects& bad);
// The same by the text of the path, which is read each time unless the record has a field of this name.
std::optional<double> number_in(const record& r, const std::string& field, rejects& bad);
std::optional<std::string> key_in(const record& r, const std::string& field, rejects& bad);

// Records that a process has taken and not finished with. What is left when this goes is lost, told and counted,
// but for one that will come again: the last, if its channel delivers at least once, and the process fails or is
// stopped. In run(): it asks how that ends.
class in_hand {
 public:
  in_hand(const process* owner, const record_in& from) noexcept : owner_(*owner), from_(from) {}
  in_hand(const in_hand&) = delete;
  in_hand& operator=(const in_hand&) = delete;
  ~in_hand();

  void add() noexcept { ++count_; }
  // They are where they belong, or told as lost by somebody else.
  void settle() noexcept { count_ = 0; }
  void settle(std::uint64_t n) noexcept { count_ -= n; }
  // They are lost, and do not come again.
  void lose(std::uint64_t n) noexcept;
  std::uint64_t count() const noexcept { return count_; }

 private:
  const process& owner_;
  const record_in& from_;
  const int throwing_ = std::uncaught_exceptions();
  std::uint64_t count_ = 0;
};

// for (record& r : taken(this, values)): as from `values` itself, but a record that the loop is left with is in
// hand.
class taken {
 public:
  taken(const process* owner, const record_in& from) noexcept : from_(from), hand_(owner, from) {}

  class iterator {
   public:
    explicit iterator(taken& t) : t_(t) { t_.next(); }
    record& operator*() const noexcept { return *t_.value_; }
    iterator& operator++() {
      t_.next();
      return *this;
    }
    bool operator==(std::default_sentinel_t) const noexcept { return !t_.value_; }

   private:
    taken& t_;
  };
  iterator begin() { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }
  // This one is where it belongs, though the loop may be left.
  void done() noexcept { hand_.settle(); }

 private:
  void next() {
    hand_.settle();
    value_ = from_.recv();
    if (value_) hand_.add();
  }

  const record_in& from_;
  in_hand hand_;
  std::optional<record> value_;
};

// Sends to a port. False: nobody will ever read it, or this G is asked to stop; the process ends then.
class passes {
 public:
  // `from`: where the records were taken; none: the owner makes them.
  explicit passes(const process* owner, const record_in* from = nullptr) noexcept
      : lost_(*owner, "lost", complaints::ledger::lost), from_(from) {}
  bool operator()(const record_out& to, record r) { return go_on(to.send(std::move(r))); }
  bool go_on(send_status s, std::uint64_t records = 1);

 private:
  complaints lost_;  // by a channel with full = "fail"
  const record_in* const from_;
};

// Of a listener. 0 leaves a quarter of all places to others, where there are enough of them for that.
inline std::size_t places_per_address(std::int64_t set, std::int64_t all) noexcept {
  constexpr std::int64_t enough = 16;
  if (set > 0) return static_cast<std::size_t>(set);
  return static_cast<std::size_t>(all >= enough ? all - all / 4 : 0);
}

// One State for each key. When there are too many, the one that was not asked for longest is forgotten.
template <class State>
class keyed {
 public:
  explicit keyed(std::size_t most) : most_(most) {}

  // `fresh` makes one for a new key.
  template <class Fresh>
  State& get(const std::string& key, Fresh fresh) {
    if (const auto at = index_.find(key); at != index_.end()) {
      states_.splice(states_.begin(), states_, at->second);
      return at->second->second;
    }
    if (index_.size() >= most_) {
      index_.erase(states_.back().first);
      states_.pop_back();
    }
    states_.emplace_front(key, fresh());
    index_.emplace(states_.front().first, states_.begin());
    return states_.front().second;
  }
  // What get would forget for this key; null: nothing.
  State* displaced_by(const std::string& key) {
    return index_.size() < most_ || index_.contains(key) ? nullptr : &states_.back().second;
  }
  // The one that was used last comes first.
  std::list<std::pair<std::string, State>>& all() noexcept { return states_; }
  std::size_t size() const noexcept { return index_.size(); }
  void clear() noexcept {
    index_.clear();
    states_.clear();
  }

 private:
  const std::size_t most_;
  std::list<std::pair<std::string, State>> states_;
  std::unordered_map<std::string_view, typename std::list<std::pair<std::string, State>>::iterator> index_;
};

// The settings of a class with one state for each key.
struct key_settings {
  explicit key_settings(process* owner, std::string_view port = "values")
      : key(owner, "key", port, value_kind::any, std::string(),
            "field by whose value records are told apart; none: all are one"),
        most(owner, "keys", 4096, "most values of it that are kept apart; then the oldest is forgotten",
             between(1, 1'000'000)) {
    owner->note_error("more values of `key` than `keys`", "the one that was silent for longest is forgotten");
  }
  field_setting<> key;
  setting<std::int64_t> most;
  std::size_t limit() const noexcept { return static_cast<std::size_t>(*most); }
  field_path path() const { return field_path::named(*key); }
};

}  // namespace leat::stock
