// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/memory.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace leat::expression {
namespace {

// Of a window of time. To join leaves at most two in each step, so at most half of them.
constexpr std::size_t most_entries = 512;
constexpr std::int64_t window_steps = 128;

std::int64_t since(std::int64_t earlier, std::int64_t later) noexcept {
  std::int64_t d = 0;
  if (__builtin_sub_overflow(later, earlier, &d)) return later > earlier ? INT64_MAX : INT64_MIN;
  return d;
}

operand failed_to(evaluation_error f, evaluation_error& why) noexcept {
  why = f;
  return {};
}

}  // namespace

void window::expire(const memory_plan& p, std::int64_t now) {
  if (p.values > 0) return;
  const auto fresh = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const entry& e) { return since(e.at, now) < p.time.count(); });
  entries_.erase(entries_.begin(), fresh);
}

void window::set_back(const memory_plan& p, std::int64_t now) {
  if (p.values > 0) return;
  while (!entries_.empty() && entries_.back().at > now) entries_.pop_back();
}

void window::add(const memory_plan& p, double v, std::int64_t now) {
  const entry e{now, now, v, v, v, 1};
  if (p.values == 0) {
    insert(p, e);
  } else if (entries_.size() < p.values) {
    entries_.push_back(e);
  } else {
    entries_[first_] = e;
    first_ = (first_ + 1) % entries_.size();
  }
}

void window::insert(const memory_plan& p, const entry& e) {
  if (entries_.size() >= most_entries) join_neighbours(p.time.count() / window_steps);
  // Times that go back from record to record are further apart than a window: the last of them is far away.
  if (entries_.size() >= most_entries) entries_.pop_back();
  auto next = entries_.end();
  while (next != entries_.begin() && std::prev(next)->at > e.at) --next;
  if (next == entries_.end() || next->from > e.at)
    entries_.insert(next, e);
  else
    *next = {next->from,
             next->at,
             next->sum + e.sum,
             std::min(next->min, e.min),
             std::max(next->max, e.max),
             next->count + e.count};
}

void window::join_neighbours(std::int64_t apart) {
  std::size_t last = 0;
  for (std::size_t i = 1; i < entries_.size(); ++i) {
    const entry &a = entries_[last], &b = entries_[i];
    if (since(a.from, b.at) > apart)
      entries_[++last] = b;
    else
      entries_[last] = {a.from,           b.at, a.sum + b.sum, std::min(a.min, b.min), std::max(a.max, b.max),
                        a.count + b.count};
  }
  entries_.resize(last + 1);
}

operand window::result(const memory_plan& p, std::int64_t now) const noexcept {
  std::size_t held = entries_.size();
  if (p.values == 0)
    while (held > 0 && entries_[held - 1].from > now) --held;
  if (p.what == remembering::count) {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < held; ++at) count += entries_[at].count;
    return operand::of(count);
  }
  if (held == 0) return {};
  double sum = 0, least = entries_[first_].min, most = entries_[first_].max;
  std::int64_t n = 0;
  std::size_t i = first_;
  for (std::size_t left = held; left > 0; --left) {
    const entry& e = entries_[i];
    sum += e.sum;
    least = std::min(least, e.min);
    most = std::max(most, e.max);
    n += e.count;
    if (++i == entries_.size()) i = 0;
  }
  switch (p.what) {
    case remembering::min: return operand::of(least);
    case remembering::max: return operand::of(most);
    case remembering::sum: return operand::of(sum);
    default: return operand::of(sum / static_cast<double>(n));
  }
}

void memory::kept::set(const operand& v) {
  value = v;
  if (v.is(kind::text)) text.assign(v.text());
}

memory::state& memory::find(std::string_view key) {
  if (const auto at = index_.find(key); at != index_.end()) {
    states_.splice(states_.begin(), states_, at->second);
    return states_.front();
  }
  if (states_.size() >= most_) forget_oldest();
  states_.emplace_front(state{std::string(key)});
  index_.emplace(states_.front().key, states_.begin());
  return states_.front();
}

void memory::forget_oldest() {
  bytes_ -= states_.back().counted;
  index_.erase(states_.back().key);
  states_.pop_back();
}

// The first has just been used.
void memory::keep_to_bytes() {
  state& s = states_.front();
  bytes_ -= s.counted;
  s.counted = s.bytes();
  bytes_ += s.counted;
  while (bytes_ > most_bytes_ && states_.size() > 1) forget_oldest();
}

operand memory::update(std::string_view key, const operand& v, const record_times& when,
                       evaluation_error& why) {
  state& s = plan_.keyed || states_.empty() ? find(key) : states_.front();
  const std::int64_t at = when.at.value_or(when.now).time_since_epoch().count();
  const operand out = plan_.what == remembering::previous ? previous(s, v, why)
                      : plan_.what == remembering::rate   ? rate(s, v, at, why)
                                                          : numbers(s, v, when, why);
  if (most_bytes_ != SIZE_MAX) keep_to_bytes();
  return out;
}

operand memory::numbers(state& s, const operand& v, const record_times& when, evaluation_error& why) const {
  const std::int64_t now = when.at.value_or(when.now).time_since_epoch().count();
  // A clock was set back; but a record with its own time is late.
  if (!when.at) s.numbers.set_back(plan_, now);
  s.numbers.expire(plan_, now);
  const bool usable = v.is_number() && std::isfinite(v.as_real());
  if (usable)
    s.numbers.add(plan_, v.as_real(), now);
  else if (!v.is(kind::missing))
    why = v.is_number() ? evaluation_error::range : evaluation_error::wrong_kind;
  const operand out = s.numbers.result(plan_, now);
  if (!out.is(kind::real) || std::isfinite(out.real())) return out;
  return failed_to(why == evaluation_error::none ? evaluation_error::range : why, why);
}

operand memory::previous(state& s, const operand& v, evaluation_error& why) const {
  const bool fits = scalar.has(v.kind()) || v.is(kind::null);
  if (!fits) {
    if (!v.is(kind::missing)) why = evaluation_error::wrong_kind;
    return s.last.get();
  }
  std::swap(s.before, s.last);
  s.last.set(v);
  return s.before.get();
}

operand memory::rate(state& s, const operand& v, std::int64_t at, evaluation_error& why) const {
  if (v.is(kind::missing)) return {};
  if (!v.is_number() || !std::isfinite(v.as_real()))
    return failed_to(v.is_number() ? evaluation_error::range : evaluation_error::wrong_kind, why);
  const bool first = s.last.value.is(kind::missing);
  const std::int64_t gap = first ? 0 : since(s.at, at);
  // The next one is measured from the older of two at one moment.
  if (!first && gap == 0) return failed_to(evaluation_error::division_by_zero, why);
  const operand before = s.last.get();
  s.last.set(v);
  s.at = at;
  if (first) return {};
  if (gap < 0) return failed_to(evaluation_error::range, why);
  const double change = (v.as_real() - before.as_real()) / (static_cast<double>(gap) / 1e9);
  return std::isfinite(change) ? operand::of(change) : failed_to(evaluation_error::range, why);
}

}  // namespace leat::expression
