// SPDX-License-Identifier: BSL-1.0
//
// Random programs over channels: what each participant does, made from a seed alone, and in readable form.
//
// A program has participants (Gs, and at times one plain thread), channels, and lanes: a lane is what one
// receives from. Lane i < channels is channel i itself; the readers of broadcast channels follow.
// Every program ends: main closes all channels at last (property_world.hpp), all else has a deadline.
#pragma once
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <leat/csp/select.hpp>

#include "../sched/hang_guard.hpp"

namespace leat::csp::test {

using sched::test::random_numbers;

inline constexpr int nil = -1;

enum class verb : std::uint8_t {
  send,
  try_send,
  send_until,
  recv,
  try_recv,
  recv_until,
  drain,  // range-for
  select,
  close,
  close_reader,
  stop,
  yield,
  pause,
  look,
};

struct case_plan {
  enum class sort : std::uint8_t { recv, send, timeout, otherwise };
  sort what = sort::recv;
  int at = nil;       // a lane or a channel
  bool told = false;  // of a close
  std::int64_t wait_ns = 0;
};

struct op_plan {
  verb what = verb::yield;
  int at = nil;  // a lane for receives, a channel for all else; whom for stop
  std::int64_t wait_ns = 0;
  int times = 1;                          // send, recv
  bool ordered = false, as_span = false;  // select
  std::vector<case_plan> cases;
};

struct channel_plan {
  flavour kind = flavour::many;
  std::size_t capacity = 0;
  leat::full when_full = leat::full::block;
  int writer = nil, reader = nil;  // of a single: the only ones
};

struct lane_plan {
  int channel = 0;
  std::size_t capacity = 0;
  leat::full when_full = leat::full::block;
};

struct program {
  std::uint64_t seed = 0;
  unsigned procs = 1;
  bool exact = false;    // one P, and nobody is switched but where it yields or waits
  bool boxed = false;    // the values' move may throw
  bool thread = false;   // participant 0 is a plain thread
  bool patient = false;  // main closes when all have come to rest; else after close_after
  std::int64_t close_after = 0;
  std::vector<int> stopped_by_main;
  std::vector<channel_plan> channels;
  std::vector<lane_plan> lanes;
  std::vector<std::vector<op_plan>> participants;

  const channel_plan& channel_of(int lane) const { return channels[index(lanes[index(lane)].channel)]; }
  bool is_reader_lane(int lane) const { return index(lane) >= channels.size(); }
  static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }
};

class generator {
 public:
  explicit generator(std::uint64_t seed) : random_(seed * 0x2545f4914f6cdd1du + 99) { p_.seed = seed; }

  program make() {
    switch (p_.seed % 4) {
      case 0: p_.procs = 1; break;
      case 1: p_.procs = 2; break;
      case 2: p_.procs = 4; break;
      default: p_.exact = true;
    }
    p_.boxed = one_in(4);
    p_.thread = !p_.exact && one_in(6);
    p_.patient = p_.exact || one_in(2);
    p_.close_after = static_cast<std::int64_t>(below(4) * below(100'000));
    may_wait_for_ever_ = p_.patient || !one_in(4);
    const std::uint64_t n = 1 + below(8);
    p_.participants.resize(n);
    const std::uint64_t m = 1 + (one_in(3) ? below(8) : below(3));
    for (std::uint64_t i = 0; i < m; ++i) make_channel();
    for (const channel_plan& c : p_.channels)
      p_.lanes.push_back({static_cast<int>(p_.lanes.size()), c.capacity, c.when_full});
    for (std::uint64_t i = 0; i < m; ++i)
      if (p_.channels[i].kind == flavour::broadcast) make_readers(static_cast<int>(i));
    for (std::uint64_t i = 0; i < n; ++i) make_participant(static_cast<int>(i));
    if (one_in(4))
      for (std::uint64_t i = 0; i < n; ++i)
        if (one_in(3)) p_.stopped_by_main.push_back(static_cast<int>(i));
    return std::move(p_);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  bool one_in(std::uint64_t n) { return random_.one_in(n); }
  int pick(std::size_t n) { return static_cast<int>(below(n)); }
  std::int64_t some_ns() {
    switch (below(6)) {
      case 0: return 0;
      case 1: return static_cast<std::int64_t>(below(2'000));
      case 2: return static_cast<std::int64_t>(below(200'000));
      default: return static_cast<std::int64_t>(below(30'000));
    }
  }
  std::size_t some_capacity() {
    constexpr std::size_t capacities[] = {1, 1, 2, 2, 3, 7};
    return capacities[below(6)];
  }

  void make_channel() {
    channel_plan c;
    constexpr leat::full policies[] = {leat::full::block,       leat::full::block,       leat::full::block,
                                       leat::full::drop_newest, leat::full::drop_oldest, leat::full::fail};
    c.when_full = policies[below(6)];
    switch (below(p_.exact ? 9 : 11)) {
      case 0:
      case 1:
      case 2: c.kind = flavour::rendezvous; break;
      case 3:
      case 4: c.capacity = some_capacity(); break;
      case 5:
      case 6:
      case 7:
        c.kind = flavour::single;
        c.capacity = some_capacity();
        if (c.when_full == leat::full::drop_oldest) c.when_full = leat::full::block;
        c.writer = pick(p_.participants.size());
        c.reader = pick(p_.participants.size());
        break;
      case 8:
        c.kind = flavour::latest;
        c.capacity = 1;
        c.when_full = leat::full::latest;
        break;
      default: c.kind = flavour::broadcast; c.capacity = some_capacity();
    }
    // There is no ring without locks for boxes.
    if (p_.boxed && c.kind == flavour::single) {
      c.kind = flavour::many;
      c.writer = c.reader = nil;
    }
    p_.channels.push_back(c);
  }

  void make_readers(int channel) {
    constexpr leat::full policies[] = {leat::full::block,  leat::full::block,       leat::full::fail,
                                       leat::full::latest, leat::full::drop_newest, leat::full::drop_oldest};
    for (std::uint64_t n = 1 + below(3); n > 0; --n) {
      lane_plan l{channel, some_capacity(), policies[below(6)]};
      if (l.when_full == leat::full::latest) l.capacity = 1;
      p_.lanes.push_back(l);
    }
  }

  bool may_send(int who, int c) const {
    const channel_plan& plan = p_.channels[program::index(c)];
    return plan.writer == nil || plan.writer == who;
  }
  bool may_recv(int who, int lane) const {
    const channel_plan& plan = p_.channel_of(lane);
    if (plan.kind == flavour::broadcast) return p_.is_reader_lane(lane);
    return plan.reader == nil || plan.reader == who;
  }
  int some_channel(int who) {
    for (int tries = 0; tries < 8; ++tries)
      if (const int c = pick(p_.channels.size()); may_send(who, c)) return c;
    return nil;
  }
  int some_lane(int who) {
    for (int tries = 0; tries < 8; ++tries)
      if (const int l = pick(p_.lanes.size()); may_recv(who, l)) return l;
    return nil;
  }

  void make_participant(int who) {
    const std::uint64_t leaning = below(5);  // 0, 1: sends; 2, 3: receives; 4: both
    std::vector<op_plan>& ops = p_.participants[program::index(who)];
    for (std::uint64_t n = 1 + below(one_in(3) ? 24 : 10); n > 0; --n) {
      const bool sends = leaning == 4 || one_in(6) ? one_in(2) : leaning < 2;
      ops.push_back(make_op(who, sends));
    }
  }

  op_plan make_op(int who, bool sends) {
    op_plan o;
    const std::uint64_t kind = below(20);
    if (kind < 8) {
      o.what = sends ? verb::send : verb::recv;
    } else if (kind < 10) {
      o.what = sends ? verb::try_send : verb::try_recv;
    } else if (kind < 12) {
      o.what = sends ? verb::send_until : verb::recv_until;
    } else if (kind < 17) {
      make_select(who, o);
      return o;
    } else {
      make_rare(who, o);
      return o;
    }
    o.at = sends ? some_channel(who) : some_lane(who);
    if (o.what == verb::recv && one_in(12)) o.what = verb::drain;
    settle_wait(o);
    // A long row makes both sides of a ring wait again and again.
    if (!p_.exact && (o.what == verb::send || o.what == verb::recv) && one_in(12))
      o.times = 1 + static_cast<int>(below(200));
    return o;
  }

  void settle_wait(op_plan& o) {
    o.wait_ns = some_ns();
    const bool for_ever = o.what == verb::send || o.what == verb::recv || o.what == verb::drain;
    const bool timed = o.what == verb::send_until || o.what == verb::recv_until;
    if (for_ever && (!may_wait_for_ever_ || o.at == nil))
      o.what = o.what == verb::send ? verb::send_until : verb::recv_until;
    if (p_.exact && timed) o.what = o.what == verb::send_until ? verb::try_send : verb::try_recv;
    if (p_.exact && o.at == nil && o.what != verb::try_send && o.what != verb::try_recv) o.what = verb::yield;
  }

  void make_rare(int who, op_plan& o) {
    switch (below(8)) {
      case 0:
        o.what = verb::close;
        o.at = pick(p_.channels.size());
        break;
      case 1:
        o.what = verb::stop;
        o.at = pick(p_.participants.size());
        break;
      case 2:
        o.what = verb::close_reader;
        o.at = some_lane(who);
        if (o.at == nil || !p_.is_reader_lane(o.at)) o.what = verb::yield;
        break;
      case 3:
        o.what = p_.exact ? verb::yield : verb::pause;
        o.wait_ns = some_ns() / 8;
        break;
      case 4:
        o.what = verb::look;
        o.at = pick(p_.lanes.size());
        break;
      default: o.what = verb::yield;
    }
  }

  void make_select(int who, op_plan& o) {
    o.what = verb::select;
    o.ordered = one_in(3);
    o.as_span = one_in(4);
    using sort = case_plan::sort;
    for (std::uint64_t n = 1 + below(4); n > 0; --n) {
      case_plan c;
      c.what = one_in(2) ? sort::send : sort::recv;
      c.at = one_in(16) ? nil : c.what == sort::send ? some_channel(who) : some_lane(who);
      // A case that is not told of the close looks again at a time of its own.
      c.told = p_.exact || one_in(2);
      o.cases.push_back(c);
    }
    if (one_in(5)) o.cases.push_back({sort::otherwise, nil, false, 0});
    if (!p_.exact && (!may_wait_for_ever_ || one_in(3))) {
      o.cases.push_back({sort::timeout, nil, false, some_ns()});
      if (one_in(5)) o.cases.push_back({sort::timeout, nil, false, some_ns()});
    }
    for (std::size_t i = o.cases.size(); i > 1; --i) std::swap(o.cases[i - 1], o.cases[below(i)]);
  }

  random_numbers random_;
  program p_;
  bool may_wait_for_ever_ = false;
};

// --- in readable form --------------------------------------------------------------------------------------

inline std::string place_name(int at) { return at == nil ? std::string("nil") : "c" + std::to_string(at); }
inline std::string in_us(std::int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1fus", static_cast<double>(ns) / 1000);
  return text;
}

inline std::string to_text(const op_plan& o) {
  const std::string times = o.times > 1 ? " x" + std::to_string(o.times) : "";
  switch (o.what) {
    case verb::send: return "send " + place_name(o.at) + times;
    case verb::try_send: return "try_send " + place_name(o.at);
    case verb::send_until: return "send_until " + place_name(o.at) + " " + in_us(o.wait_ns);
    case verb::recv: return "recv " + place_name(o.at) + times;
    case verb::try_recv: return "try_recv " + place_name(o.at);
    case verb::recv_until: return "recv_until " + place_name(o.at) + " " + in_us(o.wait_ns);
    case verb::drain: return "for (v : " + place_name(o.at) + ")";
    case verb::close: return "close " + place_name(o.at);
    case verb::close_reader: return "close reader " + place_name(o.at);
    case verb::stop: return "stop G" + std::to_string(o.at);
    case verb::yield: return "yield";
    case verb::pause: return "pause " + in_us(o.wait_ns);
    case verb::look: return "look at " + place_name(o.at);
    case verb::select: break;
  }
  std::string s = o.ordered ? "select_ordered" : "select";
  s += o.as_span ? "[" : "(";
  for (const case_plan& c : o.cases) {
    if (&c != &o.cases.front()) s += ", ";
    switch (c.what) {
      case case_plan::sort::recv: s += "recv " + place_name(c.at); break;
      case case_plan::sort::send: s += "send " + place_name(c.at); break;
      case case_plan::sort::timeout: s += "timeout " + in_us(c.wait_ns); break;
      case case_plan::sort::otherwise: s += "otherwise"; break;
    }
    if (c.told) s += "?";
  }
  return s + (o.as_span ? "]" : ")");
}

inline std::string to_text(const program& p) {
  std::string s = "procs " + std::to_string(p.procs) + (p.exact ? ", exact" : "") +
                  (p.boxed ? ", boxed values" : "") + (p.thread ? ", G0 is a plain thread" : "");
  s += p.patient ? ", main closes when all rest" : ", main closes after " + in_us(p.close_after);
  for (const int g : p.stopped_by_main) s += ", main stops G" + std::to_string(g);
  for (std::size_t i = 0; i < p.lanes.size(); ++i) {
    const lane_plan& l = p.lanes[i];
    const channel_plan& c = p.channels[program::index(l.channel)];
    s += "\n  c" + std::to_string(i) + ": ";
    if (i < p.channels.size()) {
      s += leat::to_string(c.kind);
      if (c.writer != nil) s += " G" + std::to_string(c.writer) + " -> G" + std::to_string(c.reader);
    } else {
      s += "reader of c" + std::to_string(l.channel);
    }
    s += ", " + std::to_string(l.capacity) + ", " + to_string(l.when_full);
  }
  for (std::size_t i = 0; i < p.participants.size(); ++i) {
    s += "\n  G" + std::to_string(i) + ":";
    for (const op_plan& o : p.participants[i]) s += " " + to_text(o) + ";";
  }
  return s + "\n";
}

}  // namespace leat::csp::test
