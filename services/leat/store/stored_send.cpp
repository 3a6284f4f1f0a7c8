// SPDX-License-Identifier: BSL-1.0
//
// A send to a stored channel with `each`: it returns when the file has the value.
#include <utility>

#include <leat/store/stored_channel.hpp>

namespace leat::store {

using csp::ending;
using csp::entered;

// One send as far as its value is put: an end whose case is the channel's, and which keeps what the channel would end.
class stored_channel::each_send final : public csp::channel_base {
 public:
  explicit each_send(stored_channel& hub) : channel_base(0, {}), hub_(hub) {}

  std::size_t size() const noexcept override { return hub_.size(); }
  bool is_closed() const noexcept override { return hub_.is_closed(); }
  channel_stats stats() const noexcept override { return hub_.stats(); }
  void close() noexcept override { hub_.close(); }
  void stage(csp::op_case& c, void* value) override { hub_.stage(c, value); }
  ending try_case(entered& in, csp::op_case& c) noexcept override { return hub_.try_case(in, c); }
  ending enroll(entered& in, csp::op_case& c, csp::wait& me) noexcept override {
    return hub_.enroll(in, c, me);
  }
  void withdraw(csp::op_case& c) noexcept override { hub_.withdraw(c); }
  void finish(csp::op_case& c, void* value) override {
    {
      const csp::last_use<kept_sending> s(c);
      put = std::move(*s);
    }
    if (put->node) put->node->value->restore(value);  // dropped
  }
  void unstage(csp::op_case& c, void* value) noexcept override { hub_.unstage(c, value); }

  kept_sending put = {};

 private:
  stored_channel& hub_;
};

send_status stored_channel::send(void* value, std::int64_t until) {
  if (!syncs_each()) return channel_base::send(value, until);
  each_send one(*this);
  send_status s = one.send(value, until);
  if (s != send_status::sent || until == csp::at_once) return s;
  s = wait_until_written(*one.put, until);
  if (s != send_status::sent && one.put->leftover) one.put->leftover->restore(value);
  return s;
}

// Written, or all that was to be written has been settled before.
bool stored_channel::is_written_locked(std::uint64_t number) const noexcept {
  return queue_.written_upto() >= number || !queue_.has_unwritten();
}

// A stop does not end it while the file works: that is soon over.
send_status stored_channel::wait_until_written(sending& s,
                                               std::int64_t until) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  bool is_late = false;
  for (;;) {
    entered in;
    lock_.lock();
    const bool fails = queue_.failing();
    if (is_written_locked(s.number) || (fails && when_full() == leat::full::drop_oldest)) {
      lock_.unlock();
      return send_status::sent;
    }
    const bool is_stopped = fails && in.stop_asked();
    bool waits_on = false;
    if (is_late || is_stopped || over_) {
      const store_queue::taken how = queue_.take_back(s.number, s.leftover, s.dead);
      waits_on = how == store_queue::taken::not_now;
      if (!waits_on) {
        csp::waiter_list woken;
        serve_senders_locked(woken);
        const bool ends = over_;
        lock_.unlock();
        csp::wake_all(in.m, woken);
        if (how == store_queue::taken::too_late) return send_status::sent;
        return ends ? send_status::closed : is_late ? send_status::timeout : send_status::stopped;
      }
    }
    const ending how = csp::wait_and_unlock(
        in, lock_, for_write_, nullptr, csp::wait_reason::send, waits_on ? csp::forever : until,
        fails && !waits_on ? csp::stops::end_it : csp::stops::are_ignored);
    if (how == ending::timeout) is_late = true;
  }
}

void stored_channel::wait_while_it_works(std::uint64_t number) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  for (;;) {
    entered in;
    lock_.lock();
    if (is_written_locked(number) || queue_.failing() || over_) return lock_.unlock();
    (void)csp::wait_and_unlock(in, lock_, for_write_, nullptr, csp::wait_reason::send, csp::forever,
                               csp::stops::are_ignored);
  }
}

}  // namespace leat::store
