// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/heartbeat.hpp>

#include <unistd.h>
#include <algorithm>
#include <iterator>
#include <utility>

#include <leat/base/format.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/fence.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

watching::watching() noexcept : g_(current_g()) {
  if (g_) g_->extras |= g_watches;
}

watching::~watching() {
  if (g_) g_->extras &= static_cast<std::uint8_t>(~g_watches);
}

void heartbeat::watch() noexcept {
  const M* const m = current_m();
  const G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) return;
  g_ = g->id;
  m->sched.for_sysmon().watch(this);
}

void heartbeat::unwatch() noexcept {
  if (M* const m = current_m()) m->sched.for_sysmon().watch(nullptr);
}

std::int64_t heartbeat::look(std::int64_t now) noexcept {
  const std::int64_t busy = busy_since_.load(std::memory_order_relaxed);
  if (busy != 0 || !is_awaited())
    awaited_since_ = 0;
  else if (awaited_since_ == 0)
    awaited_since_ = now;
  const std::int64_t since = busy != 0 ? busy : awaited_since_;
  if (since == 0) return INT64_MAX;
  if (late_for_ != since) {
    late_for_ = since;
    last_look_ = now;
    counted_ = 0;
    told_ = false;
  }
  const std::int64_t share = limit_ / 8 + 1;
  counted_ += std::min(now - std::exchange(last_look_, now), share);
  if (told_) return INT64_MAX;
  if (counted_ < limit_)
    return to_ns(saturating_add(from_ns(now), nanoseconds(std::min(share, limit_ - counted_))));
  told_ = true;
  is_late(nanoseconds(now - since), g_);
  return INT64_MAX;
}

void write_where_it_stands(int fd, std::uint64_t id) noexcept {
  const scheduler* const s = scheduler::current();
  G* const g = s ? s->find_g(id) : nullptr;
  if (!g) return;
  fixed_text<256> t;
  const g_status status = g->status.load(std::memory_order_relaxed);
  void* pcs[most_frames];
  std::size_t n = 0;
  M* on = nullptr;
  s->threads().each([&](M& m) {
    if (m.cur.load(std::memory_order_relaxed) == g) on = &m;
  });
  if (status == g_status::waiting) {
    n = fiber::frames(g->ctx, pcs, std::size(pcs));
  } else if (on) {
    const thread_sight at = look_at_thread(on->tid.load(std::memory_order_relaxed));
    const char* const call = at.waits ? name_of_call(at.call) : nullptr;
    t.format("    in the system call {}\n", call ? call : "?");
    if (at.waits) write_text(fd, t.view(), dump_of_sysmon.patience_ms);
    on->asked.entries = on->gate.entries();
    if (!on->gate.in_runtime() && put_question(*on, probe::where) == put::done) {
      for (int i = 0; i < 1000; ++i) {
        const probe::state a = read_answer(*on);
        if (a == probe::seen) n = std::min(on->asked.frames, std::size(pcs));
        if (a != probe::none) break;
        ::usleep(100);
      }
      std::copy_n(on->asked.trace, n, pcs);
      (void)withdraw_question(*on);
    }
  } else if (status == g_status::runnable) {
    t.format("    it could run, but every thread is busy{}\n",
             s->threads().starter().ever_refused()
                 ? ", and the system gave no further one: raise TasksMax= of the unit, or `ulimit -u`"
                 : "");
    write_text(fd, t.view(), dump_of_sysmon.patience_ms);
  }
  for (std::size_t i = 0; i < n; ++i) {
    t.clear();
    t.append("    ");
    append_place(t, pcs[i]);
    t.append('\n');
    write_text(fd, t.view(), dump_of_sysmon.patience_ms);
  }
}

}  // namespace leat::sched
