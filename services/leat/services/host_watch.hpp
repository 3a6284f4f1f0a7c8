// SPDX-License-Identifier: BSL-1.0
//
// What happens when the host itself makes no step (sched/heartbeat.hpp): nobody would restart anything any
// more, or answer a signal. sysmon says where it stands, and the program ends with a status of its own, for
// systemd to start it again; or a dump is written and it goes on, if that is configured.
#pragma once
#include <cstddef>

#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/incarnation.hpp>
#include <leat/sched/heartbeat.hpp>

namespace leat::services {

class host_watch final : public sched::heartbeat {
 public:
  static constexpr int status = 70;  // EX_SOFTWARE

  host_watch(nanoseconds limit, config::host_action action, const channel<incarnation_news>& news) noexcept
      : heartbeat(limit), action_(action), news_(news) {}

 private:
  bool is_awaited() const noexcept override { return news_.size() > 0; }
  void is_late(nanoseconds since, std::uint64_t g) noexcept override;

  const config::host_action action_;
  const channel<incarnation_news>& news_;
};

}  // namespace leat::services
