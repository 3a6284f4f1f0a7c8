// SPDX-License-Identifier: BSL-1.0
//
// Ports for records that can be joined to a channel of any message with fields; it is converted on the way.
//
//   leat::record_in  values{this, "values"};
//   leat::record_out passed{this, "passed", leat::fields_like("values")};
//   leat::record_out ticks{this, "ticks", leat::sends{{"at", leat::value_kind::moment}}};
//   leat::field_setting<> field{this, "field", "values", leat::value_kind::real, "value", "which one"};
//
// What a port says of its fields is what the check of a configuration knows: that a field which a setting or
// a `map` names is there, and that a message gets all that it needs.
//
// The ends are not for select: use in<record> and out<record> there, which join channels of records alone.
#pragma once
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leat/process/any_channel.hpp>
#include <leat/process/process.hpp>
#include <leat/process/record.hpp>
#include <leat/process/settings.hpp>

namespace leat::csp {
class hold_base;  // csp/gate.hpp
}

namespace leat {

// Options of a record port. An in port needs these fields, or an out port sends them.
struct port_fields {
  port_fields(std::initializer_list<record_field> all) : fields(all) {}
  std::vector<record_field> fields;
};
using sends = port_fields;
using needs = port_fields;
// An out port sends all fields of what came in at that port.
struct fields_like {
  explicit fields_like(std::string_view in_port) : port(in_port) {}
  std::string_view port;
};

// The same where settings say it (base/schema.hpp): an in port needs, an out port sends what the function
// returns.
struct needs_by {
  explicit needs_by(fields_needed f) : function(f) {}
  fields_needed function;
};
struct sends_by {
  explicit sends_by(fields_sent f) : function(f) {}
  fields_sent function;
};

// An in port: what settings say of its fields is looked at when these are known.
struct checked_by {
  explicit checked_by(fields_validator f) : function(f) {}
  fields_validator function;
};

namespace ports {

inline void apply(entry& e, const needs_by& n) { e.needs = n.function; }
inline void apply(entry& e, const sends_by& s) { e.sends = s.function; }
inline void apply(entry& e, const checked_by& c) { e.validate = c.function; }
inline void apply(entry& e, const port_fields& l) { e.fields = l.fields; }
inline void apply(entry& e, const fields_like& l) { e.fields_of = l.port; }

class port_losses;

// A channel of some type, and what its fields are called.
struct record_end {
  const port_type* type = nullptr;
  csp::ref<csp::channel_base> channel = {};
  field_renames names = {};
  std::shared_ptr<port_losses> losses = {};  // null: nothing is converted

  recv_status recv(std::optional<record>& to, std::int64_t until) const;
  // Throws message_error if the record is no such message.
  send_status send(record& r, std::int64_t until) const;
};
// Throws wiring_error if its messages have no fields.
record_end converting(const any_channel& c, field_renames names);
entry of_record(record_end& end, std::string_view name, bool is_out) noexcept;

}  // namespace ports

class record_in {
 public:
  record_in() = default;
  explicit record_in(const any_channel& c, field_renames names = {})
      : end_(ports::converting(c, std::move(names))) {}
  template <class... Options>
  record_in(process* owner, std::string_view name, const Options&... options) {
    ports::entry e = ports::of_record(end_, name, false);
    (ports::apply(e, options), ...);
    owner->add_port(e);
  }
  record_in(const record_in&) = delete;  // its owner knows where it is
  record_in& operator=(const record_in&) = delete;

  // Empty: closed and drained, or this G has been asked to stop.
  std::optional<record> recv() const { return recv_with(csp::forever); }
  std::optional<record> try_recv() const { return recv_with(csp::at_once); }
  std::optional<record> recv_until(deadline d) const { return recv_with(csp::until_ns(d)); }
  // The same, telling why there is no value.
  recv_status recv(std::optional<record>& to, deadline d = deadline::never()) const {
    return end_.recv(to, csp::until_ns(d));
  }
  bool connected() const noexcept { return static_cast<bool>(end_.channel); }
  // The next receive acknowledges the last record, which comes again if this object fails before: whoever
  // would receive several before it is done with the first should not.
  bool at_least_once() const noexcept;
  // The last record has not been acknowledged: it comes again, or is reported as given up, if this object fails or is
  // stopped now.
  bool holds_last() const noexcept;
  // It does not come again, whatever follows.
  void acknowledge() const noexcept;

  // for (leat::record r : values) until it is closed and drained, or the G is stopped.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = record;
    using difference_type = std::ptrdiff_t;
    using pointer = record*;
    using reference = record&;

    explicit iterator(const record_in& from) : from_(from) { ++*this; }
    record& operator*() noexcept { return *value_; }
    iterator& operator++() {
      value_ = from_.recv();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const noexcept { return !value_; }

   private:
    const record_in& from_;
    std::optional<record> value_;
  };
  iterator begin() const { return iterator(*this); }
  std::default_sentinel_t end() const noexcept { return {}; }

 private:
  std::optional<record> recv_with(std::int64_t until) const {
    std::optional<record> r;
    (void)end_.recv(r, until);
    return r;
  }
  csp::hold_base* held() const noexcept;
  ports::record_end end_;
};

class record_out {
 public:
  record_out() = default;
  explicit record_out(const any_channel& c, field_renames names = {})
      : end_(ports::converting(c, std::move(names))) {}
  template <class... Options>
  record_out(process* owner, std::string_view name, const Options&... options) {
    ports::entry e = ports::of_record(end_, name, true);
    (ports::apply(e, options), ...);
    owner->add_port(e);
  }
  record_out(const record_out&) = delete;
  record_out& operator=(const record_out&) = delete;

  // As of out<T>, but for this: message_error if the channel's messages need a field that the record does not
  // have, or of another kind; or have no such field, with unknown_fields::error. Nothing is sent then.
  send_status send(record r) const { return end_.send(r, csp::forever); }
  send_status try_send(record r) const { return end_.send(r, csp::at_once); }
  send_status send_until(record r, deadline d) const { return end_.send(r, csp::until_ns(d)); }
  bool connected() const noexcept { return static_cast<bool>(end_.channel); }

 private:
  ports::record_end end_;
};

// A setting that names one field of the records at a port, or, with std::vector<std::string>, several.
template <class T = std::string>
class field_setting : public setting<T> {
 public:
  field_setting(process* owner, std::string_view name, std::string_view port, value_kind kind, T otherwise,
                std::string_view help = {}, const limits& l = {})
      : setting<T>(owner, name, std::move(otherwise), help, l) {
    owner->note_field_setting(name, port, kind);
  }
  field_setting(process* owner, std::string_view name, std::string_view port, value_kind kind, required_t r,
                std::string_view help = {}, const limits& l = {})
      : setting<T>(owner, name, r, help, l) {
    owner->note_field_setting(name, port, kind);
  }
};

}  // namespace leat
