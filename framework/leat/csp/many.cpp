// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/many.hpp>

#include <leat/csp/plain_wait.hpp>

// A processor predicts a return by the calls that it has seen. After a switch those are the calls of the G
// that was left: unless that one stood at the same place, the return is mispredicted (20 cycles; two of them
// are a seventh of a round trip between two Gs). An indirect jump is predicted by where it went before, which
// is right where Gs take turns. Only for a function that returns after a switch: otherwise the return of its
// caller would be mispredicted. For x86-64, by GCC, which has an attribute for it.
// Not where shadow stacks are kept: they know of returns alone.
#if defined(__x86_64__) && defined(__LP64__) && !defined(__clang__) && !defined(__code_model_large__) && \
    !(defined(__CET__) && (__CET__ & 2))
#define LEAT_RETURNS_BY_JUMP [[gnu::function_return("thunk-extern")]]
// What such functions end with; the compiler knows it by this name, and may have one of its own.
asm(R"(
  .pushsection .text.__x86_return_thunk, "axG", @progbits, __x86_return_thunk, comdat
  .globl __x86_return_thunk
  .hidden __x86_return_thunk
  .type __x86_return_thunk, @function
__x86_return_thunk:
  .cfi_startproc
  pop %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rcx
  notrack jmp *%rcx
  .cfi_endproc
  .size __x86_return_thunk, . - __x86_return_thunk
  .popsection
)");
#else
#define LEAT_RETURNS_BY_JUMP
#endif

namespace leat::csp {

namespace {

recv_status received_by(ending e) noexcept {
  if (e == ending::done) [[likely]]
    return recv_status::received;
  if (e == ending::closed) return recv_status::closed;
  return e == ending::stopped ? recv_status::stopped : recv_status::timeout;
}

send_status send_status_of(ending e) noexcept {
  if (e == ending::done) [[likely]]
    return send_status::sent;
  if (e == ending::closed) return send_status::closed;
  return e == ending::stopped ? send_status::stopped : send_status::timeout;
}

}  // namespace

many_base::many_base(inlined as, std::size_t capacity, const channel_options& o, cell_layout cell)
    : channel_base(as, o.full == leat::full::latest ? 1 : capacity, o),
      mask_(ring_size(capacity_, cell.size) - 1),
      ring_(allocate_ring(capacity_ ? mask_ + 1 : 0, cell.size, cell.align, capacity_)),
      cell_align_(cell.align) {
  lock_.bias_if_alone();
}

many_base::~many_base() { free_ring(ring_, cell_align_); }

leat::flavour many_base::flavour() const noexcept {
  if (full_ == leat::full::latest) return leat::flavour::latest;
  return capacity_ == 0 ? leat::flavour::rendezvous : leat::flavour::many;
}

// The pointer to what was allocated lies before the object.
void* many_base::operator new(std::size_t size, std::align_val_t alignment) {
  const auto align = static_cast<std::size_t>(alignment);
  static_assert(__STDCPP_DEFAULT_NEW_ALIGNMENT__ >= sizeof(void*));
  void* const piece = ::operator new(size + align);
  const auto end_of_room = reinterpret_cast<std::uintptr_t>(piece) + align;
  auto* const at = reinterpret_cast<void**>(end_of_room - end_of_room % align);
  at[-1] = piece;
  return at;
}

void many_base::operator delete(void* p, std::align_val_t) noexcept {
  if (p) ::operator delete(static_cast<void**>(p)[-1]);
}

LEAT_RETURNS_BY_JUMP recv_status many_base::wait_to_receive(entrance in, void* to,
                                                            without_end) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!in.m) [[unlikely]]
    return wait_to_receive(in, to, forever);
  const recv_status s =
      received_by(wait_plain_biased(in, lock_, receivers_, to, wait_reason::receive, c_name()));
  in.leave();
  if (s == recv_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

LEAT_RETURNS_BY_JUMP send_status many_base::wait_to_send(entrance in, void* from,
                                                         without_end) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!in.m) [[unlikely]]
    return wait_to_send(in, from, forever);
  const send_status s =
      send_status_of(wait_plain_biased(in, lock_, senders_, from, wait_reason::send, c_name()));
  in.leave();
  if (s == send_status::stopped) [[unlikely]]
    throw_if_insisted();
  return s;
}

// Not inlined: the frames above are passed through with every value, and these need more.
[[gnu::noinline]] recv_status many_base::wait_to_receive(entrance in, void* to,
                                                         std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_to_receive(in, to, without_end{});
  const recv_status s = wait_to_receive_inside(in, to, until);
  in.leave();
  if (s == recv_status::stopped) throw_if_insisted();
  return s;
}

[[gnu::noinline]] send_status many_base::wait_to_send(entrance in, void* from,
                                                      std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_to_send(in, from, without_end{});
  const send_status s = wait_to_send_inside(in, from, until);
  in.leave();
  if (s == send_status::stopped) throw_if_insisted();
  return s;
}

recv_status many_base::wait_to_receive_inside(entrance& in, void* to,
                                              std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  return received_by(wait_and_unlock(in, lock_, receivers_, to, wait_reason::receive, until, c_name()));
}

send_status many_base::wait_to_send_inside(entrance& in, void* from,
                                           std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  return send_status_of(wait_and_unlock(in, lock_, senders_, from, wait_reason::send, until, c_name()));
}

// --- Through the interface --------------------------------------------------------------------------

send_status many_base::apply_policy_and_unlock(void* cell,
                                               void* evicted) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  switch (full_) {
    case leat::full::block:
    case leat::full::fail: return unlock_and(send_status::full);
    case leat::full::drop_oldest:
    case leat::full::latest:
      if (capacity_ > 0) {
        pop_locked(*this, evicted);
        ++dropped_;
        push_locked(*this, cell);
        return unlock_and(send_status::sent);
      }
      [[fallthrough]];
    case leat::full::drop_newest: break;
  }
  ++sent_;
  ++dropped_;
  return unlock_and(send_status::dropped);
}

send_status many_base::send_inside(entered& in, void* cell, void* evicted,
                                   std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  send_status s{};
  if (send_now(*this, in, cell, until, s)) return s;
  return must_wait(until) ? wait_to_send_inside(in, cell, until) : apply_policy_and_unlock(cell, evicted);
}

recv_status many_base::recv_inside(entered& in, void* to,
                                   std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  recv_status s{};
  return recv_now(*this, in, to, until, s) ? s : wait_to_receive_inside(in, to, until);
}

send_status many_base::send_untyped(void* cell, void* evicted,
                                    std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  entrance in;
  send_status s{};
  if (!send_now(*this, in, cell, until, s)) {
    if (must_wait(until)) return wait_to_send(in, cell, until);
    const entered inside(in);
    return apply_policy_and_unlock(cell, evicted);
  }
  in.leave();
  return s;
}

recv_status many_base::recv(void* value, std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  entrance in;
  recv_status s{};
  if (!recv_now(*this, in, value, until, s)) return wait_to_receive(in, value, until);
  in.leave();
  return s;
}

std::size_t many_base::size() const noexcept {
  const sched::unbroken_look unbroken;
  const look_guard hold(lock_);
  return count_ + count_given_back_;
}

bool many_base::is_closed() const noexcept {
  const sched::unbroken_look unbroken;
  const look_guard hold(lock_);
  return closed_;
}

channel_stats many_base::stats() const noexcept {
  const sched::unbroken_look unbroken;
  const look_guard hold(lock_);
  return {sent_,
          received_,
          dropped_,
          count_ + count_given_back_,
          high_,
          nanoseconds(senders_.blocked_ns),
          nanoseconds(receivers_.blocked_ns),
          refused_};
}

// Not with the lock: a handler must not touch what its M holds (biased_lock.hpp).
LEAT_UNWATCHED bool many_base::try_count(channel_stats& to) const noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  to.sent = sent_;
  to.received = received_;
  to.dropped = dropped_;
  to.left = count_ + count_given_back_;
  return true;
}

std::size_t many_base::waiting(std::span<waiting_g> to) const noexcept {
  const sched::unbroken_look unbroken;
  const look_guard hold(lock_);
  return note_waiting(senders_, true, to, note_waiting(receivers_, false, to, 0));
}

void many_base::close() noexcept {
  if (!close_inside()) report_closed_twice();  // outside the runtime: the log's sink is user code
}

bool many_base::close_inside() noexcept {
  waiter_list woken;
  const entered in;
  bool first = false;
  {
    lock_guard hold(lock_);
    first = !closed_;
    closed_ = true;
    claim_all(receivers_, ending::closed, woken);
    claim_all(senders_, ending::closed, woken);
  }
  wake_all(in.m, woken);
  return first;
}

// --- select -----------------------------------------------------------------------------------------

ending many_base::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return ending_of(recv_inside(in, c.slot, at_once));
  return ending_of(send_inside(in, c.slot, c.evicted, at_once));
}

ending many_base::enroll(entered& in, op_case& c, wait& me) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  lock_.lock(seat_of(in));
  waiter* woken = nullptr;
  const ending result =
      c.kind == op::recv ? enroll_recv_locked(c, me, woken) : enroll_send_locked(c, me, woken);
  lock_.unlock();
  if (woken) woken->who->wake(in.m);
  return result;
}

void many_base::withdraw(op_case& c) noexcept {
  lock_guard hold(lock_);
  if (waiter_list::linked(&c.entry)) (c.kind == op::recv ? receivers_ : senders_).unlink(c.entry);
}

bool many_base::ready_to_recv_locked(const wait* except) const noexcept {
  if (count_ > 0 || count_given_back_ > 0) return true;
  for (const waiter& w : senders_.list)
    if (w.who != except) return true;
  return false;
}

ending many_base::enroll_recv_locked(op_case& c, wait& me, waiter*& woken) noexcept {
  if (ready_to_recv_locked(&me)) {
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    return take_locked(*this, c.slot, woken, &me) ? ending::done : ending::look;
  }
  if (closed_) return ending::closed;
  receivers_.link(c.entry);
  return ending::pending;
}

ending many_base::enroll_send_locked(op_case& c, wait& me, waiter*& woken) noexcept {
  if (closed_) return ending::closed;
  bool other = false;
  for (const waiter& w : receivers_.list) other |= w.who != &me;
  if (other) {
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    bool wake_it = false;
    waiter* const w = claim_first(receivers_, wake_it, &me);
    if (!w) return ending::look;
    give_locked(*this, *w, c.slot);
    if (wake_it) woken = w;
    return ending::done;
  }
  if (count_ < capacity_) {
    if (me.try_claim(c.entry.index) == wait::claimed::lost) return ending::lost;
    push_locked(*this, c.slot);
    return ending::done;
  }
  // Under a dropping policy try_case never says pending, so nobody should come here: the select looks again.
  // `fail` waits here: a select has said that it wants to.
  if (full_ != leat::full::block && full_ != leat::full::fail)
    return me.try_claim(c.entry.index) == wait::claimed::lost ? ending::lost : ending::look;
  senders_.link(c.entry);
  return ending::pending;
}

}  // namespace leat::csp
