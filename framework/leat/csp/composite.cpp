// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/composite.hpp>

#include <algorithm>
#include <atomic>
#include <span>
#include <utility>

#include <leat/sched/stop.hpp>

namespace leat::csp {
namespace {

channel_options named_after(const channel_list& all) {
  channel_options o;
  for (const auto& p : all) o.name.append(o.name.empty() ? "" : "+").append(p->name());
  return o;
}
std::size_t total_capacity(const channel_list& all) noexcept {
  std::size_t sum = 0;
  for (const auto& p : all) sum += p->capacity();
  return std::min(sum, most_capacity);
}

}  // namespace

composite::composite(channel_list all)
    : channel_base(total_capacity(all), named_after(all)), parts_(std::move(all)) {}

composite::composite(channel_list all, std::size_t capacity, const channel_options& o)
    : channel_base(capacity, o), parts_(std::move(all)) {}

composite::~composite() = default;

std::size_t composite::size() const noexcept {
  std::size_t sum = 0;
  for (const auto& p : parts_) sum += p->size();
  return sum;
}

bool composite::is_closed() const noexcept {
  return std::all_of(parts_.begin(), parts_.end(), [](const auto& p) { return p->is_closed(); });
}

channel_stats composite::stats() const noexcept {
  channel_stats sum;
  for (const auto& p : parts_) {
    const channel_stats s = p->stats();
    sum.sent += s.sent;
    sum.received += s.received;
    sum.dropped += s.dropped;
    sum.left += s.left;
    sum.high_water += s.high_water;
    sum.send_blocked += s.send_blocked;
    sum.recv_blocked += s.recv_blocked;
    sum.refused += s.refused;
  }
  return sum;
}

void composite::close() noexcept {
  for (const auto& p : parts_)
    if (!p->is_closed()) p->close();
}

ending aiming::try_case(entered& in, op_case& c) noexcept {
  if (c.kind == op::recv) return ending::closed;
  aim& at = *c.kept<kept_aim>();
  return parts_[at.part]->try_case(in, at.there);
}

ending aiming::enroll(entered& in, op_case& c, wait& me) noexcept {
  if (c.kind == op::recv) return ending::closed;
  aim& at = *c.kept<kept_aim>();
  waiter& place = *new (&at.there.entry) waiter;
  place.who = &me;
  place.slot = at.there.slot;
  place.index = c.entry.index;
  return parts_[at.part]->enroll(in, at.there, me);
}

void aiming::withdraw(op_case& c) noexcept {
  if (c.kind == op::recv) return;
  aim& at = *c.kept<kept_aim>();
  parts_[at.part]->withdraw(at.there);
  c.entry.said = at.there.entry.said;
}

namespace {

// --- From all of them -------------------------------------------------------------------------------

class merged final : public composite {
 public:
  explicit merged(channel_list all) : composite(std::move(all)) {}

  leat::flavour flavour() const noexcept override { return leat::flavour::merged; }

  recv_status recv(void* value, std::int64_t until) override {
    if (until == at_once || !stop_requested()) {
      const std::size_t n = parts_.size(), start = next_start();
      std::size_t closed = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = start + k < n ? start + k : start + k - n;
        const recv_status s = recv_untyped(*parts_[i].get(), value, at_once);
        if (s == recv_status::received) return s;
        if (s == recv_status::closed) ++closed;
      }
      if (closed == n) return recv_status::closed;
      if (until == at_once) return recv_status::empty;
    }
    return channel_base::recv(value, until);
  }

  std::span<const ref<channel_base>> parts(const op_case&) const noexcept override { return parts_; }
  // Never called for a receive: they are its parts'. There is nothing else to do here.
  ending try_case(entered&, op_case&) noexcept override { return ending::closed; }
  ending enroll(entered&, op_case&, wait&) noexcept override { return ending::closed; }
  void withdraw(op_case&) noexcept override {}

 private:
  // Where the next look at all channels begins. Whoever looks moves it on; a lost update does no harm.
  std::size_t next_start() noexcept { return start_.fetch_add(1, std::memory_order_relaxed) % parts_.size(); }

  std::atomic<std::size_t> start_{0};
};

// --- To each of them --------------------------------------------------------------------------------

class fan final : public aiming {
 public:
  fan(channel_list all, const copier& by) : aiming(std::move(all)), copier_(by) {}

  leat::flavour flavour() const noexcept override { return leat::flavour::fan; }

  send_status send(void* value, std::int64_t until) override { return send_from(0, value, until); }

  void stage(op_case& c, void* value) override {
    if (c.kind == op::recv) return;
    auto a = std::make_unique<aim_with_copy>(first_open(), copier_.keep_copy(value));
    c.slot = a->there.slot = value;
    a->there.evicted = c.evicted;
    parts_[a->part]->stage(a->there, value);
    c.keep<kept_aim>(std::move(a));
  }
  bool would_go_elsewhere(const op_case& c) const noexcept override {
    return c.kind == op::send && c.kept<kept_aim>()->part + 1 < parts_.size();
  }
  void finish(op_case& c, void* value) override {
    const last_use<kept_aim> kept(c);
    auto& a = static_cast<aim_with_copy&>(**kept);
    parts_[a.part]->finish(a.there, value);
    (void)send_from(a.part + 1, a.for_the_rest->value(), forever);
  }
  void unstage(op_case& c, void* value) noexcept override {
    if (c.kind == op::recv) return;
    const last_use<kept_aim> kept(c);
    parts_[(*kept)->part]->unstage((*kept)->there, value);
  }

 private:
  struct aim_with_copy final : aim {
    aim_with_copy(std::size_t at, std::unique_ptr<kept_value> v) : aim(at), for_the_rest(std::move(v)) {}
    const std::unique_ptr<kept_value> for_the_rest;  // the first may take the value itself
  };

  // The index of the first that is open, or of the last.
  std::size_t first_open() const noexcept {
    std::size_t i = 0;
    while (i + 1 < parts_.size() && parts_[i]->is_closed()) ++i;
    return i;
  }

  // To those from `begin` on. The value is left as it was: each gets a copy.
  send_status send_from(std::size_t begin, const void* value, std::int64_t until) const {
    // The worst of all: what a caller must know first.
    constexpr auto rank = [](send_status s) {
      switch (s) {
        case send_status::closed: return 0;
        case send_status::sent: return 1;
        case send_status::dropped: return 2;
        case send_status::full: return 3;
        case send_status::timeout: return 4;
        case send_status::stopped: return 5;
      }
      return 0;
    };
    send_status worst = send_status::closed;
    for (std::size_t i = begin; i < parts_.size(); ++i) {
      const send_status s = copier_.send_copy(*parts_[i].get(), value, until);
      if (rank(s) > rank(worst)) worst = s;
      if (s == send_status::stopped) break;
    }
    return worst;
  }

  const copier copier_;
};

}  // namespace

ref<channel_base> merge(channel_list all) {
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new merged(std::move(all)));
}

ref<channel_base> fan_out(channel_list all, const copier& by) {
  if (all.size() == 1) return all.front();
  return ref<channel_base>(new fan(std::move(all), by));
}

}  // namespace leat::csp
