// SPDX-License-Identifier: BSL-1.0
#include "bus.hpp"

#include <fcntl.h>
#include <modbus/modbus.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <map>
#include <mutex>
#include <system_error>

#include <leat/net/device_holder.hpp>

namespace leat::modbus {
namespace {

std::optional<int> number_of(std::string_view text, int least, int most) noexcept {
  int n = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, n);
  return error == std::errc{} && at == end && n >= least && n <= most ? std::optional(n) : std::nullopt;
}

std::string parse_tcp(std::string_view text, bus_address& to) {
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == text.npos) return "expected tcp:[ADDRESS]:PORT";
    to.host = text.substr(1, close - 1);
    colon = close + 1 < text.size() ? close + 1 : text.npos;
  } else {
    to.host = text.substr(0, colon);
  }
  to.port = colon == text.npos ? "502" : text.substr(colon + 1);
  if (to.host.empty()) return "expected tcp:HOST:PORT";
  if (!number_of(to.port, 1, 65535)) return "'" + to.port + "' is not a port: 1 to 65535";
  return {};
}

std::string parse_option(std::string_view option, bus_address& to) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view value = equals == option.npos ? std::string_view() : option.substr(equals + 1);
  const auto take = [&](int& into, int least, int most) {
    const std::optional<int> n = number_of(value, least, most);
    if (!n)
      return std::string(name) + " is " + std::to_string(least) + " to " + std::to_string(most) + ", not '" +
             std::string(value) + "'";
    into = *n;
    return std::string();
  };
  if (name == "baud") return take(to.baud, 50, 4'000'000);
  if (name == "bits") return take(to.bits, 5, 8);
  if (name == "stop") return take(to.stop, 1, 2);
  if (name == "parity") {
    if (value != "none" && value != "even" && value != "odd") return "parity is none, even or odd";
    to.parity = value == "none" ? 'N' : value == "even" ? 'E' : 'O';
    return {};
  }
  return "unknown option '" + std::string(name) + "'; there are baud, bits, parity and stop";
}

std::string parse_serial(std::string_view text, bus_address& to) {
  to.serial = true;
  const std::size_t question = text.find('?');
  to.device = text.substr(0, question);
  if (to.device.empty()) return "expected rtu:DEVICE";
  std::string_view rest = question == text.npos ? std::string_view() : text.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    if (std::string why = parse_option(rest.substr(0, end), to); !why.empty()) return why;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

// Those that a device answers with; all other errors are the line's.
bool is_exception(int error) noexcept { return error >= EMBXILFUN && error <= EMBXGTAR; }

constexpr const char* nobody_answers = "unit 0 of a serial line is all devices, and none answers";

std::vector<setting_diagnostic> validate_units(const value& settings, bool reads) {
  const value *const bus = settings.find("bus"), *const registers = settings.find("registers");
  const auto* const name = bus ? bus->get_if<std::string>() : nullptr;
  const auto* const list = registers ? registers->get_if<value::list>() : nullptr;
  if (!name || !list || !name->starts_with("rtu:")) return {};
  std::vector<setting_diagnostic> wrong;
  const auto look_at = [&](const value* unit) {
    const auto* const n = unit ? unit->get_if<std::int64_t>() : nullptr;
    if (n && *n == 0 && reads) wrong.push_back({nobody_answers, unit});
    if (n && *n > 247) wrong.push_back({"units of a serial line are 1 to 247", unit});
    return n != nullptr;
  };
  bool all_have = true;
  for (const value& r : *list) all_have &= look_at(r.find("unit"));
  if (!all_have) look_at(settings.find("unit"));
  return wrong;
}

}  // namespace

std::optional<bus_address> bus_address::parse(const std::string& text, std::string* why) {
  bus_address to;
  std::string wrong;
  if (text.find('\0') != text.npos) {
    wrong = "a zero byte";
  } else if (text.starts_with("tcp:")) {
    wrong = parse_tcp(std::string_view(text).substr(4), to);
  } else if (text.starts_with("rtu:")) {
    wrong = parse_serial(std::string_view(text).substr(4), to);
  } else {
    wrong = "expected \"tcp:HOST:PORT\" or \"rtu:DEVICE?baud=9600\"";
  }
  if (wrong.empty()) return to;
  if (why) *why = wrong;
  return std::nullopt;
}

std::string validate_bus(const std::string& text) {
  std::string why;
  return bus_address::parse(text, &why) ? std::string() : why;
}

std::vector<setting_diagnostic> validate_units_read(const value& settings) {
  return validate_units(settings, true);
}
std::vector<setting_diagnostic> validate_units_written(const value& settings) {
  return validate_units(settings, false);
}

std::shared_ptr<bus> bus::get(const std::string& text) {
  // Never freed: processes may end after static objects have.
  static auto* const lock = new std::mutex;
  static auto* const all = new std::map<std::string, std::weak_ptr<bus>>;
  std::string why;
  std::optional<bus_address> where = bus_address::parse(text, &why);
  if (!where) throw setting_error("bus: " + why);
  const std::string key = where->serial ? "rtu:" + where->device : text;
  const std::scoped_lock hold(*lock);
  std::erase_if(*all, [](const auto& b) { return b.second.expired(); });
  if (std::shared_ptr<bus> there = (*all)[key].lock()) {
    if (there->name() == text) return there;
    throw setting_error("bus: another process uses this line as \"" + there->name() +
                        "\"; both must say the same");
  }
  std::shared_ptr<bus> made(new bus(text, std::move(*where)));
  (*all)[key] = made;
  return made;
}

bus::~bus() {
  if (line_ || device_ >= 0) leat::blocking([this] { disconnect(); });
}

void bus::disconnect() noexcept {
  if (line_) {
    modbus_close(line_);
    modbus_free(line_);
    line_ = nullptr;
  }
  if (device_ >= 0) ::close(device_);
  device_ = -1;
}

void bus::fail(int error, const char* doing) {
  const std::string what = std::string(doing) + ' ' + name_ + ": " + modbus_strerror(error);
  if (is_exception(error)) throw bus_error(true, what);
  // On a line others may answer meanwhile.
  const bool stays = where_.serial && (error == ETIMEDOUT || error == EMBBADCRC || error == EMBBADDATA ||
                                       error == EMBBADSLAVE);
  if (!stays) disconnect();
  throw bus_error(false, what);
}

// Before libmodbus changes anything: two masters on one line disturb one another.
void bus::lock_device() {
  device_ = ::open(where_.device.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  const int error = device_ < 0 ? errno : ::flock(device_, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
  if (error == 0) return;
  const std::string why = error == EBUSY || error == EWOULDBLOCK ? net::device_holder(where_.device)
                                                                 : std::string(modbus_strerror(error));
  disconnect();
  throw bus_error(false, "cannot open " + name_ + ": " + why);
}

void bus::connect(nanoseconds timeout) {
  if (where_.serial) lock_device();
  line_ = where_.serial
              ? modbus_new_rtu(where_.device.c_str(), where_.baud, where_.parity, where_.bits, where_.stop)
              : modbus_new_tcp_pi(where_.host.c_str(), where_.port.c_str());
  if (!line_) fail(errno, "cannot open");
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  modbus_set_response_timeout(line_, static_cast<std::uint32_t>(us / 1'000'000),
                              static_cast<std::uint32_t>(us % 1'000'000));
  errno = 0;
  if (modbus_connect(line_) != 0) fail(errno != 0 ? errno : ECONNREFUSED, "cannot connect to");
  if (where_.serial) (void)::ioctl(modbus_get_socket(line_), TIOCEXCL);
  modbus_flush(line_);
}

// Until what came late is over, or nothing has come.
void bus::await_silence() {
  using namespace std::chrono_literals;
  // More than 3.5 characters, which end a message; adapters deliver what they receive in parts.
  const nanoseconds gap = std::max<nanoseconds>(50ms, nanoseconds(1s) * 44 / where_.baud);
  const time_point most = saturating_add(*late_until_, 500ms);
  pollfd line{modbus_get_socket(line_), POLLIN, 0};
  for (bool came = false;;) {
    const time_point now = leat::now();
    const nanoseconds left =
        saturating_sub(came ? std::min(saturating_add(now, gap), most) : *late_until_, now);
    if (left <= 0ns) break;
    const int n =
        ::poll(&line, 1, static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    char rest[256];  // it does not block: libmodbus has opened it so
    if (::read(line.fd, rest, sizeof rest) <= 0) break;
    came = true;
  }
  late_until_.reset();
  modbus_flush(line_);
}

template <class F>
bool bus::request(int unit, nanoseconds timeout, F f) {
  std::unique_lock hold(lock_, std::try_to_lock);
  if (!hold && (stop_requested() || !hold.try_lock_until(never) || stop_requested())) return false;
  leat::blocking([&] {
    if (!line_) connect(timeout);
    if (late_until_) await_silence();
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
    modbus_set_response_timeout(line_, static_cast<std::uint32_t>(us / 1'000'000),
                                static_cast<std::uint32_t>(us % 1'000'000));
    if (modbus_set_slave(line_, unit) != 0)
      throw bus_error(true, "unit " + std::to_string(unit) + " is none that " + name_ + " can have");
    if (f() >= 0) return;
    const int error = errno;
    if (where_.serial && !is_exception(error)) late_until_ = saturating_add(leat::now(), timeout);
    fail(error, "no answer from");
  });
  return true;
}

std::optional<std::vector<std::uint16_t>> bus::read(const block& b, nanoseconds timeout) {
  if (where_.serial && b.unit == 0) throw bus_error(true, "cannot read " + name_ + ": " + nobody_answers);
  const auto count = static_cast<std::size_t>(b.count);
  std::vector<std::uint16_t> words(count);
  std::vector<std::uint8_t> bits(is_bit_table(b.table) ? count : 0);
  const bool done = request(b.unit, timeout, [&] {
    switch (b.table) {
      case table::holding: return modbus_read_registers(line_, b.first, b.count, words.data());
      case table::input: return modbus_read_input_registers(line_, b.first, b.count, words.data());
      case table::coil: return modbus_read_bits(line_, b.first, b.count, bits.data());
      case table::discrete: break;
    }
    return modbus_read_input_bits(line_, b.first, b.count, bits.data());
  });
  if (!done) return std::nullopt;
  std::copy(bits.begin(), bits.end(), words.begin());
  return words;
}

bool bus::write(int unit, table t, int number, std::span<const std::uint16_t> words, nanoseconds timeout) {
  const auto send = [&] {
    if (t == table::coil) return modbus_write_bit(line_, number, words[0] != 0);
    if (words.size() == 1) return modbus_write_register(line_, number, words[0]);
    return modbus_write_registers(line_, number, static_cast<int>(words.size()), words.data());
  };
  return request(unit, timeout, [&] {
    const int done = send();
    return done < 0 && where_.serial && unit == 0 && errno == ETIMEDOUT ? 0 : done;
  });
}

}  // namespace leat::modbus
