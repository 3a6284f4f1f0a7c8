// SPDX-License-Identifier: BSL-1.0
//
// Where Gs come from, how they start, and how they end.
#include <cstring>
#include <mutex>
#include <new>

#include <leat/base/check.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/overrun_watch.hpp>
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

// Moves a batch from the central pool, making a chunk if that is empty.
void scheduler::refill_gs(g_stack& into, std::size_t most) noexcept {
  G* chunk = nullptr;
  {
    lock_guard hold(pool_lock_);
    for (std::size_t i = 0; i < most; ++i) {
      G* g = pool_.pop();
      if (!g) break;
      into.push(g);
    }
    if (!into.empty()) return;
  }
  chunk = static_cast<G*>(::operator new (chunk_gs * sizeof(G), std::align_val_t{alignof(G)}, std::nothrow));
  if (!chunk) return;
  for (std::size_t i = 0; i < chunk_gs; ++i) (new (&chunk[i]) G)->home = this;
  std::size_t at = 0;
  {
    lock_guard hold(pool_lock_);
    at = n_chunks_.load(std::memory_order_relaxed);
    if (at < max_chunks) {
      chunks_[at].store(chunk, std::memory_order_relaxed);
      n_chunks_.store(at + 1, std::memory_order_release);  // pairs with each_g
    }
  }
  if (at == max_chunks) {
    for (std::size_t i = 0; i < chunk_gs; ++i) chunk[i].~G();
    ::operator delete (chunk, std::align_val_t{alignof(G)});
    return;
  }
  for (std::size_t i = chunk_gs; i-- > 0;) into.push(&chunk[i]);
}

void scheduler::spill_gs(g_stack& from) noexcept {
  lock_guard hold(pool_lock_);
  while (G* g = from.pop()) pool_.push(g);
}

G* scheduler::new_g(M* m) noexcept {
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  G* g = nullptr;
  if (p) {
    if (p->free_gs.empty()) [[unlikely]]
      refill_gs(p->free_gs, pool_batch);
    g = p->free_gs.pop();
    if (!g) return nullptr;
    if (p->next_id == p->last_id) [[unlikely]] {
      p->next_id = ids_.fetch_add(id_block, std::memory_order_relaxed);
      p->last_id = p->next_id + id_block;
    }
    g->id = p->next_id++;
  } else {
    // A plain thread, or an M that lost its P.
    g_stack some;
    refill_gs(some, 1);
    g = some.pop();
    if (!some.empty()) spill_gs(some);
    if (!g) return nullptr;
    g->id = ids_.fetch_add(1, std::memory_order_relaxed);
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
    g->failure = nullptr;
    g->locked_m = nullptr;
    g->own = {};
  }
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) {
    lock_guard hold(pool_lock_);
    pool_.push(g);
    return;
  }
  p->free_gs.push(g);
  if (p->free_gs.size() > most_free_gs) [[unlikely]] {
    lock_guard hold(pool_lock_);
    for (std::size_t i = 0; i < pool_batch; ++i) pool_.push(p->free_gs.pop());
  }
}

namespace {

// Guards left_behind_ of all schedulers, and that one thread finds the last G free.
std::mutex left_behind_lock;

}  // namespace

void scheduler::leave_behind(std::unique_ptr<scheduler> s) noexcept {
  const std::lock_guard hold(left_behind_lock);
  if (s->all_gs_free()) return;
  s->left_behind_ = true;
  (void)s.release();
}

void scheduler::recycle_late(G& g) noexcept {
  std::unique_ptr<scheduler> ended;
  const std::lock_guard hold(left_behind_lock);
  g.home->recycle(nullptr, &g);
  if (g.home->left_behind_ && g.home->all_gs_free()) ended.reset(g.home);
}

// --- The end of a G ---------------------------------------------------------------------------------

// The G's stack has been left or passed on; its joiner may now free it, so it is not touched afterwards.
void scheduler::publish_end(M& m, G& g) noexcept {
  scheduler& s = m.sched;
  if (P* p = m.p.load(std::memory_order_relaxed)) {
    auto& n = p->count.finished;
    n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // pairs with live
    p->events.add(event_kind::finished, g.id);
  } else {
    s.foreign_finished_.fetch_add(1, std::memory_order_release);
  }
  g.become(g_status::dead);
  // Release: the result is written. Acquire: a waiter's G is parked.
  const std::uintptr_t waiter = g.join.exchange(join_done, std::memory_order_acq_rel);
  if (waiter == join_detached) {
    s.recycle(&m, &g);
  } else {
    s.wake_joiner(&m, waiter);
  }
}

void scheduler::wake_joiner(M* m, std::uintptr_t waiter) noexcept {
  if (waiter & 1) {
    reinterpret_cast<thread_event*>(waiter & ~std::uintptr_t{1})->signal();
  } else if (waiter != join_running) {
    ready(m, reinterpret_cast<G*>(waiter));
  }
}

// --- Guards -----------------------------------------------------------------------------------------

void scheduler::add_guarded(const G& g) noexcept {
  guarded_.fetch_add(1, std::memory_order_relaxed);
  const std::int64_t hang = g.watch.load(std::memory_order_relaxed)->guard->hang().count();
  std::int64_t least = shortest_hang_.load(std::memory_order_relaxed);
  while (hang < least && !shortest_hang_.compare_exchange_weak(least, hang, std::memory_order_relaxed)) {
  }
}

void scheduler::leave_guard(G& g) noexcept {
  overrun_watch* w = nullptr;
  {
    // Inside: sysmon follows the pointer of a G that it holds in user code.
    const entered in;
    w = g.watch.exchange(nullptr, std::memory_order_relaxed);
    g.home->guarded_.fetch_sub(1, std::memory_order_relaxed);
  }
  g.extras &= static_cast<std::uint8_t>(~g_guarded);
  delete w;  // and perhaps the guard, which is its owner's code
}

void scheduler::after_finish(void* arg) noexcept {
  G& g = *static_cast<G*>(arg);
  auto& m = *static_cast<M*>(g.ctx.on);
  fiber::stack* const stack = g.ctx.stack;
  g.ctx.stack = nullptr;
  if (m.sched.options_.stack_census) m.sched.take_census(g, *stack);
  if (m.locked_g == &g) m.locked_over = true;  // the G may be somebody else's after publish_end
  if (P* p = m.p.load(std::memory_order_relaxed)) {
    p->stacks.release(stack);
  } else {
    fiber::stack_pool::release(stack);
  }
  publish_end(m, g);
}

// Ends the current G. Returns the next one when that may go on on this very stack, else does not return.
G* scheduler::end_g(M& m, G& g) noexcept {
  P* const p = m.p.load(std::memory_order_relaxed);
  // What the joiner would do next is the best next G; publish_end puts it into run_next.
  const bool may_pass_on = p && !m.locked_g && !options_.stack_census && g.stack_pages == 0;
  G* next = nullptr;
  if (may_pass_on && !p->run_next.load(std::memory_order_relaxed) &&
      !p->attention.load(std::memory_order_relaxed) && !(--p->quick_rounds == 0 && round_is_special(*p))) {
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
  if (next && (next->wants_own_thread() || (!next->ctx.stack && !give_stack(m, *next)))) {
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

void scheduler::g_main(fiber::thread& t, void*) {
  M* m = static_cast<M*>(&t);
  for (G* g = m->cur.load(std::memory_order_relaxed);;) {
    leave(m);
    g->body(*g);
    if (g->extras & (g_has_locals | g_has_stop_source | g_guarded)) [[unlikely]] {
      if (g->extras & g_has_locals) destroy_locals(*g);
      if (g->extras & g_has_stop_source) leave_stop_source(*g);
      if (g->extras & g_guarded) leave_guard(*g);
    }
    m = enter(current_m());
    g = m->sched.end_g(*m, *g);
  }
}

// A runnable G for which there is no stack or no thread ends with an exception, as if it had thrown it. On
// g0.
void scheduler::fail_to_start(M& m, G& g, std::exception_ptr why) noexcept {
  scheduler& s = m.sched;
  if (m.locked_g == &g) m.locked_over = true;
  if (&g == s.main_g_) {
    s.main_failure_ = why;
    s.done_.store(true, std::memory_order_seq_cst);
    s.sysmon_event_.signal();
  }
  if (g.extras & g_has_stop_source) leave_stop_source(g);
  if (g.extras & g_guarded) leave_guard(g);
  if (g.join.load(std::memory_order_relaxed) == join_detached) {
    if (&g != s.main_g_) report_escaped(g, why);
    if (g.drop) g.drop(g);  // the closure, which never ran
  } else {
    g.fail(std::move(why));
  }
  publish_end(m, g);
}

void scheduler::take_census(const G& g, const fiber::stack& s) noexcept {
  try {
    census_.end(g.label() ? g.name : "(unnamed)", s);
  } catch (const std::bad_alloc&) {
    // A figure less.
  }
}

}  // namespace leat::sched
