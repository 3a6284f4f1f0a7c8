// SPDX-License-Identifier: BSL-1.0
#include <leat/config/field_flow.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace leat::config {

namespace {

constexpr unsigned longest_chain = 500;

}  // namespace

known_fields field_flow::of_channel(index channel) {
  // A chain that is too long for the stack is not known either.
  if (asked_[channel] || depth_ > longest_chain) return channels_[channel];
  asked_[channel] = true;  // whoever comes back here before it is known goes in a circle
  const struct deeper {
    explicit deeper(unsigned& d) : depth(d) { ++depth; }
    ~deeper() { --depth; }
    unsigned& depth;
  } here(depth_);
  const channel_plan& c = d_.out.channels[channel];
  known_fields out;
  if (c.message != message_of_records) {
    const message_schema* const m = d_.classes.find_message(c.message);
    if (m && !m->as_record.empty()) out = std::make_shared<const fields>(m->as_record);
  } else if (!c.dead_letters && !c.writers.empty()) {
    out = std::make_shared<const fields>();
    for (const endpoint& e : c.writers) {
      if (!out) break;
      out =
          joined(out, renamed(of_out_port(e.process, e.port), d_.out.processes[e.process].ports[e.port].names,
                              &rename_plan::here, &rename_plan::there));
    }
  }
  return channels_[channel] = std::move(out);
}

known_fields field_flow::of_out_port(index process, index port) {
  const process_plan& p = d_.out.processes[process];
  const port_schema* const s = p.ports[port].schema;
  if (!s || !s->converts || (s->fields.empty() && s->fields_of.empty() && !s->sends)) return {};
  known_fields in;
  if (!s->fields_of.empty())
    for (index i = 0; i < p.ports.size(); ++i)
      if (p.ports[i].schema && p.ports[i].schema->name == s->fields_of) in = of_in_port(process, i);
  if (s->sends) return made_by(*s, process, in);
  const auto own = std::make_shared<const fields>(s->fields);
  return s->fields_of.empty() ? own : joined(in, own);
}

known_fields field_flow::made_by(const port_schema& s, index process, const known_fields& in) const {
  if (!d_.good_settings[process]) return {};
  try {
    std::optional<std::vector<record_field>> sent =
        s.sends(d_.out.processes[process].settings, in ? &in->all() : nullptr);
    return sent ? std::make_shared<const fields>(std::move(*sent)) : nullptr;
  } catch (const std::exception&) {
    return {};  // what the class cannot say is not known
  }
}

known_fields field_flow::of_in_port(index process, index port) {
  const port_plan& at = d_.out.processes[process].ports[port];
  if (at.channels.empty()) return {};
  known_fields out = std::make_shared<const fields>();
  for (const index c : at.channels) {
    const known_fields there = of_channel(c);
    if (!there) return {};
    out = joined(out, renamed(there, at.names, &rename_plan::there, &rename_plan::here));
    // A field that is mapped to one that is not there has been reported for that.
    std::vector<record_field> reported;
    for (const rename_plan& r : at.names)
      if (!there->find(r.there)) reported.push_back({r.here});
    out = joined(out, std::make_shared<const fields>(std::move(reported)));
  }
  return out;
}

}  // namespace leat::config
