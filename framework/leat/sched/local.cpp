// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/local.hpp>

#include <vector>

#include <leat/sched/m.hpp>

namespace leat::sched {
namespace {

struct entry {
  const local_key* key;
  void* value;
};

}  // namespace

void* local_value(const local_key& key) {
  M* const m = current_m();
  G* const g = m ? m->cur.load(std::memory_order_relaxed) : nullptr;
  if (!g) throw std::logic_error("leat::local was used on a thread that runs no G");
  if (!(g->extras & g_has_locals)) {
    g->more.locals = new std::vector<entry>;
    g->extras |= g_has_locals;
  }
  auto& all = *static_cast<std::vector<entry>*>(g->more.locals);
  for (const entry& e : all)
    if (e.key == &key) return e.value;
  all.reserve(all.size() + 1);
  void* const value = key.make();
  // make() may have used other locals.
  all.push_back({&key, value});
  return value;
}

void destroy_locals(G& g) noexcept {
  // A destructor may make new ones; they go too.
  auto* const all = static_cast<std::vector<entry>*>(g.more.locals);
  while (!all->empty()) {
    const entry e = all->back();
    all->pop_back();
    e.key->destroy(e.value);
  }
  delete all;
  g.more.locals = nullptr;
  g.extras &= static_cast<std::uint8_t>(~g_has_locals);
}

}  // namespace leat::sched
