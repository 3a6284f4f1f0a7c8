// SPDX-License-Identifier: BSL-1.0
//
// Registers of a Modbus device become readings: for alarms, a panel, a file. The bus is read by the plug-in
// leat-modbus; but for the alarm all are ready-made processes that plant-gateway.toml joins.
#include <chrono>
#include <string>

#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/stock.hpp>

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
