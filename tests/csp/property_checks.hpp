// SPDX-License-Identifier: BSL-1.0
//
// What may happen in any program, however its participants overlap. Each operation is recorded with the times
// of its begin and end; the checks draw from them only what is certain: a value was in its channel from the
// end of its send to the begin of its receive at least, and from the begin of the one to the end of the other
// at most.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "property_program.hpp"

namespace leat::csp::test {

enum class result : std::uint8_t {
  none,
  sent,
  received,
  closed,
  stopped,
  timeout,
  full,
  dropped,
  empty,
  otherwise,
  over,   // select_closed
  ended,  // a range-for: closed or stopped
};
inline const char* to_string(result r) {
  constexpr const char* names[] = {"none", "sent",    "received", "closed",    "stopped", "timeout",
                                   "full", "dropped", "empty",    "otherwise", "over",    "ended"};
  return names[static_cast<std::size_t>(r)];
}
inline result to_result(send_status s) {
  switch (s) {
    case send_status::sent: return result::sent;
    case send_status::closed: return result::closed;
    case send_status::stopped: return result::stopped;
    case send_status::timeout: return result::timeout;
    case send_status::full: return result::full;
    case send_status::dropped: return result::dropped;
  }
  return result::none;
}
inline result to_result(recv_status s) {
  switch (s) {
    case recv_status::received: return result::received;
    case recv_status::closed: return result::closed;
    case recv_status::stopped: return result::stopped;
    case recv_status::timeout: return result::timeout;
    case recv_status::empty: return result::empty;
  }
  return result::none;
}

// A value names the channel and the sender it comes from, and is the sender's nth.
inline std::uint32_t make_id(int channel, int sender, std::uint32_t nth) {
  return static_cast<std::uint32_t>(channel) << 24 | static_cast<std::uint32_t>(sender) << 16 | nth;
}
inline int channel_of_id(std::uint32_t id) { return static_cast<int>(id >> 24); }
inline int sender_of_id(std::uint32_t id) { return static_cast<int>(id >> 16 & 0xff); }
inline std::string id_text(std::uint32_t id) {
  return "G" + std::to_string(sender_of_id(id)) + "." + std::to_string(id & 0xffff);
}

struct record {
  int who = 0;
  bool sends = false;
  bool in_select = false;  // may not be told that it was dropped; may be done although a stop was asked for
  bool waits = false;      // not a try_
  int at = nil;            // a channel if it sends, else a lane
  result how = result::none;
  std::uint32_t id = 0;
  std::int64_t begin = 0, end = 0;
  std::int64_t due = 0;  // of a timeout
};

inline std::string to_text(const record& r) {
  return "G" + std::to_string(r.who) + (r.in_select ? " select" : "") + (r.sends ? " send " : " recv ") +
         place_name(r.at) + " " + to_string(r.how) + " " + id_text(r.id) + " [" +
         std::to_string(r.begin % 1'000'000'000) + ", " + std::to_string(r.end % 1'000'000'000) + "]";
}

// From begin to end; 0: never.
struct moment {
  std::int64_t begin = 0, end = 0;
  int by = nil;
};

// All that is known when everybody is done. Main is participant n.
struct history {
  const program* plan = nullptr;
  std::vector<record> records;        // main's last: it empties all lanes after everything else
  std::vector<moment> closes;         // of lanes
  std::vector<moment> stops;          // of participants
  std::vector<channel_stats> stats;   // of lanes, before main empties them
  std::vector<channel_stats> at_end;  // and after
};

class checker {
 public:
  explicit checker(const history& h)
      : h_(h), plan_(*h.plan), main_(static_cast<int>(plan_.participants.size())) {
    for (const record& r : h.records)
      if (r.sends && (r.how == result::sent || r.how == result::dropped)) sends_[r.id] = &r;
  }

  // The first fault, or nothing.
  std::string run() {
    for (const record& r : h_.records)
      if (std::string f = one(r); !f.empty()) return f + ": " + to_text(r);
    for (std::size_t l = 0; l < plan_.lanes.size(); ++l)
      if (std::string f = lane(static_cast<int>(l)); !f.empty())
        return "c" + std::to_string(l) + ": " + f + "\n" + lane_text(static_cast<int>(l));
    return {};
  }

 private:
  static std::size_t index(int i) { return program::index(i); }
  // A store of a ring without locks may be seen a little later than the clock that is read after it.
  std::int64_t slack(int lane) const { return plan_.channel_of(lane).kind == flavour::single ? 20'000 : 0; }

  std::string one(const record& r) const {
    if (r.how == result::timeout && r.end < r.due) return "a timeout before its time";
    if (r.who != main_) {
      const moment& s = h_.stops[index(r.who)];
      if (r.how == result::stopped && (s.begin == 0 || s.begin > r.end)) return "stopped, but nobody asked";
      if (r.waits && s.end != 0 && s.end < r.begin) {
        // A ring without locks notices a stop now and then, and when it would wait.
        const bool at_single = r.at != nil && plan_.channel_of(r.at).kind == flavour::single;
        const bool late =
            r.in_select || at_single ? r.how == result::timeout : r.how != result::stopped && r.at != nil;
        if (late && r.how != result::ended) return "went on after a stop";
      }
    }
    if (r.at == nil) return {};
    const moment c = closing(r);
    if (r.how == result::closed && (c.begin == 0 || c.begin > r.end)) return "closed, but nobody closed it";
    const bool as_if_open = r.how == result::sent || r.how == result::dropped || r.how == result::full;
    if (r.sends && as_if_open && c.end != 0 && c.end + slack(r.at) < r.begin) return "a send after the close";
    return {};
  }

  // A reader's lane is closed with its channel, too.
  moment closing(const record& r) const {
    const moment a = h_.closes[index(r.at)], b = h_.closes[index(plan_.lanes[index(r.at)].channel)];
    if (a.begin == 0) return b;
    return b.begin == 0 || a.begin < b.begin ? a : b;
  }

  std::string lane(int l) {
    const lane_plan& lp = plan_.lanes[index(l)];
    const channel_plan& cp = plan_.channel_of(l);
    const bool hub = cp.kind == flavour::broadcast && !plan_.is_reader_lane(l);
    std::map<std::uint32_t, const record*> got;
    std::vector<std::array<std::uint32_t, 16>> last(index(main_) + 1);
    for (const record& r : h_.records) {
      if (r.sends || r.at != l || r.how != result::received) continue;
      if (channel_of_id(r.id) != lp.channel) return "a value of another channel: " + to_text(r);
      const auto s = sends_.find(r.id);
      if (s == sends_.end()) return "received, but never sent: " + to_text(r);
      if (s->second->how == result::dropped) return "received, but dropped: " + to_text(r);
      if (!got.emplace(r.id, &r).second) return "received twice: " + to_text(r);
      if (s->second->begin > r.end) return "received before it was sent: " + to_text(r);
      std::uint32_t& before = last[index(r.who)][index(sender_of_id(r.id))];
      if ((r.id & 0xffff) < before) return "values of one sender out of order: " + to_text(r);
      before = r.id & 0xffff;
      if (lp.capacity == 0 && s->second->end < r.begin) return "a rendezvous without meeting: " + to_text(r);
    }
    if (!hub)
      if (std::string f = fifo(l, got); !f.empty()) return f;
    if (std::string f = must_have_seen(l, got); !f.empty()) return f;
    if (cp.kind != flavour::broadcast)
      if (std::string f = had_room(l, got); !f.empty()) return f;
    return hub ? hub_ledger(l) : ledger(l, got);
  }

  using receipts = std::map<std::uint32_t, const record*>;

  // What was sent before is not received after: of all that had been received when the receive of a value
  // began, none was sent after it.
  std::string fifo(int l, const receipts& got) const {
    std::vector<const record*> by_begin, by_end;
    for (const auto& [id, r] : got) by_begin.push_back(r);
    by_end = by_begin;
    std::sort(by_begin.begin(), by_begin.end(), [](auto* a, auto* b) { return a->begin < b->begin; });
    std::sort(by_end.begin(), by_end.end(), [](auto* a, auto* b) { return a->end < b->end; });
    const record* last_sent = nullptr;
    std::size_t n = 0;
    for (const record* const a : by_begin) {
      for (; n < by_end.size() && by_end[n]->end < a->begin; ++n)
        if (!last_sent || sends_.at(by_end[n]->id)->begin > sends_.at(last_sent->id)->begin)
          last_sent = by_end[n];
      if (last_sent && sends_.at(a->id)->end + slack(l) < sends_.at(last_sent->id)->begin)
        return "not first in first out: " + id_text(last_sent->id) + " before " + id_text(a->id);
    }
    return {};
  }

  // Nobody finds nothing while a value is there, and nothing comes after the end.
  std::string must_have_seen(int l, const receipts& got) const {
    const channel_plan& cp = plan_.channel_of(l);
    for (const record& r : h_.records) {
      if (r.sends || r.at != l) continue;
      const bool nothing = r.how == result::empty || r.how == result::timeout || r.how == result::closed;
      if (!nothing) continue;
      for (const auto& [id, by] : got) {
        if (sends_.at(id)->end + slack(l) < r.begin && by->begin > r.end)
          return "found nothing, but there was " + id_text(id) + ": " + to_text(r);
        if (r.how == result::closed && by->begin > r.end) {
          // Of a ring without locks, a third side's close may overlap a send.
          const bool may_be = cp.kind == flavour::single && h_.closes[index(l)].by != cp.writer;
          if (!may_be) return "received after the end was told: " + to_text(*by) + " after " + to_text(r);
        }
      }
    }
    return {};
  }

  std::string had_room(int l, const receipts& got) const {
    const lane_plan& lp = plan_.lanes[index(l)];
    if (lp.capacity == 0) return {};
    for (const record& r : h_.records) {
      if (!r.sends || r.at != l) continue;
      if (r.how != result::full && r.how != result::dropped && r.how != result::timeout) continue;
      std::size_t most = 0;
      for (const auto& [id, s] : sends_) {
        if (channel_of_id(id) != l || s->begin >= r.end || s->how == result::dropped) continue;
        const auto by = got.find(id);
        if (by == got.end() || by->second->end + slack(l) >= r.begin) ++most;
      }
      if (most < lp.capacity) return "no room, but there were " + std::to_string(most) + ": " + to_text(r);
    }
    return {};
  }

  static bool may_drop(leat::full f) { return f != leat::full::block && f != leat::full::fail; }

  std::string ledger(int l, const receipts& got) const {
    const lane_plan& lp = plan_.lanes[index(l)];
    const channel_plan& cp = plan_.channel_of(l);
    const channel_stats& s = h_.stats[index(l)];
    std::uint64_t sent = 0, dropped = 0, received = 0, left = 0;
    for (const auto& [id, r] : sends_)
      if (channel_of_id(id) == lp.channel) {
        ++sent;
        if (r->how == result::dropped) ++dropped;
      }
    for (const auto& [id, r] : got) ++(r->who == main_ ? left : received);
    if (s.sent != s.received + s.dropped + s.left) return "the ledger does not add up: " + ledger_text(s);
    const bool all_offered = cp.kind != flavour::broadcast || h_.closes[index(l)].begin == 0;
    if (all_offered ? s.sent != sent : s.sent > sent)
      return "sent, as counted by the Gs, " + std::to_string(sent) + ": " + ledger_text(s);
    if (s.received != received)
      return "received, as counted by the Gs, " + std::to_string(received) + ": " + ledger_text(s);
    if (s.left != left) return "left, as found, " + std::to_string(left) + ": " + ledger_text(s);
    if (s.dropped < (cp.kind == flavour::broadcast ? 0 : dropped))
      return "drops not counted: " + ledger_text(s);
    if (s.dropped > 0 && !may_drop(lp.when_full)) return "drops against the policy: " + ledger_text(s);
    if (s.high_water > lp.capacity) return "more than its capacity: " + ledger_text(s);
    const channel_stats& e = h_.at_end[index(l)];
    if (e.left != 0 || e.received != s.received + s.left || e.dropped != s.dropped || e.sent != s.sent)
      return "the ledger after the end: " + ledger_text(e);
    // One by one: what said `sent` has not vanished.
    if (lp.when_full != leat::full::drop_newest || cp.kind == flavour::broadcast) return {};
    for (const auto& [id, r] : sends_)
      if (channel_of_id(id) == l && r->how == result::sent && !r->in_select && !got.contains(id))
        return "sent, and dropped without a word: " + to_text(*r);
    return {};
  }

  std::string hub_ledger(int l) const {
    const channel_stats& s = h_.stats[index(l)];
    std::uint64_t sent = 0, dropped = 0;
    for (const auto& [id, r] : sends_)
      if (channel_of_id(id) == l) {
        ++sent;
        if (r->how == result::dropped) ++dropped;
      }
    if (s.sent != sent || s.dropped < dropped || s.sent != s.received + s.dropped + s.left)
      return "the hub's ledger, " + std::to_string(sent) + " sent: " + ledger_text(s);
    return {};
  }

  static std::string ledger_text(const channel_stats& s) {
    return "sent " + std::to_string(s.sent) + ", received " + std::to_string(s.received) + ", dropped " +
           std::to_string(s.dropped) + ", left " + std::to_string(s.left) + ", high water " +
           std::to_string(s.high_water);
  }

  std::string lane_text(int l) const {
    std::vector<const record*> rs;
    for (const record& r : h_.records)
      if (r.at == l || (r.sends && r.at == plan_.lanes[index(l)].channel)) rs.push_back(&r);
    std::stable_sort(rs.begin(), rs.end(), [](auto* a, auto* b) { return a->end < b->end; });
    std::string s;
    for (const record* r : rs) s += "    " + to_text(*r) + "\n";
    return s;
  }

  const history& h_;
  const program& plan_;
  const int main_;
  std::map<std::uint32_t, const record*> sends_;
};

}  // namespace leat::csp::test
