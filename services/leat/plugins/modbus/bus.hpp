// SPDX-License-Identifier: BSL-1.0
//
// A Modbus line or connection, by libmodbus. All processes that name the same one share it, since a serial line has
// one master, and many devices take one connection: a request waits for the one before it.
//
// The calls of libmodbus wait for the device, so they are declared to block (leat::blocking); each ends after its
// timeout, which a stop cannot cut short. It ends the wait for requests of others.
//
// Answers on a serial line do not say what they answer. After a request without a good one, the next waits until a late
// answer has come, or for `timeout` of that request.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/leat.hpp>

#include "registers.hpp"

struct _modbus;

namespace leat::modbus {

// "tcp:HOST:PORT", "tcp:HOST", or "rtu:DEVICE?baud=9600&parity=even&stop=1&bits=8".
struct bus_address {
  bool serial = false;
  std::string host, port;  // TCP
  std::string device;      // serial
  int baud = 9600, bits = 8, stop = 1;
  char parity = 'N';

  // None: `why` says what is wrong.
  static std::optional<bus_address> parse(const std::string& text, std::string* why = nullptr);
};
std::string validate_bus(const std::string& text);
// Of all settings: units that the bus can have. On a serial line 0 is all devices, none of which answers.
std::vector<setting_diagnostic> validate_units_read(const value& settings);
std::vector<setting_diagnostic> validate_units_written(const value& settings);

class bus_error : public std::runtime_error {
 public:
  // An exception of Modbus: the device answers, and does not do that. Else there was no answer that could be used.
  bus_error(bool refused, const std::string& what) : std::runtime_error(what), refused_(refused) {}
  bool is_refusal() const noexcept { return refused_; }

 private:
  bool refused_;
};

class bus {
 public:
  // The one of this name, while anybody has it. Throws setting_error.
  static std::shared_ptr<bus> get(const std::string& text);
  ~bus();
  bus(const bus&) = delete;
  bus& operator=(const bus&) = delete;

  // Both connect first if need be, and throw bus_error. Words, or bits as 0 and 1; none, or false: it was
  // stopped while it waited for others.
  std::optional<std::vector<std::uint16_t>> read(const block& b, nanoseconds timeout);
  // To unit 0 of a serial line: it is sent, and no answer is none that is missing.
  bool write(int unit, table t, int number, std::span<const std::uint16_t> words, nanoseconds timeout);
  const std::string& name() const noexcept { return name_; }

 private:
  bus(std::string name, bus_address where) : name_(std::move(name)), where_(std::move(where)) {}

  template <class F>
  bool request(int unit, nanoseconds timeout, F f);
  void connect(nanoseconds timeout);
  void lock_device();
  void await_silence();
  void disconnect() noexcept;
  [[noreturn]] void fail(int error, const char* doing);

  const std::string name_;
  const bus_address where_;
  leat::mutex lock_;
  // Under lock_.
  _modbus* line_ = nullptr;
  int device_ = -1;                       // holds the lock of a serial port
  std::optional<time_point> late_until_;  // an answer may come on a serial line
};

}  // namespace leat::modbus
