// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/context.hpp>

#include <leat/sched/stop_state.hpp>
#include <leat/sched/time.hpp>

namespace leat {

void context::relay::operator()() const noexcept { to->raise(sched::stop_level::asked, from->why()); }

stop_source context::source_within(const stop_token& parent, deadline until) {
  stop_source s;
  s.state()->until = until.at() < parent.until().at() ? until : parent.until();
  return s;
}

context::context(const stop_token& parent, deadline until)
    : source_(source_within(parent, until)), from_parent_(parent, relay{parent.state(), source_.state()}) {
  if (until.at() >= parent.until().at() || ended()) return;
  if (until.expired()) {
    source_.state()->raise(sched::stop_level::asked, stop_reason::deadline);
    return;
  }
  timer_.emplace();
  go({.name = "deadline", .stop = timer_}, [of = source_.state(), until] {
    if (sleep_until(until) == sleep_result::elapsed)
      of->raise(sched::stop_level::asked, stop_reason::deadline);
  });
}

void context::cancel() noexcept {
  source_.request_stop();
  if (timer_) timer_->request_stop();
}

}  // namespace leat
