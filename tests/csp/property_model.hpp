// SPDX-License-Identifier: BSL-1.0
//
// Channels and selects as a sequential program: what exactly happens when one P runs all Gs and none is
// switched but where it yields or waits. Then an operation takes effect at its begin, or it waits and takes
// effect when another one claims it. Only two things are free: which of several ready cases an unordered
// select takes, and when a waiter of a ring without locks, which is woken to look, gets to look. Both are
// taken from the trace and checked to be possible.
#pragma once
#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "property_checks.hpp"

namespace leat::csp::test {

// One operation of an exact program as it was seen.
struct step {
  int who = 0;
  const op_plan* op = nullptr;
  std::vector<std::uint32_t> ids;  // what it sends: one, or one for each case
  result how = result::none;
  int which = nil;  // the case of a select
  std::uint32_t id = 0;
};

struct trace {
  enum class mark : std::uint8_t { begin, end, rest };
  struct event {
    mark what;
    std::size_t step;
  };
  std::deque<step> steps;
  std::vector<event> events;

  std::size_t begin(int who, const op_plan& o, std::vector<std::uint32_t> ids) {
    steps.push_back({who, &o, std::move(ids), result::none, nil, 0});
    events.push_back({mark::begin, steps.size() - 1});
    return steps.size() - 1;
  }
  void end(std::size_t at, result how, int which, std::uint32_t id) {
    steps[at].how = how;
    steps[at].which = which;
    steps[at].id = id;
    events.push_back({mark::end, at});
  }
  void rest() { events.push_back({mark::rest, 0}); }
};

class sequential_model {
 public:
  sequential_model(const program& p, const trace& t)
      : plan_(p), trace_(t), channels_(p.channels.size()), gs_(p.participants.size() + 1) {}

  // The first difference, or nothing.
  std::string run() {
    for (std::size_t i = 0; i < trace_.events.size() && fault_.empty(); ++i) {
      const trace::event& e = trace_.events[i];
      if (e.what == trace::mark::rest) {
        check_rest();
        continue;
      }
      if (e.what == trace::mark::begin) {
        begin(trace_.steps[e.step]);
      } else {
        end(trace_.steps[e.step]);
      }
      if (!fault_.empty()) fault_ += ", at event " + std::to_string(i) + "\n" + text(i);
    }
    return fault_;
  }

 private:
  struct place {
    int who;
    int which;  // the case, or nil
    bool operator==(const place&) const = default;
  };
  struct state {
    std::deque<std::uint32_t> values;
    std::deque<place> receivers, senders;
    bool closed = false;
  };
  struct g_state {
    const step* waits = nullptr;  // the operation that has begun
    enum class how_far : std::uint8_t { settled, queued, looks } far = how_far::settled;
    bool stop = false;
    bool stop_while_looking = false;
  };
  using far = g_state::how_far;

  void fail(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  state& channel(int c) { return channels_[program::index(c)]; }
  const channel_plan& plan(int c) const { return plan_.channels[program::index(c)]; }
  g_state& g(int who) { return gs_[program::index(who)]; }
  bool single(int c) const { return plan(c).kind == flavour::single; }

  // What a try of one operation would say.
  result could(int who, bool sends, int c) {
    if (c == nil) return sends ? result::full : result::empty;
    const state& s = channel(c);
    if (!sends) {
      if (!s.values.empty() || somebody_else(s.senders, who)) return result::received;
      return s.closed ? result::closed : result::empty;
    }
    if (s.closed) return result::closed;
    if (somebody_else(s.receivers, who) || s.values.size() < plan(c).capacity) return result::sent;
    switch (plan(c).when_full) {
      case leat::full::block:
      case leat::full::fail: return result::full;
      case leat::full::drop_newest: return result::dropped;
      case leat::full::drop_oldest:
      case leat::full::latest: return plan(c).capacity > 0 ? result::sent : result::dropped;
    }
    return result::none;
  }
  static bool somebody_else(const std::deque<place>& q, int who) {
    return std::any_of(q.begin(), q.end(), [&](const place& p) { return p.who != who; });
  }

  // Takes the first who waits, out of all queues: it is claimed. Its case is the one it says it got, which
  // must be one through which it waits here.
  const step* claim(std::deque<place>& q, int who, bool sends, int c) {
    const auto first = std::find_if(q.begin(), q.end(), [&](const place& p) { return p.who != who; });
    if (first == q.end()) return nullptr;
    const step* const s = g(first->who).waits;
    const bool here = std::find(q.begin(), q.end(), place{s->who, s->which}) != q.end();
    const result expected = sends ? result::sent : result::received;
    if (!here || s->how != expected)
      fail(name(*s) + " should have been served through c" + std::to_string(c) + " by G" +
           std::to_string(who));
    withdraw(s->who, far::settled);
    return s;
  }
  void withdraw(int who, far next) {
    for (state& s : channels_) {
      std::erase_if(s.receivers, [&](const place& p) { return p.who == who; });
      std::erase_if(s.senders, [&](const place& p) { return p.who == who; });
    }
    g(who).far = next;
  }
  static std::uint32_t sent_by(const step& s) {
    if (s.which == nil) return s.ids[0];
    return program::index(s.which) < s.ids.size() ? s.ids[program::index(s.which)] : 0;
  }
  void look(int who) {
    g(who).stop_while_looking = false;
    withdraw(who, far::looks);
  }
  // A ring without locks: the other side is told to look.
  void tell(std::deque<place>& q) {
    while (!q.empty()) look(q.front().who);
  }

  void do_send(int who, int c, std::uint32_t id) {
    state& s = channel(c);
    if (single(c)) {
      s.values.push_back(id);
      return tell(s.receivers);
    }
    if (const step* const r = claim(s.receivers, who, false, c)) {
      if (r->id != id) fail(name(*r) + " should have received " + id_text(id));
      return;
    }
    if (s.values.size() >= plan(c).capacity && !s.values.empty()) s.values.pop_front();
    s.values.push_back(id);
  }
  std::uint32_t do_recv(int who, int c) {
    state& s = channel(c);
    std::uint32_t id = 0;
    const bool buffered = !s.values.empty();
    if (buffered) {
      id = s.values.front();
      s.values.pop_front();
      if (single(c)) {
        tell(s.senders);
        return id;
      }
    }
    const step* const from = claim(s.senders, who, true, c);
    if (!from) return id;
    if (!buffered) return sent_by(*from);
    s.values.push_back(sent_by(*from));
    return id;
  }

  void begin(const step& s) {
    g_state& me = g(s.who);
    me.waits = &s;
    me.far = far::settled;
    const op_plan& o = *s.op;
    switch (o.what) {
      case verb::close: return do_close(o.at);
      case verb::stop: return do_stop(o.at);
      case verb::select: return begin_select(s);
      default: break;
    }
    const bool sends = o.what == verb::send || o.what == verb::try_send;
    const bool waits = o.what == verb::send || o.what == verb::recv || o.what == verb::drain;
    const result r = could(s.who, sends, o.at);
    if (waits && me.stop) {
      // A ring without locks notices a stop now and then, and when it would wait.
      const bool may_miss_it = o.at != nil && single(o.at) && (r == result::sent || r == result::received);
      if (!may_miss_it || s.how == result::stopped) return expect(s, result::stopped);
    }
    const bool policy_fails = sends && o.at != nil && plan(o.at).when_full == leat::full::fail;
    if (waits && (r == result::empty || (r == result::full && !policy_fails))) return wait(s);
    expect(s, r);
    take_effect(s, sends, o.at);
  }

  void expect(const step& s, result r) {
    if (s.how != r) fail(name(s) + " should have said " + to_string(r));
  }
  // The step is done as it says, which has been found to be possible.
  void take_effect(const step& s, bool sends, int c) {
    if (!fault_.empty()) return;
    if (sends && could(s.who, true, c) == result::sent) do_send(s.who, c, sent_by(s));
    if (!sends && could(s.who, false, c) == result::received) {
      const std::uint32_t id = do_recv(s.who, c);
      if (id != s.id) fail(name(s) + " should have received " + id_text(id));
    }
  }

  void wait(const step& s) {
    g(s.who).far = far::queued;
    const op_plan& o = *s.op;
    if (o.what != verb::select) {
      if (single(o.at)) return look(s.who);
      (o.what == verb::send ? channel(o.at).senders : channel(o.at).receivers).push_back({s.who, nil});
      return;
    }
    for (std::size_t i = 0; i < o.cases.size(); ++i) {
      const case_plan& c = o.cases[i];
      if (c.at == nil) continue;
      (c.what == case_plan::sort::send ? channel(c.at).senders : channel(c.at).receivers)
          .push_back({s.who, static_cast<int>(i)});
    }
  }

  // A case that can be taken now, and by an ordered select no case before it.
  bool choose(const step& s) {
    bool any = false, ok = false;
    for (std::size_t i = 0; i < s.op->cases.size(); ++i) {
      const case_plan& c = s.op->cases[i];
      if (c.at == nil) continue;
      const bool sends = c.what == case_plan::sort::send;
      const result r = could(s.who, sends, c.at);
      if (r == result::full || r == result::empty) continue;
      if (static_cast<int>(i) == s.which) {
        ok = !(any && s.op->ordered) && s.how == r;
        if (ok) take_effect(s, sends, c.at);
        if (ok) return true;
      }
      any = true;
    }
    if (any) fail(name(s) + " should have taken another case, or said otherwise of it");
    return any;
  }

  void begin_select(const step& s) {
    const std::vector<case_plan>& cases = s.op->cases;
    const auto is_otherwise = [](const case_plan& c) { return c.what == case_plan::sort::otherwise; };
    const bool waits = std::none_of(cases.begin(), cases.end(), is_otherwise);
    if (waits && g(s.who).stop) {
      // As with a receive: from a ring without locks it may take what is there.
      const bool missed_it = s.how == result::received && single(cases[static_cast<std::size_t>(s.which)].at);
      if (!missed_it) return expect(s, result::stopped);
    }
    if (choose(s)) return;
    if (!waits) return expect(s, result::otherwise);
    if (std::all_of(cases.begin(), cases.end(), [](const case_plan& c) { return c.at == nil; }))
      return expect(s, result::over);
    wait(s);
  }

  void do_close(int c) {
    state& s = channel(c);
    s.closed = true;
    for (std::deque<place>* const q : {&s.receivers, &s.senders}) {
      // Who waits at a ring is told that it is closed, and does not look at it again; but for what is in it.
      if (single(c) && q == &s.receivers && !s.values.empty()) {
        tell(*q);
        continue;
      }
      while (!q->empty()) {
        const step& w = *g(q->front().who).waits;
        // It lets others run before it parks at a ring, and a stop may come before it has looked again.
        if (single(c) && w.how == result::stopped) {
          withdraw(w.who, far::looks);
          continue;
        }
        const bool here =
            std::find(q->begin(), q->end(), place{w.who, w.which}) != q->end() ||
            std::find(s.senders.begin(), s.senders.end(), place{w.who, w.which}) != s.senders.end();
        if (!here || w.how != result::closed)
          fail(name(w) + " should have been told that c" + std::to_string(c) + " is closed");
        withdraw(w.who, far::settled);
      }
    }
  }

  void do_stop(int who) {
    g_state& them = g(who);
    if (them.stop) return;
    them.stop = true;
    them.stop_while_looking = them.far == far::looks;
    if (them.far != far::queued) return;
    expect(*them.waits, result::stopped);
    withdraw(who, far::settled);
  }

  void end(const step& s) {
    g_state& me = g(s.who);
    if (me.far == far::queued) return fail(name(s) + " should still wait");
    if (me.far == far::looks) {
      me.far = far::settled;
      const op_plan& o = *s.op;
      if (s.how == result::stopped) {
        if (!me.stop_while_looking) fail(name(s) + " was not stopped");
      } else if (o.what == verb::select) {
        if (!choose(s)) fail(name(s) + " had nothing to take");
      } else {
        const bool sends = o.what == verb::send;
        expect(s, could(s.who, sends, o.at));
        take_effect(s, sends, o.at);
      }
    }
    me.waits = nullptr;
  }

  // Everybody has run as far as it could.
  void check_rest() {
    for (const g_state& one : gs_) {
      if (!one.waits || one.far == far::queued) continue;
      const op_plan& o = *one.waits->op;
      const bool may_sleep = one.far == far::looks && !one.stop_while_looking && o.what != verb::select &&
                             (could(one.waits->who, o.what == verb::send, o.at) == result::empty ||
                              could(one.waits->who, o.what == verb::send, o.at) == result::full);
      if (!may_sleep) fail(name(*one.waits) + " sleeps, though it could go on");
    }
  }

  static std::string name(const step& s) {
    std::string t = "G" + std::to_string(s.who) + " '" + to_text(*s.op) + "'";
    if (s.how == result::none) return t;
    t += std::string(" (said ") + to_string(s.how);
    if (s.which != nil) t += ", case " + std::to_string(s.which);
    if (s.id) t += ", " + id_text(s.id);
    return t + ")";
  }
  std::string text(std::size_t until) const {
    std::string s;
    for (std::size_t i = 0; i <= until; ++i) {
      const trace::event& e = trace_.events[i];
      s += "    " + std::to_string(i) + " ";
      if (e.what == trace::mark::rest) {
        s += "all rest\n";
      } else {
        s += (e.what == trace::mark::begin ? "begin " : "end   ") + name(trace_.steps[e.step]) + "\n";
      }
    }
    return s;
  }

  const program& plan_;
  const trace& trace_;
  std::vector<state> channels_;
  std::vector<g_state> gs_;
  std::string fault_;
};

}  // namespace leat::csp::test
