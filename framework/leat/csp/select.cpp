// SPDX-License-Identifier: BSL-1.0
//
// A select first tries each case. If none is ready it enrolls as one contested party in all channels
// (party.hpp), trying each once more under its lock, and waits to be claimed through one of them.
#include <leat/csp/select.hpp>

#include <algorithm>
#include <new>
#include <vector>

#include <leat/base/random.hpp>

namespace leat {
namespace csp {
namespace {

std::uint32_t random_number(const entered& in) noexcept {
  static thread_local std::uint32_t of_thread = 0x9e3779b9;  // plain threads only: no switch in here
  return next_random(in.m ? in.m->random : of_thread);
}

class selection {
 public:
  selection(std::span<case_base* const> cases, order in, std::size_t start) noexcept
      : cases_(cases), ordered_(in == order::as_written), start_(start) {}

  int run(entered& in) noexcept {
    // The quick way: something is ready, and the rest does not matter.
    if (!in.stop_asked()) {
      if (start_ == any_start) choose_start(in);
      bool closed = false;
      for (std::size_t k = 0; k < cases_.size(); ++k) {
        const std::size_t i = at(k);
        case_base& c = *cases_[i];
        if (!c.channel) continue;
        c.result = c.channel->try_case(in, c.op_at);
        if (c.result == attempt::pending) continue;
        if (c.result != attempt::closed || c.wants_close) return static_cast<int>(i);
        closed = true;
      }
      note_cases();
      return run_slowly(in, !closed);
    }
    note_cases();
    return run_slowly(in, false);
  }

 private:
  static constexpr int look_again = -100;

  void note_cases() noexcept {
    const std::span<case_base* const> cases = cases_;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      case_base& c = *cases[i];
      c.dead = false;
      if (c.what == case_base::sort::otherwise) otherwise_ = static_cast<int>(i);
      if (c.what == case_base::sort::timeout && c.until < until_) {
        until_ = c.until;
        timeout_ = static_cast<int>(i);
      }
    }
  }

  void choose_start(const entered& in) noexcept {
    start_ = ordered_ || cases_.size() < 2 ? 0 : random_number(in) % cases_.size();
  }
  // The k-th case to look at.
  std::size_t at(std::size_t k) const noexcept {
    const std::size_t i = start_ + k;
    return i < cases_.size() ? i : i - cases_.size();
  }

  int run_slowly(entered& in, bool tried) noexcept {
    for (bool first = true;; tried = first = false) {
      if (otherwise_ < 0 && in.stop_asked()) return select_stopped;
      if (!tried) {
        choose_start(in);
        if (const int i = try_all(in); i >= 0) return i;
      }
      if (otherwise_ >= 0) return otherwise_;
      if (!anything_to_wait_for()) return select_closed;
      if (timeout_ >= 0 && until_ <= now_ns()) return timeout_;
      // Not with a deadline: nobody would look at it while others run.
      if (first && timeout_ < 0 && at_rings_alone() && let_others_run_first(in)) continue;
      if (const int i = wait(in); i != look_again) return i;
    }
  }

  // Where nobody is met: what the other sides put or take while this one does not wait is there all the same.
  bool at_rings_alone() const noexcept {
    return std::all_of(cases_.begin(), cases_.end(), [](const case_base* c) {
      return !c->channel || c->dead || c->channel->kind() == flavour::single;
    });
  }

  // The case is over with `result`. Its index, or look_again when its handler does not want to know.
  int settle(std::size_t i, attempt result) const noexcept {
    case_base& c = *cases_[i];
    c.result = result;
    if (result != attempt::closed || c.wants_close) return static_cast<int>(i);
    c.dead = true;
    return look_again;
  }

  int try_all(entered& in) noexcept {
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      case_base& c = *cases_[at(k)];
      if (!c.channel || c.dead) continue;
      const attempt a = c.channel->try_case(in, c.op_at);
      if (a != attempt::pending)
        if (const int i = settle(at(k), a); i != look_again) return i;
    }
    return look_again;
  }

  bool anything_to_wait_for() const noexcept {
    if (timeout_ >= 0) return true;
    return std::any_of(cases_.begin(), cases_.end(),
                       [](const case_base* c) { return c->channel && !c->dead; });
  }

  int wait(entered& in) noexcept {
    contested_party me(in.m ? &in.g() : nullptr);
    std::int64_t until = until_;
    std::size_t enrolled = 0;
    std::uint16_t places = 0;
    int chosen = look_again;
    bool waits = true, claimed_itself = false;
    for (; enrolled < cases_.size() && waits; ++enrolled) {
      const std::size_t i = at(enrolled);
      case_base& c = *cases_[i];
      if (!c.channel || c.dead) continue;
      waiter& place = *new (&c.op_at.place) waiter;
      place.who = &me;
      place.slot = c.op_at.slot;
      place.index = static_cast<std::int32_t>(i);
      const attempt now = c.channel->enroll(in, c.op_at, me);
      switch (now) {
        case attempt::pending:
          until = std::min(until, c.channel->due());
          ++places;
          break;
        case attempt::done:
        case attempt::dropped: chosen = settle(i, now); [[fallthrough]];
        case attempt::again:
          claimed_itself = true;
          waits = false;
          break;
        case attempt::closed:  // the next round of try_all sees to it
        case attempt::lost: waits = false; break;
      }
    }
    if (waits && until == forever) me.note_places(places);
    const std::int32_t outcome = waits            ? me.wait(in, wait_reason::select, until)
                                 : claimed_itself ? outcome_given_up
                                                  : me.give_up();
    for (std::size_t k = 0; k < enrolled; ++k) {
      case_base& c = *cases_[at(k)];
      if (c.channel && !c.dead) c.channel->withdraw(c.op_at);
    }
    if (chosen >= 0) return chosen;
    if (outcome == outcome_stopped) return select_stopped;
    if (outcome == outcome_timeout) return until < until_ || timeout_ < 0 ? look_again : timeout_;
    if (outcome < 0) return look_again;
    const auto i = static_cast<std::size_t>(outcome);
    switch (cases_[i]->op_at.place.verdict) {
      case verdict_done: return settle(i, attempt::done);
      case verdict_closed: return settle(i, attempt::closed);
      default: return look_again;  // verdict_look
    }
  }

  const std::span<case_base* const> cases_;
  const bool ordered_;
  std::size_t start_;
  int otherwise_ = -1, timeout_ = -1;
  std::int64_t until_ = forever;
};

// One of several channels that a case stands for.
class part_case final : public case_base {
 public:
  part_case(case_base& whole, channel_base& from) noexcept
      : case_base(sort::channel, &from, op::recv, whole.wants_close) {
    op_at.slot = whole.slot_for(from);
  }
  void run() override {}
};

// With each case that stands for several channels taken apart. Such a case is closed when all its parts are,
// so the parts that turn out to be closed are put aside until none is left.
int choose_with_parts(std::span<case_base* const> cases, order in_order) {
  std::vector<std::unique_ptr<part_case>> parts;
  std::vector<case_base*> list;
  std::vector<int> index;
  std::vector<std::size_t> open(cases.size(), 0);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    case_base& c = *cases[i];
    if (!c.several) {
      list.push_back(&c);
      index.push_back(static_cast<int>(i));
      continue;
    }
    for (const ref<channel_base>& p : static_cast<several*>(c.channel)->all()) {
      list.push_back(parts.emplace_back(std::make_unique<part_case>(c, *p.get())).get());
      index.push_back(static_cast<int>(i));
      ++open[i];
    }
  }
  for (;;) {
    int chosen = 0;
    {
      entered in;
      chosen = selection(list, in_order, any_start).run(in);
    }
    if (chosen < 0) return chosen;
    const auto at = static_cast<std::size_t>(chosen);
    const auto whole = static_cast<std::size_t>(index[at]);
    case_base& c = *cases[whole];
    if (!c.several) return static_cast<int>(whole);
    c.result = list[at]->result;
    c.part = list[at]->channel;
    if (c.result != attempt::closed || --open[whole] == 0) return static_cast<int>(whole);
    list.erase(list.begin() + chosen);
    index.erase(index.begin() + chosen);
  }
}

int choose_from(std::span<select_case> cases, order in) {
  std::vector<case_base*> list;
  list.reserve(cases.size());
  for (const select_case& c : cases) list.push_back(c.get());
  return choose_and_run(list, in);
}

// The index of the case that is ready, its value moved, or select_closed or select_stopped.
int choose(std::span<case_base* const> cases, order in_order, std::size_t start) {
  bool parts = false;
  for (case_base* const c : cases) {
    parts |= c->several;
    if (c->fresh) continue;
    c->prepare();
    c->fresh = !c->aimed_anew;
  }
  if (parts) [[unlikely]]
    return choose_with_parts(cases, in_order);
  entered in;
  return selection(cases, in_order, start).run(in);
}

}  // namespace

int choose_and_run(std::span<case_base* const> cases, order in) {
  const glance seen = glance_at(cases, in);
  if (seen.ready < cases.size() && cases[seen.ready]->take_and_run()) return static_cast<int>(seen.ready);
  return choose_inside_and_run(cases, in, seen.start);
}

int choose_inside_and_run(std::span<case_base* const> cases, order in, std::size_t start) {
  const int i = choose(cases, in, start);
  if (i >= 0) {
    case_base& c = *cases[static_cast<std::size_t>(i)];
    c.fresh = false;
    c.run();
  } else if (i == select_stopped) {
    throw_if_insisted();
  }
  return i;
}

}  // namespace csp

int select(std::span<select_case> cases) { return csp::choose_from(cases, csp::order::random); }
int select_ordered(std::span<select_case> cases) { return csp::choose_from(cases, csp::order::as_written); }

}  // namespace leat
