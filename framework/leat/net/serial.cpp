// SPDX-License-Identifier: BSL-1.0
#include <leat/net/serial.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include <leat/net/device_holder.hpp>
#include <leat/sched/blocking.hpp>

namespace leat::net {
namespace {

struct speed {
  unsigned baud;
  speed_t code;
};
constexpr speed speeds[] = {
    {50, B50},           {75, B75},           {110, B110},         {134, B134},         {150, B150},
    {200, B200},         {300, B300},         {600, B600},         {1200, B1200},       {1800, B1800},
    {2400, B2400},       {4800, B4800},       {9600, B9600},       {19200, B19200},     {38400, B38400},
    {57600, B57600},     {115200, B115200},   {230400, B230400},   {460800, B460800},   {500000, B500000},
    {576000, B576000},   {921600, B921600},   {1000000, B1000000}, {1152000, B1152000}, {1500000, B1500000},
    {2000000, B2000000}, {2500000, B2500000}, {3000000, B3000000}, {3500000, B3500000}, {4000000, B4000000},
};

speed_t speed_of(unsigned baud) {
  for (const speed& s : speeds)
    if (s.baud == baud) return s.code;
  throw std::invalid_argument("leat::net::open_serial: no port has " + std::to_string(baud) + " baud");
}

tcflag_t bits_of(unsigned bits) {
  switch (bits) {
    case 5: return CS5;
    case 6: return CS6;
    case 7: return CS7;
    case 8: return CS8;
    default:
      throw std::invalid_argument("leat::net::open_serial: a character has 5 to 8 bits, not " +
                                  std::to_string(bits));
  }
}

struct settings {
  speed_t speed;
  tcflag_t in, control;
};

settings checked(const serial_options& o) {
  if (o.stop_bits != 1 && o.stop_bits != 2)
    throw std::invalid_argument("leat::net::open_serial: 1 or 2 stop bits, not " +
                                std::to_string(o.stop_bits));
  settings s{speed_of(o.baud), 0, bits_of(o.bits) | CREAD | CLOCAL};
  if (o.parity != parity::none) {
    s.in |= INPCK;
    s.control |= PARENB;
  }
  if (o.parity == parity::odd) s.control |= PARODD;
  if (o.stop_bits == 2) s.control |= CSTOPB;
  if (o.flow == flow::hardware) s.control |= CRTSCTS;
  if (o.flow == flow::software) s.in |= IXON | IXOFF;
  return s;
}

// The error, or 0.
int set_up(int fd, const settings& want) noexcept {
  termios t{};
  if (::tcgetattr(fd, &t) != 0) return errno;
  ::cfmakeraw(&t);
  t.c_iflag &= ~static_cast<tcflag_t>(IXON | IXOFF | IXANY | INPCK);
  t.c_iflag |= want.in;
  t.c_cflag &= ~static_cast<tcflag_t>(CSIZE | PARENB | PARODD | CSTOPB | CRTSCTS);
  t.c_cflag |= want.control;
  // With 0 an empty port would look like one that has ended.
  t.c_cc[VMIN] = 1;
  t.c_cc[VTIME] = 0;
  if (::cfsetispeed(&t, want.speed) != 0 || ::cfsetospeed(&t, want.speed) != 0) return errno;
  if (::tcsetattr(fd, TCSANOW, &t) != 0) return errno;
  // tcsetattr is content when it could change anything at all.
  termios got{};
  if (::tcgetattr(fd, &got) != 0) return errno;
  if (::cfgetospeed(&got) != want.speed) return EINVAL;
  (void)::ioctl(fd, TIOCEXCL);
  (void)::tcflush(fd, TCIOFLUSH);
  return 0;
}

}  // namespace

stream open_serial(const std::string& path, const serial_options& options) {
  const settings want = checked(options);
  int error = 0;
  std::string holder;
  // Drivers may wait for hardware in open and in tcsetattr.
  const int fd = leat::blocking([&] {
    const int f = ::open(path.c_str(), O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (f < 0) {
      error = errno;
      if (error == EBUSY) holder = ": " + device_holder(path);
      return f;
    }
    // Before anything is changed: a second reader would take bytes away from the first. TIOCEXCL keeps others
    // from opening it, but not root; the lock keeps away who looks for it.
    error = ::flock(f, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK ? EBUSY : set_up(f, want);
    if (error == 0) return f;
    ::close(f);
    if (error == EBUSY) holder = ": " + device_holder(path);
    return -1;
  });
  if (fd < 0)
    throw std::system_error(error, std::system_category(), "leat::net::open_serial: " + path + holder);
  return stream(descriptor(fd));
}

}  // namespace leat::net
