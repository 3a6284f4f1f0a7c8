// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/links.hpp>

#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/net/dial.hpp>
#include <leat/net/serial.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/stop.hpp>

namespace leat::stock {

using namespace std::chrono_literals;

link_settings::link_settings(process* owner)
    : retry(owner, "retry", 100ms, "pause before a lost connection is made again; it doubles each time",
            between<nanoseconds>(1ms, 1h)),
      retry_most(owner, "retry_most", 10s, "longest such pause", between<nanoseconds>(1ms, 24h)),
      timeout(owner, "timeout", 10s, "longest time that making a connection or a write may take",
              between<nanoseconds>(1ms, 24h)) {
  owner->note_error("a connection that cannot be made, or a device that is not there",
                    "logged, and tried again after `retry`, doubled up to `retry_most`");
}

std::string link::name() const { return where_.medium == medium::serial ? where_.path : where_.address; }

bool link::open() {
  try {
    stream_ = where_.medium == medium::serial ? net::open_serial(where_.path, where_.serial)
                                              : net::dial(where_.address, *settings_.timeout);
  } catch (const std::system_error& e) {
    failures_.add(e.what());
    return false;
  } catch (const stopped&) {
    return false;  // which the next wait of the owner tells it as well
  }
  log_info("stock", "{}: connected to {}", owner_.name(), name());
  return true;
}

void link::lost(const std::string& why) {
  stream_.close();
  log_warning("stock", "{}: lost {}: {}", owner_.name(), name(), why);
}

nanoseconds link::pause() noexcept {
  const nanoseconds most = std::max(*settings_.retry, *settings_.retry_most);
  return std::exchange(pause_, std::min(pause_ * 2, most));
}

std::size_t read_plain(int fd, net::mutable_bytes into) {
  const ssize_t n = leat::blocking([&]() -> ssize_t {
    ssize_t k = 0;
    while ((k = ::read(fd, into.data, into.size)) < 0 && errno == EINTR) {
    }
    return k < 0 ? -errno : k;
  });
  if (n < 0) throw std::system_error(static_cast<int>(-n), std::system_category(), "read");
  return static_cast<std::size_t>(n);
}

void write_plain(int fd, net::const_bytes from) {
  const int error = leat::blocking([&] {
    while (from.size > 0) {
      const ssize_t k = ::write(fd, from.data, from.size);
      if (k > 0) {
        from = from.after(static_cast<std::size_t>(k));
      } else if (k == 0) {
        return ENOSPC;
      } else if (errno != EINTR) {
        return errno;
      }
    }
    return 0;
  });
  if (error != 0) throw std::system_error(error, std::system_category(), "write");
}

}  // namespace leat::stock
