// SPDX-License-Identifier: BSL-1.0
#include <leat/process/supervision.hpp>

#include <algorithm>

namespace leat {

supervision::child supervision::add(const limits& l) {
  children_.emplace_back().l = l;
  ++open_;
  return children_.size() - 1;
}

// splitmix64
double supervision::random() noexcept {
  std::uint64_t z = (random_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void supervision::clear_timer(child c) {
  time_point& t = c == group ? group_at_ : children_[c].until;
  if (t != never) timers_.erase({t, c});
  t = never;
}

void supervision::set_timer(child c, time_point t) {
  clear_timer(c);
  (c == group ? group_at_ : children_[c].until) = t;
  if (t != never) timers_.insert({t, c});
}

void supervision::start(time_point now) {
  for (child c = 0; c < children_.size(); ++c) {
    if (children_[c].at != status::fresh) continue;
    children_[c].at = status::due;
    steps_.push_back({order::start, c});
  }
  pass(now);
}

bool supervision::next(step& s) {
  while (!steps_.empty()) {
    s = steps_.front();
    steps_.pop_front();
    if (s.what != order::start) return true;
    entry& e = children_[s.who];
    if (e.at != status::due) continue;  // something came in between
    e.at = status::running;
    e.faulty = false;
    return true;
  }
  return false;
}

time_point supervision::next_deadline() const noexcept {
  return timers_.empty() ? never : timers_.begin()->first;
}

void supervision::pass(time_point now) {
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const child c = timers_.begin()->second;
    clear_timer(c);
    if (c == group) {
      for (child i = 0; i < children_.size(); ++i) {
        if (!children_[i].together) continue;
        children_[i].together = false;
        children_[i].at = status::due;
        steps_.push_back({order::start, i});
      }
      together_ = 0;
      continue;
    }
    entry& e = children_[c];
    switch (e.at) {
      case status::asked:
        e.at = status::insisted;
        steps_.push_back({order::insist, c});
        set_timer(c, saturating_add(now, e.l.patience));
        break;
      case status::insisted:
        e.at = status::lingering;
        steps_.push_back({order::linger, c});
        if (stops_) {
          --open_;
          if (coming_down_ == c) coming_down_ = group;
          bring_down(now);
        }
        break;
      case status::waiting:
        e.at = status::due;
        steps_.push_back({order::start, c});
        break;
      default: break;
    }
  }
}

void supervision::ask(child c, time_point now) {
  entry& e = children_[c];
  if (e.at != status::running) return;
  e.at = status::asked;
  steps_.push_back({order::ask, c});
  set_timer(c, saturating_add(now, e.l.grace));
}

void supervision::end(child c) {
  entry& e = children_[c];
  clear_timer(c);
  if (std::exchange(e.together, false)) --together_;
  if (!(stops_ && e.at == status::lingering)) --open_;
  e.at = status::ended;
}

void supervision::fault(child c, time_point now) {
  entry& e = children_[c];
  if (!is_in(e.at)) return;
  e.faulty = true;
  ask(c, now);
}

// The next of those that must be out, the last started first; when there is none, the group's time counts.
void supervision::bring_down(time_point now) {
  if (coming_down_ != group) return;
  while (!down_.empty()) {
    const child c = *down_.rbegin();
    down_.erase(c);
    if (!is_in(children_[c].at)) continue;
    if (stops_ && children_[c].at == status::lingering) continue;
    coming_down_ = c;
    ask(c, now);
    return;
  }
  if (together_ > 0 && group_at_ != never) timers_.insert({group_at_, group});
}

void supervision::restart_together(child first, child failed, time_point start_at, time_point now) {
  for (child c = first; c < children_.size(); ++c) {
    entry& e = children_[c];
    if (e.at == status::ended || e.at == status::fresh) continue;
    if (!std::exchange(e.together, true)) ++together_;
    if (c == failed || !is_in(e.at)) {
      clear_timer(c);
      e.at = status::waiting;
    } else {
      down_.insert(c);
    }
  }
  // The time begins to count in bring_down, when all are out.
  const time_point at = group_at_ == never ? start_at : std::max(group_at_, start_at);
  clear_timer(group);
  group_at_ = at;
  bring_down(now);
}

restart_decision supervision::over(child c, process_end how, time_point now) {
  using kind = restart_decision::kind;
  entry& e = children_[c];
  if (!is_in(e.at)) return {kind::expected};
  if (std::exchange(e.faulty, false)) how = process_end::failed;
  down_.erase(c);
  const bool was_asked = coming_down_ == c;
  if (was_asked) coming_down_ = group;
  if (closed_ || stops_) {
    end(c);
    if (stops_) bring_down(now);
    return {closed_ && !stops_ && !was_asked ? kind::stays_ended : kind::expected};
  }
  clear_timer(c);
  if (e.together) {
    e.at = status::waiting;
    bring_down(now);
    return {kind::expected};
  }
  const restart_decision d = decide(e.l.restart, e.history, how, now, random());
  if (d.what == kind::restarts) {
    e.history.restarted(e.l.restart, now);
    const time_point at = saturating_add(now, d.pause);
    if (e.l.restart.strategy == restart_strategy::one_for_one) {
      e.at = status::waiting;
      set_timer(c, at);
    } else {
      restart_together(e.l.restart.strategy == restart_strategy::one_for_all ? 0 : c, c, at, now);
    }
    return d;
  }
  end(c);
  // In front: what was still to be started is not.
  if (d.what == kind::limit_reached) steps_.push_front({order::limit, c});
  return d;
}

std::vector<supervision::child> supervision::close() {
  closed_ = true;
  std::vector<child> dropped;
  for (child c = 0; c < children_.size(); ++c) {
    const status s = children_[c].at;
    if (std::exchange(children_[c].together, false)) --together_;
    if (s != status::fresh && s != status::due && s != status::waiting) continue;
    end(c);
    dropped.push_back(c);
  }
  clear_timer(group);
  down_.clear();
  coming_down_ = group;
  return dropped;
}

void supervision::stop(time_point now) {
  if (stops_) return;
  stops_ = true;
  (void)close();
  for (child c = 0; c < children_.size(); ++c) {
    if (children_[c].at == status::lingering) --open_;
    if (is_in(children_[c].at)) down_.insert(c);
  }
  bring_down(now);
}

}  // namespace leat
