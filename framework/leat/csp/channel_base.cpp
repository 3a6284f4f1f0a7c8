// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/channel_base.hpp>

#include <bit>
#include <cstring>
#include <new>

#include <leat/base/log.hpp>
#include <leat/csp/single.hpp>
#include <leat/csp/tap.hpp>
#include <leat/sched/info.hpp>

namespace leat {

const char* to_string(send_status s) noexcept {
  switch (s) {
    case send_status::sent: return "sent";
    case send_status::closed: return "closed";
    case send_status::stopped: return "stopped";
    case send_status::timeout: return "timeout";
    case send_status::full: return "full";
    case send_status::dropped: return "dropped";
  }
  return "?";
}

const char* to_string(recv_status s) noexcept {
  switch (s) {
    case recv_status::received: return "received";
    case recv_status::closed: return "closed";
    case recv_status::stopped: return "stopped";
    case recv_status::timeout: return "timeout";
    case recv_status::empty: return "empty";
  }
  return "?";
}

namespace csp {

namespace {

std::uint32_t as_capacity(std::size_t n) {
  if (n > most_capacity)
    throw channel_error("a channel cannot hold " + std::to_string(n) + " values: at most " +
                        std::to_string(most_capacity));
  return static_cast<std::uint32_t>(n);
}

}  // namespace

channel_base::channel_base(inlined as, std::size_t capacity, const channel_options& o)
    : name_(label_of(o.name)),
      way_(static_cast<std::uint8_t>(as)),
      kind_(static_cast<std::uint8_t>(as)),
      full_(o.full),
      capacity_(as_capacity(capacity)) {}

struct channel_base::label {
  std::atomic<csp::tap*> tap{nullptr};
};

channel_base::label& channel_base::before(const char* name) noexcept {
  return *std::launder(reinterpret_cast<label*>(const_cast<char*>(name) - sizeof(label)));
}

channel_base::label_text channel_base::label_of(const std::string& name) {
  if (name.empty()) return nullptr;
  void* const room = ::operator new(sizeof(label) + name.size() + 1);
  char* const text = static_cast<char*>(room) + sizeof(label);
  new (room) label;
  std::memcpy(text, name.c_str(), name.size() + 1);
  return label_text(text);
}

void channel_base::label_deleter::operator()(const char* name) const noexcept {
  label& l = before(name);
  if (csp::tap* const t = l.tap.load(std::memory_order_acquire)) t->drop_ref();
  std::destroy_at(&l);
  ::operator delete(&l);
}

csp::tap* channel_base::tap() const noexcept {
  return name_ ? before(name_.get()).tap.load(std::memory_order_acquire) : nullptr;  // pairs with set_tap
}

bool channel_base::set_tap(csp::tap* t) noexcept {
  csp::tap* none = nullptr;
  return name_ && before(name_.get()).tap.compare_exchange_strong(none, t, std::memory_order_acq_rel);
}

std::span<const ref<channel_base>> channel_base::parts(const op_case&) const noexcept { return {}; }

namespace {
[[noreturn]] void refuse_to_subscribe(std::string_view name) {
  throw channel_error("subscribe needs a broadcast channel, and '" + std::string(name) +
                      "' is none: make it with leat::broadcast as the first argument");
}
}  // namespace

ref<channel_base> channel_base::subscribe(std::size_t, leat::full) { refuse_to_subscribe(name()); }

ref<channel_base> subscribe_to(const ref<channel_base>& c, std::size_t capacity, leat::full when_full) {
  if (!c) refuse_to_subscribe({});
  return c->subscribe(capacity, when_full);
}

ref<channel_base> reading_side(const ref<channel_base>& c) {
  return c && c->each_reader_gets_all() ? c->subscribe(c->capacity(), c->when_full()) : c;
}

void refuse_to_receive(const channel_base& c) {
  throw channel_error("channel '" + std::string(c.name()) +
                      "' is a broadcast channel: subscribe, or make an in<T> of it, and receive from that");
}

void channel_base::report_closed_twice() const noexcept {
  if (abandoned_.load(std::memory_order_relaxed)) return;
  const self_info who = self();
  log_error("csp", "channel '{}' was closed a second time, by G {} '{}': one side owns the close", name(),
            who.id, who.name);
}

namespace {
[[noreturn]] void no_memory(std::size_t capacity, std::size_t cell_size) {
  throw channel_error("no memory for a channel that holds " + std::to_string(capacity) + " values of " +
                      std::to_string(cell_size) + " bytes");
}
}  // namespace

std::size_t ring_size(std::size_t n, std::size_t cell_size) {
  constexpr std::size_t most = std::size_t{1} << (sizeof(std::size_t) * 8 - 2);
  if (n > most / cell_size) no_memory(n, cell_size);
  return std::bit_ceil(n);
}

void* allocate_ring(std::size_t slots, std::size_t cell_size, std::size_t align, std::size_t capacity) {
  if (slots == 0) return nullptr;
  void* const ring = ::operator new(slots * cell_size, std::align_val_t{align}, std::nothrow);
  if (!ring) no_memory(capacity, cell_size);
  return ring;
}

void free_ring(void* ring, std::size_t align) noexcept { ::operator delete(ring, std::align_val_t{align}); }

ending wait_on_nil(wait_reason why, std::int64_t until) noexcept {
  if (until == at_once) return ending::timeout;
  entered in;
  contested_wait me(in.m ? &in.g() : nullptr);
  return wait::ended_by(me.block(in, why, until, stops::end_it, "nil"));
}

send_status send_untyped(channel_base& c, void* value, std::int64_t until) {
  if (c.inlined_as(inlined::one_to_one) && static_cast<single_base&>(c).put_untyped(value))
    return send_status::sent;
  const send_status s = !c.is_inlined() && c.tap() ? send_tapped(c, value, until) : c.send(value, until);
  if (s == send_status::stopped) throw_if_insisted();
  return s;
}

recv_status recv_untyped(channel_base& c, void* value, std::int64_t until) {
  if (c.inlined_as(inlined::one_to_one) && static_cast<single_base&>(c).take_untyped(value))
    return recv_status::received;
  const recv_status s = c.recv(value, until);
  if (s == recv_status::stopped) throw_if_insisted();
  return s;
}

void throw_if_insisted() {
  const sched::m_front* const m = sched::current_front();
  if (!m) return;
  if (const G* const g = m->cur.load(std::memory_order_relaxed)) sched::throw_if_insisted(*g);
}

}  // namespace csp
}  // namespace leat
