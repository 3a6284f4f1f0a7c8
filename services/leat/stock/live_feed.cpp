// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/live_feed.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <mutex>
#include <system_error>
#include <utility>
#include <vector>

#include <leat/process/record.hpp>
#include <leat/sched/stop.hpp>

namespace leat::stock {
namespace {

constexpr std::size_t enough_at_once = 64 * 1024;
constexpr std::size_t each = 64;  // what a record costs beside its text, about

std::string hexadecimal(std::uint64_t n) {
  char text[16];
  return {text, std::to_chars(text, text + sizeof text, n, 16).ptr};
}

}  // namespace

live_feed::live_feed(std::size_t history, std::size_t keys, std::size_t bytes)
    : most_(history),
      most_keys_(keys),
      most_bytes_(bytes),
      epoch_(hexadecimal(static_cast<std::uint64_t>(moment_now().time_since_epoch().count()))) {}

void live_feed::add(std::string key, std::string json) {
  std::vector<kept> gone;  // outlives the lock
  const auto at = std::chrono::floor<std::chrono::milliseconds>(moment_now()).time_since_epoch().count();
  {
    std::lock_guard hold(lock_);
    if (json.size() + key.size() + each > most_bytes_ / 8) {
      ++too_large_;
      return;
    }
    keep_latest_locked(std::move(key), json);
    history_bytes_ += json.size() + each;
    records_.push_back({std::move(json), at});
    ++count_;
    while (records_.size() > most_ || history_bytes_ + latest_bytes_ > most_bytes_) {
      history_bytes_ -= records_.front().json.size() + each;
      gone.push_back(std::move(records_.front()));
      records_.pop_front();
    }
  }
  added_.notify_all();
}

void live_feed::keep_latest_locked(std::string key, const std::string& json) {
  const auto at = latest_.find(key);
  const std::size_t before = at != latest_.end() ? key.size() + at->second.size() + each : 0;
  const std::size_t after = latest_bytes_ - before + key.size() + json.size() + each;
  // One that has grown too large is not shown as it was.
  if (after > most_bytes_ / 2 || (at == latest_.end() && latest_.size() >= most_keys_)) {
    ++turned_away_;
    if (at == latest_.end()) return;
    latest_bytes_ -= before;
    latest_.erase(at);
    return;
  }
  latest_bytes_ = after;
  latest_.insert_or_assign(std::move(key), json);
}

std::string live_feed::latest() {
  std::lock_guard hold(lock_);
  std::string text = "{";
  for (const auto& [key, json] : latest_) {
    if (text.size() > 1) text += ",\n";
    text += to_json(key) + ':' + json;
  }
  return text + "}\n";
}

std::string live_feed::history(std::size_t n) {
  std::lock_guard hold(lock_);
  std::string text = "[";
  n = std::min(n, records_.size());
  for (std::size_t i = records_.size() - n; i < records_.size(); ++i) {
    if (text.size() > 1) text += ",\n";
    text += records_[i].json;
  }
  return text + "]\n";
}

std::uint64_t live_feed::begin(std::string_view id, std::size_t n) {
  std::lock_guard hold(lock_);
  std::uint64_t seen = 0;
  if (id.size() > epoch_.size() && id.starts_with(epoch_) && id[epoch_.size()] == '-') {
    const char* const end = id.data() + id.size();
    const auto [at, error] = std::from_chars(id.data() + epoch_.size() + 1, end, seen);
    if (error == std::errc{} && (at == end || *at == '-') && seen <= count_ && seen + 1 >= first_locked())
      return seen;
    n = most_;  // it has missed some
  }
  return count_ - std::min<std::uint64_t>(n, records_.size());
}

live_feed::status live_feed::next(std::uint64_t& seen, std::string& into, deadline until) {
  std::unique_lock hold(lock_);
  if (!added_.wait_until(hold, until, [&] { return count_ > seen; }))
    return stop_requested() ? status::over : status::idle;
  if (seen + 1 < first_locked()) return status::behind;
  while (seen < count_ && into.size() < enough_at_once) {
    const kept& r = records_[static_cast<std::size_t>(seen + 1 - first_locked())];
    ++seen;
    into.append("id: ").append(epoch_).append("-").append(std::to_string(seen));
    into.append("-").append(std::to_string(r.at));
    into.append("\ndata: ").append(r.json).append("\n\n");
  }
  return status::events;
}

std::uint64_t live_feed::count() {
  std::lock_guard hold(lock_);
  return count_;
}
std::size_t live_feed::keys() {
  std::lock_guard hold(lock_);
  return latest_.size();
}
std::uint64_t live_feed::turned_away() {
  std::lock_guard hold(lock_);
  return turned_away_;
}
std::uint64_t live_feed::too_large() {
  std::lock_guard hold(lock_);
  return too_large_;
}
std::size_t live_feed::bytes() {
  std::lock_guard hold(lock_);
  return history_bytes_ + latest_bytes_;
}

}  // namespace leat::stock
