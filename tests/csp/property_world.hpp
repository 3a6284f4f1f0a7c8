// SPDX-License-Identifier: BSL-1.0
//
// Runs one program and writes its history. Main is the G that calls run(): it starts the participants, waits
// until they rest or a while, stops some, closes what is open, and looks at what is left.
//
// A wake-up that is lost shows while all rest: somebody waits for what is there. Main looks for that before
// it closes, since a close would wake the sleeper and hide it.
#pragma once
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "property_model.hpp"

namespace leat::csp::test {

// Kept in the channel as it is.
class plain_value {
 public:
  explicit plain_value(std::uint32_t id) noexcept : id_(id), check_(~id) {}
  std::uint32_t id() const noexcept { return check_ == ~id_ ? id_ : 0xffff'ffff; }

 private:
  std::uint32_t id_, check_;
};

// Kept in a box; knows whether it has been moved from, and how many there are.
class boxed_value {
 public:
  explicit boxed_value(std::uint32_t id) : id_(id) { ++living; }
  boxed_value(boxed_value&& other) noexcept(false) : id_(std::exchange(other.id_, moved_from)) { ++living; }
  boxed_value(const boxed_value& other) : id_(other.id_) { ++living; }
  boxed_value& operator=(boxed_value&& other) noexcept(false) {
    id_ = std::exchange(other.id_, moved_from);
    return *this;
  }
  boxed_value& operator=(const boxed_value& other) = default;
  ~boxed_value() { --living; }
  std::uint32_t id() const noexcept { return id_; }

  static inline std::atomic<int> living{0};

 private:
  static constexpr std::uint32_t moved_from = 0xffff'ffff;
  std::uint32_t id_;
};

template <class T>
class world {
 public:
  explicit world(const program& p)
      : plan_(p),
        main_(static_cast<int>(p.participants.size())),
        actors_(std::make_unique<actor[]>(p.participants.size() + 1)),
        closes_(std::make_unique<shared_moment[]>(p.lanes.size())),
        stops_(std::make_unique<shared_moment[]>(p.participants.size())) {
    for (std::size_t i = 0; i < p.channels.size(); ++i) {
      const channel_plan& c = p.channels[i];
      channel_options o;
      o.full = c.when_full;
      o.writers = o.readers = c.kind == flavour::single ? 1 : 0;
      o.name = "c" + std::to_string(i);
      if (c.kind == flavour::broadcast) {
        channels_.emplace_back(leat::broadcast, c.capacity, o);
        lanes_.emplace_back();
      } else {
        channels_.emplace_back(c.capacity, o);
        lanes_.push_back(in<T>(channels_.back()));
      }
    }
    for (std::size_t i = p.channels.size(); i < p.lanes.size(); ++i) {
      const lane_plan& l = p.lanes[i];
      lanes_.push_back(channels_[index(l.channel)].subscribe(l.capacity, l.when_full));
    }
  }

  // The first fault, or nothing. On a G.
  std::string run() {
    for (std::size_t i = 0; i < channels_.size(); ++i)
      if (channels_[i].flavour() != plan_.channels[i].kind)
        return "c" + std::to_string(i) + " is of another flavour";
    start();
    if (plan_.patient) {
      rest();
    } else {
      const std::int64_t until = now_ns() + plan_.close_after;
      while (now_ns() < until && !all_done()) (void)sleep_until(from_ns(std::min(until, now_ns() + 50'000)));
    }
    for (const int g : plan_.stopped_by_main) ask_to_stop(main_, g);
    if (plan_.patient && !plan_.stopped_by_main.empty()) rest();
    close_all();
    const std::int64_t limit = now_ns() + patience;
    while (!all_done()) {
      pass_time();
      if (now_ns() > limit) give_up("somebody sleeps although everything is closed");
    }
    tasks_.clear();
    if (thread_.joinable()) thread_.join();
    return judge();
  }

 private:
  static constexpr std::int64_t patience = 5'000'000'000 * sched::test::slow_build;
  static std::size_t index(int i) { return program::index(i); }

  struct shared_moment {
    std::atomic<std::int64_t> begin{0}, end{0};
    std::atomic<int> by{nil};
  };
  struct alignas(64) actor {
    std::vector<record> log;
    std::uint32_t sent = 0;
    std::string fault;
    std::atomic<std::uint32_t> stage{0};  // odd: in the operation number stage / 2
    std::atomic<bool> done{false};
  };

  // --- main -----------------------------------------------------------------------------------------------

  void start() {
    const int n = main_;
    tasks_.reserve(index(n));
    for (int i = 0; i < n; ++i) {
      if (i == 0 && plan_.thread) {
        tasks_.emplace_back();
        thread_ = std::thread([this] { take_part(0); });
      } else {
        tasks_.push_back(spawn("G" + std::to_string(i), [this, i] { take_part(i); }));
      }
    }
    go_.store(true, std::memory_order_release);
  }

  bool all_done() const {
    for (int i = 0; i < main_; ++i)
      if (!actors_[index(i)].done.load(std::memory_order_acquire)) return false;
    return true;
  }
  void pass_time() {
    if (plan_.exact) {
      yield();
    } else {
      (void)sleep_for(nanoseconds(20'000));
    }
  }

  // Until all are done or wait for each other.
  void rest() {
    if (plan_.exact) {
      for (std::size_t seen = 0, turns = 0; turns < 40; ++turns) {
        if (seen != trace_.events.size()) turns = 0;
        seen = trace_.events.size();
        yield();
      }
      return trace_.rest();
    }
    std::vector<std::uint32_t> seen;
    for (std::int64_t since = now_ns(); !all_done();) {
      std::vector<std::uint32_t> stages;
      for (int i = 0; i < main_; ++i)
        stages.push_back(actors_[index(i)].stage.load(std::memory_order_relaxed));
      if (stages != seen) {
        seen = std::move(stages);
        since = now_ns();
      } else {
        const std::string who = who_could_go_on();
        if (who.empty()) return;
        if (now_ns() - since > patience) give_up(who);
      }
      pass_time();
    }
  }

  std::string who_could_go_on() const {
    for (int i = 0; i < main_; ++i) {
      const op_plan* const o = waits_in(i);
      if (!o) {
        if (!actors_[index(i)].done.load(std::memory_order_acquire))
          return name(i) + " is between operations";
        continue;
      }
      if (stops_[index(i)].end.load(std::memory_order_acquire) != 0) return name(i) + " was stopped";
      if (o->what != verb::select) {
        const bool sends = o->what == verb::send;
        const bool for_ever = sends || o->what == verb::recv || o->what == verb::drain;
        if (!for_ever) return name(i) + " has a deadline";
        if (could(i, sends, o->at, true)) return name(i) + " could go on";
        continue;
      }
      bool may_ever = false;
      for (const case_plan& c : o->cases) {
        if (c.what == case_plan::sort::timeout) return name(i) + " has a deadline";
        if (c.what == case_plan::sort::otherwise) return name(i) + " has an otherwise";
        if (c.at == nil) continue;
        const bool sends = c.what == case_plan::sort::send;
        if (could(i, sends, c.at, c.told)) return name(i) + " could go on in c" + std::to_string(c.at);
        may_ever |= !is_closed(sends, c.at);
      }
      if (!may_ever) return name(i) + " waits for closed channels";
    }
    return {};
  }
  static std::string name(int i) { return "G" + std::to_string(i); }

  const op_plan* waits_in(int i) const {
    const actor& a = actors_[index(i)];
    if (a.done.load(std::memory_order_acquire)) return nullptr;
    const std::uint32_t stage = a.stage.load(std::memory_order_relaxed);
    return stage & 1 ? &plan_.participants[index(i)][stage / 2] : nullptr;
  }
  bool is_closed(bool sends, int at) const {
    return sends ? channels_[index(at)].closed() : lanes_[index(at)].closed();
  }
  bool could(int who, bool sends, int at, bool told) const {
    if (is_closed(sends, at)) return told || (!sends && lanes_[index(at)].size() > 0);
    if (!sends) return lanes_[index(at)].size() > 0 || meets(who, true, plan_.lanes[index(at)].channel);
    if (plan_.channels[index(at)].kind != flavour::broadcast)
      return channels_[index(at)].size() < plan_.channels[index(at)].capacity || meets(who, false, at);
    for (std::size_t l = plan_.channels.size(); l < lanes_.size(); ++l) {
      const lane_plan& plan = plan_.lanes[l];
      const bool holds_up = plan.when_full == leat::full::block || plan.when_full == leat::full::fail;
      if (plan.channel == at && holds_up && !lanes_[l].closed() && lanes_[l].size() >= plan.capacity)
        return false;
    }
    return true;
  }
  // Does anybody else wait at the other side of the channel?
  bool meets(int who, bool for_a_sender, int channel) const {
    if (plan_.channels[index(channel)].kind == flavour::broadcast) return false;
    for (int i = 0; i < main_; ++i) {
      const op_plan* const o = i == who ? nullptr : waits_in(i);
      if (!o) continue;
      const bool sends = o->what == verb::send || o->what == verb::send_until;
      const bool recvs = o->what == verb::recv || o->what == verb::recv_until || o->what == verb::drain;
      if ((for_a_sender ? sends : recvs) && o->at == channel) return true;
      for (const case_plan& c : o->cases)
        if (c.at == channel && c.what == (for_a_sender ? case_plan::sort::send : case_plan::sort::recv))
          return true;
    }
    return false;
  }

  void close_all() {
    const std::size_t n = channels_.size(), first = plan_.seed / 4 % n;
    for (std::size_t k = 0; k < n; ++k) close(main_, static_cast<int>((first + k) % n));
  }

  [[noreturn]] void give_up(const std::string& why) {
    std::fprintf(stderr, "LEAT_SEED=%llu: %s\n%s", static_cast<unsigned long long>(plan_.seed), why.c_str(),
                 to_text(plan_).c_str());
    for (int i = 0; i < main_; ++i)
      std::fprintf(stderr, "  G%d: stage %u%s\n", i, actors_[index(i)].stage.load(),
                   actors_[index(i)].done ? ", done" : "");
    for (std::size_t l = 0; l < lanes_.size(); ++l)
      std::fprintf(stderr, "  c%zu: size %zu%s\n", l, lanes_[l].size(), lanes_[l].closed() ? ", closed" : "");
    std::fflush(stderr);
    dump(STDERR_FILENO);
    std::abort();
  }

  std::string judge() {
    for (int i = 0; i < main_; ++i)
      if (!actors_[index(i)].fault.empty()) return name(i) + ": " + actors_[index(i)].fault;
    history h;
    h.plan = &plan_;
    const auto stats_of = [&](std::size_t l) { return lanes_[l] ? lanes_[l].stats() : channels_[l].stats(); };
    for (std::size_t l = 0; l < lanes_.size(); ++l) h.stats.push_back(stats_of(l));
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      if (!lanes_[l]) continue;
      for (;;) {
        record r{.who = main_, .at = static_cast<int>(l), .begin = now_ns()};
        std::optional<T> v;
        r.how = to_result(lanes_[l].try_recv(v));
        r.end = now_ns();
        if (v) r.id = v->id();
        actors_[index(main_)].log.push_back(r);
        if (r.how == result::closed) break;
        if (r.how != result::received) return "main found c" + std::to_string(l) + " " + to_string(r.how);
      }
    }
    for (std::size_t l = 0; l < lanes_.size(); ++l) {
      h.at_end.push_back(stats_of(l));
      h.closes.push_back({closes_[l].begin, closes_[l].end, closes_[l].by});
    }
    for (int i = 0; i <= main_; ++i) {
      const std::vector<record>& log = actors_[index(i)].log;
      h.records.insert(h.records.end(), log.begin(), log.end());
      if (i < main_) h.stops.push_back({stops_[index(i)].begin, stops_[index(i)].end, nil});
    }
    if (std::string f = checker(h).run(); !f.empty()) return f;
    if (!plan_.exact) return {};
    return sequential_model(plan_, trace_).run();
  }

  // --- participants ---------------------------------------------------------------------------------------

  void take_part(int who) {
    actor& me = actors_[index(who)];
    while (!go_.load(std::memory_order_acquire)) {
      if (who == 0 && plan_.thread) {
        std::this_thread::yield();
      } else {
        yield();
      }
    }
    const std::vector<op_plan>& ops = plan_.participants[index(who)];
    for (std::size_t i = 0; i < ops.size(); ++i) {
      me.stage.store(static_cast<std::uint32_t>(2 * i + 1), std::memory_order_relaxed);
      for (int n = 0; n < ops[i].times; ++n) perform(who, me, ops[i]);
      me.stage.store(static_cast<std::uint32_t>(2 * i + 2), std::memory_order_relaxed);
    }
    me.done.store(true, std::memory_order_release);
  }

  void perform(int who, actor& me, const op_plan& o) {
    switch (o.what) {
      case verb::send:
      case verb::try_send:
      case verb::send_until: return send(who, me, o);
      case verb::recv:
      case verb::try_recv:
      case verb::recv_until: return (void)recv(who, me, o);
      case verb::drain: return drain(who, me, o);
      case verb::select: return select(who, me, o);
      case verb::close: return close(who, o.at);
      case verb::close_reader: return close(who, o.at);
      case verb::stop: return ask_to_stop(who, o.at);
      case verb::yield:
        if (who == 0 && plan_.thread) return std::this_thread::yield();
        return yield();
      case verb::pause: return sched::test::spin_for(nanoseconds(o.wait_ns));
      case verb::look:
        if (lanes_[index(o.at)].size() > plan_.lanes[index(o.at)].capacity)
          me.fault = "c" + std::to_string(o.at) + " holds too many";
    }
  }

  std::size_t trace_begin(int who, const op_plan& o, std::vector<std::uint32_t> ids) {
    return plan_.exact ? trace_.begin(who, o, std::move(ids)) : 0;
  }
  // What is in no plan as it is done.
  std::size_t trace_begin_extra(int who, verb what, int at) {
    if (!plan_.exact) return 0;
    op_plan& o = extra_ops_.emplace_back();
    o.what = what;
    o.at = at;
    return trace_.begin(who, o, {});
  }
  void trace_end(std::size_t at, result how, int which, std::uint32_t id) {
    if (plan_.exact) trace_.end(at, how, which, id);
  }

  std::uint32_t next_id(int who, actor& me, int channel) {
    return make_id(channel == nil ? 0x7f : channel, who, ++me.sent);
  }
  out<T> out_of(int channel) const { return channel == nil ? out<T>() : out<T>(channels_[index(channel)]); }
  in<T> in_of(int lane) const { return lane == nil ? in<T>() : lanes_[index(lane)]; }

  void send(int who, actor& me, const op_plan& o) {
    record r{.who = who, .sends = true, .waits = o.what != verb::try_send, .at = o.at};
    r.id = next_id(who, me, o.at);
    T v(r.id);
    const out<T> to = out_of(o.at);
    const std::size_t t = trace_begin(who, o, {r.id});
    r.begin = now_ns();
    r.due = r.begin + o.wait_ns;
    switch (o.what) {
      case verb::send: r.how = to_result(to.send(std::move(v))); break;
      case verb::try_send: r.how = to_result(to.try_send(v)); break;
      default: r.how = to_result(to.send_until(std::move(v), from_ns(r.due)));
    }
    r.end = now_ns();
    trace_end(t, r.how, nil, 0);
    if (r.how != result::sent && v.id() != r.id) me.fault = "a failed send did not give the value back";
    me.log.push_back(r);
  }

  result recv(int who, actor& me, const op_plan& o) {
    record r{.who = who, .waits = o.what != verb::try_recv, .at = o.at};
    const in<T> from = in_of(o.at);
    std::optional<T> v;
    const std::size_t t = trace_begin(who, o, {});
    r.begin = now_ns();
    r.due = r.begin + o.wait_ns;
    switch (o.what) {
      case verb::recv_until: r.how = to_result(from.recv(v, from_ns(r.due))); break;
      case verb::try_recv: r.how = to_result(from.try_recv(v)); break;
      default: r.how = to_result(from.recv(v));
    }
    r.end = now_ns();
    if (v) r.id = v->id();
    trace_end(t, r.how, nil, r.id);
    if (v.has_value() != (r.how == result::received)) me.fault = "received without a value, or the reverse";
    me.log.push_back(r);
    return r.how;
  }

  void drain(int who, actor& me, const op_plan& o) {
    if (plan_.exact) {
      while (recv(who, me, o) == result::received) {
      }
      return;
    }
    record r{.who = who, .waits = true, .at = o.at, .how = result::received, .begin = now_ns()};
    for (const T& v : in_of(o.at)) {
      r.end = now_ns();
      r.id = v.id();
      me.log.push_back(r);
      r.begin = now_ns();
    }
    r.end = now_ns();
    const bool stop = stops_[index(who)].begin.load(std::memory_order_acquire) != 0;
    r.how = stop ? result::ended : result::closed;
    me.log.push_back(r);
  }

  void close(int who, int lane) {
    shared_moment& m = closes_[index(lane)];
    int nobody = nil;
    if (!m.by.compare_exchange_strong(nobody, who)) return;
    const std::size_t t = trace_begin_extra(who, verb::close, lane);
    m.begin = now_ns();
    if (plan_.is_reader_lane(lane)) {
      lanes_[index(lane)].base()->close();
    } else {
      channels_[index(lane)].close();
    }
    m.end = now_ns();
    trace_end(t, result::none, nil, 0);
  }

  void ask_to_stop(int who, int whom) {
    if (!tasks_[index(whom)].valid()) return;  // a plain thread
    shared_moment& m = stops_[index(whom)];
    const std::size_t t = trace_begin_extra(who, verb::stop, whom);
    std::int64_t before = 0;
    m.begin.compare_exchange_strong(before, now_ns());
    tasks_[index(whom)].request_stop();
    before = 0;
    m.end.compare_exchange_strong(before, now_ns());
    trace_end(t, result::none, nil, 0);
  }

  struct verdict {
    int runs = 0, which = nil;
    result how = result::none;
    std::uint32_t id = 0;
  };

  std::unique_ptr<case_base> make_case(const case_plan& c, int i, T& v, std::int64_t begin, verdict& said) {
    const auto note = [&said, i](result how, std::uint32_t id) {
      ++said.runs;
      said.which = i;
      said.how = how;
      said.id = id;
    };
    const auto make = [](auto&& one) {
      return std::make_unique<std::remove_cvref_t<decltype(one)>>(std::move(one));
    };
    switch (c.what) {
      case case_plan::sort::recv:
        if (c.told)
          return make(on_recv(in_of(c.at), [note](std::optional<T> x) {
            note(x ? result::received : result::closed, x ? x->id() : 0);
          }));
        return make(on_recv(in_of(c.at), [note](T x) { note(result::received, x.id()); }));
      case case_plan::sort::send: {
        const std::uint32_t id = v.id();
        if (c.told)
          return make(
              on_send(out_of(c.at), std::move(v), [note, id](send_status s) { note(to_result(s), id); }));
        return make(on_send(out_of(c.at), std::move(v), [note, id] { note(result::sent, id); }));
      }
      case case_plan::sort::timeout:
        return make(on_timeout(from_ns(begin + c.wait_ns), [note] { note(result::timeout, 0); }));
      case case_plan::sort::otherwise: break;
    }
    return make(otherwise([note] { note(result::otherwise, 0); }));
  }

  void select(int who, actor& me, const op_plan& o) {
    std::vector<T> values;
    std::vector<std::uint32_t> ids;
    values.reserve(o.cases.size());
    for (const case_plan& c : o.cases) {
      ids.push_back(c.what == case_plan::sort::send ? next_id(who, me, c.at) : 0);
      values.emplace_back(ids.back());
    }
    verdict said;
    std::vector<std::unique_ptr<case_base>> cases;
    std::vector<case_base*> list;
    const std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < o.cases.size(); ++i) {
      cases.push_back(make_case(o.cases[i], static_cast<int>(i), values[i], begin, said));
      if (o.as_span) cases.back()->keep_value();
      list.push_back(cases.back().get());
    }
    const std::size_t t = trace_begin(who, o, ids);
    const int chosen = choose_and_run(list, o.ordered);
    const std::int64_t end = now_ns();
    const result how = chosen == select_closed    ? result::over
                       : chosen == select_stopped ? result::stopped
                                                  : said.how;
    trace_end(t, how, how == result::otherwise ? nil : said.which, how == result::received ? said.id : 0);
    if (chosen >= 0 ? said.runs != 1 || said.which != chosen : said.runs != 0)
      me.fault = "select returned " + std::to_string(chosen) + ", ran " + std::to_string(said.runs) +
                 " handlers, last " + std::to_string(said.which);
    cases.clear();
    for (std::size_t i = 0; i < o.cases.size(); ++i) {
      const case_plan& c = o.cases[i];
      const bool picked = static_cast<int>(i) == chosen;
      const bool of_channel = c.what == case_plan::sort::recv || c.what == case_plan::sort::send;
      record r{.who = who, .sends = c.what == case_plan::sort::send, .in_select = true, .waits = true};
      r.begin = begin;
      r.end = end;
      r.id = picked ? said.id : ids[i];
      r.at = of_channel ? c.at : nil;
      if (picked) {
        r.how = how;
        r.due = begin + c.wait_ns;
      } else if (how == result::stopped) {
        r.how = how;
      } else if (of_channel && how == result::over) {
        r.how = result::closed;
      } else if (of_channel && (how == result::otherwise || how == result::timeout)) {
        // Nothing could be done: it is as if each had been tried in vain, or was closed.
        r.how = is_told_closed(c) ? result::none : r.sends ? result::full : result::empty;
      }
      const bool taken = picked && how == result::sent;
      if (r.sends && !taken && !o.as_span && values[i].id() != ids[i])
        me.fault = "a select did not give the value back";
      if (r.how != result::none) me.log.push_back(r);
    }
  }
  // An untold case on a closed channel never runs.
  bool is_told_closed(const case_plan& c) const {
    if (c.at == nil) return true;
    const int channel = c.what == case_plan::sort::send ? c.at : plan_.lanes[index(c.at)].channel;
    return closes_[index(c.at)].begin.load() != 0 || closes_[index(channel)].begin.load() != 0;
  }

  const program& plan_;
  const int main_;
  std::unique_ptr<actor[]> actors_;
  std::unique_ptr<shared_moment[]> closes_, stops_;
  std::vector<channel<T>> channels_;
  std::vector<in<T>> lanes_;
  std::atomic<bool> go_{false};
  trace trace_;  // of an exact program
  std::deque<op_plan> extra_ops_;
  std::vector<task<void>> tasks_;
  std::thread thread_;
};

inline std::string run_program(const program& p) {
  if (!p.boxed) return world<plain_value>(p).run();
  const int before = boxed_value::living;
  std::string fault = world<boxed_value>(p).run();
  if (fault.empty() && boxed_value::living != before) return "a value was lost or destroyed twice";
  return fault;
}

}  // namespace leat::csp::test
