// SPDX-License-Identifier: BSL-1.0
#include <leat/process/supervision_driver.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace leat {

void supervision_driver::ending::append_cause(text_buffer& to) const noexcept {
  cause.append_to(to);
  if (cause && !why.empty()) to.append(", then: ");
}

supervision_driver::child supervision_driver::add(const supervision::limits& l,
                                                  std::optional<nanoseconds> watchdog) {
  children_.emplace_back().watchdog = watchdog;
  (void)watches_.add();
  return machine_.add(l);
}

void supervision_driver::start() {
  machine_.start(clock_.now());
  perform();
}

void supervision_driver::launch(child c) {
  entry& e = children_[c];
  e.cause = {};
  ++e.number;
  try {
    e.last = owner_.launch(c, e.number, e.last);
  } catch (const std::exception& x) {
    if (!e.last) throw;
    return out(c, process_end::failed, x.what(), false);
  }
  e.in = true;
  if (!e.watchdog) return;
  e.progress = owner_.progress(c);
  e.progress_at = clock_.now();
  watches_.set(c, saturating_add(e.progress_at, *e.watchdog / 4));
}

// A step may lead to further ones, also within itself: then the inner call does them.
void supervision_driver::perform() {
  for (supervision::step s{}; machine_.next(s);) {
    incarnation* const run = in(s.who);
    switch (s.what) {
      case supervision::order::start: launch(s.who); break;
      case supervision::order::ask:
        if (run) run->request_stop();
        break;
      case supervision::order::insist:
        if (run) run->insist();
        break;
      case supervision::order::linger:
        owner_.lingers(s.who);
        // Its successor need not wait for it to come back: it is fenced (sched/fence.hpp), and `quarantined`
        // is told. One in a declared blocking call is not: nothing takes its place until that has returned.
        if (run) run->want_out();
        break;
      case supervision::order::limit: owner_.limit_reached(s.who, limit::restarts); break;
    }
  }
}

void supervision_driver::hear(child c, const incarnation_news& n) {
  const entry& e = children_[c];
  if (!e.in || n.number != e.number) return;
  switch (n.what) {
    case incarnation_news::kind::prepared: break;
    case incarnation_news::kind::overran: overran(c, n); break;
    case incarnation_news::kind::returned: out(c, process_end::returned, n.why, false); break;
    case incarnation_news::kind::failed: out(c, process_end::failed, n.why, false); break;
  }
  perform();
}

void supervision_driver::overran(child c, const incarnation_news& n) {
  entry& e = children_[c];
  // Put out because it swallows its stop, or because it never comes in: the second may be both.
  const nanoseconds hang = e.last->hang();
  const bool went_on = e.last->out_wanted() && (hang == nanoseconds::zero() || n.ran < hang);
  if (!e.cause) e.cause = {went_on ? failure_cause::kind::went_on : failure_cause::kind::overran, n.ran};
  owner_.overran(c, n, went_on);
  switch (n.step) {
    case overrun_step::asked:
      if (!closed_) machine_.fault(c, clock_.now());
      break;
    case overrun_step::insisted: break;
    case overrun_step::quarantined:
      out(c, process_end::failed, {}, true);
      if (n.last_thread) owner_.limit_reached(c, limit::threads);
      break;
    case overrun_step::left_alone: owner_.limit_reached(c, limit::quarantines); break;
  }
}

void supervision_driver::out(child c, process_end how, std::string_view why, bool quarantined) {
  entry& e = children_[c];
  e.in = false;
  watches_.set(c, never);
  if (e.cause) how = process_end::failed;
  if (how == process_end::returned && owner_.finished(c)) how = process_end::finished;
  ending end;
  end.how = how;
  end.why = why;
  end.cause = e.cause;
  end.quarantined = quarantined;
  end.next = machine_.over(c, how, clock_.now());
  end.again = machine_.at(c) != supervision::status::ended;
  end.together = machine_.together();
  owner_.is_out(c, end);
}

void supervision_driver::fault(child c, const failure_cause& why) {
  entry& e = children_[c];
  if (!e.in || closed_) return;
  if (!e.cause) e.cause = why;
  machine_.fault(c, clock_.now());
  perform();
}

bool supervision_driver::renew(child c) {
  const bool will = !closed_ && machine_.renew(c, clock_.now());
  perform();
  return will;
}

void supervision_driver::look_at_watchdogs(time_point now) {
  while (watches_.next_at() <= now) {
    const child c = watches_.next();
    watches_.set(c, never);
    entry& e = children_[c];
    if (!e.in || e.cause || closed_) continue;
    const nanoseconds longest = *e.watchdog;
    if (const std::uint64_t progress = owner_.progress(c); progress != e.progress) {
      e.progress = progress;
      e.progress_at = now;
    } else if (saturating_sub(now, e.progress_at) >= longest) {
      fault(c, {failure_cause::kind::silent, longest});
      continue;
    }
    watches_.set(c, std::min(saturating_add(now, longest / 4 + nanoseconds(1)),
                             saturating_add(e.progress_at, longest)));
  }
}

void supervision_driver::pass() {
  const time_point now = clock_.now();
  machine_.pass(now);
  perform();
  look_at_watchdogs(now);
}

time_point supervision_driver::next_deadline() const noexcept {
  return std::min(machine_.next_deadline(), watches_.next_at());
}

std::vector<supervision_driver::child> supervision_driver::close() {
  closed_ = true;
  return machine_.close();
}

void supervision_driver::stop() {
  closed_ = true;
  machine_.stop(clock_.now());
  perform();
}

}  // namespace leat
