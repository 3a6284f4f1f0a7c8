// SPDX-License-Identifier: BSL-1.0
//
// Each channel by itself: do its ports fit, does it have both ends, do its policies make sense.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <leat/config/resolve.hpp>
#include <leat/config/suggest.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

constexpr std::string_view records = "record";

struct joined_type {
  std::string message, reply;

  friend bool operator==(const joined_type&, const joined_type&) = default;
};

std::string shown(const joined_type& t) {
  return "'" + t.message + "'" + (t.reply.empty() ? "" : " answered by '" + t.reply + "'");
}

// One who takes part in a channel and has an opinion on its type.
struct opinion {
  source_location at;
  joined_type type;
  std::string text;
};

class type_check {
 public:
  type_check(draft& d, index channel)
      : d_(d), channel_(d.out.channels[channel]), source_(d.channel_sources[channel]) {
    for (const endpoint& e : channel_.writers) add(e, " writes ");
    for (const endpoint& e : d.dead_letters[channel]) add(e, " gives up ");
    for (const endpoint& e : channel_.readers) add(e, " reads ");
  }

  void run() {
    const joined_type* first = declared()          ? &declared_
                               : opinions_.empty() ? nullptr
                                                   : &opinions_.front().type;
    if (!first) {
      if (converts_) channel_.message = records;
      return;
    }
    channel_.message = first->message;
    channel_.reply = first->reply;
    const opinion* wrong = find_other(*first);
    if (!wrong) return check_record();
    if (source_ && source_->type) {
      diagnostic& f =
          d_.found.error("type-mismatch", source_->type->at,
                         "channel '" + channel_.name + "' is declared as another type than its ports have");
      f.label = "declared as " + shown(declared_);
      note_others(f, *first);
      return;
    }
    const opinion& writer = opinions_.front();
    diagnostic& f = d_.found.error("type-mismatch", writer.at.known() ? writer.at : wrong->at,
                                   "channel '" + channel_.name + "' joins ports of different types");
    f.label = writer.text;
    if (writer.at.known()) {
      note_others(f, *first);
    } else {
      // The writer of an unnamed channel has no place of its own.
      f.label += ", " + wrong->text;
    }
  }

 private:
  void add(const endpoint& e, const char* does) {
    const port_schema* s = d_.out.processes[e.process].ports[e.port].schema;
    if (!s) return;
    if (s->converts) {
      // It takes what the others have.
      if (!converts_) converts_ = &e;
      if (opinions_.empty()) channel_.value_size = std::max(channel_.value_size, s->value_size);
      return;
    }
    joined_type t{s->message, s->reply};
    std::string text = d_.port_name(e) + does + shown(t);
    opinions_.push_back({e.at, std::move(t), std::move(text)});
    channel_.value_size = std::max(channel_.value_size, s->value_size);
  }

  // A port for records is joined to it: its messages must have fields, and one port at least must bring their
  // C++ type.
  void check_record() {
    if (!converts_ || channel_.message == records) return;
    const std::string who = d_.port_name(*converts_);
    if (opinions_.empty()) {
      d_.found.error("type-mismatch", source_->type->at,
                     "channel '" + channel_.name + "' has ports for records only: its type is '" +
                         std::string(records) + "'");
      channel_.message = records;
      return;
    }
    const message_schema* const m = d_.classes.find_message(channel_.message);
    if (channel_.reply.empty() && (!m || !m->as_record.empty())) return;
    const source_location at = converts_->at.known() ? converts_->at : channel_.at;
    diagnostic& f = d_.found.error("type-mismatch", at,
                                   "channel '" + channel_.name + "' carries " +
                                       shown({channel_.message, channel_.reply}) +
                                       ", which has no fields that a record could have");
    f.label = who + " is for records";
  }

  bool declared() {
    if (!source_ || !source_->type) return false;
    const std::string& name = source_->type->text;
    declared_.message = name;
    for (const opinion& o : opinions_)
      if (o.type.message == name) declared_.reply = o.type.reply;
    const bool carried = std::any_of(opinions_.begin(), opinions_.end(),
                                     [&](const opinion& o) { return o.type.message == name; });
    if (carried || d_.classes.find_message(name)) return true;
    const std::vector<const message_schema*> all = d_.classes.messages();
    std::vector<std::string_view> names;
    names.reserve(all.size() + opinions_.size());
    for (const message_schema* m : all) names.push_back(m->name);
    for (const opinion& o : opinions_) names.push_back(o.type.message);
    report_unknown("unknown-type", source_->type->at, "unknown message type '" + name + "'", name, names,
                   d_.found);
    return false;
  }

  const opinion* find_other(const joined_type& than) const {
    const auto other =
        std::find_if(opinions_.begin(), opinions_.end(), [&](const opinion& o) { return !(o.type == than); });
    return other == opinions_.end() ? nullptr : &*other;
  }

  void note_others(diagnostic& f, const joined_type& than) const {
    constexpr std::size_t enough = 4;
    for (const opinion& o : opinions_)
      if (!(o.type == than) && f.notes.size() < enough) f.notes.push_back({o.at, o.text});
  }

  draft& d_;
  channel_plan& channel_;
  const channel_builder* source_;
  std::vector<opinion> opinions_;
  const endpoint* converts_ = nullptr;  // the first port that takes any message with fields
  joined_type declared_;
};

void check_ends(draft& d, const channel_plan& c) {
  if (c.unnamed) return;
  const bool no_writer = c.writers.empty() && !c.dead_letters;
  const bool no_reader = c.readers.empty();
  const bool lost_writer = d.lost_writers[c.service];
  // A reader may be in any service.
  const bool lost_reader =
      d.lost_readers[c.service] ||
      (c.exported && std::find(d.lost_readers.begin(), d.lost_readers.end(), true) != d.lost_readers.end());
  if (no_writer && no_reader && !c.exported && !lost_writer && !lost_reader) {
    d.found.error("unused-channel", c.at, "channel '" + c.name + "' has no writer and no reader");
    return;
  }
  if (no_writer && !lost_writer)
    d.note_gone(d.found.error("no-writer", c.at, "channel '" + c.name + "' has no writer"), c.service, c.name,
                port_direction::out,
                " any more; switch off those that read it too, or let another write to it");
  if (!no_reader || lost_reader) return;
  if (c.exported)
    d.found.warning("no-reader", c.at, "channel '" + c.name + "' is exported, but nobody here reads it");
  else
    d.note_gone(d.found.error("no-reader", c.at, "channel '" + c.name + "' has no reader"), c.service, c.name,
                port_direction::in,
                " any more; switch off those that write to it too, or let another read it");
}

// Whether a policy is for a process that is switched off: it has no reader to be of.
bool is_off(const draft& d, const channel_plan& c, std::string_view reader) {
  for (index s = 0; s < d.from.services.size(); ++s)
    for (const process_builder& p : d.from.services[s].processes) {
      if (p.enabled) continue;
      const std::string& service = d.out.services[s].name;
      if (s == c.service ? p.id.text == reader : service == reader || service + '/' + p.id.text == reader)
        return true;
    }
  return false;
}

// Whether the name in `reader = { name = policy }` means this reader.
bool means(const draft& d, const channel_plan& c, const endpoint& reader, std::string_view name) {
  const process_plan& p = d.out.processes[reader.process];
  if (p.service == c.service) return p.name == name;
  return d.out.services[p.service].name == name || d.out.full_name(p) == name;
}

void check_policies(draft& d, channel_plan& c, const channel_builder& from) {
  if (from.readers_at.known() && !c.copy) {
    d.found.error("policy", from.readers_at,
                  "'reader' needs fanout = \"copy\"; readers that compete have one policy");
    return;
  }
  for (const reader_builder& r : from.readers) {
    bool used = false;
    for (endpoint& e : c.readers) {
      if (!means(d, c, e, r.reader.text)) continue;
      e.full = r.full;
      used = true;
    }
    if (used || d.lost_readers[c.service] || is_off(d, c, r.reader.text)) continue;
    const std::string text = "channel '" + c.name + "' has no reader '" + r.reader.text + "'";
    std::vector<std::string> owners;
    for (const endpoint& e : c.readers) {
      const process_plan& p = d.out.processes[e.process];
      owners.push_back(p.service == c.service ? p.name : d.out.full_name(p));
    }
    const std::string near = nearest(r.reader.text, {owners.begin(), owners.end()});
    // A service that reads it need not be part of what is checked.
    if (c.exported && near.empty())
      d.found.warning("unknown-reader", r.reader.at, text + " here");
    else
      d.found.error("unknown-reader", r.reader.at, text + did_you_mean(near)).suggestion = near;
  }
  if (c.full == leat::full::latest && from.capacity_at.known() && c.capacity != 1) {
    diagnostic& f = d.found.warning("capacity", from.capacity_at, "'capacity' means nothing here");
    f.notes.push_back({from.full_at, c.key.empty() ? "such a channel keeps one value"
                                                   : "such a channel keeps one value of each key"});
  }
  const bool latest = c.full == leat::full::latest ||
                      std::any_of(c.readers.begin(), c.readers.end(),
                                  [](const endpoint& e) { return e.full == leat::full::latest; });
  if (from.keys_at.known() && (c.key.empty() || !latest))
    d.found.warning("key", from.keys_at, "'keys' means nothing without 'key' and full = \"latest\"");
  if (c.copy && c.capacity == 0) {
    d.found.warning("capacity", from.capacity_at,
                    "a channel that copies holds at least one value for each reader");
    c.capacity = 1;
  }
}

// What does not go with a store.
void check_store(draft& d, const channel_plan& c, const channel_builder& from) {
  if (!c.store) return;
  const std::string stored = "a stored channel ";
  if (from.full_at.known())
    d.found.error("store", from.full_at, stored + "has the policy of its store: say 'full' there");
  if (c.copy)
    d.found.error("store", from.fanout_at,
                  stored + "has one place of reading: copy first, and give each copy a channel with a store");
  if (from.key) d.found.error("store", from.key->at, stored + "has no 'key'");
  if (!c.reply.empty())
    d.found.error("store", c.store->at,
                  "requests cannot be stored: nobody would wait for the answer after a restart");
}

const port_schema* schema_of(const draft& d, const endpoint& e) {
  const process_plan& p = d.out.processes[e.process];
  return e.port < p.ports.size() ? p.ports[e.port].schema : nullptr;
}

// By what one of its ends says: a port for records does not know.
bool carries_uncopyable(const draft& d, const channel_plan& c) {
  const auto uncopied = [&](const endpoint& e) {
    const port_schema* const s = schema_of(d, e);
    return s && !s->copyable;
  };
  return std::any_of(c.writers.begin(), c.writers.end(), uncopied) ||
         std::any_of(c.readers.begin(), c.readers.end(), uncopied);
}

// Each value goes to one of them: seldom meant where they do different things.
void check_competition(draft& d, const channel_plan& c, const channel_builder* from) {
  if (c.copy || !c.reply.empty() || (from && from->fanout_at.known())) return;
  std::vector<index> who;
  for (const endpoint& e : c.readers)
    if (std::find(who.begin(), who.end(), e.process) == who.end()) who.push_back(e.process);
  if (who.size() < 2) return;
  std::string names;
  for (std::size_t i = 0; i < who.size(); ++i) {
    const process_plan& p = d.out.processes[who[i]];
    names += (i == 0                ? "'"
              : i + 1 == who.size() ? " or '"
                                    : ", '") +
             (p.service == c.service ? p.name : d.out.full_name(p)) + '\'';
  }
  d.found.warning("compete", c.at,
                  "each value of channel '" + c.name + "' goes to one of its readers, " + names + ": " +
                      (from ? "" : "declare it in a table; ") +
                      (carries_uncopyable(d, c) ? "'" + c.message + "' cannot be copied; fanout = "
                                                : "fanout = \"copy\" gives it to all, ") +
                      "\"compete\" says that this is meant");
}

// Values that can only be moved have one reader: no copies for all, and no port that sends to several
// channels.
void check_copies(draft& d, index number) {
  const channel_plan& c = d.out.channels[number];
  const bool uncopyable = carries_uncopyable(d, c);
  if (c.copy && !c.reply.empty()) {
    d.found.error("policy", c.at, "channel '" + c.name + "' carries requests, which cannot be copied");
  } else if (c.copy && uncopyable) {
    d.found.error("policy", c.at,
                  "channel '" + c.name + "' carries '" + c.message +
                      "', which cannot be copied: with fanout = \"compete\" each value goes to one reader");
  }
  for (const endpoint& e : c.writers) {
    const port_schema* const s = schema_of(d, e);
    if (!s || (!uncopyable && s->reply.empty())) continue;
    if (d.out.processes[e.process].ports[e.port].channels.front() == number) continue;
    d.found.error("policy", e.at.known() ? e.at : c.at,
                  "port '" + s->name + "' sends " + (s->reply.empty() ? "'" + c.message + "'" : "requests") +
                      ", which cannot be copied: it can go to one channel only");
  }
}

}  // namespace

void check_channels(draft& d) {
  for (index i = 0; i < d.out.channels.size(); ++i) {
    channel_plan& c = d.out.channels[i];
    type_check(d, i).run();
    check_ends(d, c);
    if (d.channel_sources[i]) {
      check_policies(d, c, *d.channel_sources[i]);
      check_store(d, c, *d.channel_sources[i]);
    }
    check_competition(d, c, d.channel_sources[i]);
    check_copies(d, i);
  }
}

}  // namespace leat::config
