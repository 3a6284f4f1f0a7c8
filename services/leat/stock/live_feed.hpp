// SPDX-License-Identifier: BSL-1.0
//
// The last records, as JSON, for many listeners: one G adds, each listener reads at its own pace by the
// number of the last record that it has seen. So a slow listener holds nobody up and costs no memory; it just
// falls behind what is kept. What is kept is bounded in records and in bytes, whatever their size. Not
// installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/csp/condition_variable.hpp>
#include <leat/csp/mutex.hpp>

namespace leat::stock {

class live_feed {
 public:
  enum class status : std::uint8_t {
    events,  // some are in `into`
    idle,    // none until the deadline
    behind,  // the next one is not kept any more
    over,    // the caller was asked to stop
  };

  // `bytes` of all that is kept: up to half of it the latest, the rest the history. Of one record: up to an
  // eighth.
  live_feed(std::size_t history, std::size_t keys, std::size_t bytes);

  void add(std::string key, std::string json);

  // {"key": record, ...}, each key's last.
  std::string latest();
  // [record, ...] of the last n, the oldest first.
  std::string history(std::size_t n);

  // Where a listener begins that has seen `id`, the id of an event; one that is not kept any more, or of
  // another start of the program, is the same as none: before the last n.
  std::uint64_t begin(std::string_view id, std::size_t n);
  // Waits for events behind `seen`, and appends them as text/event-stream. Not all at once if they are many. An id
  // is EPOCH-NUMBER-TIME, where the time is when the record came, in milliseconds since 1970.
  status next(std::uint64_t& seen, std::string& into, deadline until);

  std::uint64_t count();
  std::size_t keys();
  // Of records whose key was one too many, or too much.
  std::uint64_t turned_away();
  // Of records that were too large to be kept at all.
  std::uint64_t too_large();
  // Of text that is kept.
  std::size_t bytes();

 private:
  std::uint64_t first_locked() const noexcept { return count_ - records_.size() + 1; }
  void keep_latest_locked(std::string key, const std::string& json);

  const std::size_t most_, most_keys_, most_bytes_;
  const std::string epoch_;  // before each id, since numbers begin anew with each start
  mutex lock_;
  condition_variable added_;
  // Under lock_:
  struct kept {
    std::string json;
    std::int64_t at;  // when it came, in milliseconds of the system's clock
  };
  std::deque<kept> records_;  // the last is number count_
  std::uint64_t count_ = 0;
  std::map<std::string, std::string> latest_;
  std::uint64_t turned_away_ = 0, too_large_ = 0;
  std::size_t history_bytes_ = 0, latest_bytes_ = 0;
};

}  // namespace leat::stock
