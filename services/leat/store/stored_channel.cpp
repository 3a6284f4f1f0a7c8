// SPDX-License-Identifier: BSL-1.0
#include <leat/store/stored_channel.hpp>

#include <algorithm>
#include <utility>

#include <leat/process/state_migrate.hpp>
#include <leat/sched/blocking.hpp>

namespace leat::store {

using csp::ending;
using csp::entered;
using csp::op;
using csp::op_case;
using csp::waiter;
using csp::waiter_list;

namespace {

constexpr std::uint64_t most_unwritten = 1 << 20;

store_queue::limits limits_of(std::uint64_t max, std::size_t capacity, leat::full policy) {
  store_queue::limits l;
  l.max = max;
  l.buffer = std::min(max, most_unwritten);
  l.window = std::max<std::size_t>(capacity, 1);
  l.drop_oldest = policy == leat::full::drop_oldest;
  return l;
}

// Where port_type::send_any sends a value that it has made and filled.
class value_catcher final : public csp::channel_base {
 public:
  explicit value_catcher(const port_type& type) : channel_base(0, {}), type_(type) {}
  send_status send(void* value, std::int64_t) override {
    caught = type_.keep_value(value);
    return send_status::sent;
  }
  std::size_t size() const noexcept override { return 0; }
  bool is_closed() const noexcept override { return false; }
  channel_stats stats() const noexcept override { return {}; }
  void close() noexcept override {}
  ending try_case(entered&, op_case&) noexcept override { return ending::closed; }
  ending enroll(entered&, op_case&, csp::wait&) noexcept override { return ending::closed; }
  void withdraw(op_case&) noexcept override {}

  std::unique_ptr<csp::kept_value> caught = {};

 private:
  const port_type& type_;
};

template <class Fill>
std::unique_ptr<csp::kept_value> made_by(const port_type& type, Fill fill) {
  value_catcher to(type);
  (void)type.send_any(to, csp::at_once, &fill, [](void* context, void* v, const type_shape& s) {
    (*static_cast<Fill*>(context))(v, s);
  });
  return std::move(to.caught);
}

}  // namespace

stored_channel::stored_channel(const port_type& type, std::size_t capacity, const channel_options& o,
                               const settings& s, std::unique_ptr<store_file> file,
                               std::shared_ptr<void> folder)
    : channel_base(capacity, o),
      type_(type),
      settings_(s),
      folder_(std::move(folder)),
      file_(std::move(file)),
      queue_(limits_of(s.max, capacity, o.full), file_->at_open().values, file_->at_open().bytes,
             file_->at_open().first, file_->at_open().last) {
  if (const std::string why = why_not_kept(type); !why.empty()) throw store_error(why);
}

stored_channel::~stored_channel() = default;

std::string stored_channel::why_not_kept(const port_type& type) {
  if (type.reply) return "its values are requests, whose answers nobody would wait for after a restart";
  if (!type.send_any) return "a '" + type.message_name() + "' cannot be made from what is in a file";
  return leat::why_not_kept(type.message());
}

std::unique_ptr<csp::kept_value> stored_channel::decoded(const std::vector<std::uint8_t>& body) const {
  try {
    return made_by(type_, [&](void* v, const type_shape& s) { shapes::read_cbor(s, v, body, state_limits); });
  } catch (const message_error&) {
    // Written before a field was added, perhaps.
  }
  std::vector<std::string> told;
  auto migrated = made_by(type_, [&](void* v, const type_shape& s) {
    (void)made_by(type_, [&](void* trial, const type_shape&) { migrate_state(s, v, trial, body, told); });
  });
  if (!told.empty()) throw store_error(told.front());
  return migrated;
}

// --- a send -------------------------------------------------------------------------------------------------

void stored_channel::put_locked(sending& s, waiter_list& woken) noexcept {
  stored_value* const v = s.node.release();
  bool wake_it = false;
  waiter* const receiver = queue_.left() == 0 ? csp::claim_first(receivers_, wake_it) : nullptr;
  if (!queue_.put(v, receiver != nullptr, s.dead)) s.leftover = std::move(v->value);
  s.number = v->number;
  if (receiver) {
    *static_cast<stored_value**>(receiver->slot) = v;
    if (wake_it) woken.push_back(receiver);
  }
}

// With `each` and a file that fails, what is put could only be waited for.
store_queue::room stored_channel::room_locked(std::uint64_t size) const noexcept {
  const store_queue::room r = queue_.room_for(size);
  const bool in_vain = syncs_each() && queue_.failing() && when_full() != leat::full::drop_oldest;
  return in_vain && r == store_queue::room::there_is ? store_queue::room::wait_for_it : r;
}

void stored_channel::serve_senders_locked(waiter_list& woken) noexcept {
  while (waiter* const first = senders_.list.front()) {
    if (room_locked(static_cast<sending*>(first->slot)->node->size) == store_queue::room::wait_for_it) return;
    bool wake_it = false;
    waiter* const w = csp::claim_first(senders_, wake_it);
    if (!w) return;
    put_locked(*static_cast<sending*>(w->slot), woken);
    if (wake_it) woken.push_back(w);
  }
}

// --- a receive ----------------------------------------------------------------------------------------------

void stored_channel::serve_receivers_locked(waiter_list& woken) noexcept {
  while (queue_.is_ready()) {
    bool wake_it = false;
    waiter* const w = csp::claim_first(receivers_, wake_it);
    if (!w) return;
    *static_cast<stored_value**>(w->slot) = queue_.take();
    if (wake_it) woken.push_back(w);
  }
}

void stored_channel::end_receivers_locked(waiter_list& woken) noexcept {
  if (closed_ && queue_.left() == 0) csp::claim_all(receivers_, ending::closed, woken);
}

void stored_channel::unpack(stored_value* v, void* to) {
  std::unique_ptr<csp::kept_value> dies;
  try {
    v->value->unpack(to);
    dies = std::move(v->value);
  } catch (...) {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(lock_);
      queue_.give_back(v);
      serve_receivers_locked(woken);
    }
    csp::wake_all(in.m, woken);
    throw;
  }
}

void stored_channel::hold(read_list& in_hand, stored_value* v) noexcept {
  const entered in;
  lock_guard hold_it(lock_);
  in_hand.push_back(v);
}

bool stored_channel::holds(const read_list& in_hand) const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold_it(lock_);
  return !in_hand.empty();
}

std::uint64_t stored_channel::settle(read_list& in_hand) noexcept {
  dead_values dead;
  std::uint64_t round = 0;
  const entered in;
  waiter_list woken;
  {
    lock_guard hold(lock_);
    if (in_hand.empty()) return 0;
    while (!in_hand.empty())
      if (queue_.settle(in_hand.pop_front(), dead)) round = rounds_.begun + 1;
    // Those who wait until it is written need not.
    if (!queue_.has_unwritten()) csp::claim_all(for_write_, ending::look, woken);
    serve_senders_locked(woken);
    kick_locked(woken);
  }
  csp::wake_all(in.m, woken);
  return round;
}

void stored_channel::wait_for_round(std::uint64_t round,
                                    std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  const auto is_over = [&]() LEAT_NO_THREAD_SAFETY_ANALYSIS {
    return rounds_.done >= round || over_ || queue_.failing();
  };
  for (ending how = ending::look; how == ending::look;) {
    entered in;
    waiter_list woken;
    lock_.lock();
    if (!syncs_each() || is_over()) return lock_.unlock();
    rounds_.wanted = std::max(rounds_.wanted, round);
    kick_locked(woken);
    lock_.unlock();
    csp::wake_all(in.m, woken);
    lock_.lock();
    if (is_over()) return lock_.unlock();
    how = csp::wait_and_unlock(in, lock_, for_write_, nullptr, csp::wait_reason::receive, until);
  }
}

void stored_channel::let_go(read_list& in_hand) noexcept {
  dead_values dead;
  const entered in;
  lock_guard hold_it(lock_);
  while (!in_hand.empty()) queue_.let_go(in_hand.pop_front(), dead);
}

// --- a case -------------------------------------------------------------------------------------------------

void stored_channel::stage(op_case& c, void* value) {
  if (c.kind == op::recv) {
    c.slot = &c.keep<received_value>().got;
    return;
  }
  auto s = std::make_unique<sending>();
  s->node = std::make_unique<stored_value>();
  shapes::write_cbor(type_.message(), value, s->node->body);
  s->node->size = s->node->body.size() + store_file::overhead;
  s->node->value = type_.keep_value(value);
  c.slot = s.get();
  c.keep<kept_sending>(std::move(s));
}

void stored_channel::finish(op_case& c, void* value) {
  if (c.kind == op::recv) {
    stored_value* v = nullptr;
    {
      const csp::last_use<received_value> r(c);
      v = r->got;
    }
    unpack(v, value);
    read_list all;
    all.push_back(v);
    (void)settle(all);
    return;
  }
  std::uint64_t number = 0;
  {
    const csp::last_use<kept_sending> s(c);
    if ((*s)->node) (*s)->node->value->restore(value);  // dropped
    number = (*s)->number;
  }
  if (syncs_each() && number > 0) wait_while_it_works(number);
}

void stored_channel::unstage(op_case& c, void* value) noexcept {
  if (c.kind == op::recv) {
    const csp::last_use<received_value> ended(c);
    return;
  }
  const csp::last_use<kept_sending> s(c);
  try {
    if ((*s)->node) (*s)->node->value->restore(value);
  } catch (...) {  // an assignment that throws: the value is lost
  }
}

ending stored_channel::try_case(entered& in, op_case& c) noexcept {
  waiter_list woken;
  ending how = ending::done;
  {
    lock_guard hold(lock_);
    if (c.kind == op::recv) {
      stored_value* const v = queue_.take();
      *static_cast<stored_value**>(c.slot) = v;
      if (!v) how = over_ || (closed_ && queue_.left() == 0) ? ending::closed : ending::pending;
      end_receivers_locked(woken);
    } else if (closed_ || ends_) {
      ++refused_;
      how = ending::closed;
    } else {
      auto& s = *static_cast<sending*>(c.slot);
      switch (room_locked(s.node->size)) {
        case store_queue::room::there_is:
          if (senders_.empty())
            put_locked(s, woken);
          else
            how = ending::pending;  // others were first
          break;
        case store_queue::room::wait_for_it: how = ending::pending; break;
        case store_queue::room::never:
          queue_.refuse();
          how = ending::dropped;
          break;
      }
    }
    kick_locked(woken);
  }
  csp::wake_all(in.m, woken);
  return how;
}

ending stored_channel::enroll(entered& in, op_case& c, csp::wait& me) noexcept {
  waiter_list woken;
  ending how = ending::done;
  {
    lock_guard hold(lock_);
    how = c.kind == op::recv ? enroll_receive_locked(c, me, woken) : enroll_send_locked(c, me, woken);
    kick_locked(woken);
  }
  csp::wake_all(in.m, woken);
  return how;
}

ending stored_channel::enroll_receive_locked(op_case& c, csp::wait& me, waiter_list& woken) noexcept {
  if (!queue_.is_ready()) {
    if (over_ || (closed_ && queue_.left() == 0)) return ending::closed;
    c.entry.slot = c.slot;
    receivers_.link(c.entry);
    return ending::pending;
  }
  if (me.try_claim(c.entry.index) == csp::wait::claimed::lost) return ending::lost;
  *static_cast<stored_value**>(c.slot) = queue_.take();
  end_receivers_locked(woken);
  return ending::done;
}

// One that never fits has been dropped by try_case.
ending stored_channel::enroll_send_locked(op_case& c, csp::wait& me, waiter_list& woken) noexcept {
  auto& s = *static_cast<sending*>(c.slot);
  if (closed_ || ends_) return ending::closed;
  if (!senders_.empty() || room_locked(s.node->size) != store_queue::room::there_is) {
    c.entry.slot = c.slot;
    senders_.link(c.entry);
    return ending::pending;
  }
  if (me.try_claim(c.entry.index) == csp::wait::claimed::lost) return ending::lost;
  put_locked(s, woken);
  return ending::done;
}

void stored_channel::withdraw(op_case& c) noexcept {
  waiter_list woken;
  {
    lock_guard hold_it(lock_);
    if (waiter_list::linked(&c.entry)) (c.kind == op::send ? senders_ : receivers_).unlink(c.entry);
    // There may have been no room for this one, and be some for the next.
    if (c.kind == op::send && !senders_.empty()) {
      serve_senders_locked(woken);
      kick_locked(woken);
    }
  }
  csp::wake_all(sched::current_front(), woken);
}

// --- a look -------------------------------------------------------------------------------------------------

std::size_t stored_channel::size() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return static_cast<std::size_t>(queue_.left());
}

bool stored_channel::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return closed_;
}

channel_stats stored_channel::stats() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  channel_stats s;
  s.sent = queue_.sent();
  s.received = queue_.received();
  s.dropped = queue_.dropped();
  s.left = queue_.left();
  s.refused = refused_;
  s.high_water = queue_.high();
  s.send_blocked = nanoseconds(senders_.blocked_ns);
  s.recv_blocked = nanoseconds(receivers_.blocked_ns);
  return s;
}

store_stats stored_channel::stats_of_store() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  store_stats s;
  s.kept = queue_.kept();
  s.bytes = queue_.bytes();
  s.restored = queue_.restored();
  s.written = queue_.written();
  s.unreadable = queue_.unreadable();
  s.failures = failures_;
  s.failing = queue_.failing() || read_fails_;
  s.finish_failed = finish_failed_;
  return s;
}

bool stored_channel::try_count(channel_stats& to) const noexcept {
  if (!lock_.try_lock()) return false;
  to = {queue_.sent(), queue_.received(), queue_.dropped(), queue_.left()};
  lock_.unlock();
  return true;
}

void stored_channel::close() noexcept {
  bool twice = false;
  {
    const entered in;
    waiter_list woken;
    {
      lock_guard hold(lock_);
      twice = std::exchange(closed_, true);
      csp::claim_all(senders_, ending::closed, woken);
      end_receivers_locked(woken);
    }
    csp::wake_all(in.m, woken);
  }
  if (twice) report_closed_twice();
}

std::size_t stored_channel::waiting(std::span<csp::waiting_g> to) const noexcept {
  lock_guard hold(lock_);
  std::size_t n = csp::note_waiting(senders_, true, to, 0);
  // Those who wait for the disk will get something.
  if (queue_.left() == 0) n = csp::note_waiting(receivers_, false, to, n);
  return n;
}

}  // namespace leat::store
