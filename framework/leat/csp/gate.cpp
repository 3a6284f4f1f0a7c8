// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/gate.hpp>

#include <span>
#include <utility>

#include <leat/sched/entered.hpp>
#include <leat/sched/stop.hpp>

namespace leat::csp {

// --- What is in hand --------------------------------------------------------------------------------

void* hold_base::acknowledge() noexcept {
  if (at() == state::empty && !forgotten_) return place();
  {
    const sched::unfenced in;
    become(state::empty);
  }
  if (before_) [[unlikely]]
    before_.reset();
  failures = 0;
  forgotten_ = false;
  return drop();
}

void hold_base::forget() noexcept {
  failures = 0;
  forgotten_ = true;
  become(state::empty);
}

void hold_base::succeed(std::shared_ptr<hold_base> old) noexcept {
  failures = old->failures;
  const state left = old->at();
  // One that was cut short in `again` may still be making its copy.
  before_ = old->before_ ? old->before_ : std::move(old);
  become(left);
}

void* hold_base::again() {
  if (before_) {
    before_->copy(place());
    std::shared_ptr<hold_base> copied;
    const sched::unfenced in;  // ends first; a fenced one leaves before_ to its successor
    copied.swap(before_);
  }
  return value();
}

send_status send_held(hold_base& h, channel_base& c, std::int64_t until) {
  const send_status s = send_untyped(c, h.again(), until);
  if (s == send_status::sent) h.acknowledge();
  return s;
}

// --- The ends ---------------------------------------------------------------------------------------

namespace {

channel_options named_after(const channel_base& c) {
  channel_options o;
  o.full = c.when_full();
  o.name = c.name();
  return o;
}

class gate : public channel_base {
 public:
  gate(ref<channel_base> inner, std::shared_ptr<gate_record> record)
      : channel_base(inner->capacity(), named_after(*inner.get())),
        inner_(std::move(inner)),
        record_(std::move(record)) {}

  leat::flavour flavour() const noexcept override { return leat::flavour::gated; }
  hold_base* held() const noexcept { return record_->hold.get(); }

  std::size_t size() const noexcept override { return inner_->size() + (hands_out_again() ? 1 : 0); }
  bool is_closed() const noexcept override { return inner_->is_closed(); }
  channel_stats stats() const noexcept override { return inner_->stats(); }
  void close() noexcept override { inner_->close(); }

  ending try_case(entered& in, op_case& c) noexcept override {
    return c.slot ? inner_->try_case(in, c) : ending::done;
  }
  ending enroll(entered& in, op_case& c, wait& me) noexcept override {
    if (c.slot) return inner_->enroll(in, c, me);
    return me.try_claim(c.entry.index) == wait::claimed::lost ? ending::lost : ending::done;
  }
  void withdraw(op_case& c) noexcept override {
    if (c.slot) inner_->withdraw(c);
  }
  void unstage(op_case& c, void* value) noexcept override {
    if (c.slot) inner_->unstage(c, value);
  }
  bool would_go_elsewhere(const op_case& c) const noexcept override {
    return c.slot && inner_->would_go_elsewhere(c);
  }
  std::span<const ref<channel_base>> parts(const op_case& c) const noexcept override {
    if (!c.slot) return {};
    return inner_->parts(c);
  }
  std::int64_t due() noexcept override { return inner_->due(); }
  bool only_stores() const noexcept override { return inner_->only_stores(); }

 protected:
  void count() noexcept {
    record_->passed.store(record_->passed.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  bool hands_out_again() const noexcept { return held() && held()->at() == hold_base::state::again; }

  const ref<channel_base> inner_;

 private:
  const std::shared_ptr<gate_record> record_;
};

class receiving_gate final : public gate {
 public:
  using gate::gate;

  recv_status recv(void* value, std::int64_t until) override {
    hold_base* const h = held();
    if (!h) {
      const recv_status s = recv_untyped(*inner_.get(), value, until);
      if (s == recv_status::received) count();
      return s;
    }
    if (until != at_once && stop_requested()) return recv_status::stopped;
    if (hands_out_again()) {
      hand_out(*h, value);
      return recv_status::received;
    }
    const recv_status s = recv_untyped(*inner_.get(), h->acknowledge(), until);
    if (s == recv_status::received) put_in_hand(*h, value);
    return s;
  }

  void stage(op_case& c, void* value) override {
    if (hands_out_again()) {
      c.slot = nullptr;
      return;
    }
    if (held() && !stop_requested()) held()->acknowledge();
    inner_->stage(c, value);
  }
  void finish(op_case& c, void* value) override {
    if (c.slot) inner_->finish(c, value);
    hold_base* const h = held();
    if (!h) return count();
    if (!c.slot) return hand_out(*h, value);
    // In hand first: one whose copy throws is not lost.
    (void)h->acknowledge();
    h->take(value);
    put_in_hand(*h, value);
  }

 private:
  void put_in_hand(hold_base& h, void* to) {
    h.become(hold_base::state::in_hand);
    count();
    h.copy(to);
  }
  void hand_out(hold_base& h, void* to) {
    count();
    (void)h.again();
    h.copy(to);
    h.become(hold_base::state::in_hand);
  }
};

class sending_gate final : public gate {
 public:
  using gate::gate;

  send_status send(void* value, std::int64_t until) override {
    const send_status s = send_untyped(*inner_.get(), value, until);
    if (s == send_status::sent || s == send_status::dropped) count();
    return s;
  }
  void stage(op_case& c, void* value) override { inner_->stage(c, value); }
  void finish(op_case& c, void* value) override {
    count();
    inner_->finish(c, value);
  }
};

}  // namespace

hold_base* held_at(channel_base& end) noexcept {
  const auto* const g = dynamic_cast<const receiving_gate*>(&end);
  return g ? g->held() : nullptr;
}

ref<channel_base> gate_in(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  return ref<channel_base>(new receiving_gate(std::move(inner), std::move(record)));
}

ref<channel_base> gate_out(ref<channel_base> inner, std::shared_ptr<gate_record> record) {
  return ref<channel_base>(new sending_gate(std::move(inner), std::move(record)));
}

}  // namespace leat::csp
