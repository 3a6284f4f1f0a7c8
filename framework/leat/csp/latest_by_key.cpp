// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/latest_by_key.hpp>

#include <algorithm>
#include <bit>

namespace leat::csp {

latest_by_key::latest_by_key(std::size_t keys, const channel_options& o, std::shared_ptr<const key_of> key,
                             keep_fn keep)
    : channel_base(std::max<std::size_t>(keys, 1), o),
      key_(std::move(key)),
      keep_(keep),
      buckets_(std::bit_ceil(std::max<std::size_t>(keys, 1))) {}

latest_by_key::~latest_by_key() LEAT_NO_THREAD_SAFETY_ANALYSIS {
  while (held_ > 0) node ended = take_first_locked();
}

latest_by_key::sending::~sending() {
  while (evicted) delete std::exchange(evicted, evicted->chain);
}

latest_by_key::node latest_by_key::packed(void* value) const {
  node n = keep_(value);
  n->hash = key_->hash(n->value());
  return n;
}

// Where the node with this key hangs in its chain, or the end of it.
kept_value** latest_by_key::find_locked(const kept_value& like) noexcept {
  kept_value** at = &bucket_locked(like.hash);
  while (*at && !((*at)->hash == like.hash && key_->same((*at)->value(), like.value()))) at = &(*at)->chain;
  return at;
}

void latest_by_key::link_locked(kept_value* before, kept_value* fresh, kept_value* after) noexcept {
  fresh->before = before;
  fresh->after = after;
  (before ? before->after : first_) = fresh;
  (after ? after->before : last_) = fresh;
}

latest_by_key::node latest_by_key::take_first_locked() noexcept {
  kept_value* const first = first_;
  first_ = first->after;
  (first_ ? first_->before : last_) = nullptr;
  kept_value** at = &bucket_locked(first->hash);
  while (*at != first) at = &(*at)->chain;
  *at = std::exchange(first->chain, nullptr);
  --held_;
  return node(first);
}

void latest_by_key::evict_locked(sending& by, kept_value* old) noexcept {
  ++dropped_;
  old->chain = by.evicted;
  by.evicted = old;
}

ending latest_by_key::put(entered& in, sending& s, wait* me, const op_case* c) noexcept {
  waiter* receiver = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(lock_);
    if (closed_) {
      if (!me) ++refused_;
      return ending::closed;
    }
    if (me && me->try_claim(c->entry.index) == wait::claimed::lost) return ending::lost;
    ++sent_;
    receiver = claim_first(receivers_, wake_it);
    if (receiver) {
      ++received_;
      *static_cast<node*>(receiver->slot) = std::move(s.packed);
    } else {
      kept_value* const fresh = s.packed.release();
      if (kept_value* const old = *find_locked(*fresh)) {
        link_locked(old->before, fresh, old->after);
        *find_locked(*old) = fresh;
        fresh->chain = old->chain;
        evict_locked(s, old);
      } else {
        if (held_ == capacity_) evict_locked(s, take_first_locked().release());
        kept_value*& bucket = bucket_locked(fresh->hash);
        fresh->chain = std::exchange(bucket, fresh);
        link_locked(last_, fresh, nullptr);
        high_ = std::max<std::uint64_t>(high_, ++held_);
      }
    }
  }
  if (receiver && wake_it) receiver->who->wake(in.m);
  return ending::done;
}

send_status latest_by_key::send(void* value, std::int64_t until) {
  sending s;
  s.packed = packed(value);
  ending how{};
  {
    entered in;
    if (until != at_once && in.stop_asked()) [[unlikely]]
      how = ending::stopped;
    else
      how = put(in, s, nullptr, nullptr);
  }
  if (s.packed) s.packed->restore(value);
  return how == ending::done      ? send_status::sent
         : how == ending::stopped ? send_status::stopped
                                  : send_status::closed;
}

recv_status latest_by_key::recv(void* value, std::int64_t until) {
  ref<channel_base> held;  // first: what is received may go back to it
  node n;
  recv_status s{};
  {
    entered in;
    s = recv_inside(in, n, until, held);
  }
  if (n) take_out(std::move(n), value);
  return s;
}

recv_status latest_by_key::recv_inside(entered& in, node& to, std::int64_t until,
                                       ref<channel_base>& held) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (until != at_once && in.stop_asked()) [[unlikely]]
    return recv_status::stopped;
  lock_.lock();
  if (held_ > 0) {
    to = take_first_locked();
    ++received_;
    lock_.unlock();
    return recv_status::received;
  }
  if (closed_ || until == at_once) {
    const bool open = !closed_;
    lock_.unlock();
    return open ? recv_status::empty : recv_status::closed;
  }
  add_ref();
  held = ref<channel_base>(this);
  switch (wait_and_unlock(in, lock_, receivers_, &to, wait_reason::receive, until, stops::end_it,
                          queue_end::back, c_name())) {
    case ending::done: return recv_status::received;
    case ending::stopped: return recv_status::stopped;
    case ending::timeout: return recv_status::timeout;
    default: return recv_status::closed;
  }
}

// Outside the runtime, after a receive.
void latest_by_key::take_out(node&& n, void* value) {
  try {
    n->unpack(value);
  } catch (...) {
    give_back(std::move(n));
    throw;
  }
}

void latest_by_key::give_back(node&& n) noexcept {
  node late;  // dies outside
  const entered in;
  waiter* receiver = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(lock_);
    receiver = claim_first(receivers_, wake_it);
    if (receiver) {
      *static_cast<node*>(receiver->slot) = std::move(n);
    } else if (*find_locked(*n) || held_ == capacity_) {
      --received_;
      ++dropped_;
      late = std::move(n);
    } else {
      --received_;
      kept_value* const back = n.release();
      kept_value*& bucket = bucket_locked(back->hash);
      back->chain = std::exchange(bucket, back);
      link_locked(nullptr, back, first_);
      ++held_;
    }
  }
  if (receiver && wake_it) receiver->who->wake(in.m);
}

std::size_t latest_by_key::size() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return held_;
}

bool latest_by_key::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return closed_;
}

channel_stats latest_by_key::stats() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  channel_stats s;
  s.sent = sent_;
  s.received = received_;
  s.dropped = dropped_;
  s.left = held_;
  s.refused = refused_;
  s.high_water = high_;
  s.recv_blocked = nanoseconds(receivers_.blocked_ns);
  return s;
}

bool latest_by_key::try_count(channel_stats& to) const noexcept {
  if (!lock_.try_lock()) return false;
  to = {sent_, received_, dropped_, held_};
  lock_.unlock();
  return true;
}

void latest_by_key::close() noexcept {
  bool twice = false;
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(lock_);
      twice = std::exchange(closed_, true);
      claim_all(receivers_, ending::closed, woken);
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();
}

std::size_t latest_by_key::waiting(std::span<waiting_g> to) const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return note_waiting(receivers_, false, to, 0);
}

void latest_by_key::stage(op_case& c, void* value) {
  if (c.kind == op::recv) {
    c.slot = &c.keep<node>();
  } else {
    node n = packed(value);  // may throw: nothing is kept then
    auto& s = c.keep<sending>();
    s.packed = std::move(n);
    c.slot = &s;
  }
}

void latest_by_key::finish(op_case& c, void* value) {
  if (c.kind == op::recv) {
    const last_use<node> n(c);
    take_out(std::move(*n), value);
  } else {
    const last_use<sending> s(c);
    if (s->packed) s->packed->restore(value);
  }
}

void latest_by_key::unstage(op_case& c, void* value) noexcept {
  if (c.kind == op::recv) {
    const last_use<node> ended(c);
    return;
  }
  try {
    finish(c, value);
  } catch (...) {  // an assignment that throws: the value is lost
  }
}

ending latest_by_key::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::send) return put(in, *static_cast<sending*>(c.slot), nullptr, nullptr);
  ref<channel_base> not_needed;
  return ending_of(recv_inside(in, *static_cast<node*>(c.slot), at_once, not_needed));
}

ending latest_by_key::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::send) return put(in, *static_cast<sending*>(c.slot), &me, &c);
  lock_guard hold(lock_);
  if (held_ == 0) {
    if (closed_) return ending::closed;
    c.entry.slot = c.slot;
    receivers_.link(c.entry);
    return ending::pending;
  }
  if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
  *static_cast<node*>(c.slot) = take_first_locked();
  ++received_;
  return ending::done;
}

void latest_by_key::withdraw(op_case& c) noexcept {
  if (c.kind == op::send) return;
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.entry)) receivers_.unlink(c.entry);
}

}  // namespace leat::csp
