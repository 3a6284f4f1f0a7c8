// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/thread_table.hpp>

#include <utility>

namespace leat::sched {

M* thread_table::begin(std::unique_ptr<M> fresh, pthread_t& old, std::int64_t now) noexcept {
  lock_guard hold(lock_);
  if (closed_) return nullptr;
  if (live_ >= most_) {
    std::int64_t never = 0;
    (void)full_since_.compare_exchange_strong(never, now, std::memory_order_relaxed);
    return nullptr;
  }
  ++live_;
  M* m = ended_;
  if (m) {
    ended_ = m->rest.link;
  } else {
    m = fresh.get();
    m->id = static_cast<unsigned>(all_.size());
    all_.push_back(std::move(fresh));
    n_.store(static_cast<unsigned>(all_.size()), std::memory_order_release);  // pairs with each
  }
  // From here on the end of the runtime waits for it.
  m->exited.store(false, std::memory_order_relaxed);
  old = m->handle.exchange(pthread_t{}, std::memory_order_relaxed);
  m->rest.link = nullptr;
  return m;
}

void thread_table::end(M& m) noexcept {
  lock_guard hold(lock_);
  m.exited.store(true, std::memory_order_release);  // with the count: whom stats leaves out has made room
  m.rest.link = ended_;
  ended_ = &m;
  --live_;
}

void thread_table::set_apart() noexcept {
  lock_guard hold(lock_);
  --live_;
}

void thread_table::take_back() noexcept {
  lock_guard hold(lock_);
  ++live_;
}

void thread_table::close() noexcept {
  lock_guard hold(lock_);
  closed_ = true;
}

unsigned thread_table::live() const noexcept {
  lock_guard hold(lock_);
  return live_;
}

}  // namespace leat::sched
