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
  place at;
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
      finding& f =
          d_.found.error("type-mismatch", source_->type->at,
                         "channel '" + channel_.name + "' is declared as another type than its ports have");
      f.label = "declared as " + shown(declared_);
      note_others(f, *first);
      return;
    }
    const opinion& writer = opinions_.front();
    finding& f = d_.found.error("type-mismatch", writer.at.known() ? writer.at : wrong->at,
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
    const place at = converts_->at.known() ? converts_->at : channel_.at;
    finding& f = d_.found.error("type-mismatch", at,
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

  void note_others(finding& f, const joined_type& than) const {
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
  if (no_writer && !lost_writer) d.found.error("no-writer", c.at, "channel '" + c.name + "' has no writer");
  if (!no_reader || lost_reader) return;
  if (c.exported)
    d.found.warning("no-reader", c.at, "channel '" + c.name + "' is exported, but nobody here reads it");
  else
    d.found.error("no-reader", c.at, "channel '" + c.name + "' has no reader");
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
    if (used || d.lost_readers[c.service]) continue;
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
  if (c.full == overflow::latest && from.capacity_at.known() && c.capacity != 1) {
    finding& f = d.found.warning("capacity", from.capacity_at, "'capacity' means nothing here");
    f.notes.push_back({from.full_at, "such a channel keeps one value"});
  }
  if (c.copy && c.capacity == 0) {
    d.found.warning("capacity", from.capacity_at,
                    "a channel that copies holds at least one value for each reader");
    c.capacity = 1;
  }
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
                      "fanout = \"copy\" gives it to all, \"compete\" says that this is meant");
}

}  // namespace

void check_channels(draft& d) {
  for (index i = 0; i < d.out.channels.size(); ++i) {
    channel_plan& c = d.out.channels[i];
    type_check(d, i).run();
    check_ends(d, c);
    if (d.channel_sources[i]) check_policies(d, c, *d.channel_sources[i]);
    check_competition(d, c, d.channel_sources[i]);
    if (c.copy && !c.reply.empty())
      d.found.error("policy", c.at, "channel '" + c.name + "' carries requests, which cannot be copied");
  }
}

}  // namespace leat::config
