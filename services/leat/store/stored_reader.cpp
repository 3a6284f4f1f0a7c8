// SPDX-License-Identifier: BSL-1.0
#include <leat/store/stored_reader.hpp>

#include <utility>

namespace leat::store {

using csp::op;
using csp::op_case;

namespace {
channel_options reader_options(const csp::channel_base& c) {
  channel_options o;
  o.full = c.when_full();
  o.name = c.name();
  return o;
}
}  // namespace

stored_reader::stored_reader(csp::ref<csp::channel_base> stored)
    : channel_base(stored->capacity(), reader_options(*stored.get())),
      keeps_(std::move(stored)),
      hub_(static_cast<stored_channel&>(*keeps_.get())) {}

stored_reader::~stored_reader() { hub_.let_go(in_hand_); }

std::uint64_t stored_reader::acknowledge() noexcept { return hub_.settle(in_hand_); }

recv_status stored_reader::recv(void* value, std::int64_t until) {
  if (until != csp::at_once && !stop_requested())
    if (const std::uint64_t round = acknowledge(); round > 0) hub_.wait_for_round(round, until);
  return channel_base::recv(value, until);
}

// Whoever receives again has done with what it had; but one that is told to stop may not have (csp/gate.hpp).
void stored_reader::stage(op_case& c, void* value) {
  if (c.kind == op::recv && !stop_requested()) (void)acknowledge();
  hub_.stage(c, value);
}

void stored_reader::finish(op_case& c, void* value) {
  if (c.kind == op::send) return hub_.finish(c, value);
  stored_value* v = nullptr;
  {
    const csp::last_use<received_value> r(c);
    v = r->got;
  }
  hub_.unpack(v, value);
  hub_.hold(in_hand_, v);
}

}  // namespace leat::store
