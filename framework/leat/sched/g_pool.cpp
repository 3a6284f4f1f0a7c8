// SPDX-License-Identifier: BSL-1.0
//
// Where Gs come from, how they start, and how they end.
#include <cstring>
#include <mutex>
#include <new>

#include <leat/base/check.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

namespace leat::sched {
namespace {

constexpr std::size_t most_free_gs = 1024;  // per P
constexpr std::size_t pool_batch = 128;     // from and to the pool
constexpr std::uint64_t id_block = 1024;

}  // namespace

void G::set_name(const char* text, std::size_t n) noexcept {
  if (n >= sizeof name) n = sizeof name - 1;
  std::memcpy(name, text, n);
  name[n] = '\0';
  extras |= g_named;
}

G* scheduler::new_g(M* m) noexcept {
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  G* g = nullptr;
  if (p) {
    if (p->free_gs.empty()) [[unlikely]]
      gs_.take(p->free_gs, pool_batch);
    g = p->free_gs.pop();
    if (!g) return nullptr;
    if (p->next_id == p->last_id) [[unlikely]] {
      p->next_id = gs_.new_ids(id_block);
      p->last_id = p->next_id + id_block;
    }
    g->id = p->next_id++;
  } else {
    // A plain thread, or an M that lost its P.
    g_store::free_list some;
    gs_.take(some, 1);
    g = some.pop();
    if (!some.empty()) gs_.give_back(some);
    if (!g) return nullptr;
    g->id = gs_.new_ids(1);
  }
  g->ctx.fp = fiber::fp_state::read();
  g->join.store(join_running, std::memory_order_relaxed);
  if (stopping()) g->stop.store(stop_level::asked, std::memory_order_relaxed);
  return g;
}

void scheduler::recycle(M* m, G* g) noexcept {
  g->become(g_status::idle);
  g->stop.store(stop_level::none, std::memory_order_relaxed);
  g->drop = nullptr;
  g->stack_pages = 0;
  if (g->extras != 0) {
    g->extras = 0;
    g->name[0] = '\0';
    g->more.failure = nullptr;
    g->more.locked_m = nullptr;
    g->more.own = {};
  }
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) return gs_.give_back(*g);
  p->free_gs.push(g);
  if (p->free_gs.size() > most_free_gs) [[unlikely]]
    gs_.give_back(p->free_gs, pool_batch);
}

namespace {

// Guards left_behind_ of all schedulers, and that one thread finds the last G free.
std::mutex left_behind_lock;

}  // namespace

void scheduler::leave_behind(std::unique_ptr<scheduler> s) noexcept {
  // What a quarantined G has is never destroyed, and frames that stand for good may refer to the G itself. The
  // same with one that did not end, though all threads have.
  bool stays = s->counts_.quarantined() > 0;
  s->gs_.each([&](const G& g) {
    const g_status now = g.status.load(std::memory_order_relaxed);
    stays |= now != g_status::idle && now != g_status::dead;
  });
  if (stays) return keep_for_good(std::move(s));
  const std::lock_guard hold(left_behind_lock);
  if (s->gs_.all_free()) return;
  s->left_behind_ = true;
  (void)s.release();
}

// The Gs that did not end stand in user code, or will stop at their next entry: their stacks are not used
// again. Their status comes first: a G that has ended is still its last thread's to write to, and such a thread
// may be one that is left (take_last_p does not wait for it).
void scheduler::keep_for_good(std::unique_ptr<scheduler> s) noexcept {
  static std::atomic<scheduler*> newest{nullptr};  // so that all are still reachable
  if constexpr (fiber::under_asan) {
    s->gs_.each([](G& g) {
      const g_status now = g.status.load(std::memory_order_acquire);
      if (now == g_status::idle || now == g_status::dead || now == g_status::quarantined) return;
      if (g.ctx.stack) fiber::note_kept(g.ctx.stack->sanitizer_note());
    });
  }
  scheduler* const kept = s.release();
  kept->kept_before_ = newest.exchange(kept, std::memory_order_relaxed);
}

void scheduler::recycle_late(G& g) noexcept {
  std::unique_ptr<scheduler> ended;
  const std::lock_guard hold(left_behind_lock);
  g.home->recycle(nullptr, &g);
  if (g.home->left_behind_ && g.home->gs_.all_free()) ended.reset(g.home);
}

// --- The end of a G ---------------------------------------------------------------------------------

namespace {

// The G's stack has been left or passed on; its joiner may now free it, so it is not touched afterwards.
void publish_end(M& m, G& g) noexcept {
  scheduler& s = m.sched;
  if (P* p = m.p.load(std::memory_order_relaxed)) {
    auto& n = p->count.finished;
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // pairs with live
    p->events.add(event_kind::finished, g.id);
  } else {
    s.gs_alive().end_foreign();
  }
  g.become(g_status::dead);
  // Release: the result is written. Acquire: a waiter's G is parked.
  const std::uintptr_t waiter = g.join.exchange(join_done, std::memory_order_acq_rel);
  if (waiter == join_detached) {
    s.recycle(&m, &g);
  } else {
    life::wake_joiner(s, &m, waiter);
  }
}

void take_census(scheduler& s, const G& g, const fiber::stack& stack) noexcept {
  try {
    s.stack_census().end(g.label() ? g.name : "(unnamed)", stack);
  } catch (const std::bad_alloc&) {
    // A figure less.
  }
}

}  // namespace

void life::wake_joiner(scheduler& s, M* m, std::uintptr_t waiter) noexcept {
  if (waiter & 1) {
    reinterpret_cast<thread_event*>(waiter & ~std::uintptr_t{1})->signal();
  } else if (waiter != join_running) {
    s.ready(m, reinterpret_cast<G*>(waiter));
  }
}

// --- Guards -----------------------------------------------------------------------------------------

void life::add_guarded(const G& g) noexcept {
  overrun_guard& guard = *g.watch.load(std::memory_order_relaxed)->guard;
  scheduler& s = *g.home;
  if (s.quarantine().add_guarded(guard)) s.threads().want_spare();
  using part = overrun_guard::runtime_part;
  if (guard.for_runtime().out.fetch_add(part::one_g, std::memory_order_relaxed) == part::wanted) s.want_out();
}

void life::leave_guard(G& g) noexcept {
  overrun_watch* w = nullptr;
  {
    // Inside: sysmon follows the pointer of a G that it holds in user code.
    const entered in;
    w = g.watch.exchange(nullptr, std::memory_order_relaxed);
    g.home->quarantine().remove_guarded();
    g.home->quarantine().out_settled(*w->guard);
  }
  g.extras &= static_cast<std::uint8_t>(~g_guarded);
  delete w;  // and perhaps the guard, which is its owner's code
}

namespace {

void after_finish(void* arg) noexcept {
  G& g = *static_cast<G*>(arg);
  auto& m = *static_cast<M*>(g.ctx.on);
  fiber::stack* const stack = g.ctx.stack;
  g.ctx.stack = nullptr;
  if (m.sched.options().stack_census) take_census(m.sched, g, *stack);
  if (m.locked_g == &g) m.locked_over = true;  // the G may be somebody else's after publish_end
  if (P* p = m.p.load(std::memory_order_relaxed)) {
    p->stacks.release(stack);
  } else {
    fiber::stack_pool::release(stack);
  }
  publish_end(m, g);
}

// Ends the current G. Returns the next one when that may go on on this very stack, else does not return.
G* end_g(M& m, G& g) noexcept {
  scheduler& s = m.sched;
  P* const p = m.p.load(std::memory_order_relaxed);
  // What the joiner would do next is the best next G; publish_end puts it into run_next.
  const bool may_pass_on = p && !m.locked_g && !s.options().stack_census && g.stack_pages == 0;
  G* next = nullptr;
  if (may_pass_on && !p->run_next.load(std::memory_order_relaxed) &&
      !p->attention.load(std::memory_order_relaxed) && (p->round.is_quick() || !round::is_special(*p, s))) {
    next = p->ring.pop();
    if (next) p->turn.store(p->turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  if (next && !next->ctx.stack && next->stack_pages == 0 && !next->wants_own_thread()) {
    // A fresh G takes over the hot stack: no switch at all.
    next->ctx.stack = g.ctx.stack;
    next->ctx.on = &m;
    g.ctx.stack = nullptr;
    next->ctx.stack->set_label(next->label());
    if (next->ctx.fp != fiber::fp_state::read()) next->ctx.fp.write();
    m.running = &next->ctx;
    m.cur.store(next, std::memory_order_relaxed);
    next->become(g_status::running);
    p->events.add(event_kind::run, next->id);
    publish_end(m, g);
    return next;
  }
  if (next && (next->wants_own_thread() || (!next->ctx.stack && !life::give_stack(m, *next)))) {
    m.picked = next;
  } else if (next) {
    m.cur.store(next, std::memory_order_relaxed);
    next->become(g_status::running);
    p->events.add(event_kind::run, next->id);
    fiber::finish(m, g.ctx, next->ctx, after_finish, &g);
  }
  m.cur.store(nullptr, std::memory_order_relaxed);
  fiber::finish(m, g.ctx, m.self, after_finish, &g);
}

}  // namespace

void life::g_main(fiber::thread& t, void*) {
  M* m = static_cast<M*>(&t);
  for (G* g = m->cur.load(std::memory_order_relaxed);;) {
    scheduler::leave(m);
    g->body(*g);
    if (g->extras & (g_has_locals | g_has_stop_source | g_guarded)) [[unlikely]] {
      if (g->extras & g_has_locals) destroy_locals(*g);
      // First, and through the gate: until then it can be fenced, and what sysmon does for it is done once.
      if (g->extras & g_guarded) leave_guard(*g);
      if (g->extras & g_has_stop_source) leave_stop_source(*g);
    }
    m = scheduler::enter(current_m());
    g = end_g(*m, *g);
  }
}

void life::fail_to_start(M& m, G& g, std::exception_ptr why) noexcept {
  scheduler& s = m.sched;
  if (m.locked_g == &g) m.locked_over = true;
  if (&g == s.main_g()) s.fail_main(why);
  if (g.extras & g_has_stop_source) leave_stop_source(g);
  if (g.extras & g_guarded) leave_guard(g);
  if (g.join.load(std::memory_order_relaxed) == join_detached) {
    if (&g != s.main_g()) report_escaped(g, why);
    if (g.drop) g.drop(g);  // the closure, which never ran
  } else {
    g.fail(std::move(why));
  }
  publish_end(m, g);
}

}  // namespace leat::sched
