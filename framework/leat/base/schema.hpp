// SPDX-License-Identifier: BSL-1.0
//
// What a process class says of itself, as plain data. The process layer makes it from the class, the check of
// configurations reads it; so neither has to know the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/base/value_kind.hpp>

namespace leat {

// Whether a field of one kind can be put where another is wanted. `any`: not known before it runs.
bool may_become(value_kind from, value_kind to) noexcept;

// What becomes of fields of a record that the message of a channel does not have. All are counted, and told once.
enum class unknown_fields : std::uint8_t {
  tell,   // nobody has said: left out, and the check warns of those that it knows
  drop,   // left out
  error,  // the record is refused
};

struct record_field {
  std::string name;  // a path; an element of a list is "raw[]"
  value_kind kind = value_kind::any;
  bool optional = false;  // may be missing, or null
};

// Why a value is wrong, and which part of a list or table that is; null: all of it.
struct setting_diagnostic {
  std::string why;
  const value* part = nullptr;
  // Of a text: the bytes of it that are wrong. Length 0: all of it.
  std::size_t offset = 0, length = 0;
};
// Functions that validate values are called when a file is checked, perhaps on another machine than it is for:
// they look at nothing but the value, and are safe for any of its kind.
using text_validator = std::string (*)(const std::string&);  // "" or what is wrong
using value_validator = std::vector<setting_diagnostic> (*)(const value&);

struct setting_schema {
  std::string name = {};  // empty for the element of a list
  // What a checked value of it holds: its own kind; of an enumeration a text, one of `names`; of a table a
  // table of `fields`. A whole number may be written for a real, durations as "250ms", sizes as "64K".
  value_kind kind = value_kind::text;
  // Both ends included; none: no limit. Of the setting's own kind, for integer, real, duration and size. A
  // list has its limits in its element.
  value least = {};
  value most = {};
  std::vector<setting_schema> element = {};  // list: exactly one; table: of each member, which have any names
  std::vector<std::string> names = {};       // enumeration, as they are written
  std::vector<setting_schema> fields = {};   // table
  // Must be given, unless there is a default. A setting that is neither is left out of the checked table when
  // the file does not give it.
  bool required = false;
  bool live = false;    // can be set while the process runs
  bool secret = false;  // who looks sees shown_value
  value default_value = {};
  std::string help = {};
  // Not empty: a text, or a list of texts, that names fields of the records at this port; and what they hold.
  std::string field_of = {};
  value_kind field_holds = value_kind::any;
  // A syntax of its own: of a text, and of any. Null: none.
  text_validator validate_text = nullptr;
  value_validator validate = nullptr;
};

// What may be shown of a value: in the place of a secret that is not empty there is the text "(hidden)".
value shown_value(const setting_schema& s, const value& v);

// "integer 1 to 1024", "list of duration", "one of \"skip\" \"burst\"".
std::string describe_type(const setting_schema& s);

enum class port_direction : std::uint8_t { in, out };
const char* to_string(port_direction d) noexcept;

// A field that records at an in port must have.
struct needed_field {
  std::string name;
  value_kind kind = value_kind::any;
  const value* named_by = nullptr;  // a part of the settings; null: the class
};
// Of settings with all their defaults, none of which is wrong. As validators: they look at nothing else.
using fields_needed = std::vector<needed_field> (*)(const value& settings);
// `came_in`: what comes in at `fields_of`; null: not known. The result is none if it is not known either.
using fields_sent = std::optional<std::vector<record_field>> (*)(const value& settings,
                                                                 const std::vector<record_field>* came_in);

// Of settings that are good as such, when it is known which fields the records at an in port have.
using fields_validator = std::vector<setting_diagnostic> (*)(const value& settings,
                                                             const std::vector<record_field>& came_in);

struct port_schema {
  std::string name;  // an inbox has one port per kind of message: "inbox.reading"
  port_direction direction = port_direction::in;
  std::string message;  // the name of the message type; only equal ones may be joined
  // The type of the answers, for a client and for the kinds of an inbox that are asked; else empty. It takes
  // part in the comparison.
  std::string reply = {};
  std::uint64_t value_size = 0;  // bytes that one value takes in a channel
  bool optional = false;         // may stay unconnected
  bool shareable = true;         // several replicas may use it at once
  bool helpers = false;          // several Gs of one object may use it at once
  bool copyable = true;          // its values can go to several readers, and be handed out again
  // Ports of one inbox have its name here. Each of them may stay unconnected, but not all.
  std::string inbox = {};
  std::string help = {};
  // Its values are records, and it can be joined to a channel of any message with fields.
  bool converts = false;
  // Of records: those it sends, or must have; empty: not known.
  std::vector<record_field> fields = {};
  // An out port: it sends the fields of what comes in at this port, and `fields` besides.
  std::string fields_of = {};
  // What depends on settings. An out port with `sends` has neither of the two above but what that makes of
  // them.
  fields_needed needs = nullptr;
  fields_sent sends = nullptr;
  fields_validator validate = nullptr;  // of an in port
};

// Something that may happen to a process, and what it does then.
struct error_schema {
  std::string what;    // "a line that is longer than `longest`"
  std::string answer;  // "dropped, counted and logged"
};

// What an object hands to its successor.
struct state_schema {
  std::string name;
  std::string type = {};      // to be read by people; empty: not described
  std::string not_kept = {};  // why it cannot be written to a file; empty: it can
};

// What a class asks of whoever supervises it; none: what others have. In a file the process's own keys come
// first; of [supervisor] and the class the longer one counts.
struct process_limits {
  std::optional<timespan> hang = {};
  std::optional<timespan> grace = {};
  std::optional<timespan> watchdog = {};
};
// Of settings with all their defaults, none of which is wrong. As validators: they look at nothing else.
using limits_by_settings = process_limits (*)(const value& settings);

struct class_schema {
  std::string name;
  std::string help = {};
  std::vector<port_schema> ports = {};
  std::vector<setting_schema> settings = {};
  std::vector<error_schema> errors = {};
  std::vector<state_schema> states = {};
  // Of all settings together, with their defaults, when none of them is wrong.
  std::vector<value_validator> validators = {};
  process_limits limits = {};
  limits_by_settings limits_by = nullptr;  // in their stead
  std::uint64_t object_size = 0;  // bytes that one object takes, with the pools that it asks for up front
};

struct field_schema {
  std::string name;
  std::string type;  // to be read by people: "double", "vector of sample", "optional text"
};

struct message_schema {
  std::string name;
  std::uint64_t size = 0;
  std::vector<field_schema> fields = {};
  std::vector<record_field> as_record = {};  // as a record; empty: it cannot be one, or it is one
};

const port_schema* find_port(const class_schema& c, std::string_view name) noexcept;
const setting_schema* find_setting(const std::vector<setting_schema>& among, std::string_view name) noexcept;

// All that a program knows. Pointers stay good as long as the catalog. The lists are sorted by name.
class catalog {
 public:
  virtual const class_schema* find_class(std::string_view name) const = 0;
  virtual std::vector<const class_schema*> classes() const = 0;
  virtual const message_schema* find_message(std::string_view name) const = 0;
  virtual std::vector<const message_schema*> messages() const = 0;

 protected:
  ~catalog() = default;
};

}  // namespace leat
