// SPDX-License-Identifier: BSL-1.0
#include <leat/services/crash_account.hpp>

#include <sched.h>
#include <algorithm>
#include <array>

#include <leat/base/cpu.hpp>
#include <leat/base/format.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/sched/crash.hpp>
#include <leat/sched/m.hpp>

namespace leat::services {
namespace {

// Who looks has counted itself before it reads `telling`, and who ends has cleared that before it reads the
// count: one of them sees the other.
std::atomic<crash_account*> telling{nullptr};
std::atomic<int> looking{0};

}  // namespace

crash_account::crash_account() noexcept {
  crash_account* nobody = nullptr;
  if (!telling.compare_exchange_strong(nobody, this)) return;
  set_crash_note(tell);
  sched::set_g_note(describe);
}

crash_account::~crash_account() {
  crash_account* me = this;
  if (!telling.compare_exchange_strong(me, nullptr)) return;
  set_crash_note(nullptr);
  sched::set_g_note(nullptr);
  while (looking.load(std::memory_order_seq_cst) != 0) (void)::sched_yield();  // pairs with describe
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
  const config::process_plan& p = plan.processes[process];
  const auto before =
      std::count_if(replicas_.begin(), replicas_.end(), [&](const entry& e) { return e.process == process; });
  std::string name = "'" + plan.full_name(p) + (p.replicas > 1 ? "/" + std::to_string(before) : "") + "' (" +
                     p.type->name + ", " + plan.where(p.at) + ")";
  replicas_.emplace_back(process, std::move(who), std::move(name), std::move(channels));
}

void crash_account::started(std::size_t replica, unsigned incarnation, const void* stop_state) noexcept {
  replicas_[replica].incarnation.store(incarnation, std::memory_order_relaxed);
  replicas_[replica].stop_state.store(stop_state, std::memory_order_release);  // pairs with tell
  complete_.store(true, std::memory_order_release);                            // pairs with describe
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
  const void* const stop = g ? g->more.stop_with.get() : nullptr;
  if (!stop) return;
  for (const entry& e : all->replicas_) {
    if (e.stop_state.load(std::memory_order_acquire) != stop) continue;
    fixed_text<512> t;
    t.format("leat: that is {}, incarnation {}\n", std::string_view(e.who),
             e.incarnation.load(std::memory_order_relaxed));
    write_dying(fd, t.view());
    tell_counts(fd, e);
    return;
  }
}

// Perhaps in a signal handler, on any thread.
void crash_account::describe(const sched::dumped_g& g, bool may_wait, text_buffer& who,
                             text_buffer& where) noexcept {
  looking.fetch_add(1, std::memory_order_seq_cst);  // pairs with ~crash_account
  if (const crash_account* const all = telling.load(std::memory_order_seq_cst);
      all && all->complete_.load(std::memory_order_acquire)) {
    for (const entry& e : all->replicas_) {
      if (e.stop_state.load(std::memory_order_acquire) != g.stop) continue;
      who.append(std::string_view(e.full_name));
      if (g.waits) append_places(e, g, may_wait, where);
      break;
    }
  }
  looking.fetch_sub(1, std::memory_order_release);
}

// " at channel 'climate/raw' (3 of 16)"; of a select, each of them.
void crash_account::append_places(const entry& e, const sched::dumped_g& g, bool may_wait,
                                  text_buffer& to) noexcept {
  for (const counted& c : e.channels) {
    const csp::channel_base& at = *c.channel.base();
    bool here = g.at && g.at == at.name().data();
    if (!here && may_wait) {
      std::array<csp::waiting_g, 64> waiting;
      const std::size_t n = std::min(at.waiting(waiting), waiting.size());
      here = std::any_of(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n),
                         [&](const csp::waiting_g& w) { return w.g == g.id; });
    }
    if (!here) continue;
    to.format("{}'{}'", to.size() == 0 ? " at channel " : ", ", std::string_view(c.name));
    // Of one that copies, its readers have what it holds.
    if (channel_stats s; !at.each_reader_gets_all() && c.channel.try_count(s))
      to.format(" ({} of {})", s.left, at.capacity());
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
    write_dying(fd, t.view());
  }
}

}  // namespace leat::services
