// SPDX-License-Identifier: BSL-1.0
#include <leat/services/crash_account.hpp>

#include <algorithm>

#include <leat/base/cpu.hpp>
#include <leat/base/format.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/sched/crash.hpp>
#include <leat/sched/m.hpp>

namespace leat::services {
namespace {

std::atomic<crash_account*> telling{nullptr};

}  // namespace

crash_account::crash_account() noexcept {
  crash_account* nobody = nullptr;
  if (telling.compare_exchange_strong(nobody, this)) set_crash_note(tell);
}

crash_account::~crash_account() {
  crash_account* me = this;
  if (!telling.compare_exchange_strong(me, nullptr)) return;
  set_crash_note(nullptr);
}

void crash_account::add(std::string who, const config::plan& plan, const wiring& wires,
                        config::index process) {
  std::vector<counted> channels;
  std::vector<config::index> seen;
  for (const config::port_plan& port : plan.processes[process].ports) {
    for (const config::index c : port.channels) {
      if (std::find(seen.begin(), seen.end(), c) != seen.end()) continue;
      seen.push_back(c);
      const config::channel_plan& of = plan.channels[c];
      any_channel counts = wires.whole(c);
      // What it has got of a channel that copies is in its own share.
      for (std::size_t r = 0; r < wires.shares(c).size(); ++r)
        if (of.readers[r].process == process) counts = wires.shares(c)[r];
      channels.push_back({plan.full_name(of), std::move(counts)});
    }
  }
  replicas_.emplace_back(std::move(who), std::move(channels));
}

void crash_account::started(std::size_t replica, unsigned incarnation, const void* stop_state) noexcept {
  replicas_[replica].incarnation.store(incarnation, std::memory_order_relaxed);
  replicas_[replica].stop_state.store(stop_state, std::memory_order_release);  // pairs with tell
}

void crash_account::ended(std::size_t replica) noexcept {
  replicas_[replica].stop_state.store(nullptr, std::memory_order_relaxed);
}

// In the signal handler, on the thread that dies.
LEAT_UNWATCHED void crash_account::tell(int fd, std::uint64_t) noexcept {
  const crash_account* const all = telling.load(std::memory_order_acquire);
  const sched::M* const m = sched::current_m();
  if (!all || !m) return;
  const sched::G* g = m->cur.load(std::memory_order_relaxed);
  if (!g) g = m->caller.load(std::memory_order_relaxed);
  const void* const stop = g ? g->stop_with.get() : nullptr;
  if (!stop) return;
  for (const entry& e : all->replicas_) {
    if (e.stop_state.load(std::memory_order_acquire) != stop) continue;
    fixed_text<512> t;
    t.format("leat: that is {}, incarnation {}\n", std::string_view(e.who),
             e.incarnation.load(std::memory_order_relaxed));
    write_text(fd, t.view());
    tell_counts(fd, e);
    return;
  }
}

void crash_account::tell_counts(int fd, const entry& e) noexcept {
  for (const counted& c : e.channels) {
    channel_stats s;
    bool known = false;
    // Whoever else has its lock gives it back soon; if this thread has it, it never does.
    for (int i = 0; i < 10'000 && !(known = c.channel.try_count(s)); ++i) cpu_pause();
    fixed_text<512> t;
    t.format("leat: channel {}: ", std::string_view(c.name));
    if (known) {
      t.format("sent {} = received {} + dropped {} + left {}\n", s.sent, s.received, s.dropped, s.left);
    } else {
      t.append("what went through it cannot be read, it died in there\n");
    }
    write_text(fd, t.view());
  }
}

}  // namespace leat::services
