// SPDX-License-Identifier: BSL-1.0
//
// A process: an object with ports and settings, and a run() that a G calls.
//
//   class smooth : public leat::process {
//     leat::in<sample>   raw{this, "raw"};
//     leat::out<sample>  clean{this, "clean", "averages", leat::optional_port};
//     leat::setting<int> window{this, "window", 8, "samples averaged", leat::between(1, 1024)};
//     void run() override { for (sample s : raw) ... }
//   };
//   LEAT_PROCESS(smooth, "moving average");
//
// The class is its own schema: one object is made only to see which ports and settings register themselves.
// So a constructor must do nothing but construct; what opens files or sockets belongs into run().
//
// In a service the objects are made by process_class::make, with settings and channels at hand before the
// members are constructed. In plain code they are made like any object (each setting has its default), then
// connected: smooth s; s.connect("raw", channel); s.run(). Or with leat::make<smooth>(options).
#pragma once
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/process/any_channel.hpp>
#include <leat/process/record.hpp>

namespace leat {

template <class Req, class Rep>
struct ask;

struct setting_schema;
struct class_schema;

// Options of a port, in any order after its name: these and a text of help.
struct optional_port_t {};
inline constexpr optional_port_t optional_port{};  // may stay unconnected; then it is nil
struct exclusive_port_t {};
inline constexpr exclusive_port_t exclusive_port{};  // not to be shared by replicas
struct helpers_port_t {};
// Used by Gs that the process starts: when it has been quarantined, they may go on for a while beside those
// of the next object. So its channels are never of the kind that has one user on each side.
inline constexpr helpers_port_t helpers_port{};

// What all objects of a process have thrown away, for the ledger. Any G adds; whoever tells it reads.
struct loss_counts {
  std::atomic<std::uint64_t> lost{0};      // values that it had, and could neither pass on nor deliver
  std::atomic<std::uint64_t> rejected{0};  // input from outside that never became a value
  std::atomic<std::uint64_t> fields{0};    // of records, which messages did not have a place for
};

struct port_binding {
  std::string port;
  std::vector<any_channel> channels;
  std::shared_ptr<csp::gate_record> record = {};  // what passes is noted there (csp/gate.hpp)
  field_renames names = {};                       // of a port for records
  std::shared_ptr<loss_counts> losses = {};       // of the process: the same at each of its ports
  unknown_fields unknown = unknown_fields::tell;  // at an out port for records
};

class state_store;    // state_store.hpp
class setting_store;  // setting_store.hpp

// What an object is made with.
struct process_options {
  std::string name = {};
  value settings = {};  // a table, or nothing
  std::vector<port_binding> ports = {};
  std::shared_ptr<state_store> states = {};  // of the incarnations before this one
  std::shared_ptr<setting_store> live = {};  // what was set, for all objects of the process
};

class process;

namespace ports {

// How records become the messages of a port's channels, and whom to tell what is lost by it.
struct conversion {
  field_renames names = {};
  unknown_fields unknown = unknown_fields::tell;
  std::shared_ptr<loss_counts> losses = {};
  std::string who = {};  // "process 'x', port 'y'"
};

struct entry {
  std::string_view name;
  bool is_out = false;
  bool is_optional = false;
  bool is_exclusive = false;
  bool has_helpers = false;
  std::string_view inbox = {};
  std::string_view help = {};
  const port_type* type = nullptr;
  void* end = nullptr;
  void (*bind)(void* end, csp::ref<csp::channel_base> to, const port_type& type,
               const conversion& how) = nullptr;
  // Ports for records (record_port.hpp): the channel may be of any message with fields.
  bool converts = false;
  std::vector<record_field> fields = {};
  std::string_view fields_of = {};
  fields_needed needs = nullptr;
  fields_sent sends = nullptr;
  fields_validator validate = nullptr;
};

inline void apply(entry& r, optional_port_t) noexcept { r.is_optional = true; }
inline void apply(entry& r, exclusive_port_t) noexcept { r.is_exclusive = true; }
inline void apply(entry& r, helpers_port_t) noexcept { r.has_helpers = true; }
inline void apply(entry& r, std::string_view help) noexcept { r.help = help; }

template <class T>
entry of_in(in<T>& end, std::string_view name) noexcept {
  return {.name = name,
          .type = &type_of<T>,
          .end = &end,
          .bind = [](void* e, csp::ref<csp::channel_base> to, const port_type&, const conversion&) {
            *static_cast<in<T>*>(e) = in<T>(std::move(to));
          }};
}
template <class T>
entry of_out(out<T>& end, std::string_view name) noexcept {
  return {.name = name,
          .is_out = true,
          .type = &type_of<T>,
          .end = &end,
          .bind = [](void* e, csp::ref<csp::channel_base> to, const port_type&, const conversion&) {
            *static_cast<out<T>*>(e) = out<T>(std::move(to));
          }};
}

}  // namespace ports

struct setting_registration;  // settings.hpp
struct construction;

namespace processes {
void release(process& p, const process_options& o);
}

class process {
 public:
  virtual ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  // Returning: done. Throwing: failed.
  virtual void run() = 0;

  const std::string& name() const noexcept { return name_; }

  // Whoever throws away a value that it has received, or was to send, says so: the ledger tells it, and the
  // exit status is 1. From any G of the process.
  void count_lost(std::uint64_t n = 1) const noexcept;
  // The same for input from outside that is no value (a line that cannot be read): told, and no failure.
  void count_rejected(std::uint64_t n = 1) const noexcept;

  // Before run(). A port that is connected more than once receives from all its channels, fairly, or sends to
  // each. Throws wiring_error if there is no such port or its type is another.
  void connect(std::string_view port, const any_channel& channel);

  // Sets a live setting (live_setting.hpp). Empty: done; else what is wrong. From any G while the object lives.
  // A service sets by process_options::live instead, and asks the validators of all settings together.
  std::string apply_setting(std::string_view name, const value& v);

  // Inside of a process it needs no namespace: inbox<reading, ask<question, answer>>.
  template <class Req, class Rep>
  using ask = leat::ask<Req, Rep>;

  // For the members; not for users.
  void add_port(const ports::entry& r);
  // False: what was given for it is wrong.
  bool add_setting(const setting_registration& s);
  void note_field_setting(std::string_view name, std::string_view port, value_kind kind);
  void note_error(std::string_view what, std::string_view answer);
  void note_validator(value_validator validate);
  void note_limits(const process_limits& limits, limits_by_settings by);
  void note_state(std::string_view name, shape_fn shape);  // null: not described
  state_store* states() const noexcept { return states_.get(); }
  // Where live settings are. `shared`: with all objects of the process; else one that nobody else has.
  std::shared_ptr<setting_store> live_settings(bool shared);
  // What had been set when the object was made.
  std::shared_ptr<const value> settings_read() const;

 protected:
  process();

 private:
  friend void processes::release(process& p, const process_options& o);
  struct connected;
  void connect(connected& c, const any_channel& channel) const;
  std::string who() const;

  std::string name_;
  std::shared_ptr<state_store> states_;
  std::shared_ptr<setting_store> live_;  // null: none was given, and there is no live setting
  std::shared_ptr<loss_counts> losses_;  // null in plain code
  std::vector<connected> ports_;
  construction* making_ = nullptr;  // until the constructors have run; null in plain code
};

// What may happen to a process, and what it does then; for `describe`, and for those who read the class.
//
//   leat::errors told{this, {{"a device that is gone", "tries again every second"}}};
class errors {
 public:
  struct note {
    std::string_view what, answer;
  };
  errors(process* owner, std::initializer_list<note> all) {
    for (const note& n : all) owner->note_error(n.what, n.answer);
  }
};

// How long the class may compute (`hang`), needs for an orderly end (`grace`), is silent (`watchdog`), if not
// as long as others; `describe` shows it, and the keys of a process in TOML override it.
//
//   leat::suggested_limits limits{this, {.grace = 5s}};
//
// What depends on settings is told by a function of them: leat::process_limits f(const leat::value&
// settings).
class suggested_limits {
 public:
  suggested_limits(process* owner, const process_limits& limits) { owner->note_limits(limits, nullptr); }
  suggested_limits(process* owner, limits_by_settings by) { owner->note_limits({}, by); }
};

// What in<T> and out<T> call (csp/channel.hpp).
template <class T, class... Options>
void register_port(process* owner, in<T>& end, std::string_view name, const Options&... options) {
  ports::entry r = ports::of_in(end, name);
  (ports::apply(r, options), ...);
  owner->add_port(r);
}
template <class T, class... Options>
void register_port(process* owner, out<T>& end, std::string_view name, const Options&... options) {
  ports::entry r = ports::of_out(end, name);
  (ports::apply(r, options), ...);
  owner->add_port(r);
}

}  // namespace leat
