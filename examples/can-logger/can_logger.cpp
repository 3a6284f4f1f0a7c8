// SPDX-License-Identifier: BSL-1.0
//
// Frames from a CAN bus, or from a recording of one, decoded and written down. Where there is no bus, the
// file that candump wrote plays it: the rest of the service does not see the difference.
#include <linux/can.h>
#include <linux/can/raw.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/net.hpp>
#include <leat/stock.hpp>

using namespace std::chrono_literals;
using clock_time = std::chrono::system_clock::time_point;

struct frame {
  clock_time at;
  std::uint32_t id;
  std::vector<std::uint8_t> data;
};
LEAT_MESSAGE(frame, at, id, data);

struct motion {
  clock_time at;
  double rpm, kmh;
};
LEAT_MESSAGE(motion, at, rpm, kmh);

class can_bus : public leat::process {
  leat::out<frame> frames{this, "frames", "all that pass"};
  leat::setting<std::string> interface{this, "interface", "can0", "can0, vcan0"};

  static int open(const std::string& name) {
    const int fd = ::socket(PF_CAN, SOCK_RAW | SOCK_CLOEXEC, CAN_RAW);
    if (fd < 0) throw std::system_error(errno, std::system_category(), "no SocketCAN");
    sockaddr_can at{};
    at.can_family = AF_CAN;
    at.can_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
    if (at.can_ifindex == 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
      const int why = errno;
      ::close(fd);
      throw std::system_error(why, std::system_category(), name);
    }
    return fd;
  }

  void run() override {
    leat::net::descriptor bus(open(*interface));
    can_frame got{};
    while (bus.read_some({reinterpret_cast<char*>(&got), sizeof got}) == sizeof got)
      if (frames.send({std::chrono::system_clock::now(),
                       got.can_id & CAN_EFF_MASK,
                       {got.data, got.data + std::min<std::size_t>(got.can_dlc, sizeof got.data)}}) ==
          leat::send_status::closed)
        return;
    throw std::runtime_error(*interface + " is down");
  }
};
LEAT_PROCESS_AS("can-bus", can_bus, "frames from SocketCAN");

class can_recording : public leat::process {
  leat::out<frame> frames{this, "frames", "as they were recorded"};
  leat::setting<std::string> file{this, "file", leat::required, "what `candump -l` wrote"};
  leat::setting<double> speed{this, "speed", 1, "times as fast; 0: as fast as they are taken",
                              leat::between(0.0, 1000.0)};

  // "(1436509052.249713) vcan0 044#2A366C2BBA"
  static std::optional<frame> parse(std::string_view line) {
    double at = 0;
    const std::size_t hash = line.find('#'), space = line.rfind(' ', hash);
    if (line.empty() || line[0] != '(' || hash == std::string_view::npos || space == std::string_view::npos)
      return std::nullopt;
    if (std::from_chars(line.data() + 1, line.data() + space, at).ec != std::errc{}) return std::nullopt;
    frame f{clock_time(std::chrono::microseconds(static_cast<std::int64_t>(at * 1e6))), 0, {}};
    if (std::from_chars(line.data() + space + 1, line.data() + hash, f.id, 16).ptr != line.data() + hash)
      return std::nullopt;
    for (std::size_t i = hash + 1; i + 1 < line.size(); i += 2) {
      std::uint8_t byte = 0;
      if (std::from_chars(&line[i], &line[i] + 2, byte, 16).ptr != &line[i] + 2) return std::nullopt;
      f.data.push_back(byte);
    }
    if (f.data.size() > 8) return std::nullopt;
    return f;
  }

  void run() override {
    const std::string text = leat::net::read_file(*file);
    std::size_t number = 0;
    std::optional<clock_time> first;
    const leat::time_point begin = leat::now();
    for (std::size_t at = 0; at < text.size(); ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::optional<frame> f = parse(std::string_view(text).substr(at, end - at));
      at = end + 1;
      if (!f) throw std::runtime_error(*file + ", line " + std::to_string(number + 1) + ": no frame");
      if (!first) first = f->at;
      if (speed > 0 &&
          leat::sleep_until(begin + std::chrono::duration_cast<leat::nanoseconds>(
                                        (f->at - *first) / *speed)) == leat::sleep_result::stopped)
        return;
      if (frames.send(std::move(*f)) != leat::send_status::sent) return;
    }
  }
};
LEAT_PROCESS_AS("can-recording", can_recording, "frames from a recording");

class engine : public leat::process {
  leat::in<frame> frames{this, "frames", "from the bus"};
  leat::out<motion> motions{this, "motions", "what frame 0x0C0 says"};

  void run() override {
    for (const frame& f : frames) {
      if (f.id != 0x0c0) continue;
      // Failing here is right: a frame that is too short is a fault of the bus, and somebody must hear of it.
      if (f.data.size() < 4)
        throw std::runtime_error("frame 0C0 has " + std::to_string(f.data.size()) + " bytes");
      motions.send({f.at, (f.data[0] << 8 | f.data[1]) / 4.0, (f.data[2] << 8 | f.data[3]) / 100.0});
    }
  }
};
LEAT_PROCESS(engine, "speed and revolutions");

int main(int argc, char** argv) {
  leat::stock::use();
  return leat::main(argc, argv);
}
