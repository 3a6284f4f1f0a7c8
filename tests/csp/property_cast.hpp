// SPDX-License-Identifier: BSL-1.0
//
// Those who take part in a program: what each does, and the record it keeps of it.
#pragma once
#include <algorithm>
#include <atomic>
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

// The channels of a program and its participants. Main is not among them: it is the world
// (property_world.hpp).
template <class T>
class cast_of {
 protected:
  explicit cast_of(const program& p)
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
    std::vector<std::uint32_t> room(list.size());
    turns in_turn(list.size(), room.data());
    const int chosen = choose_and_run(list, o.ordered ? order::as_written : order::random, in_turn);
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

}  // namespace leat::csp::test
