// SPDX-License-Identifier: BSL-1.0
//
// Records: which fields there are at each port, as far as that is known before anything runs, and whether
// those that settings, maps and messages name are among them.
//
// A message says which fields it has. So does an out port of a class; one that passes on what comes in has
// the fields of that. What nobody says is not known, and nothing is checked against it; so it is in a circle.
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/config/resolve.hpp>
#include <leat/config/suggest.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

constexpr std::string_view records = "record";

using fields = std::vector<record_field>;

const record_field* find(const fields& among, std::string_view name) {
  const auto at =
      std::find_if(among.begin(), among.end(), [&](const record_field& f) { return f.name == name; });
  return at == among.end() ? nullptr : &*at;
}

void add(fields& to, const fields& more) {
  for (const record_field& f : more) {
    const auto known =
        std::find_if(to.begin(), to.end(), [&](const record_field& k) { return k.name == f.name; });
    if (known == to.end())
      to.push_back(f);
    else if (known->kind != f.kind)
      known->kind = field_kind::any;
  }
}

// As field_renames does it at run time: who takes the name of another displaces it.
fields renamed(const fields& from, const std::vector<rename_plan>& names, std::string rename_plan::*is,
               std::string rename_plan::*becomes) {
  fields out;
  for (record_field f : from) {
    const auto changes =
        std::find_if(names.begin(), names.end(), [&](const rename_plan& r) { return r.*is == f.name; });
    const bool taken = std::any_of(names.begin(), names.end(), [&](const rename_plan& r) {
      return r.*becomes == f.name && find(from, r.*is);
    });
    if (changes != names.end())
      f.name = *changes.*becomes;
    else if (taken)
      continue;
    out.push_back(std::move(f));
  }
  return out;
}

std::string list_of(const fields& all) {
  constexpr std::size_t enough = 8;
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < enough; ++i) out += (i ? ", '" : "'") + all[i].name + '\'';
  return all.empty() ? "none" : out + (all.size() > enough ? ", ..." : "");
}

class field_check {
 public:
  explicit field_check(draft& d) : d_(d), channels_(d.out.channels.size()), asked_(d.out.channels.size()) {}

  void run() {
    for (index p = 0; p < d_.out.processes.size(); ++p) {
      const process_plan& process = d_.out.processes[p];
      if (!process.type) continue;
      for (index i = 0; i < process.ports.size(); ++i) {
        const port_plan& port = process.ports[i];
        if (!port.schema || !port.schema->converts || port.channels.empty()) continue;
        if (port.schema->direction == port_direction::in)
          check_in(p, i);
        else
          check_out(p, i);
      }
      for (const setting_schema& s : process.type->settings)
        if (!s.field_of.empty()) check_setting(p, s);
    }
    for (index c = 0; c < d_.out.channels.size(); ++c) check_dead_letters(c);
  }

 private:
  // In the words of the channel's messages. None: not known.
  const std::optional<fields>& of_channel(index channel) {
    // A chain that is too long for the stack is not known either.
    if (asked_[channel] || depth_ > longest_chain) return channels_[channel];
    asked_[channel] = true;  // whoever comes back here before it is known goes in a circle
    const struct deeper {
      explicit deeper(unsigned& d) : depth(d) { ++depth; }
      ~deeper() { --depth; }
      unsigned& depth;
    } here(depth_);
    const channel_plan& c = d_.out.channels[channel];
    std::optional<fields> out(std::in_place);
    if (c.message != records) {
      const message_schema* const m = d_.classes.find_message(c.message);
      if (m && !m->as_record.empty())
        out = m->as_record;
      else
        out.reset();
    } else if (c.dead_letters || c.writers.empty()) {
      out.reset();
    } else {
      for (const endpoint& e : c.writers) {
        const std::optional<fields> sent = of_out_port(e.process, e.port);
        if (!sent) {
          out.reset();
          break;
        }
        add(*out, renamed(*sent, d_.out.processes[e.process].ports[e.port].names, &rename_plan::here,
                          &rename_plan::there));
      }
    }
    return channels_[channel] = std::move(out);
  }

  // In the words of the process.
  std::optional<fields> of_out_port(index process, index port) {
    const process_plan& p = d_.out.processes[process];
    const port_schema* const s = p.ports[port].schema;
    if (!s || !s->converts || (s->fields.empty() && s->fields_of.empty())) return std::nullopt;
    std::optional<fields> out(std::in_place);
    if (!s->fields_of.empty()) {
      for (index i = 0; i < p.ports.size(); ++i)
        if (p.ports[i].schema && p.ports[i].schema->name == s->fields_of) out = of_in_port(process, i);
      if (!out) return out;
    }
    add(*out, s->fields);
    return out;
  }

  std::optional<fields> of_in_port(index process, index port) {
    const port_plan& at = d_.out.processes[process].ports[port];
    if (at.channels.empty()) return std::nullopt;
    fields out;
    for (const index c : at.channels) {
      const std::optional<fields>& there = of_channel(c);
      if (!there) return std::nullopt;
      add(out, renamed(*there, at.names, &rename_plan::there, &rename_plan::here));
      // A field that is mapped to one that is not there has been reported for that.
      for (const rename_plan& r : at.names)
        if (!find(*there, r.there)) add(out, {{r.here}});
    }
    return out;
  }

  // Where the file joins the port to the channel.
  place joined_at(index process, index port, index channel) const {
    const channel_plan& c = d_.out.channels[channel];
    for (const std::vector<endpoint>* ends : {&c.readers, &c.writers})
      for (const endpoint& e : *ends)
        if (e.process == process && e.port == port && e.at.known()) return e.at;
    return d_.process_sources[process]->use.at;
  }

  void unknown_field(place at, const std::string& what, std::string_view name, const fields& among) {
    std::vector<std::string_view> names;
    names.reserve(among.size());
    for (const record_field& f : among) names.push_back(f.name);
    const std::string near = nearest_while_few(name, names, d_.found);
    finding& f = d_.found.error("unknown-field", at, what + did_you_mean(near));
    f.suggestion = near;
    if (near.empty()) f.label = "it has " + list_of(among);
  }

  std::string channel_name(index channel) const { return "channel '" + d_.out.channels[channel].name + "'"; }

  void check_map(index process, index port, index channel) {
    const port_plan& at = d_.out.processes[process].ports[port];
    const std::optional<fields>& there = of_channel(channel);
    if (!there) return;
    for (const rename_plan& r : at.names)
      if (!find(*there, r.there))
        unknown_field(r.there_at, channel_name(channel) + " has no field '" + r.there + "'", r.there, *there);
  }

  void check_in(index process, index port) {
    const port_plan& at = d_.out.processes[process].ports[port];
    for (const index c : at.channels) check_map(process, port, c);
    const std::optional<fields> known = of_in_port(process, port);
    if (!known) return;
    const place where = joined_at(process, port, at.channels.front());
    const std::string who = d_.out.processes[process].name + '.' + at.schema->name;
    for (const record_field& wanted : at.schema->fields) {
      const record_field* const got = find(*known, wanted.name);
      if (!got && !wanted.optional)
        unknown_field(where,
                      who + " needs a field '" + wanted.name + "'; " + channel_name(at.channels.front()) +
                          " has none of that name (name one with 'map')",
                      wanted.name, *known);
      else if (got)
        check_kind(where, who, *got, wanted.kind);
    }
  }

  void check_kind(place at, const std::string& who, const record_field& got, field_kind wanted) {
    if (may_become(got.kind, wanted)) return;
    d_.found.error("field-type", at,
                   who + " needs " + to_string(wanted) + " in field '" + got.name + "', which holds " +
                       to_string(got.kind));
  }

  void check_setting(index process, const setting_schema& s) {
    const process_plan& p = d_.out.processes[process];
    const auto port = std::find_if(p.ports.begin(), p.ports.end(), [&](const port_plan& at) {
      return at.schema && at.schema->name == s.field_of;
    });
    const value* const given = p.settings.find(s.name);
    if (port == p.ports.end() || !given || port->channels.empty()) return;
    const auto number = static_cast<index>(port - p.ports.begin());
    const std::optional<fields> known = of_in_port(process, number);
    if (!known) return;
    std::vector<const value*> names{given};
    if (const auto* const list = given->get_if<value::list>()) {
      names.clear();
      for (const value& v : *list) names.push_back(&v);
    }
    for (const value* const v : names) {
      const auto* const name = v->get_if<std::string>();
      if (!name || name->empty()) continue;
      const bool written = v->at().known();
      const place at = written ? v->at() : joined_at(process, number, port->channels.front());
      const record_field* const got = find(*known, *name);
      const std::string who = p.name + '.' + port->schema->name;
      if (got)
        check_kind(at, who, *got, s.field_holds);
      else if (written)
        unknown_field(at, "there is no field '" + *name + "' at " + who, *name, *known);
      else
        unknown_field(at,
                      "there is no field '" + *name + "' at " + who + ", which setting '" + s.name +
                          "' means unless it says another",
                      *name, *known);
    }
  }

  // What a message of the channel needs, the port must send.
  void check_out(index process, index port) {
    const port_plan& at = d_.out.processes[process].ports[port];
    const std::optional<fields> sent = of_out_port(process, port);
    if (sent)
      for (const rename_plan& r : at.names)
        if (!find(*sent, r.here))
          unknown_field(
              r.here_at,
              d_.out.processes[process].name + '.' + at.schema->name + " sends no field '" + r.here + "'",
              r.here, *sent);
    for (const index c : at.channels) {
      if (d_.out.channels[c].message == records) continue;
      check_map(process, port, c);
      const std::optional<fields>& wanted = of_channel(c);
      if (!sent || !wanted) continue;
      const fields going = renamed(*sent, at.names, &rename_plan::here, &rename_plan::there);
      const place where = joined_at(process, port, c);
      const std::string who = "message '" + d_.out.channels[c].message + "' of " + channel_name(c);
      for (const record_field& f : *wanted) {
        const record_field* const got = find(going, f.name);
        if (!got && !f.optional)
          unknown_field(where,
                        who + " needs a field '" + f.name + "', which " + d_.out.processes[process].name +
                            '.' + at.schema->name + " does not send (name one with 'map')",
                        f.name, going);
        else if (got)
          check_kind(where, who, *got, f.kind);
      }
    }
  }

  // A value that is given up goes there as it came.
  void check_dead_letters(index channel) {
    const channel_plan& c = d_.out.channels[channel];
    for (const endpoint& e : d_.dead_letters[channel]) {
      const port_plan& at = d_.out.processes[e.process].ports[e.port];
      if (!at.schema || !at.schema->converts) continue;
      for (const index from : at.channels) {
        const channel_plan& source = d_.out.channels[from];
        if (source.message.empty() || c.message.empty() || source.message == c.message) continue;
        d_.found.error("type-mismatch", e.at,
                       "channel '" + c.name + "' is for '" + c.message + "', but " + d_.port_name(e) +
                           " gives up '" + source.message + "'");
      }
    }
  }

  static constexpr unsigned longest_chain = 500;

  draft& d_;
  unsigned depth_ = 0;
  std::vector<std::optional<fields>> channels_;
  std::vector<bool> asked_;
};

}  // namespace

void check_fields(draft& d) { field_check(d).run(); }

}  // namespace leat::config
