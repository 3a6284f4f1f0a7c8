// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/g_store.hpp>

#include <new>

#include <leat/fiber/annotate.hpp>

namespace leat::sched {

g_store::g_store(scheduler& home) : home_(home), chunks_(std::make_unique<std::atomic<G*>[]>(max_chunks)) {}

g_store::~g_store() {
  {
    lock_guard hold(lock_);
    while (pool_.pop()) {
    }
  }
  const std::size_t n = n_chunks_.load(std::memory_order_acquire);
  for (std::size_t c = 0; c < n; ++c) {
    G* const gs = chunks_[c].load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < chunk_gs; ++i) gs[i].~G();
    ::operator delete(gs, std::align_val_t{alignof(G)});
  }
}

void g_store::take(free_list& into, std::size_t most) noexcept {
  {
    lock_guard hold(lock_);
    for (std::size_t i = 0; i < most; ++i) {
      G* g = pool_.pop();
      if (!g) break;
      into.push(g);
    }
    if (!into.empty()) return;
  }
  auto* const chunk =
      static_cast<G*>(::operator new(chunk_gs * sizeof(G), std::align_val_t{alignof(G)}, std::nothrow));
  if (!chunk) return;
  for (std::size_t i = 0; i < chunk_gs; ++i) (new (&chunk[i]) G)->home = &home_;
  std::size_t at = 0;
  {
    lock_guard hold(lock_);
    at = n_chunks_.load(std::memory_order_relaxed);
    if (at < max_chunks) {
      chunks_[at].store(chunk, std::memory_order_relaxed);
      n_chunks_.store(at + 1, std::memory_order_release);  // pairs with each
    }
  }
  if (at == max_chunks) {
    for (std::size_t i = 0; i < chunk_gs; ++i) chunk[i].~G();
    ::operator delete(chunk, std::align_val_t{alignof(G)});
    return;
  }
  for (std::size_t i = chunk_gs; i-- > 0;) into.push(&chunk[i]);
}

void g_store::give_back(free_list& from, std::size_t most) noexcept {
  lock_guard hold(lock_);
  for (std::size_t i = 0; i < most; ++i) {
    G* const g = from.pop();
    if (!g) return;
    pool_.push(g);
  }
}

void g_store::give_back(G& g) noexcept {
  lock_guard hold(lock_);
  pool_.push(&g);
}

G* g_store::find(std::uint64_t id) const noexcept {
  G* found = nullptr;
  // Some are being made anew meanwhile.
  each([&](G& g) LEAT_UNWATCHED {
    const g_status s = g.status.load(std::memory_order_relaxed);
    if (g.id == id && s != g_status::idle && s != g_status::quarantined) found = &g;
  });
  return found;
}

bool g_store::all_free() const noexcept {
  bool all = true;
  each([&](const G& g) { all &= g.status.load(std::memory_order_relaxed) == g_status::idle; });
  return all;
}

}  // namespace leat::sched
