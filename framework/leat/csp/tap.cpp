// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/tap.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include <leat/base/clock.hpp>

namespace leat::csp {

namespace {
constexpr std::size_t usual_text = 160;
}

tap_view::state::state(std::size_t room, double most_per_second)
    : per_ns(most_per_second > 0 ? most_per_second / 1e9 : 0),
      ring(std::max<std::size_t>(room, 1)),
      filled(now_ns()) {}

tap_view::~tap_view() {
  std::shared_ptr<state> gone;  // freed when the lock has been dropped
  const lock_guard held(tap_.lock_);
  const auto at = std::find(tap_.views_.begin(), tap_.views_.end(), its_);
  gone = std::move(*at);
  tap_.views_.erase(at);
  if (!tap_.views_.empty()) return;
  tap_.used_.store(false, std::memory_order_relaxed);
  of_->be_looked_into(false);
}

tap_view::counts tap_view::count() const {
  const lock_guard held(tap_.lock_);
  return its_->counted;
}

bool tap_view::take(tapped& to) {
  const lock_guard held(tap_.lock_);
  state& s = *its_;
  if (s.held == 0) return false;
  to = std::move(s.ring[s.first]);
  s.first = (s.first + 1) % s.ring.size();
  --s.held;
  s.bytes -= to.text.size();
  return true;
}

tap& tap::of(channel_base& c, writer write) {
  if (tap* const there = c.tap()) return *there;
  std::unique_ptr<tap> made(new tap(write));
  // Another may have been quicker.
  if (c.set_tap(made.get())) return *made.release();
  return *c.tap();
}

std::unique_ptr<tap_view> tap::look(const ref<channel_base>& c, writer write, std::size_t room,
                                    double most_per_second) {
  if (!c || c->name().empty()) return nullptr;
  tap& t = of(*c.get(), write);
  auto its = std::make_shared<tap_view::state>(room, most_per_second);
  void* const place = ::operator new(sizeof(tap_view));  // nothing may fail any more once it has been added
  {
    const lock_guard held(t.lock_);
    if (t.views_.size() < most_views) {
      t.views_.push_back(its);
      t.used_.store(true, std::memory_order_relaxed);
      c->be_looked_into(true);
      return std::unique_ptr<tap_view>(new (place) tap_view(c, t, std::move(its)));
    }
  }
  ::operator delete(place);
  return nullptr;
}

// A bucket of half a second's worth, at least one.
bool tap::has_room(tap_view::state& v, std::int64_t now) noexcept {
  if (v.held == v.ring.size() || v.bytes >= tap_view::most_bytes) return false;
  if (v.per_ns == 0) return true;
  const double most = std::max(1.0, v.per_ns * 5e8);
  v.allowance = std::min(most, v.allowance + v.per_ns * static_cast<double>(now - v.filled));
  v.filled = now;
  return v.allowance >= 1;
}

bool tap::write(const void* value, std::string& to) noexcept {
  {
    const std::int64_t now = now_ns();
    const lock_guard held(lock_);
    if (std::none_of(views_.begin(), views_.end(), [&](const auto& v) { return has_room(*v, now); }))
      return false;
  }
  try {
    to.reserve(usual_text);
    write_(value, to);
    if (to.size() <= tap_view::longest_text) return true;
  } catch (const std::exception&) {  // no memory: it is counted as not shown
  }
  to.clear();
  return false;
}

void tap::passed(std::string text) noexcept {
  std::array<std::shared_ptr<tap_view::state>, most_views> to_ring;
  std::size_t n = 0;
  {
    const std::int64_t now = now_ns();
    const lock_guard held(lock_);
    ++sequence_;
    const bool there = !text.empty();
    for (std::size_t i = 0; i < views_.size(); ++i) {
      tap_view::state& v = *views_[i];
      ++v.counted.passed;
      if (!there || !has_room(v, now)) continue;
      tapped& place = v.ring[(v.first + v.held) % v.ring.size()];
      try {
        if (i + 1 < views_.size())
          place.text = text;
        else
          place.text.swap(text);
      } catch (const std::exception&) {
        continue;
      }
      place.sequence = sequence_;
      v.bytes += place.text.size();
      if (v.per_ns > 0) v.allowance -= 1;
      ++v.counted.shown;
      if (v.held++ == 0) to_ring[n++] = views_[i];
    }
  }
  for (std::size_t i = 0; i < n; ++i) (void)to_ring[i]->bell.try_send('!');
}

send_status send_tapped(channel_base& c, void* value, std::int64_t until) {
  tap& t = *c.tap();
  if (!t.is_used()) return c.send(value, until);
  struct held {
    tap& t;
    explicit held(tap& x) noexcept : t(x) { t.add_ref(); }
    ~held() { t.drop_ref(); }
  } const reference(t);
  std::string text;
  (void)t.write(value, text);
  const send_status s = c.send(value, until);
  if (s == send_status::sent) t.passed(std::move(text));
  return s;
}

}  // namespace leat::csp
