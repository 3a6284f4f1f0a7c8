// SPDX-License-Identifier: BSL-1.0
//
// A select first tries each case. If none is ready it enrolls as one contested wait in all channels
// (wait.hpp), trying each once more under its lock, and waits to be claimed through one of them.
//
// Once it is claimed, its channels may go before it has run again; but it has to take itself out of all
// others. So it holds those that it waits at. The last to hold a channel frees it when the handler has run,
// since what the channel still has in it is user data.
#include <leat/csp/select.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/random.hpp>
#include <leat/csp/tap.hpp>
#include <leat/sched/m.hpp>

namespace leat {
namespace csp {
namespace {

std::uint32_t random_number(const entered& in) noexcept {
  static thread_local std::uint32_t of_thread = 0x9e3779b9;  // plain threads only: no switch in here
  return next_random(in.m ? sched::whole(in.m)->random : of_thread);
}

// It was told `closed`, and is to be staged anew.
bool goes_elsewhere(const case_base& c) noexcept {
  return c.result == ending::closed && c.channel && c.channel->would_go_elsewhere(c.op_at);
}

class selection {
 public:
  selection(std::span<case_base* const> cases, order in, turns& in_turn) noexcept
      : cases_(cases), ordered_(in == order::as_written), turns_(in_turn) {}

  // Has it been left with a channel that nobody else holds?
  bool has_orphans() const noexcept { return orphans_; }

  int run(entered& in) noexcept {
    // The quick way: something is ready, and the rest does not matter.
    if (!in.stop_asked()) {
      if (!turns_.begun()) begin_turns(in);
      bool closed = false;
      const std::size_t n = cases_.size();
      std::uint64_t drawn = turns_.packed();
      for (std::size_t k = 0; k < n; ++k, drawn >>= 4) {
        const std::size_t i = n <= turns::drawn_up_to ? drawn & 15 : at(k);
        case_base& c = *cases_[i];
        if (!c.channel) continue;
        c.result = c.channel->try_case(in, c.op_at);
        if (c.result == ending::pending) continue;
        if (c.result != ending::closed || c.wants_close) return static_cast<int>(i);
        closed = true;
      }
      note_cases();
      return run_slowly(in, !closed);
    }
    note_cases();
    return run_slowly(in, false);
  }

 private:
  // What select returns; none: look again.
  using choice = std::optional<int>;

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

  void begin_turns(const entered& in) noexcept {
    if (ordered_ || cases_.size() < 2)
      turns_.in_order();
    else
      turns_.shuffle(random_number(in));
  }
  // The k-th case to look at.
  std::size_t at(std::size_t k) noexcept { return turns_.at(k); }

  int run_slowly(entered& in, bool tried) noexcept {
    for (bool first = true;; tried = first = false) {
      if (!otherwise_ && in.stop_asked()) return select_stopped;
      if (!tried) {
        begin_turns(in);
        if (const choice c = try_all(in)) return *c;
      }
      if (otherwise_) return *otherwise_;
      if (!anything_to_wait_for()) return select_closed;
      if (timeout_ && until_ <= now_ns()) return *timeout_;
      // Not with a deadline: nobody would look at it while others run.
      if (first && !timeout_ && at_rings_alone() && let_others_run_first(in)) continue;
      if (const choice c = wait(in)) return *c;
    }
  }

  // Where nobody is met: what the other sides put or take while this one does not wait is there all the same.
  bool at_rings_alone() const noexcept {
    return std::all_of(cases_.begin(), cases_.end(), [](const case_base* c) {
      return !c->channel || c->dead || c->channel->only_stores();
    });
  }

  // The case is over with `result`. None when its handler does not want to know.
  choice settle(std::size_t i, ending result) const noexcept {
    case_base& c = *cases_[i];
    c.result = result;
    if (result != ending::closed || c.wants_close || goes_elsewhere(c)) return static_cast<int>(i);
    c.dead = true;
    return {};
  }

  choice try_all(entered& in) noexcept {
    for (std::size_t k = 0; k < cases_.size(); ++k) {
      const std::size_t at_k = at(k);
      case_base& c = *cases_[at_k];
      if (!c.channel || c.dead) continue;
      const ending a = c.channel->try_case(in, c.op_at);
      if (a != ending::pending)
        if (const choice over = settle(at_k, a)) return over;
    }
    return {};
  }

  bool anything_to_wait_for() const noexcept {
    if (timeout_) return true;
    return std::any_of(cases_.begin(), cases_.end(),
                       [](const case_base* c) { return c->channel && !c->dead; });
  }

  choice wait(entered& in) noexcept {
    contested_wait me(in.m ? &in.g() : nullptr);
    std::int64_t until = until_;
    std::size_t enrolled = 0;
    std::uint16_t places = 0;
    choice chosen;
    bool waits = true, claimed_itself = false;
    for (; enrolled < cases_.size() && waits; ++enrolled) {
      const std::size_t i = at(enrolled);
      case_base& c = *cases_[i];
      if (!c.channel || c.dead) continue;
      waiter& place = *new (&c.op_at.entry) waiter;
      place.who = &me;
      place.slot = c.op_at.slot;
      place.index = static_cast<std::int32_t>(i);
      c.channel->add_ref();
      const ending now = c.channel->enroll(in, c.op_at, me);
      switch (now) {
        case ending::pending:
          until = std::min(until, c.channel->due());
          ++places;
          break;
        case ending::done:
        case ending::dropped: chosen = settle(i, now); [[fallthrough]];
        case ending::look:
          claimed_itself = true;
          waits = false;
          break;
        default: waits = false; break;  // lost; closed: the next round of try_all sees to it
      }
    }
    if (waits && until == forever) me.note_places(places);
    const std::int32_t claim = waits            ? me.block(in, wait_reason::select, until)
                               : claimed_itself ? wait::claim_for(ending::given_up)
                                                : me.give_up();
    for (std::size_t k = 0; k < enrolled; ++k) {
      case_base& c = *cases_[at(k)];
      if (!c.channel || c.dead) continue;
      c.channel->withdraw(c.op_at);
      if (!c.channel->drop_ref_unless_last()) [[unlikely]]
        c.orphaned = orphans_ = true;
    }
    if (chosen) return chosen;
    switch (wait::ended_by(claim)) {
      case ending::done: break;
      case ending::stopped: return select_stopped;
      case ending::timeout: return until < until_ ? choice() : timeout_;
      default: return {};
    }
    const auto i = static_cast<std::size_t>(claim);
    const ending said = cases_[i]->op_at.entry.said;
    return said == ending::look ? choice() : settle(i, said);
  }

  const std::span<case_base* const> cases_;
  const bool ordered_;
  turns& turns_;
  bool orphans_ = false;
  choice otherwise_, timeout_;
  std::int64_t until_ = forever;
};

// A case that receives from one of the parts of another's channel. It goes the whole way by itself, so that
// the other has its value when it is finished.
class part_case final : public case_base {
 public:
  part_case(case_base& whole, channel_base& from)
      : case_base(sort::channel, &from, op::recv, whole.wants_close), whole_(whole) {
    from.stage(op_at, whole.value());
    staged = true;
  }
  ~part_case() override {
    if (staged) channel->unstage(op_at, whole_.value());
  }
  void run() override {
    whole_.result = result;
    if (result == ending::closed) return;
    staged = false;
    channel->finish(op_at, whole_.value());
  }

 private:
  case_base& whole_;
};

// With each case whose channel has parts taken apart. It is closed when all its parts are, so those that turn
// out to be closed are put aside until none is left. Parts are held by the whole, and that by the select.
int choose_with_parts(std::span<case_base* const> cases, order in_order, bool& orphans) {
  std::vector<std::unique_ptr<part_case>> parts;
  std::vector<case_base*> list;
  std::vector<int> index;
  std::vector<std::size_t> open(cases.size(), 0);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    case_base& c = *cases[i];
    if (c.may_have_parts && c.channel)
      for (const ref<channel_base>& p : c.channel->parts(c.op_at)) {
        list.push_back(parts.emplace_back(std::make_unique<part_case>(c, *p.get())).get());
        index.push_back(static_cast<int>(i));
        ++open[i];
      }
    if (open[i] > 0) continue;
    list.push_back(&c);
    index.push_back(static_cast<int>(i));
  }
  std::vector<std::uint32_t> room(list.size());
  for (;;) {
    int chosen = 0;
    {
      entered in;
      turns in_turn(list.size(), room.data());
      selection s(list, in_order, in_turn);
      chosen = s.run(in);
      orphans |= s.has_orphans();
    }
    if (chosen < 0) return chosen;
    const auto at = static_cast<std::size_t>(chosen);
    const auto whole = static_cast<std::size_t>(index[at]);
    if (open[whole] == 0) return static_cast<int>(whole);
    list[at]->run();
    if (list[at]->result != ending::closed || --open[whole] == 0) return static_cast<int>(whole);
    list.erase(list.begin() + chosen);
    index.erase(index.begin() + chosen);
  }
}

int choose_from(std::span<select_case> cases, order in) {
  std::vector<case_base*> list;
  list.reserve(cases.size());
  for (const select_case& c : cases) list.push_back(c.get());
  std::vector<std::uint32_t> room(cases.size() > turns::packed_up_to ? cases.size() : 0);
  turns in_turn(cases.size(), room.data());
  return choose_and_run(list, in, in_turn);
}

// What a select leaves to be done outside the runtime, also when something throws.
class loose_ends {
 public:
  explicit loose_ends(std::span<case_base* const> cases) noexcept : cases_(cases) {}
  ~loose_ends() {
    if (staged_) [[unlikely]]
      unstage_all();
    if (orphans) [[unlikely]]
      free_orphans();
    if (notes_) [[unlikely]]
      delete notes_;
  }
  loose_ends(const loose_ends&) = delete;
  loose_ends& operator=(const loose_ends&) = delete;

  bool orphans = false;

  // The case holds its channel until it is no longer staged.
  void stage(case_base& c) {
    if (c.op_at.kind == op::send && c.channel->tap() && c.channel->tap()->is_used()) [[unlikely]]
      note_for_tap(c);
    c.channel->stage(c.op_at, c.value());
    c.channel->add_ref();
    c.staged = staged_ = true;
  }
  void finish(case_base& taken) {
    if (!staged_) [[likely]]
      return;
    // The last first: two cases may have been given the same value to send. If one throws, the destructor goes on.
    for (std::size_t i = cases_.size(); i-- > 0;) {
      case_base& c = *cases_[i];
      if (!c.staged) continue;
      const released_at_end r{*this, c};
      if (&c == &taken && taken.result != ending::closed) {
        if (notes_ && c.result == ending::done) [[unlikely]]
          show_in_tap(c);
        c.channel->finish(c.op_at, c.value());
      } else {
        c.channel->unstage(c.op_at, c.value());
      }
    }
    staged_ = false;
  }

 private:
  struct released_at_end {
    loose_ends& ends;
    case_base& c;
    ~released_at_end() { ends.release(c); }
  };
  void release(case_base& c) noexcept {
    c.staged = false;
    if (!c.channel->drop_ref_unless_last()) c.orphaned = orphans = true;
  }
  void unstage_all() noexcept {
    for (std::size_t i = cases_.size(); i-- > 0;) {
      case_base& c = *cases_[i];
      if (!c.staged) continue;
      c.channel->unstage(c.op_at, c.value());
      release(c);
    }
  }
  void free_orphans() noexcept {
    for (case_base* const c : cases_)
      if (std::exchange(c->orphaned, false)) std::exchange(c->channel, nullptr)->drop_ref();
  }

  // What may be sent to a channel that somebody looks into, as text (tap.hpp).
  struct note {
    const case_base* of;
    std::string text;
  };
  void note_for_tap(case_base& c) noexcept {
    try {
      if (!notes_) notes_ = new std::vector<note>;
      notes_->push_back({&c, std::string()});
      note& n = notes_->back();
      (void)c.channel->tap()->write(c.value(), n.text);
    } catch (const std::exception&) {  // no memory: it is not seen
    }
  }
  void show_in_tap(const case_base& c) noexcept {
    for (note& n : *notes_)
      if (n.of == &c) c.channel->tap()->passed(std::move(n.text));
  }

  const std::span<case_base* const> cases_;
  bool staged_ = false;
  std::vector<note>* notes_ = nullptr;
};

// The index of the case that is ready, its value moved, or select_closed or select_stopped. `again`: the same select
// goes on, with its deadlines.
int choose(std::span<case_base* const> cases, order in_order, turns& in_turn, loose_ends& ends, bool again) {
  bool parts = false;
  for (case_base* const c : cases) {
    if (c->fresh || (again && !c->staged_by_kind)) continue;
    c->prepare();
    c->fresh = !c->aimed_anew;
    if (!c->staged_by_kind || !c->channel) [[likely]]
      continue;
    ends.stage(*c);
    parts |= c->may_have_parts;
  }
  if (parts) [[unlikely]]
    return choose_with_parts(cases, in_order, ends.orphans);
  entered in;
  selection s(cases, in_order, in_turn);
  const int i = s.run(in);
  ends.orphans = s.has_orphans();
  return i;
}

}  // namespace

int choose_and_run(std::span<case_base* const> cases, order in, turns& in_turn) {
  const std::size_t ready = glance_at(cases, in, in_turn);
  if (ready < cases.size() && cases[ready]->take_and_run()) return static_cast<int>(ready);
  return choose_inside_and_run(cases, in, in_turn);
}

int choose_inside_and_run(std::span<case_base* const> cases, order in, turns& in_turn) {
  for (bool again = false;; again = true) {
    loose_ends ends(cases);
    const int i = choose(cases, in, in_turn, ends, again);
    if (i >= 0) {
      case_base& c = *cases[static_cast<std::size_t>(i)];
      const bool elsewhere = goes_elsewhere(c);
      ends.finish(c);
      if (elsewhere) continue;
      c.fresh = false;
      c.run();
    } else if (i == select_stopped) {
      throw_if_insisted();
    }
    return i;
  }
}

}  // namespace csp

int select(std::span<select_case> cases) { return csp::choose_from(cases, csp::order::random); }
int select_ordered(std::span<select_case> cases) { return csp::choose_from(cases, csp::order::as_written); }

}  // namespace leat
