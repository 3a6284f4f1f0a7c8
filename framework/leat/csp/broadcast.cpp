// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/broadcast.hpp>

#include <algorithm>
#include <new>

namespace leat::csp {
namespace {

// To a plain sender: a reader that fails is full.
constexpr std::uint8_t verdict_full = verdict_look + 1;

std::size_t reader_capacity(std::size_t capacity, leat::full when_full) noexcept {
  return when_full == leat::full::latest ? 1 : std::max<std::size_t>(capacity, 1);
}

}  // namespace

// --- the hub -----------------------------------------------------------------------------------------------

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
    deliver_locked(*static_cast<node_ref*>(c.slot), *static_cast<evicted_nodes*>(c.evicted), woken);
    w->verdict = verdict_done;
    if (wake_it) woken.push_back(w);
  }
}

// A select waits on: it has said that it wants to.
void broadcast_hub::refuse_locked(waiter_list& woken) noexcept {
  for (waiter_list::iterator i = senders_.list.begin(); i != senders_.list.end();) {
    waiter& w = *i++;
    const bool of_a_select = &static_cast<op_case*>(w.slot)->place == &w;
    if (of_a_select) continue;
    prefetch_frames(w);
    senders_.unlink(w);
    w.verdict = verdict_full;
    if (w.who->try_claim(w.index) == party::claimed::wake_it) woken.push_back(&w);
  }
}

send_status broadcast_hub::send(entered& in, node_ref& v, evicted_nodes& evicted,
                                std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (until != at_once && in.stop_asked()) [[unlikely]]
    return send_status::stopped;
  lock_.lock();
  if (closed_) {
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
  const wait_result w = wait_and_unlock(in, lock_, senders_, &c, wait_reason::send, until, stops::end_it,
                                        place::at_the_back, c_name());
  if (w.outcome == outcome_stopped) return send_status::stopped;
  if (w.outcome != 0) return send_status::timeout;
  if (w.verdict == verdict_closed) return send_status::closed;
  if (w.verdict == verdict_full) return send_status::full;
  return v ? send_status::dropped : send_status::sent;
}

std::size_t broadcast_hub::size() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(lock_);
  std::size_t most = 0;
  for (const broadcast_reader* i = first_; i; i = i->next_) most = std::max(most, i->held());
  return most;
}

bool broadcast_hub::is_closed() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(lock_);
  return closed_;
}

channel_stats broadcast_hub::stats() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(lock_);
  channel_stats s;
  s.sent = sent_;
  s.received = sent_ - dropped_;
  s.dropped = dropped_;
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
      claim_all(senders_, verdict_closed, woken);
      for (broadcast_reader* i = first_; i; i = i->next_) claim_all(i->receivers_, verdict_closed, woken);
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();  // outside the runtime: the log's sink is user code
}

std::size_t broadcast_hub::waiting(std::span<waiting_g> to) const noexcept {
  lock_guard hold(lock_);
  return note_waiting(senders_, true, to, 0);
}

attempt broadcast_hub::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return attempt::closed;
  return attempt_of(
      send(in, *static_cast<node_ref*>(c.slot), *static_cast<evicted_nodes*>(c.evicted), at_once));
}

attempt broadcast_hub::enroll(entered& in, op_case& c, party& me) noexcept {
  if (c.kind == op::recv) return attempt::closed;
  auto& v = *static_cast<node_ref*>(c.slot);
  waiter_list woken;
  {
    lock_guard hold(lock_);
    if (closed_) return attempt::closed;
    if (room_locked() != room::there_is) {
      c.place.slot = &c;
      senders_.link(c.place);
      return attempt::pending;
    }
    if (me.try_claim(c.place.index) == party::claimed::lost) return attempt::lost;
    deliver_locked(v, *static_cast<evicted_nodes*>(c.evicted), woken);
  }
  wake_all(in.m, woken);
  return v ? attempt::dropped : attempt::done;
}

void broadcast_hub::withdraw(op_case& c) noexcept {
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.place)) senders_.unlink(c.place);
}

// --- a reader ----------------------------------------------------------------------------------------------

broadcast_reader::broadcast_reader(ref<channel_base> hub, std::size_t capacity, const channel_options& o)
    : channel_base(flavour::broadcast_reader, reader_capacity(capacity, o.full), o),
      keeps_(std::move(hub)),
      hub_(static_cast<broadcast_hub&>(*keeps_.get())),
      mask_(ring_size(capacity_, sizeof(void*)) - 1),
      ring_(
          static_cast<broadcast_item**>(allocate_ring(mask_ + 1, sizeof(void*), alignof(void*), capacity_))) {
  const sched::shield unbroken;
  lock_guard hold(hub_.lock_);
  next_ = hub_.first_;
  link_ = &hub_.first_;
  if (next_) next_->link_ = &next_;
  hub_.first_ = this;
}

broadcast_reader::~broadcast_reader() {
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(hub_.lock_);
      leave_locked(woken);
    }
    wake_all(in.m, woken);
  }
  while (held() > 0) node_ref destroyed(pop_locked());
  free_ring(ring_, alignof(void*));
}

void broadcast_reader::leave_locked(waiter_list& woken) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!link_) return;
  *link_ = next_;
  if (next_) next_->link_ = link_;
  next_ = nullptr;
  link_ = nullptr;
  hub_.serve_locked(woken);
}

bool broadcast_reader::offer_locked(broadcast_item* it, evicted_nodes& evicted, waiter_list& woken) noexcept {
  ++offered_;
  bool wake_it = false;
  if (waiter* const w = claim_first(receivers_, wake_it)) {
    static_cast<std::optional<node_ref>*>(w->slot)->emplace(it);
    w->verdict = verdict_done;
    ++received_;
    if (wake_it) woken.push_back(w);
    return true;
  }
  if (is_full() && full_ == leat::full::drop_newest) {
    ++dropped_;
    return false;
  }
  while (is_full()) {  // more than once, if some were given back
    evicted.add(pop_locked());
    ++dropped_;
  }
  ring_[(head_ + count_) & mask_] = it;
  ++count_;
  high_ = std::max<std::uint64_t>(high_, held());
  return true;
}

broadcast_item* broadcast_reader::pop_locked() noexcept {
  if (given_back_) [[unlikely]] {
    --count_given_back_;
    return std::exchange(given_back_, given_back_->next);
  }
  --count_;
  return ring_[head_++ & mask_];
}

bool broadcast_reader::take_locked(std::optional<node_ref>& out,
                                   waiter_list& woken) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (held() == 0) return false;
  out.emplace(pop_locked());
  ++received_;
  hub_.serve_locked(woken);
  return true;
}

recv_status broadcast_reader::recv(entered& in, std::optional<node_ref>& out,
                                   std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (until != at_once && in.stop_asked()) [[unlikely]]
    return recv_status::stopped;
  hub_.lock_.lock();
  waiter_list woken;
  if (take_locked(out, woken)) [[likely]] {
    hub_.lock_.unlock();
    wake_all(in.m, woken);
    return recv_status::received;
  }
  if (hub_.closed_ || !link_ || until == at_once) {
    const bool open = !hub_.closed_ && link_;
    hub_.lock_.unlock();
    return open ? recv_status::empty : recv_status::closed;
  }
  const wait_result r = wait_and_unlock(in, hub_.lock_, receivers_, &out, wait_reason::receive, until,
                                        stops::end_it, place::at_the_back, c_name());
  if (r.outcome == 0) return r.verdict == verdict_done ? recv_status::received : recv_status::closed;
  return r.outcome == outcome_stopped ? recv_status::stopped : recv_status::timeout;
}

void broadcast_reader::give_back(node_ref&& v) noexcept {
  broadcast_item* it = v.release();
  if (!it->wraps) {
    struct wrapper final : broadcast_item {
      explicit wrapper(broadcast_item* inner) noexcept : broadcast_item(inner), keeps(inner) {}
      node_ref keeps;
    };
    broadcast_item* const wrapped = new (std::nothrow) wrapper(it);
    if (!wrapped) {  // then it is lost, and counted as such
      v = node_ref(it);
      const sched::shield unbroken;
      lock_guard hold(hub_.lock_);
      --received_;
      ++dropped_;
      return;
    }
    it = wrapped;
  }
  const entered in;
  bool wake_it = false;
  waiter* w = nullptr;
  {
    lock_guard hold(hub_.lock_);
    w = claim_first(receivers_, wake_it);
    if (w) {
      static_cast<std::optional<node_ref>*>(w->slot)->emplace(it);
      w->verdict = verdict_done;
    } else {
      it->next = given_back_;
      given_back_ = it;
      ++count_given_back_;
      --received_;
    }
  }
  if (w && wake_it) w->who->wake(in.m);
}

std::size_t broadcast_reader::size() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(hub_.lock_);
  return held();
}

bool broadcast_reader::is_closed() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(hub_.lock_);
  return hub_.closed_ || !link_;
}

channel_stats broadcast_reader::stats() const noexcept {
  const sched::shield unbroken;
  lock_guard hold(hub_.lock_);
  channel_stats s;
  s.sent = offered_;
  s.received = received_;
  s.dropped = dropped_;
  s.left = held();
  s.high_water = high_;
  s.recv_blocked = nanoseconds(receivers_.blocked_ns);
  return s;
}

bool broadcast_reader::try_count(channel_stats& to) const noexcept {
  if (!hub_.lock_.try_lock()) return false;
  to = {offered_, received_, dropped_, held()};
  hub_.lock_.unlock();
  return true;
}

void broadcast_reader::close() noexcept {
  bool twice = false;
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(hub_.lock_);
      twice = !link_;
      claim_all(receivers_, verdict_closed, woken);
      leave_locked(woken);
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();
}

std::size_t broadcast_reader::waiting(std::span<waiting_g> to) const noexcept {
  lock_guard hold(hub_.lock_);
  return note_waiting(receivers_, false, to, 0);
}

attempt broadcast_reader::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::send) return attempt::closed;
  return attempt_of(recv(in, *static_cast<std::optional<node_ref>*>(c.slot), at_once));
}

attempt broadcast_reader::enroll(entered& in, op_case& c, party& me) noexcept {
  if (c.kind == op::send) return attempt::closed;
  waiter_list woken;
  {
    lock_guard hold(hub_.lock_);
    if (held() == 0) {
      if (hub_.closed_ || !link_) return attempt::closed;
      c.place.slot = c.slot;
      receivers_.link(c.place);
      return attempt::pending;
    }
    if (me.try_claim(c.place.index) == party::claimed::lost) return attempt::lost;
    (void)take_locked(*static_cast<std::optional<node_ref>*>(c.slot), woken);
  }
  wake_all(in.m, woken);
  return attempt::done;
}

void broadcast_reader::withdraw(op_case& c) noexcept {
  lock_guard hold(hub_.lock_);
  if (waiter_list::linked(&c.place)) receivers_.unlink(c.place);
}

// -----------------------------------------------------------------------------------------------------------

void refuse_to_receive(const channel_base& hub) {
  throw channel_error("channel '" + std::string(hub.name()) +
                      "' is a broadcast channel: subscribe, or make an in<T> of it, and receive from that");
}

ref<channel_base> subscribe_to(const ref<channel_base>& c, std::size_t capacity, leat::full when_full) {
  if (!c || c->kind() != flavour::broadcast)
    throw channel_error("subscribe needs a broadcast channel, and '" + std::string(c ? c->name() : "") +
                        "' is none: make it with leat::broadcast as the first argument");
  channel_options o;
  o.full = when_full;
  o.name = c->name();
  return ref<channel_base>(new broadcast_reader(c, capacity, o));
}

}  // namespace leat::csp
