// SPDX-License-Identifier: BSL-1.0
#include <leat/process/supervision.hpp>

#include <algorithm>
#include <utility>

namespace leat {

supervision::child supervision::add(const limits& l) {
  children_.emplace_back().l = l;
  children_.back().history.make_room(l.restart);
  // Each child is in at most one order at a time but for a start that was overtaken, and the limit of one.
  if (steps_.capacity() < 4 * children_.size()) steps_.reserve(8 * children_.size());
  ++open_;
  return timers_.add();
}

void supervision::push(order what, child who) {
  if (first_step_ == steps_.size()) {
    steps_.clear();
    first_step_ = 0;
  }
  steps_.push_back({what, who});
}

// splitmix64
double supervision::random() noexcept {
  std::uint64_t z = (random_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

void supervision::push_first(order what, child who) {
  if (first_step_ == 0) {
    steps_.insert(steps_.begin(), {what, who});
  } else {
    steps_[--first_step_] = {what, who};
  }
}

void supervision::clear_group() noexcept {
  group_at_ = never;
  group_waits_ = false;
}

void supervision::must_go_down(child c) noexcept {
  children_[c].goes_down = true;
  down_below_ = std::max(down_below_, c + 1);
}

void supervision::start(time_point now) {
  for (child c = 0; c < children_.size(); ++c) {
    if (children_[c].at != status::fresh) continue;
    children_[c].at = status::due;
    push(order::start, c);
  }
  pass(now);
}

bool supervision::next(step& s) {
  while (first_step_ < steps_.size()) {
    s = steps_[first_step_++];
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
  return group_waits_ ? std::min(group_at_, timers_.next_at()) : timers_.next_at();
}

void supervision::start_group() {
  clear_group();
  for (child i = 0; i < children_.size(); ++i) {
    if (!children_[i].together) continue;
    children_[i].together = false;
    children_[i].at = status::due;
    push(order::start, i);
  }
  together_ = 0;
}

void supervision::pass(time_point now) {
  while (next_deadline() <= now) {
    if (timers_.next_at() > next_deadline()) {
      start_group();
      continue;
    }
    const child c = timers_.next();
    timers_.set(c, never);
    entry& e = children_[c];
    switch (e.at) {
      case status::asked:
        e.at = status::insisted;
        push(order::insist, c);
        timers_.set(c, saturating_add(now, e.l.patience));
        break;
      case status::insisted:
        e.at = status::lingering;
        push(order::linger, c);
        if (stops_) {
          --open_;
          if (coming_down_ == c) coming_down_ = group;
          bring_down(now);
        }
        break;
      case status::waiting:
        e.at = status::due;
        push(order::start, c);
        break;
      default: break;
    }
  }
}

void supervision::ask(child c, time_point now) {
  entry& e = children_[c];
  if (e.at != status::running) return;
  e.at = status::asked;
  push(order::ask, c);
  timers_.set(c, saturating_add(now, e.l.grace));
}

void supervision::end(child c) {
  entry& e = children_[c];
  timers_.set(c, never);
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

bool supervision::renew(child c, time_point now) {
  entry& e = children_[c];
  if (closed_ || stops_ || e.at == status::ended || e.at == status::fresh) return false;
  if (is_in(e.at)) {
    e.renewed = true;
    ask(c, now);
  } else if (e.at == status::waiting && !e.together) {
    timers_.set(c, never);
    e.at = status::due;
    push(order::start, c);
  }
  return true;
}

// The next of those that must be out, the last started first; when there is none, the group's time counts.
void supervision::bring_down(time_point now) {
  if (coming_down_ != group) return;
  while (down_below_ > 0) {
    const child c = --down_below_;
    if (!std::exchange(children_[c].goes_down, false)) continue;
    if (!is_in(children_[c].at)) continue;
    if (stops_ && children_[c].at == status::lingering) continue;
    coming_down_ = c;
    ask(c, now);
    return;
  }
  group_waits_ = together_ > 0 && group_at_ != never;
}

void supervision::restart_together(child first, child failed, time_point start_at, time_point now) {
  for (child c = first; c < children_.size(); ++c) {
    entry& e = children_[c];
    if (e.at == status::ended || e.at == status::fresh) continue;
    if (!std::exchange(e.together, true)) ++together_;
    if (c == failed || !is_in(e.at)) {
      timers_.set(c, never);
      e.at = status::waiting;
    } else {
      must_go_down(c);
    }
  }
  // The time begins to count in bring_down, when all are out.
  const time_point at = group_at_ == never ? start_at : std::max(group_at_, start_at);
  clear_group();
  group_at_ = at;
  bring_down(now);
}

restart_decision supervision::over(child c, process_end how, time_point now) {
  using kind = restart_decision::kind;
  entry& e = children_[c];
  if (!is_in(e.at)) return {kind::expected};
  if (std::exchange(e.faulty, false)) how = process_end::failed;
  const bool renewed = std::exchange(e.renewed, false);
  e.goes_down = false;
  const bool was_asked = coming_down_ == c;
  if (was_asked) coming_down_ = group;
  if (closed_ || stops_) {
    end(c);
    if (stops_) bring_down(now);
    return {closed_ && !stops_ && !was_asked ? kind::stays_ended : kind::expected};
  }
  timers_.set(c, never);
  if (e.together) {
    e.at = status::waiting;
    bring_down(now);
    return {kind::expected};
  }
  if (renewed) {
    e.at = status::due;
    push(order::start, c);
    return {kind::restarts};
  }
  const restart_decision d = decide(e.l.restart, e.history, how, now, random());
  if (d.what == kind::restarts) {
    e.history.restarted(e.l.restart, now);
    const time_point at = saturating_add(now, d.pause);
    if (e.l.restart.strategy == restart_strategy::one_for_one) {
      e.at = status::waiting;
      timers_.set(c, at);
    } else {
      restart_together(e.l.restart.strategy == restart_strategy::one_for_all ? 0 : c, c, at, now);
    }
    return d;
  }
  end(c);
  // In front: what was still to be started is not.
  if (d.what == kind::limit_reached) push_first(order::limit, c);
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
  clear_group();
  for (entry& e : children_) e.goes_down = false;
  down_below_ = 0;
  coming_down_ = group;
  return dropped;
}

void supervision::stop(time_point now) {
  if (stops_) return;
  stops_ = true;
  (void)close();
  for (child c = 0; c < children_.size(); ++c) {
    if (children_[c].at == status::lingering) --open_;
    if (is_in(children_[c].at)) must_go_down(c);
  }
  bring_down(now);
}

}  // namespace leat
