// SPDX-License-Identifier: BSL-1.0
//
// Asio's locks under no_quarantine (sched/fence.hpp, c): the G that is at one is not quarantined, and one that is
// quarantined comes to none any more. It must be neither taken off its thread there nor left behind at the
// lowest priority: somebody who needs the lock would wait for it, and the next to do so is the poller.
#include <pthread.h>

#include <leat/sched/entered.hpp>

using namespace leat::sched;

// Called by leat/net/system/asio/detail/posix_mutex.hpp.
int leat_asio_lock(pthread_mutex_t* mutex) noexcept {
  (void)begin_lasting_no_quarantine();
  return ::pthread_mutex_lock(mutex);
}

int leat_asio_unlock(pthread_mutex_t* mutex) noexcept {
  const int result = ::pthread_mutex_unlock(mutex);
  const m_front* const m = current_front();
  if (G* const g = m && !m->gate.in_runtime() ? m->cur.load(std::memory_order_relaxed) : nullptr)
    end_no_quarantine(*g);
  return result;
}
