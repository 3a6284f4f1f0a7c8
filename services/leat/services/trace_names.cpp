// SPDX-License-Identifier: BSL-1.0
#include <leat/services/trace_names.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/services/aside.hpp>

namespace leat::services {
namespace {

// What lies between a caller and what it calls when the compiler inlines nothing: five lines that push those of the program out
// of the message.
bool is_call_by_library(std::string_view line) noexcept {
  return line.find("std::__invoke") != std::string_view::npos ||
         line.find("std::_Function_handler<") != std::string_view::npos || line.starts_with("std::function<");
}

}  // namespace

trace_names::~trace_names() {
  if (wanted_) wanted_->close();
}

void trace_names::start(std::vector<std::string> whose) {
  wanted_.emplace(16, channel_options{.name = "names of functions"});
  go({.name = "trace names", .guard = guard_aside()},
     [wanted = *wanted_, whose = std::move(whose)] { look_up(wanted, whose); });
}

void trace_names::tell(std::size_t who, std::span<void* const> trace) noexcept {
  if (trace.empty() || !wanted_) return;
  request r;
  r.who = who;
  r.count = std::min(trace.size(), r.pcs.size());
  std::copy_n(trace.begin(), r.count, r.pcs.begin());
  (void)wanted_->try_send(r);
}

// One that hangs is seen at the same places as the one before it.
void trace_names::look_up(const channel<request>& wanted, const std::vector<std::string>& whose) {
  constexpr std::size_t enough = 1000;
  std::unordered_map<void*, std::string> known;
  for (const request& r : wanted) {
    if (known.size() > enough) known.clear();
    std::string all;
    for (std::size_t i = 0; i < r.count; ++i) {
      auto [at, fresh] = known.try_emplace(r.pcs[i]);
      if (fresh) {
        at->second = to_line({&r.pcs[i], 1});
        checkpoint();
      }
      if (is_call_by_library(at->second)) continue;
      all.append(all.empty() ? "" : " < ").append(at->second);
    }
    log_error("services", "{} stood in {}", whose[r.who], all);
  }
}

}  // namespace leat::services
