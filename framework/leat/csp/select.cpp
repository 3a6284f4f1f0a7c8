// SPDX-License-Identifier: BSL-1.0
//
// A select first tries each case. If none is ready it enrolls as one contested party in all channels
// (party.hpp), trying each once more under its lock, and waits to be claimed through one of them.
#include <leat/csp/select.hpp>

#include <algorithm>
#include <vector>

namespace leat {
namespace csp {
namespace {

std::uint32_t random_number(const entered& in) noexcept {
  static thread_local std::uint32_t of_thread = 0x9e3779b9;  // plain threads only: no switch in here
  std::uint32_t& s = in.m ? in.m->random : of_thread;
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

class selection {
 public:
  selection(std::span<case_base* const> cases, bool ordered) noexcept : cases_(cases), ordered_(ordered) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      case_base& c = *cases[i];
      c.dead = false;
      c.op_at.place.index = static_cast<std::int32_t>(i);
      if (c.what == case_base::sort::otherwise) otherwise_ = static_cast<int>(i);
      if (c.what == case_base::sort::timeout && c.until < until_) {
        until_ = c.until;
        timeout_ = static_cast<int>(i);
      }
    }
  }

  int run(entered& in) noexcept {
    for (;;) {
      if (otherwise_ < 0 && in.stop_asked()) return select_stopped;
      start_ = ordered_ || cases_.size() < 2 ? 0 : random_number(in) % cases_.size();
      if (const int i = try_all(in); i >= 0) return i;
      if (otherwise_ >= 0) return otherwise_;
      if (!anything_to_wait_for()) return select_closed;
      if (timeout_ >= 0 && until_ <= now_ns()) return timeout_;
      if (const int i = wait(in); i != look_again) return i;
    }
  }

 private:
  static constexpr int look_again = -100;

  case_base& at(std::size_t k) const noexcept {
    const std::size_t i = start_ + k;
    return *cases_[i < cases_.size() ? i : i - cases_.size()];
  }

  // The case is over with `result`. Its index, or look_again when its handler does not want to know.
  int settle(case_base& c, attempt result) const noexcept {
    c.result = result;
    if (result != attempt::closed || c.wants_close) return c.op_at.place.index;
    c.dead = true;
    return look_again;
  }

  int try_all(entered& in) noexcept {
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      case_base& c = at(k);
      if (!c.channel || c.dead) continue;
      const attempt a = c.channel->try_case(in, c.op_at);
      if (a != attempt::pending)
        if (const int i = settle(c, a); i != look_again) return i;
    }
    return look_again;
  }

  bool anything_to_wait_for() const noexcept {
    if (timeout_ >= 0) return true;
    return std::any_of(cases_.begin(), cases_.end(),
                       [](const case_base* c) { return c->channel && !c->dead; });
  }

  int wait(entered& in) noexcept {
    party me(in.m ? &in.g() : nullptr, party::contested_t{});
    std::int64_t until = until_;
    std::size_t enrolled = 0;
    int chosen = look_again;
    bool waits = true, claimed_itself = false;
    for (; enrolled < cases_.size() && waits; ++enrolled) {
      case_base& c = at(enrolled);
      if (!c.channel || c.dead) continue;
      c.op_at.place.who = &me;
      c.op_at.place.slot = c.op_at.slot;
      c.op_at.place.verdict = 0;
      switch (c.channel->enroll(in, c.op_at, me)) {
        case attempt::pending: until = std::min(until, c.channel->due()); break;
        case attempt::done:
        case attempt::dropped: chosen = settle(c, attempt::done); [[fallthrough]];
        case attempt::again:
          claimed_itself = true;
          waits = false;
          break;
        case attempt::closed:  // the next round of try_all sees to it
        case attempt::lost: waits = false; break;
      }
    }
    const std::int32_t outcome = waits            ? me.wait(in, wait_reason::select, until)
                                 : claimed_itself ? outcome_refused
                                                  : me.give_up();
    for (std::size_t k = 0; k < enrolled; ++k) {
      case_base& c = at(k);
      if (c.channel && !c.dead && c.op_at.place.who == &me) c.channel->withdraw(c.op_at);
      c.op_at.place.who = nullptr;
    }
    if (chosen >= 0) return chosen;
    if (outcome == outcome_stopped) return select_stopped;
    if (outcome == outcome_timeout) return until < until_ || timeout_ < 0 ? look_again : timeout_;
    if (outcome < 0) return look_again;
    case_base& c = *cases_[static_cast<std::size_t>(outcome)];
    switch (c.op_at.place.verdict) {
      case verdict_done: return settle(c, attempt::done);
      case verdict_closed: return settle(c, attempt::closed);
      default: return look_again;  // verdict_look
    }
  }

  const std::span<case_base* const> cases_;
  const bool ordered_;
  std::size_t start_ = 0;
  int otherwise_ = -1, timeout_ = -1;
  std::int64_t until_ = forever;
};

int choose_from(std::span<select_case> cases, bool ordered) {
  std::vector<case_base*> list;
  list.reserve(cases.size());
  for (const select_case& c : cases) list.push_back(c.get());
  return choose_and_run(list, ordered);
}

}  // namespace

int choose(std::span<case_base* const> cases, bool ordered) {
  for (case_base* const c : cases) c->prepare();
  entered in;
  return selection(cases, ordered).run(in);
}

int choose_and_run(std::span<case_base* const> cases, bool ordered) {
  const int i = choose(cases, ordered);
  if (i >= 0) {
    cases[static_cast<std::size_t>(i)]->run();
  } else if (i == select_stopped) {
    throw_if_insisted();
  }
  return i;
}

}  // namespace csp

int select(std::span<select_case> cases) { return csp::choose_from(cases, false); }
int select_ordered(std::span<select_case> cases) { return csp::choose_from(cases, true); }

}  // namespace leat
