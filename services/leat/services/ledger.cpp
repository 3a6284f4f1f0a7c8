// SPDX-License-Identifier: BSL-1.0
#include <algorithm>

#include <leat/base/units.hpp>
#include <leat/process/restart_text.hpp>
#include <leat/services/host.hpp>

namespace leat::services {
namespace {

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string run_text(nanoseconds longest) {
  if (longest == nanoseconds::zero()) return "under " + format_duration(overrun_guard::run_blur);
  fixed_text<32> text;
  append_rounded(text, longest);
  return std::string(text.view());
}

}  // namespace

int exit_code(const ledger& l) noexcept {
  const bool lost = std::any_of(l.channels.begin(), l.channels.end(), [](const channel_account& c) {
    return std::any_of(c.losses.begin(), c.losses.end(), [](const auto& x) { return x.lost > 0; });
  });
  return l.failed || !l.promise || lost ? 1 : 0;
}

std::string to_text(const ledger& l, const config::plan& plan) {
  std::string text;
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const channel_account& c : l.channels) {
    names.push_back(plan.full_name(plan.channels[c.channel]) + (c.reader.empty() ? "" : " -> " + c.reader));
    width = std::max(width, names.back().size());
  }
  for (std::size_t i = 0; i < l.channels.size(); ++i) {
    const channel_stats& s = l.channels[i].stats;
    text += "channel " + padded(names[i], width) + "  sent " + std::to_string(s.sent) + " = received " +
            std::to_string(s.received) + " + dropped " + std::to_string(s.dropped) + " + left " +
            std::to_string(s.left);
    // Whoever sends by the control door is a writer like any other. The door closes after the host's account.
    if (const config::index c = l.channels[i].channel; c < l.injected.size() && l.injected[c] > 0)
      text += "  (written by 'inject': " + std::to_string(std::min(l.injected[c], s.sent)) + ")";
    const std::optional<store_account>& kept = l.channels[i].store;
    if (s.left > 0 && l.channels[i].full == leat::full::block && !kept)
      text += "  (lost: it was to keep them)";
    if (kept && kept->finish_failed)
      text.append("  (not stored: of ")
          .append(std::to_string(kept->kept))
          .append(" some may be lost, the file could not be written; restored: ")
          .append(std::to_string(kept->restored))
          .append(")");
    else if (kept)
      text.append("  (stored: ")
          .append(std::to_string(kept->kept))
          .append(" for the next start; restored: ")
          .append(std::to_string(kept->restored))
          .append(kept->failing ? "; the file could not be written)" : ")");
    for (const channel_account::loss& x : l.channels[i].losses) {
      if (x.lost > 0) text += "  (lost: '" + x.process + "' threw away " + std::to_string(x.lost) + ")";
      if (x.rejected > 0)
        text += "  (rejected: " + std::to_string(x.rejected) + " that '" + x.process + "' could not read)";
      if (x.fields > 0)
        text += "  (left out: " + std::to_string(x.fields) + " fields that messages of '" + x.process +
                "' have no place for)";
    }
    if (s.refused > 0) text += "  (refused: " + std::to_string(s.refused) + " sent after it was closed)";
    text += '\n';
  }
  width = 0;
  for (const process_account& p : l.processes)
    width = std::max(width, plan.full_name(plan.processes[p.process]).size());
  for (const process_account& p : l.processes) {
    text += "process " + padded(plan.full_name(plan.processes[p.process]), width) + "  runs " +
            std::to_string(p.runs) + ", failures " + std::to_string(p.failures);
    const auto also = [&text](const char* what, unsigned n) {
      if (n > 0) text.append(", ").append(what).append(" ").append(std::to_string(n));
    };
    also("restarts", p.restarts);
    also("overruns", p.overruns);
    also("quarantined", p.quarantined);
    also("redelivered", p.redelivered);
    also("dead letters", p.dead_letters);
    also("left behind", p.left_behind);
    also("values in hand there", p.left_in_hand);
    text += ", longest run " + run_text(p.longest_run) + '\n';
  }
  if (l.fenced + l.frozen + l.back > 0)
    text += "threads of quarantined processes: fenced " + std::to_string(l.fenced) + ", frozen " +
            std::to_string(l.frozen) + ", back " + std::to_string(l.back) + '\n';
  return text;
}

}  // namespace leat::services
