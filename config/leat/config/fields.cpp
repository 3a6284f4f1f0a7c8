// SPDX-License-Identifier: BSL-1.0
//
// Records: whether the fields that settings, maps and messages name are among those that there are (field_flow.hpp).
#include <algorithm>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/field_steps.hpp>
#include <leat/config/field_flow.hpp>
#include <leat/config/known_fields.hpp>
#include <leat/config/resolve.hpp>
#include <leat/config/suggest.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

std::string list_of(const std::vector<record_field>& all) {
  constexpr std::size_t enough = 8;
  std::string out;
  for (std::size_t i = 0; i < all.size() && i < enough; ++i) out += (i ? ", '" : "'") + all[i].name + '\'';
  return all.empty() ? "none" : out + (all.size() > enough ? ", ..." : "");
}

class field_check {
 public:
  explicit field_check(draft& d) : d_(d), flow_(d) {}

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
      for (index i = 0; i < process.ports.size(); ++i)
        if (process.ports[i].schema && process.ports[i].schema->needs) check_needs(p, i);
      for (index i = 0; i < process.ports.size(); ++i)
        if (process.ports[i].schema && process.ports[i].schema->validate) ask_class(p, i);
    }
    for (index c = 0; c < d_.out.channels.size(); ++c) {
      check_dead_letters(c);
      check_unknown(c);
      check_key(c);
    }
  }

 private:
  // Where the file joins the port to the channel.
  source_location joined_at(index process, index port, index channel) const {
    const channel_plan& c = d_.out.channels[channel];
    for (const std::vector<endpoint>* ends : {&c.readers, &c.writers})
      for (const endpoint& e : *ends)
        if (e.process == process && e.port == port && e.at.known()) return e.at;
    return d_.process_sources[process]->use.at;
  }

  void unknown_field(source_location at, const std::string& what, std::string_view name,
                     const fields& among) {
    std::vector<std::string_view> names;
    names.reserve(among.all().size());
    for (const record_field& f : among.all()) names.push_back(f.name);
    const std::string near = nearest_while_few(name, names, d_.found);
    diagnostic& f = d_.found.error("unknown-field", at, what + did_you_mean(near));
    f.suggestion = near;
    if (near.empty()) f.label = "it has " + list_of(among.all());
  }

  std::string channel_name(index channel) const { return "channel '" + d_.out.channels[channel].name + "'"; }

  void check_map(index process, index port, index channel) {
    const port_plan& at = d_.out.processes[process].ports[port];
    const known_fields there = flow_.of_channel(channel);
    if (!there) return;
    for (const rename_plan& r : at.names)
      if (!there->find(r.there))
        unknown_field(r.there_at, channel_name(channel) + " has no field '" + r.there + "'", r.there, *there);
  }

  void check_in(index process, index port) {
    const port_plan& at = d_.out.processes[process].ports[port];
    for (const index c : at.channels) check_map(process, port, c);
    const known_fields known = flow_.of_in_port(process, port);
    if (!known) return;
    const source_location where = joined_at(process, port, at.channels.front());
    const std::string who = d_.out.processes[process].name + '.' + at.schema->name;
    for (const record_field& wanted : at.schema->fields) {
      const record_field* const got = known->find(wanted.name);
      if (!got && !wanted.optional)
        unknown_field(where,
                      who + " needs a field '" + wanted.name + "'; " + channel_name(at.channels.front()) +
                          " has none of that name (name one with 'map')",
                      wanted.name, *known);
      else if (got)
        check_kind(where, who, *got, wanted.kind);
    }
  }

  void check_kind(source_location at, const std::string& who, const record_field& got, value_kind wanted) {
    if (may_become(got.kind, wanted)) return;
    d_.found.error("field-type", at,
                   who + " needs " + in_words(wanted) + " in field '" + got.name + "', which holds " +
                       in_words(got.kind));
  }

  void check_setting(index process, const setting_schema& s) {
    const process_plan& p = d_.out.processes[process];
    const auto port = std::find_if(p.ports.begin(), p.ports.end(), [&](const port_plan& at) {
      return at.schema && at.schema->name == s.field_of;
    });
    const value* const given = p.settings.find(s.name);
    if (port == p.ports.end() || !given || port->channels.empty()) return;
    const auto number = static_cast<index>(port - p.ports.begin());
    const known_fields known = flow_.of_in_port(process, number);
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
      const source_location at = written ? v->at() : joined_at(process, number, port->channels.front());
      const record_field* const got = known->find(*name);
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

  static std::string words_for(const process_plan& p, const value* named_by) {
    if (const auto* const all = p.settings.get_if<value::table>())
      for (const value_member& m : *all)
        if (&m.value == named_by) return "setting '" + m.key + "' means unless it says another";
    return "'" + p.type->name + "' needs";
  }

  // What the settings name in a way of their own.
  void check_needs(index process, index port) {
    const process_plan& p = d_.out.processes[process];
    const port_plan& at = p.ports[port];
    if (!d_.good_settings[process] || at.channels.empty()) return;
    const known_fields known = flow_.of_in_port(process, port);
    if (!known) return;
    std::vector<needed_field> wanted;
    try {
      wanted = at.schema->needs(p.settings);
    } catch (const std::exception&) {
      return;
    }
    const std::string who = p.name + '.' + at.schema->name;
    for (const needed_field& f : wanted) {
      const bool written = f.named_by && f.named_by->at().known();
      const source_location where =
          written ? f.named_by->at() : joined_at(process, port, at.channels.front());
      const record_field* const got = known->find(f.name);
      if (got)
        check_kind(where, who, *got, f.kind);
      else if (!f.name.empty())
        unknown_field(where,
                      "there is no field '" + f.name + "' at " + who +
                          (written ? "" : ", which " + words_for(p, f.named_by)),
                      f.name, *known);
    }
  }

  // What the class itself finds, once the fields are known.
  void ask_class(index process, index port) {
    const process_plan& p = d_.out.processes[process];
    const port_plan& at = p.ports[port];
    if (!d_.good_settings[process] || at.channels.empty()) return;
    const known_fields known = flow_.of_in_port(process, port);
    if (!known) return;
    std::vector<setting_diagnostic> all;
    try {
      all = at.schema->validate(p.settings, known->all());
    } catch (const std::exception&) {
      return;
    }
    for (const setting_diagnostic& f : all) {
      const bool written = f.part && f.part->at().known();
      const source_location where = written ? f.part->at() : joined_at(process, port, at.channels.front());
      diagnostic& told = d_.found.error("syntax", where, p.name + '.' + at.schema->name + ": " + f.why);
      if (written) told.part = part_of_text(f, *f.part);
    }
  }

  // What a message of the channel needs, the port must send.
  void check_out(index process, index port) {
    const port_plan& at = d_.out.processes[process].ports[port];
    const known_fields sent = flow_.of_out_port(process, port);
    if (sent)
      for (const rename_plan& r : at.names)
        if (!sent->find(r.here))
          unknown_field(
              r.here_at,
              d_.out.processes[process].name + '.' + at.schema->name + " sends no field '" + r.here + "'",
              r.here, *sent);
    for (const index c : at.channels) {
      if (d_.out.channels[c].message == message_of_records) continue;
      check_map(process, port, c);
      const known_fields wanted = flow_.of_channel(c);
      if (!sent || !wanted) continue;
      const known_fields going = renamed(sent, at.names, &rename_plan::here, &rename_plan::there);
      const source_location where = joined_at(process, port, c);
      const std::string who = "message '" + d_.out.channels[c].message + "' of " + channel_name(c);
      const std::size_t before = d_.found.errors();
      for (const record_field& f : wanted->all()) {
        if (f.kind == value_kind::table && wanted->has_parts(f.name)) continue;  // the parts are asked for
        const record_field* const got = going->find(f.name);
        if (!got && !f.optional)
          unknown_field(where,
                        who + " needs a field '" + f.name + "', which " + d_.out.processes[process].name +
                            '.' + at.schema->name + " does not send (name one with 'map')",
                        f.name, *going);
        else if (got)
          check_kind(where, who, *got, f.kind);
      }
      if (d_.found.errors() == before) check_left_out(process, port, c, *going, *wanted);
    }
  }

  // What the port sends and the message has no place for.
  void check_left_out(index process, index port, index channel, const fields& going, const fields& wanted) {
    const channel_plan& c = d_.out.channels[channel];
    if (c.unknown == unknown_fields::drop) return;
    std::vector<record_field> lost;
    for (const record_field& f : going.all())
      if (!(fields::is_nested(f) && going.has_parts(f.name)) && !wanted.find(f.name)) lost.push_back(f);
    if (lost.empty()) return;
    const std::string what = "message '" + c.message + "' of " + channel_name(channel) +
                             (lost.size() == 1 ? " has no field " : " has no fields ") + list_of(lost) +
                             ", which " + d_.out.processes[process].name + '.' +
                             d_.out.processes[process].ports[port].schema->name + " sends";
    const source_location where = joined_at(process, port, channel);
    if (c.unknown == unknown_fields::error)
      d_.found.error("field-left-out", where, what);
    else
      d_.found.warning("field-left-out", where,
                       what + ": left out (unknown = \"drop\" in [channel." + c.name +
                           "] says that this is meant, \"error\" refuses it)");
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

  void check_unknown(index channel) {
    const channel_builder* const from = d_.channel_sources[channel];
    const channel_plan& c = d_.out.channels[channel];
    if (!from || !from->unknown_at.known() || c.message.empty()) return;
    const bool converts = std::any_of(c.writers.begin(), c.writers.end(), [&](const endpoint& e) {
      const port_schema* const s = d_.out.processes[e.process].ports[e.port].schema;
      return s && s->converts;
    });
    if (c.message == message_of_records || !converts)
      d_.found.warning(
          "unknown", from->unknown_at,
          "'unknown' means nothing here: no records become messages of " + channel_name(channel));
  }

  // Of a channel: there, as far as that is known, and of a kind that can be compared exactly.
  void check_key(index channel) {
    const channel_plan& c = d_.out.channels[channel];
    if (c.key.empty()) return;
    if (!c.reply.empty()) {
      d_.found.error("key", c.key_at, channel_name(channel) + " carries requests, which have no key");
      return;
    }
    const known_fields known = flow_.of_channel(channel);
    if (!known) {
      const message_schema* const m = d_.classes.find_message(c.message);
      if (m && c.message != message_of_records)
        d_.found.error(
            "key", c.key_at,
            channel_name(channel) + " carries '" + c.message + "', which has no field that could be a key");
      return;
    }
    const record_field* found = known->find(c.key);
    field_steps steps;
    const field_path_error error = parse_field_path(c.key, steps);
    if (!found && !error.why.empty()) {
      d_.found.error("key", c.key_at, "'key' is not the path of a field: " + error.why);
      return;
    }
    std::string path;
    for (std::size_t i = 0; !found && i < steps.size(); ++i) {
      if (steps[i].is_index)
        path += "[]";
      else
        append_field_name(path, steps[i].name);
      const record_field* const here = known->find(path);
      if (i + 1 == steps.size()) found = here;
      // What is within it is not known.
      if (here && here->kind == value_kind::any) return;
    }
    if (!found) {
      unknown_field(c.key_at, channel_name(channel) + " has no field '" + c.key + "'", c.key, *known);
    } else if (found->kind == value_kind::real || found->kind == value_kind::list ||
               found->kind == value_kind::table) {
      d_.found.error("key", c.key_at,
                     "field '" + c.key + "' holds " + in_words(found->kind) +
                         ", which cannot be a key: a text, a whole number, true or false, or a time is");
    }
  }

  draft& d_;
  field_flow flow_;
};

}  // namespace

void check_fields(draft& d) { field_check(d).run(); }

}  // namespace leat::config
