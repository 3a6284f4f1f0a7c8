// SPDX-License-Identifier: BSL-1.0
#include <leat/services/status_line.hpp>

#include <sys/ioctl.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <string>

#include <leat/base/format.hpp>
#include <leat/base/log_output.hpp>

namespace leat::services {
namespace {

// The host does not wait for a terminal that was stopped (Ctrl-S): it would be taken for one that hangs.
void write_if_taken(std::string_view text) noexcept {
  if (!detail::log_is_stalled()) (void)write_text(STDERR_FILENO, text, 0);
}

}  // namespace

void status_line::show(const host& h) {
  if (!on_) return;
  std::uint64_t received = 0;
  double fullest = -1;
  std::string where;
  for (const channel_account& a : h.wires().accounts()) received += a.stats.received;
  for (config::index i = 0; i < h.plan().channels.size(); ++i) {
    const any_channel& c = h.wires().whole(i);
    if (c.capacity() == 0) continue;
    const double share = static_cast<double>(c.size()) / static_cast<double>(c.capacity());
    if (share <= fullest) continue;
    fullest = share;
    where = h.plan().full_name(h.plan().channels[i]) + ' ' + std::to_string(c.size()) + '/' +
            std::to_string(c.capacity());
  }
  const time_point now = leat::now();
  const double seconds = std::chrono::duration<double>(now - at_).count();
  // It may fall by a little: figures are read while others write.
  const std::uint64_t more = received > received_ ? received - received_ : 0;
  const auto rate = static_cast<std::uint64_t>(static_cast<double>(more) / std::max(seconds, 1e-3));
  received_ = received;
  at_ = now;
  std::string line = std::to_string(h.replicas_alive()) + " running, " + std::to_string(rate) + " values/s";
  if (!where.empty()) line += ", fullest " + where;
  winsize size{};
  std::size_t before = 0;
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line.resize(std::min<std::size_t>(line.size(), size.ws_col - 1u));
    before = size.ws_col - 1u - line.size();
  }
  write_if_taken("\r\033[K" + (before > 0 ? "\033[" + std::to_string(before) + 'C' : "") + line + '\r');
  shown_ = true;
}

void status_line::clear() noexcept {
  if (shown_) write_if_taken("\r\033[K");
  shown_ = false;
}

}  // namespace leat::services
