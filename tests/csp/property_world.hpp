// SPDX-License-Identifier: BSL-1.0
//
// Runs one program and writes its history. Main is the G that calls run(): it starts the participants, waits
// until they rest or a while, stops some, closes what is open, and looks at what is left.
//
// A wake-up that is lost shows while all rest: somebody waits for what is there. Main looks for that before
// it closes, since a close would wake the sleeper and hide it.
#pragma once
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leat/leat.hpp>

#include "property_cast.hpp"

namespace leat::csp::test {

template <class T>
class world : cast_of<T> {
 public:
  explicit world(const program& p) : cast_of<T>(p) {}

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
      // Main itself may have been put aside for that long.
      if (now_ns() > limit && !all_done()) give_up("somebody sleeps although everything is closed");
    }
    tasks_.clear();
    if (thread_.joinable()) thread_.join();
    return verdict();
  }

 private:
  using typename cast_of<T>::actor;
  using cast_of<T>::index;
  using cast_of<T>::take_part;
  using cast_of<T>::close;
  using cast_of<T>::ask_to_stop;
  using cast_of<T>::plan_;
  using cast_of<T>::main_;
  using cast_of<T>::actors_;
  using cast_of<T>::closes_;
  using cast_of<T>::stops_;
  using cast_of<T>::channels_;
  using cast_of<T>::lanes_;
  using cast_of<T>::go_;
  using cast_of<T>::trace_;
  using cast_of<T>::tasks_;
  using cast_of<T>::thread_;
  static constexpr std::int64_t patience = 20'000'000'000;

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

  std::string verdict() {
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
};

inline std::string run_program(const program& p) {
  if (!p.boxed) return world<plain_value>(p).run();
  const int before = boxed_value::living;
  std::string fault = world<boxed_value>(p).run();
  if (fault.empty() && boxed_value::living != before) return "a value was lost or destroyed twice";
  return fault;
}

}  // namespace leat::csp::test
