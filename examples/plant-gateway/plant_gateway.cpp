// SPDX-License-Identifier: BSL-1.0
//
// Registers of a Modbus device become readings: for alarms, a panel, a file. The bus is read with libmodbus,
// which blocks; the rest are ready-made processes that plant-gateway.toml joins.
#include <modbus/modbus.h>
#include <cerrno>
#include <chrono>
#include <map>

#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/stock.hpp>

using namespace std::chrono_literals;

struct reading {
  std::string sensor;
  std::chrono::system_clock::time_point at;
  double value;
};
LEAT_MESSAGE(reading, sensor, at, value);

struct alert {
  std::string sensor, state;
  double value;
};
LEAT_MESSAGE(alert, sensor, state, value);

struct input {
  std::string name;
  int number = 0;
  double scale = 1;
};
LEAT_SETTINGS(input, name, number, scale);

class modbus_poll : public leat::process {
  leat::out<reading> readings{this, "readings", "one for each register, each period"};
  leat::setting<std::string> host{this, "host", "127.0.0.1", "address of the device"};
  leat::setting<int> port{this, "port", 502, "its TCP port", leat::between(1, 65535)};
  leat::setting<std::vector<input>> registers{this, "registers", leat::required,
                                              "holding registers: name, number, scale"};
  leat::setting<std::chrono::milliseconds> period{this, "period", 1s, "from one look to the next",
                                                  leat::between<std::chrono::milliseconds>(10ms, 1h)};
  leat::setting<std::chrono::milliseconds> patience{this, "patience", 500ms, "longest wait for an answer",
                                                    leat::between<std::chrono::milliseconds>(10ms, 60s)};

  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error(std::string(what) + ' ' + *host + ':' + std::to_string(port) + ": " +
                             modbus_strerror(errno));
  }

  // A device that is not there or does not answer is a failure: the supervisor tries again, later and later.
  // The calls of libmodbus wait for the device, so they are declared to block: no P is held.
  void run() override {
    const std::unique_ptr<modbus_t, void (*)(modbus_t*)> bus(modbus_new_tcp(host->c_str(), port),
                                                             [](modbus_t* b) {
                                                               modbus_close(b);
                                                               modbus_free(b);
                                                             });
    if (!bus) fail("no connection to");
    const auto us = std::chrono::microseconds(*patience).count();
    modbus_set_response_timeout(bus.get(), static_cast<std::uint32_t>(us / 1'000'000),
                                static_cast<std::uint32_t>(us % 1'000'000));
    if (leat::blocking([&] { return modbus_connect(bus.get()); }) < 0) fail("no connection to");
    leat::ticker ticks(*period, leat::missed::skip);
    while (ticks.recv())
      for (const input& r : *registers) {
        std::uint16_t raw = 0;
        if (leat::blocking([&] { return modbus_read_registers(bus.get(), r.number, 1, &raw); }) != 1)
          fail("no answer from");
        if (readings.send({r.name, std::chrono::system_clock::now(), r.scale * raw}) ==
            leat::send_status::closed)
          return;
      }
  }
};
LEAT_PROCESS_AS("modbus-poll", modbus_poll, "reads registers over Modbus TCP");

class limit : public leat::process {
  leat::in<reading> readings{this, "readings", "to be watched"};
  leat::out<alert> alarms{this, "alarms", "when a value crosses the limit, and when it is back"};
  leat::setting<std::string> sensor{this, "sensor", leat::required, "which"};
  leat::setting<double> above{this, "above", leat::required, "raises the alarm"};
  leat::setting<double> back{this, "back", leat::required, "below it the alarm is over"};

  void run() override {
    bool raised = false;
    for (const reading& r : readings) {
      if (r.sensor != *sensor || (raised ? r.value >= back : r.value <= above)) continue;
      raised = !raised;
      alarms.send({r.sensor, raised ? "raised" : "over", r.value});
    }
  }
};
LEAT_PROCESS(limit, "an alarm with hysteresis");

int main(int argc, char** argv) {
  leat::stock::use();
  return leat::main(argc, argv);
}
