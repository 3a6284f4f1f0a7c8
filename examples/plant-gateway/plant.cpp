// SPDX-License-Identifier: BSL-1.0
//
// plant PORT [SILENT_AFTER]: a boiler that speaks Modbus TCP, at loopback. Registers: 0 temperature in tenths
// of a degree, 1 pressure in hundredths of a bar, 2 burner on or off. The temperature rises while the burner
// is on. After so many requests, once, it keeps the connection and answers no more, as such devices do.
#include <modbus/modbus.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

int main(int argc, char** argv) {
  const int port = argc > 1 ? std::atoi(argv[1]) : 1502;
  long silent_after = argc > 2 ? std::atol(argv[2]) : 0;
  const std::unique_ptr<modbus_t, void (*)(modbus_t*)> bus(modbus_new_tcp("127.0.0.1", port), modbus_free);
  const std::unique_ptr<modbus_mapping_t, void (*)(modbus_mapping_t*)> map(modbus_mapping_new(0, 0, 3, 0),
                                                                           modbus_mapping_free);
  int listener = bus ? modbus_tcp_listen(bus.get(), 4) : -1;
  if (listener < 0 || !map) return std::perror("plant"), 1;
  std::printf("plant: at 127.0.0.1:%d\n", port);
  std::fflush(stdout);
  double celsius = 60;
  bool burns = true;
  for (long asked = 0;;) {
    if (modbus_tcp_accept(bus.get(), &listener) < 0) return std::perror("plant"), 1;
    unsigned char query[MODBUS_TCP_MAX_ADU_LENGTH];
    for (int n = 0; (n = modbus_receive(bus.get(), query)) >= 0;) {
      if (++asked == silent_after) {
        std::printf("plant: silent from now on\n");
        std::fflush(stdout);
        continue;  // until the other side gives up
      }
      if (silent_after > 0 && asked > silent_after) silent_after = 0;
      celsius += burns ? 0.4 : -0.3;
      if (celsius > 95) burns = false;
      if (celsius < 55) burns = true;
      map->tab_registers[0] = static_cast<unsigned short>(10 * celsius);
      map->tab_registers[1] = static_cast<unsigned short>(100 + 2 * celsius);
      map->tab_registers[2] = burns;
      if (modbus_reply(bus.get(), query, n, map.get()) < 0) break;
    }
    modbus_close(bus.get());
  }
}
