// SPDX-License-Identifier: BSL-1.0
#include <leat/process/process.hpp>

#include <algorithm>

#include <leat/process/construction.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/setting_store.hpp>
#include <leat/process/settings.hpp>
#include <leat/process/state_migrate.hpp>

namespace leat {

struct process::connected {
  ports::entry port;
  csp::channel_list to;
  std::shared_ptr<csp::gate_record> record = {};
  const port_type* type = nullptr;  // of its channels
  ports::conversion how = {};
};

namespace processes {
namespace {

thread_local construction* next = nullptr;

std::string lines(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& l : all) out += (out.empty() ? "" : "\n") + l;
  return out;
}

}  // namespace

construction* take_construction() noexcept { return std::exchange(next, nullptr); }

std::string who(std::string_view class_name, const std::string& name) {
  const std::string of = class_name.empty() ? std::string() : "class '" + std::string(class_name) + "'";
  if (name.empty()) return of.empty() ? "a process" : of;
  return "'" + name + "'" + (of.empty() ? "" : " of " + of);
}

std::unique_ptr<process> construct(std::unique_ptr<process> (*make)(), construction& with) {
  struct guard {
    explicit guard(construction* c) noexcept { next = c; }
    ~guard() { next = nullptr; }
  } set(&with);
  return make();
}

std::unique_ptr<process> make(std::unique_ptr<process> (*construct_it)(), std::string_view class_name,
                              const process_options& options) {
  construction with{.class_name = class_name, .options = &options};
  const std::string name = who(class_name, options.name);
  std::unique_ptr<process> made;
  try {
    made = construct(construct_it, with);
  } catch (...) {
    with.check();  // what is wrong with the settings comes first: it may be the cause
    throw;
  }
  if (const auto* const given = options.settings.get_if<value::table>()) {
    for (const value_member& m : *given)
      if (std::find(with.names.begin(), with.names.end(), m.key) == with.names.end())
        with.setting_errors.push_back(name + " has no setting '" + m.key + "'");
  } else if (options.settings) {
    with.setting_errors.push_back(name + ": settings are a table, not " + to_text(options.settings));
  }
  with.check();
  release(*made, options);
  return made;
}

void release(process& p, const process_options& options) {
  for (const port_binding& b : options.ports)
    if (std::none_of(p.ports_.begin(), p.ports_.end(),
                     [&](const process::connected& c) { return c.port.name == b.port; }))
      throw wiring_error(p.who() + " has no port '" + b.port + "'");
  p.making_ = nullptr;
}

}  // namespace processes

void construction::check() const {
  if (!setting_errors.empty()) throw setting_error(processes::lines(setting_errors));
  if (!wiring_errors.empty()) throw wiring_error(processes::lines(wiring_errors));
}

process::process() : making_(processes::take_construction()) {
  if (!making_ || !making_->options) return;
  name_ = making_->options->name;
  states_ = making_->options->states;
  live_ = making_->options->live;
  if (live_) making_->set = live_->all_set();
}
process::~process() = default;

std::string process::who() const {
  return processes::who(making_ ? making_->class_name : std::string_view(), name_);
}

void process::connect(connected& c, const any_channel& channel) const {
  const ports::entry& port = c.port;
  try {
    if (!port.converts) {
      channel.check_type(*port.type);
    } else {
      check_converts(channel);
      if (c.type) channel.check_type(*c.type);  // several channels are of one type
    }
  } catch (const wiring_error& e) {
    throw wiring_error(who() + ", port '" + std::string(port.name) + "': " + e.what());
  }
  c.type = &channel.type();
  csp::ref<csp::channel_base> side = port.is_out ? channel.state() : csp::reading_side(channel.state());
  if (port.is_out && !c.to.empty() && !c.type->copyable())
    throw wiring_error(who() + ", port '" + std::string(port.name) + "': " + describe_content(*port.type) +
                       " cannot be copied, so it can go to one channel only");
  c.to.push_back(std::move(side));
  csp::ref<csp::channel_base> end = c.to.size() == 1 ? c.to.front()
                                    : port.is_out    ? csp::fan_out(c.to, c.type->copier)
                                                     : csp::merge(c.to);
  if (c.record)
    end = port.is_out ? csp::gate_out(std::move(end), c.record) : csp::gate_in(std::move(end), c.record);
  port.bind(port.end, std::move(end), *c.type, c.how);
}

void process::connect(std::string_view port, const any_channel& channel) {
  for (connected& c : ports_)
    if (c.port.name == port) return connect(c, channel);
  std::string known;
  for (const connected& c : ports_) known += (known.empty() ? "" : ", ") + std::string(c.port.name);
  throw wiring_error(who() + " has no port '" + std::string(port) + "'; it has " +
                     (known.empty() ? "none" : known));
}

void process::add_port(const ports::entry& r) {
  connected& c = ports_.emplace_back(connected{r, {}});
  if (!making_) return;
  if (making_->describes) {
    port_schema s;
    s.name = r.name;
    s.direction = r.is_out ? port_direction::out : port_direction::in;
    s.message = r.type->message_name();
    s.reply = r.type->reply_name();
    s.value_size = r.type->value_size;
    s.optional = r.is_optional;
    s.shareable = !r.is_exclusive;
    s.helpers = r.has_helpers;
    s.copyable = r.type->copyable();
    s.inbox = r.inbox;
    s.help = r.help;
    s.converts = r.converts;
    s.fields = r.fields;
    s.fields_of = r.fields_of;
    s.needs = r.needs;
    s.sends = r.sends;
    s.validate = r.validate;
    making_->describes->ports.push_back(std::move(s));
    making_->types->push_back(r.type);
    return;
  }
  for (const port_binding& b : making_->options->ports) {
    if (b.port != r.name) continue;
    c.record = b.record;
    c.how = {b.names, b.unknown, b.losses, who() + ", port '" + std::string(r.name) + "'"};
    losses_ = b.losses;
    for (const any_channel& channel : b.channels) {
      try {
        connect(c, channel);
      } catch (const wiring_error& e) {
        making_->wiring_errors.emplace_back(e.what());
      }
    }
  }
}

void process::count_lost(std::uint64_t n) const noexcept {
  if (losses_) losses_->lost.fetch_add(n, std::memory_order_relaxed);
}

void process::count_rejected(std::uint64_t n) const noexcept {
  if (losses_) losses_->rejected.fetch_add(n, std::memory_order_relaxed);
}

std::string process::apply_setting(std::string_view name, const value& v) {
  if (!live_ || !live_->find(name)) return who() + " has no live setting '" + std::string(name) + "'";
  value::table one;
  one.push_back({std::string(name), {}, v});
  return live_->set(value(std::move(one)));
}

std::shared_ptr<setting_store> process::live_settings(bool shared) {
  if (!shared) return std::make_shared<setting_store>();
  if (!live_) live_ = std::make_shared<setting_store>();
  return live_;
}

std::shared_ptr<const value> process::settings_read() const { return making_ ? making_->set : nullptr; }

bool process::add_setting(const setting_registration& s) {
  const auto wrong = [&](const std::string& what) {
    const std::string text = who() + ": setting '" + std::string(s.name) + "': " + what;
    if (!making_) throw setting_error(text);
    making_->setting_errors.push_back(text);
    return false;
  };
  if (making_ && making_->describes) {
    making_->describes->settings.push_back(shapes::schema_of(s));
    if (s.required) return true;
    if (const std::string why = shapes::check_limits(*s.shape, s.to, *s.limits, true); !why.empty())
      return wrong("its default " + why);
    if (!shapes::field_to_be_given(*s.shape).empty()) return true;  // it is no value yet
    if (const std::string no = shapes::ask_validators(shapes::write_value(*s.shape, s.to), *s.limits);
        !no.empty())
      return wrong("its default: " + no);
    return true;
  }
  const value* given = nullptr;
  if (making_) {
    making_->names.emplace_back(s.name);
    if (making_->set) given = making_->set->find(s.name);
    if (!given) given = making_->options->settings.find(s.name);
  }
  if (!given) {
    if (s.required) return wrong("is required");
    const std::string_view field = shapes::field_to_be_given(*s.shape);
    return field.empty() || wrong("is required: its field '" + std::string(field) + "' has no default");
  }
  std::string why = shapes::read_value(*s.shape, s.to, *given);
  if (why.empty()) why = shapes::check_limits(*s.shape, s.to, *s.limits);
  if (why.empty()) why = shapes::ask_validators(*given, *s.limits);
  return why.empty() || wrong(why);
}

void process::note_field_setting(std::string_view name, std::string_view port, value_kind kind) {
  if (!making_ || !making_->describes) return;
  for (setting_schema& s : making_->describes->settings) {
    if (s.name != name) continue;
    s.field_of = port;
    s.field_holds = kind;
  }
}

void process::note_validator(value_validator validate) {
  if (making_ && making_->describes) making_->describes->validators.push_back(validate);
}

void process::note_limits(const process_limits& limits, limits_by_settings by) {
  if (!making_ || !making_->describes) return;
  making_->describes->limits = limits;
  making_->describes->limits_by = by;
}

void process::note_state(std::string_view name, shape_fn shape) {
  if (!making_ || !making_->describes) return;
  state_schema s;
  s.name = name;
  if (shape) {
    s.type = type_name(shape());
    s.not_kept = why_not_kept(shape());
  } else {
    s.not_kept = "its type is not described: LEAT_MESSAGE and LEAT_SETTINGS do that";
  }
  making_->describes->states.push_back(std::move(s));
}

void process::note_error(std::string_view what, std::string_view answer) {
  if (making_ && making_->describes)
    making_->describes->errors.push_back({std::string(what), std::string(answer)});
}

}  // namespace leat
