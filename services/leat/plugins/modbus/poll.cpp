// SPDX-License-Identifier: BSL-1.0
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

// What `leat check` follows to whoever reads.
std::optional<std::vector<record_field>> fields_polled(const value& settings,
                                                       const std::vector<record_field>*) {
  std::vector<record_field> all;
  const auto add = [&](std::string name, value_kind kind, bool optional) {
    record_field f;
    f.name = std::move(name);
    f.kind = kind;
    f.optional = optional;
    all.push_back(std::move(f));
  };
  const value* const how = settings.find("records");
  const auto* const each = how ? how->get_if<std::string>() : nullptr;
  if (!each || *each == "each") {
    add("sensor", value_kind::text, false);
    add("at", value_kind::moment, false);
    add("value", value_kind::any, false);
    return all;
  }
  add("at", value_kind::moment, false);
  const value* const registers = settings.find("registers");
  const auto* const list = registers ? registers->get_if<value::list>() : nullptr;
  if (!list) return std::nullopt;
  for (const value& v : *list) {
    const value* const name = v.find("name");
    if (const auto* const text = name ? name->get_if<std::string>() : nullptr)
      add(*text, value_kind::any, true);
  }
  return all;
}

class modbus_poll : public process {
  record_out readings{this, "readings", sends_by(fields_polled), "what the registers hold, each period"};
  bus_settings line{this};
  setting<std::vector<register_setting>> registers{this, "registers", required, registers_help,
                                                   validated_by(validate_registers)};
  setting<record_form> records{
      this, "records", record_form::each,
      "each: one { sensor, at, value } for each register; all: one record with `at` and a "
      "field for each register, null for those that could not be read"};
  setting<nanoseconds, live> period{this, "period", 1s, "from one look to the next",
                                    between<nanoseconds>(10ms, 24h)};
  settings_validator together{this, validate_units_read};
  suggested_limits limits{this, time_of_requests};
  errors told{
      this,
      {{"a device or line that is away, does not answer within `timeout`, or answers wrongly",
        "logged, counted as rejected, and asked again; with lost = \"fail\" the process fails"},
       {"an answer on a serial line that comes late", "it is thrown away: the next request waits for it"},
       {"nothing that answers at all", "asked again after `retry`, doubled up to `retry_most`"},
       {"a register that the device refuses to read", "logged, counted as rejected; the others are read"},
       {"a serial port that is in use", "logged with who has it, and tried again"},
       {"a look that takes longer than `period`", "those that are missed are left out"},
       {"all readers of what it sends have ended", "it ends"},
       {"a channel with full = \"fail\" has no room", "the record is lost, and counted"}}};

  std::vector<field_value> values_;  // of this round, by register

  // False: no more is wanted.
  bool send(record r) {
    const send_status s = readings.send(std::move(r));
    if (s == send_status::full) count_lost();
    return s != send_status::closed && s != send_status::stopped;
  }

  bool send_each(const block& b, moment at) {
    for (const std::size_t i : b.registers)
      if (!send({{"sensor", (*registers)[i].name}, {"at", at}, {"value", std::move(values_[i])}}))
        return false;
    return true;
  }
  bool send_all(moment at) {
    record r{{"at", at}};
    for (std::size_t i = 0; i < values_.size(); ++i) r[(*registers)[i].name] = std::move(values_[i]);
    return send(std::move(r));
  }

  void decode_all(const block& b, const std::vector<std::uint16_t>& words) {
    for (const std::size_t i : b.registers) {
      const register_setting& r = (*registers)[i];
      values_[i] =
          decode(r, std::span(words).subspan(static_cast<std::size_t>(r.number - b.first), width_of(r)));
    }
  }

  // Until then, or until the period is set. False: it was stopped.
  bool wait_until(time_point at) const {
    const auto nothing = [] {};
    return select(on_timeout(deadline(at), nothing), on_recv(period.changes(), nothing)) >= 0;
  }

  enum class round : std::uint8_t { answered, silent, over };

  round look(bus& to, const std::vector<block>& blocks, std::vector<trouble>& troubles) {
    values_.assign(registers->size(), {});
    bool any = false;
    const moment at = moment_now();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      if (stop_requested()) return round::over;
      try {
        const auto words = to.read(blocks[i], *line.timeout);
        if (!words) return round::over;
        decode_all(blocks[i], *words);
        troubles[i].is_over(name(), to.name());
        any = true;
      } catch (const bus_error& e) {
        if (*line.lost == on_lost::fail && !e.is_refusal()) throw;
        any |= e.is_refusal();
        count_rejected(blocks[i].registers.size());
        const register_setting& first = (*registers)[blocks[i].registers.front()];
        troubles[i].begins(name(), std::string(e.what()) + " (" + first.name + ")");
        continue;
      }
      if (*records == record_form::each && !send_each(blocks[i], moment_now())) return round::over;
    }
    if (any && *records == record_form::all && !send_all(at)) return round::over;
    return any ? round::answered : round::silent;
  }

  void run() override {
    const std::shared_ptr<bus> to = bus::get(*line.bus);
    const std::vector<block> blocks = blocks_of(*registers, *line.unit);
    std::vector<trouble> troubles(blocks.size());
    back_off pause(*line.retry, *line.retry_most);
    for (time_point due = leat::now();;) {
      const round how = look(*to, blocks, troubles);
      if (how == round::over) return;
      if (how == round::silent) {
        if (sleep_for(pause.next()) == sleep_result::stopped) return;
        due = leat::now();
        continue;
      }
      pause.reset();
      const nanoseconds step = *period;
      const nanoseconds late = saturating_sub(leat::now(), due);
      due = saturating_add(due, late < step ? step : step * (late / step + 1));
      // A period that is set counts from now on.
      while (leat::now() < due) {
        if (!wait_until(due)) return;
        if (*period != step) due = std::min(due, saturating_add(leat::now(), *period));
      }
    }
  }
};
LEAT_PROCESS_AS("modbus-poll", modbus_poll, "reads registers of Modbus devices, over TCP or a serial line");
LEAT_USES_OUTSIDE("modbus-poll", outside::device, "it talks to devices");

}  // namespace
}  // namespace leat::modbus
