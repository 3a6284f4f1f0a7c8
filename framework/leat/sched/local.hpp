// SPDX-License-Identifier: BSL-1.0
//
// leat::local<T>: a variable that each G has of its own, the answer to thread_local.
//
//   leat::local<int> depth;      // at namespace scope
//   ++*depth;                    // in a G: made on first use, destroyed when the G ends
#pragma once
#include <new>
#include <stdexcept>

namespace leat::sched {

struct G;

struct local_key {
  void* (*make)();
  void (*destroy)(void*) noexcept;
};

// The value for the current G, made on first use. Throws std::logic_error on a thread that runs no G.
void* local_value(const local_key& key);
void destroy_locals(G& g) noexcept;

}  // namespace leat::sched

namespace leat {

template <class T>
class local {
 public:
  local() = default;
  local(const local&) = delete;
  local& operator=(const local&) = delete;

  // The reference stays good until the G ends, also across parks.
  T& get() const { return *static_cast<T*>(sched::local_value(key_)); }
  T& operator*() const { return get(); }
  T* operator->() const { return &get(); }

 private:
  sched::local_key key_{[]() -> void* { return new T(); },
                        [](void* p) noexcept { delete static_cast<T*>(p); }};
};

}  // namespace leat
