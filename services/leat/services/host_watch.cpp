// SPDX-License-Identifier: BSL-1.0
#include <leat/services/host_watch.hpp>

#include <unistd.h>

#include <leat/base/format.hpp>
#include <leat/sched/info.hpp>

namespace leat::services {

void host_watch::is_late(nanoseconds since, std::uint64_t g) noexcept {
  seen_->host_is_late();
  const bool ends = action_ == config::host_action::exit;
  fixed_text<256> t;
  t.format("leat: the host has made no step for {} ms (host_hang); {}. It stands here:\n",
           since.count() / 1'000'000, ends ? "the program ends with status 70" : "all Gs follow");
  write_text(STDERR_FILENO, t.view(), 1000);
  sched::write_where_it_stands(STDERR_FILENO, g);
  if (ends) ::_exit(status);
  leat::dump(STDERR_FILENO);
}

}  // namespace leat::services
