// SPDX-License-Identifier: BSL-1.0
//
// Connections that come and go. Not installed.
#pragma once
#include <string>

#include <leat/net/stream.hpp>
#include <leat/process/process.hpp>
#include <leat/process/settings.hpp>
#include <leat/stock/line_endpoint.hpp>
#include <leat/stock/support.hpp>

namespace leat::stock {

struct link_settings {
  explicit link_settings(process* owner);
  setting<nanoseconds> retry, retry_most, timeout;
};

// One that is made, lost and made again. One G.
class link {
 public:
  link(const process& owner, const line_endpoint& where, const link_settings& s)
      : owner_(owner), where_(where), settings_(s), failures_(owner, "no connection"), pause_(*s.retry) {}

  // One try. False: it failed, which is logged; wait for pause() before the next one. False too when the G is
  // asked to stop meanwhile: its next wait says so. Throws std::invalid_argument for what will never work.
  bool open();
  // It is over, which is logged; the next one waits for pause() as well.
  void lost(const std::string& why);
  // Each longer than the last, until the owner says that it has worked.
  nanoseconds pause() noexcept;
  void worked() noexcept { pause_ = *settings_.retry; }

  net::stream& stream() noexcept { return stream_; }
  bool is_open() const noexcept { return stream_.is_open(); }

 private:
  std::string name() const;

  const process& owner_;
  const line_endpoint& where_;
  const link_settings& settings_;
  complaints failures_;
  nanoseconds pause_;
  net::stream stream_;
};

// Of the program's own input and output, when they are files; elsewhere these wait, and nobody can stop them.
std::size_t read_plain(int fd, net::mutable_bytes into);
void write_plain(int fd, net::const_bytes from);

}  // namespace leat::stock
