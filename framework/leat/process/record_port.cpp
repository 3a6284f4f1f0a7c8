// SPDX-License-Identifier: BSL-1.0
#include <leat/process/record_port.hpp>

#include <leat/csp/gate.hpp>

namespace leat::ports {
namespace {

const port_type& records() noexcept { return type_of<record>; }

struct arrival {
  std::optional<record>& to;
  const field_renames& names;
};
struct departure {
  record& from;
  const field_renames& names;
};

}  // namespace

recv_status record_end::recv(std::optional<record>& to, std::int64_t until) const {
  to.reset();
  if (!channel || type == &records()) {
    const recv_status s = csp::recv_value(channel.get(), to, until);
    if (to) names.come_in(*to);
    return s;
  }
  arrival a{to, names};
  return type->recv_any(*channel.get(), until, &a, [](void* context, void* v, const type_shape& s) {
    auto& here = *static_cast<arrival*>(context);
    here.to = to_record(s, v);
    here.names.come_in(*here.to);
  });
}

send_status record_end::send(record& r, std::int64_t until) const {
  if (!channel || type == &records()) {
    if (channel) names.go_out(r);
    return csp::send_value(channel.get(), r, until);
  }
  departure d{r, names};
  return type->send_any(*channel.get(), until, &d, [](void* context, void* v, const type_shape& s) {
    auto& here = *static_cast<departure*>(context);
    here.names.go_out(here.from);
    from_record(s, v, here.from);
  });
}

record_end converting(const any_channel& c, field_renames names) {
  check_converts(c);
  return {&c.type(), c.state(), std::move(names)};
}

entry of_record(record_end& end, std::string_view name, bool is_out) noexcept {
  entry e;
  e.name = name;
  e.is_out = is_out;
  e.converts = true;
  e.type = &records();
  e.end = &end;
  e.bind = [](void* to, csp::ref<csp::channel_base> channel, const port_type& type,
              const field_renames& names) {
    *static_cast<record_end*>(to) = {&type, std::move(channel), names};
  };
  return e;
}

}  // namespace leat::ports

bool leat::record_in::at_least_once() const noexcept {
  const csp::channel_base* const c = end_.channel.get();
  return c && c->kind() == flavour::gated && static_cast<const csp::gate*>(c)->held();
}
