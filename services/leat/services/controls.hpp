// SPDX-License-Identifier: BSL-1.0
//
// A running host as the control door sees it: names become replicas and channels, wishes go to the host,
// everything else is looked at directly.
//
// controls.cpp has the names and what looks; controls_orders.cpp what changes something.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/control/deployment.hpp>
#include <leat/services/host.hpp>
#include <leat/services/observer.hpp>

namespace leat::services {

class controls final : public control::deployment {
 public:
  // Both outlive it.
  controls(const host& h, observer& o) : host_(h), observer_(o), process_of_(h.processes_of_replicas()) {}

  control::deployment_view look() override { return observer_.look(); }
  health_view health() override { return observer_.health(); }
  control::outcome process(std::string_view name) override;
  std::string dump() override;
  control::tap_filter filter(std::string_view expression, std::size_t of, control::outcome& why) override;
  std::unique_ptr<csp::tap_view> tap(std::string& channel, double most_per_second,
                                     control::outcome& why) override;
  control::outcome inject(std::string_view channel, std::string_view value, double wait) override;
  control::outcome restart(std::string_view process) override;
  control::outcome set(std::string_view process, const control::json& changes, bool may_restart) override;
  control::outcome log(std::string_view level, std::string_view process) override;
  control::outcome stop(bool now) override;

 private:
  // By "service/process", "service/process/N" or, if that is one alone, "process".
  std::vector<std::size_t> replicas_named(std::string_view name) const;
  std::optional<config::index> channel_named(std::string_view name) const;
  control::outcome no_such(const char* what, std::string_view name,
                           const std::vector<std::string>& there) const;
  std::vector<std::string> process_names() const;
  std::vector<std::string> channel_names() const;
  // After a value was to be injected: "is full (8 of 8 values)...".
  std::string no_room(config::index channel, nanoseconds waited) const;
  enum class answer : std::uint8_t {
    granted,
    denied,
    late,   // the host did not come to it, and will not do it
    begun,  // it did, and has not answered
    ends,   // neither, for the deployment ends
  };
  answer ask(wish::kind what, deadline until, std::size_t replica = 0) const;
  // What became of replicas that were to be restarted, by name.
  struct restarts {
    std::vector<std::string> done, denied, late, begun;
    std::string why_denied = {};  // the first of them
    bool ends = false;
    bool answered() const noexcept { return late.empty() && begun.empty(); }
  };
  restarts ask_for_restarts(const std::vector<std::size_t>& replicas) const;
  std::string why_denied(std::size_t replica) const;
  // As the "error" of an answer.
  static std::string unanswered(const restarts& r);

  const host& host_;
  observer& observer_;
  const std::vector<config::index> process_of_;
};

// All Gs, up to about so many bytes. On a thread that may block.
std::string dump_text(std::size_t most);

}  // namespace leat::services
