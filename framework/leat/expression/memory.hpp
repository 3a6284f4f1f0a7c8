// SPDX-License-Identifier: BSL-1.0
//
// What previous, rate and windows remember, for each key. Time is passed in.
//
// Keys are bounded: beyond the limit, the one that was not seen for longest is forgotten. A window of values is exact.
// So is a window of time while it holds fewer than 512 values; then those that are less than a 128th of it apart are
// joined, and its old end moves in such steps. Its memory stays the same.
//
// A record with a time of its own that comes late goes where it belongs, and its window ends with it: later
// ones stay, for later ones.
#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <leat/expression/rules.hpp>

namespace leat::expression {

// When it is, and of which time the record is: what rate and windows go by.
struct record_times {
  leat::moment now = {};
  std::optional<leat::moment> at = {};  // none: now
};

enum class remembering : std::uint8_t { previous, rate, avg, min, max, sum, count };

struct memory_plan {
  remembering what = remembering::previous;
  std::uint32_t values = 0;  // a window of so many; 0: of time
  nanoseconds time{0};
  bool keyed = false;
};
inline constexpr std::int64_t most_window_values = 1024;

// The last numbers.
class window {
 public:
  void add(const memory_plan& p, double v, std::int64_t now);
  // What is too old at that time goes.
  void expire(const memory_plan& p, std::int64_t now);
  // What is still to come at that time goes, too.
  void set_back(const memory_plan& p, std::int64_t now);
  // Up to that time.
  operand result(const memory_plan& p, std::int64_t now) const noexcept;
  std::size_t bytes() const noexcept { return entries_.capacity() * sizeof(entry); }

 private:
  struct entry {
    std::int64_t from, at;  // of the oldest and the newest in it
    double sum, min, max;
    std::int64_t count;
  };
  void insert(const memory_plan& p, const entry& e);
  void join_neighbours(std::int64_t apart);

  std::vector<entry> entries_;  // a ring of values, from `first_`; of time in order, from 0
  std::size_t first_ = 0;
};

class memory {
 public:
  memory(const memory_plan& p, std::size_t most_keys, std::size_t most_bytes = SIZE_MAX)
      : plan_(p), most_(most_keys), most_bytes_(most_bytes) {}
  memory(memory&&) = default;

  // The result for this record, which is remembered.
  operand update(std::string_view key, const operand& v, const record_times& when, evaluation_error& why);
  std::size_t keys() const noexcept { return states_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }  // if they are limited

 private:
  // A value that outlives its record.
  struct kept {
    operand value = {};
    std::string text = {};
    void set(const operand& v);
    operand get() const noexcept {
      return value.is(kind::text) ? operand::of(std::string_view(text)) : value;
    }
  };
  struct state {
    std::string key;
    kept last = {}, before = {};
    std::int64_t at = 0;
    expression::window numbers = {};
    std::size_t counted = 0;  // in bytes_
    std::size_t bytes() const noexcept {
      return sizeof(state) + key.capacity() + last.text.capacity() + before.text.capacity() + numbers.bytes();
    }
  };
  state& find(std::string_view key);
  void forget_oldest();
  void keep_to_bytes();
  operand numbers(state& s, const operand& v, const record_times& when, evaluation_error& why) const;
  operand previous(state& s, const operand& v, evaluation_error& why) const;
  operand rate(state& s, const operand& v, std::int64_t at, evaluation_error& why) const;

  memory_plan plan_;
  std::size_t most_, most_bytes_;
  std::size_t bytes_ = 0;
  std::list<state> states_;  // the one that was used last comes first
  std::unordered_map<std::string_view, std::list<state>::iterator> index_;
};

}  // namespace leat::expression
