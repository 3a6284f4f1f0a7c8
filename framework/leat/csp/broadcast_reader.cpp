// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <new>

#include <leat/csp/broadcast.hpp>

namespace leat::csp {
namespace {

std::size_t reader_capacity(std::size_t capacity, leat::full when_full) noexcept {
  return when_full == leat::full::latest ? 1 : std::max<std::size_t>(capacity, 1);
}

}  // namespace

broadcast_reader::broadcast_reader(ref<channel_base> hub, std::size_t capacity, const channel_options& o)
    : channel_base(reader_capacity(capacity, o.full), o),
      keeps_(std::move(hub)),
      hub_(static_cast<broadcast_hub&>(*keeps_.get())),
      mask_(ring_size(capacity_, sizeof(void*)) - 1),
      ring_(
          static_cast<broadcast_item**>(allocate_ring(mask_ + 1, sizeof(void*), alignof(void*), capacity_))) {
  const sched::no_quarantine unbroken;
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

recv_status broadcast_reader::recv(void* value, std::int64_t until) {
  ref<channel_base> held;  // first: what is received may go back to it
  std::optional<node_ref> node;
  recv_status s{};
  {
    entered in;
    s = recv_inside(in, node, until, held);
  }
  if (node) take_out(std::move(*node), value);
  return s;
}

recv_status broadcast_reader::recv_inside(entered& in, std::optional<node_ref>& out, std::int64_t until,
                                          ref<channel_base>& held) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
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
  add_ref();
  held = ref<channel_base>(this);
  const ending how = wait_and_unlock(in, hub_.lock_, receivers_, &out, wait_reason::receive, until,
                                     stops::end_it, queue_end::back, c_name());
  switch (how) {
    case ending::done: return recv_status::received;
    case ending::stopped: return recv_status::stopped;
    case ending::timeout: return recv_status::timeout;
    default: return recv_status::closed;
  }
}

void broadcast_reader::take_out(node_ref&& n, void* value) {
  try {
    n.item().unpack(value);
  } catch (...) {
    give_back(std::move(n));
    throw;
  }
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
      const sched::no_quarantine unbroken;
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
  const sched::unbroken_look unbroken;
  lock_guard hold(hub_.lock_);
  return held();
}

bool broadcast_reader::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(hub_.lock_);
  return hub_.closed_ || !link_;
}

channel_stats broadcast_reader::stats() const noexcept {
  const sched::unbroken_look unbroken;
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
      claim_all(receivers_, ending::closed, woken);
      leave_locked(woken);
    }
    wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();
}

std::size_t broadcast_reader::waiting(std::span<waiting_g> to) const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(hub_.lock_);
  return note_waiting(receivers_, false, to, 0);
}

void broadcast_reader::stage(op_case& c, void*) { c.slot = &c.keep<std::optional<node_ref>>(); }

void broadcast_reader::finish(op_case& c, void* value) {
  const last_use<std::optional<node_ref>> node(c);
  take_out(std::move(**node), value);
}

void broadcast_reader::unstage(op_case& c, void*) noexcept {
  const last_use<std::optional<node_ref>> ended(c);
}

ending broadcast_reader::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::send) return ending::closed;
  ref<channel_base> not_needed;
  return ending_of(recv_inside(in, *static_cast<std::optional<node_ref>*>(c.slot), at_once, not_needed));
}

ending broadcast_reader::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::send) return ending::closed;
  waiter_list woken;
  {
    lock_guard hold(hub_.lock_);
    if (held() == 0) {
      if (hub_.closed_ || !link_) return ending::closed;
      c.entry.slot = c.slot;
      receivers_.link(c.entry);
      return ending::pending;
    }
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    (void)take_locked(*static_cast<std::optional<node_ref>*>(c.slot), woken);
  }
  wake_all(in.m, woken);
  return ending::done;
}

void broadcast_reader::withdraw(op_case& c) noexcept {
  lock_guard hold(hub_.lock_);
  if (waiter_list::linked(&c.entry)) receivers_.unlink(c.entry);
}

}  // namespace leat::csp
