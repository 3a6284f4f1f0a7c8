// SPDX-License-Identifier: BSL-1.0
#include <algorithm>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/process/outside.hpp>

#include "bus.hpp"
#include "link_log.hpp"
#include "registers.hpp"
#include "settings.hpp"

namespace leat::modbus {
namespace {

using namespace std::chrono_literals;

std::vector<needed_field> fields_written(const value& settings) {
  const value* const how = settings.find("records");
  const auto* const form = how ? how->get_if<std::string>() : nullptr;
  if (form && *form == "all") return {};
  return {{"sensor", value_kind::text, nullptr}, {"value", value_kind::any, nullptr}};
}

class modbus_write : public process {
  record_in values{this, "values", needs_by(fields_written), "what to write"};
  record_out written{this, "written", fields_like("values"), optional_port,
                     "each record that has been written"};
  bus_settings line{this};
  setting<std::vector<register_setting>> registers{this, "registers", required, registers_help,
                                                   validated_by(validate_writable)};
  setting<record_form> records{
      this, "records", record_form::each,
      "each: a record { sensor, value } is written to the register that its sensor names; "
      "all: each field that has the name of a register is written to that"};
  settings_validator together{this, validate_units_written};
  suggested_limits limits{this, time_of_requests};
  errors told{
      this,
      {{"a device or line that is away, or does not answer within `timeout`",
        "logged, and written again after `retry`, doubled up to `retry_most`; records wait. With lost = "
        "\"fail\" the process fails"},
       {"an answer that is lost", "written again: the device may get it twice"},
       {"a record that names no register, or has no number for one, or one that it cannot hold",
        "nothing of it is written; it is lost, counted and logged"},
       {"a value that the device refuses", "the record is lost, counted and logged"},
       {"a stop before the device has answered", "the record is lost, counted and logged"},
       {"a serial port that is in use", "logged with who has it, and tried again"},
       {"all readers of `written` have ended", "it goes on"}}};

  struct order_to_write {
    const register_setting* to;
    std::vector<std::uint16_t> words;
  };
  enum class outcome : std::uint8_t { done, refused, stopped };

  const register_setting* find(const std::string& name) const {
    const auto at =
        std::find_if(registers->begin(), registers->end(), [&](const auto& r) { return r.name == name; });
    return at == registers->end() ? nullptr : &*at;
  }

  // "" or what is wrong with it.
  static std::string add(const register_setting& r, const field_value& v, std::vector<order_to_write>& to) {
    order_to_write o{&r, {}};
    std::string why = encode(r, v, o.words);
    if (!why.empty()) return "'" + r.name + "': " + why;
    to.push_back(std::move(o));
    return {};
  }
  std::string orders_of(const record& r, std::vector<order_to_write>& to) const {
    if (*records == record_form::all) {
      for (const register_setting& x : *registers)
        if (const field_value* const v = r.find(x.name); v && !v->is_null())
          if (std::string why = add(x, *v, to); !why.empty()) return why;
      return to.empty() ? "none of its fields has the name of a register" : std::string();
    }
    const std::string* const name = r.text("sensor");
    const field_value* const v = r.find("value");
    if (!name || !v) return "expected a text `sensor` and a `value`";
    const register_setting* const x = find(*name);
    return x ? add(*x, *v, to) : "there is no register '" + *name + "'";
  }

  outcome write(bus& to, const order_to_write& o) {
    for (back_off pause(*line.retry, *line.retry_most);;) {
      try {
        if (!to.write(o.to->unit.value_or(*line.unit), o.to->table, o.to->number, o.words, *line.timeout))
          return outcome::stopped;
        trouble_.is_over(name(), to.name());
        return outcome::done;
      } catch (const bus_error& e) {
        if (e.is_refusal()) {
          lose(std::string(e.what()) + " (" + o.to->name + ")");
          return outcome::refused;
        }
        if (*line.lost == on_lost::fail) throw;
        trouble_.begins(name(), e.what());
      }
      if (sleep_for(pause.next()) == sleep_result::stopped) return outcome::stopped;
    }
  }

  void lose(const std::string& why) {
    count_lost();
    values.acknowledge();
    // The first at once, then one line in ten seconds.
    ++lost_;
    if (const time_point now = leat::now(); lost_ == 1 || now >= next_line_) {
      log_warning("modbus", "{}: lost: {} ({} in all)", name(), why, lost_);
      next_line_ = saturating_add(now, 10s);
    }
  }

  // What is in hand when the process fails or is stopped comes again, or is lost.
  struct held {
    const modbus_write& owner;
    bool any = true;
    ~held() {
      if (!any || owner.values.holds_last()) return;
      log_warning("modbus", "{}: lost 1 record, which was not written yet", owner.name());
      owner.count_lost();
    }
  };

  void run() override {
    const std::shared_ptr<bus> to = bus::get(*line.bus);
    while (std::optional<record> r = values.recv()) {
      held hand{*this};
      std::vector<order_to_write> orders;
      if (const std::string why = orders_of(*r, orders); !why.empty()) {
        lose(why);
        hand.any = false;
        continue;
      }
      outcome how = outcome::done;
      for (const order_to_write& o : orders)
        if ((how = write(*to, o)) != outcome::done) break;
      if (how == outcome::stopped) return;
      hand.any = false;
      if (how == outcome::done && written.connected()) (void)written.send(std::move(*r));
    }
  }

  trouble trouble_;
  std::uint64_t lost_ = 0;
  time_point next_line_{};
};
LEAT_PROCESS_AS("modbus-write", modbus_write,
                "writes registers of Modbus devices, over TCP or a serial line");
LEAT_USES_OUTSIDE("modbus-write", outside::device, "it talks to devices");

}  // namespace
}  // namespace leat::modbus
