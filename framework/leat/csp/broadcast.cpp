// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/broadcast.hpp>

#include <algorithm>

namespace leat::csp {

broadcast_hub::room broadcast_hub::room_locked() const noexcept {
  room r = room::there_is;
  for (const broadcast_reader* i = first_; i; i = i->next_) {
    if (!i->is_full()) continue;
    if (i->when_full() == leat::full::fail) return room::refused;
    if (i->when_full() == leat::full::block) r = room::wait_for_it;
  }
  return r;
}

void broadcast_hub::deliver_locked(node_ref& v, evicted_nodes& evicted, waiter_list& woken) noexcept {
  std::uint32_t takers = 0;
  broadcast_item* const it = v.get();
  for (broadcast_reader* i = first_; i; i = i->next_) {
    if (i->offer_locked(it, evicted, woken)) ++takers;
    high_ = std::max(high_, i->high_);
  }
  ++sent_;
  if (takers == 0) {
    ++dropped_;
    return;
  }
  // Nobody can have dropped it yet: all takers, also those who were given it, pass the lock first.
  it->refs.store(takers, std::memory_order_relaxed);
  (void)v.release();
}

void broadcast_hub::serve_locked(waiter_list& woken) noexcept {
  while (!senders_.empty()) {
    const room r = room_locked();
    if (r == room::wait_for_it) return;
    if (r == room::refused) return refuse_locked(woken);
    bool wake_it = false;
    waiter* const w = claim_first(senders_, wake_it);
    if (!w) return;
    const op_case& c = *static_cast<op_case*>(w->slot);
    auto& v = *static_cast<node_ref*>(c.slot);
    deliver_locked(v, *static_cast<evicted_nodes*>(c.evicted), woken);
    if (v) w->said = ending::dropped;
    if (wake_it) woken.push_back(w);
  }
}

// A select waits on: it has said that it wants to.
void broadcast_hub::refuse_locked(waiter_list& woken) noexcept {
  for (waiter_list::iterator i = senders_.list.begin(); i != senders_.list.end();) {
    waiter& w = *i++;
    const bool of_a_select = &static_cast<op_case*>(w.slot)->entry == &w;
    if (of_a_select) continue;
    prefetch_frames(w);
    senders_.unlink(w);
    w.said = ending::full;
    if (w.who->try_claim(w.index) == wait::claimed::wake_it) woken.push_back(&w);
  }
}

ref<channel_base> broadcast_hub::subscribe(std::size_t capacity, leat::full when_full) {
  channel_options o;
  o.full = when_full;
  o.name = name();
  add_ref();
  return ref<channel_base>(new broadcast_reader(ref<channel_base>(this), capacity, o));
}

send_status broadcast_hub::send(void* value, std::int64_t until) {
  sending s{pack(value)};
  send_status status{};
  {
    entered in;
    status = send_inside(in, s.node, s.evicted, until);
  }
  if (s.node) s.node.item().restore(value);
  return status;
}

send_status broadcast_hub::send_inside(entered& in, node_ref& v, evicted_nodes& evicted,
                                       std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (until != at_once && in.stop_asked()) [[unlikely]]
    return send_status::stopped;
  lock_.lock();
  if (closed_) {
    ++refused_;
    lock_.unlock();
    return send_status::closed;
  }
  const room r = room_locked();
  if (r == room::there_is) [[likely]] {
    waiter_list woken;
    deliver_locked(v, evicted, woken);
    lock_.unlock();
    wake_all(in.m, woken);
    return v ? send_status::dropped : send_status::sent;
  }
  if (r == room::refused || until == at_once) {
    lock_.unlock();
    return send_status::full;
  }
  op_case c(op::send);
  c.slot = &v;
  c.evicted = &evicted;
  const ending how = wait_and_unlock(in, lock_, senders_, &c, wait_reason::send, until, stops::end_it,
                                     queue_end::back, c_name());
  switch (how) {
    case ending::done: return send_status::sent;
    case ending::dropped: return send_status::dropped;
    case ending::closed: return send_status::closed;
    case ending::full: return send_status::full;
    case ending::stopped: return send_status::stopped;
    default: return send_status::timeout;
  }
}

std::size_t broadcast_hub::size() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  std::size_t most = 0;
  for (const broadcast_reader* i = first_; i; i = i->next_) most = std::max(most, i->held());
  return most;
}

bool broadcast_hub::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return closed_;
}

channel_stats broadcast_hub::stats() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  channel_stats s;
  s.sent = sent_;
  s.received = sent_ - dropped_;
  s.dropped = dropped_;
  s.refused = refused_;
  s.high_water = high_;
  s.send_blocked = nanoseconds(senders_.blocked_ns);
  return s;
}

bool broadcast_hub::try_count(channel_stats& to) const noexcept {
  if (!lock_.try_lock()) return false;
  to = {sent_, sent_ - dropped_, dropped_};
  lock_.unlock();
  return true;
}

void broadcast_hub::close() noexcept {
  bool twice = false;
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(lock_);
      twice = closed_;
      closed_ = true;
      claim_all(senders_, ending::closed, woken);
      for (broadcast_reader* i = first_; i; i = i->next_) claim_all(i->receivers_, ending::closed, woken);
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();  // outside the runtime: the log's sink is user code
}

std::size_t broadcast_hub::waiting(std::span<waiting_g> to) const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return note_waiting(senders_, true, to, 0);
}

void broadcast_hub::stage(op_case& c, void* value) {
  if (c.kind == op::recv) refuse_to_receive(*this);
  auto& s = c.keep<sending>(pack(value));
  c.slot = &s.node;
  c.evicted = &s.evicted;
}

void broadcast_hub::finish(op_case& c, void* value) {
  const last_use<sending> s(c);
  if (s->node) s->node.item().restore(value);
}

void broadcast_hub::unstage(op_case& c, void* value) noexcept {
  try {
    finish(c, value);
  } catch (...) {  // an assignment that throws: the value is lost
  }
}

ending broadcast_hub::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return ending::closed;
  return ending_of(
      send_inside(in, *static_cast<node_ref*>(c.slot), *static_cast<evicted_nodes*>(c.evicted), at_once));
}

ending broadcast_hub::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::recv) return ending::closed;
  auto& v = *static_cast<node_ref*>(c.slot);
  waiter_list woken;
  {
    lock_guard hold(lock_);
    if (closed_) return ending::closed;
    if (room_locked() != room::there_is) {
      c.entry.slot = &c;
      senders_.link(c.entry);
      return ending::pending;
    }
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    deliver_locked(v, *static_cast<evicted_nodes*>(c.evicted), woken);
  }
  wake_all(in.m, woken);
  return v ? ending::dropped : ending::done;
}

void broadcast_hub::withdraw(op_case& c) noexcept {
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.entry)) senders_.unlink(c.entry);
}

}  // namespace leat::csp
