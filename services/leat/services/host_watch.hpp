// SPDX-License-Identifier: BSL-1.0
//
// What happens when the host itself makes no step (sched/heartbeat.hpp): nobody would restart anything any
// more, or answer a signal. sysmon says where it stands, and the program ends with a status of its own, for
// systemd to start it again; or a dump is written and it goes on, if that is configured.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include <leat/config/plan.hpp>
#include <leat/csp/channel.hpp>
#include <leat/process/incarnation.hpp>
#include <leat/sched/heartbeat.hpp>
#include <leat/services/board.hpp>

namespace leat::services {

class host_watch final : public sched::heartbeat {
 public:
  static constexpr int status = 70;  // EX_SOFTWARE

  host_watch(nanoseconds limit, config::host_action action, const channel<incarnation_news>& news,
             const std::shared_ptr<board>& seen) noexcept
      : heartbeat(limit), action_(action), news_(news), seen_(seen) {}

 private:
  bool is_awaited() const noexcept override { return news_.size() > 0; }
  void is_late(nanoseconds since, std::uint64_t g) noexcept override;

  const config::host_action action_;
  const channel<incarnation_news>& news_;
  const std::shared_ptr<board>& seen_;
};

}  // namespace leat::services
