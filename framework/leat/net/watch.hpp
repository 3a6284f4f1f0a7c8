// SPDX-License-Identifier: BSL-1.0
//
// One descriptor in the poller's set, and the Gs that wait until it can be read or written.
//
// The set is edge-triggered: it tells once that something has changed. `notice` keeps that in readable_ or
// writable_, or wakes those who wait; a G that found nothing to read comes to wait(), which returns at once
// if something changed since. All under the lock, so no edge is lost between the look and the sleep.
//
//   G                                    poller
//    1 read: would block                  a takes the event out of the set
//    2 lock; readable_: clears it and     b lock; nobody waits: readable_ = true;
//      tries again                          else wakes all who wait
//    3 else waits (lock dropped on the
//      far side of the switch)
//
// Forbidden: data is there, and the G sleeps. Data that came before 1 would have been read; after 1 the
// kernel makes an event of it, and b comes before 2, which sees the flag, or after 3, which it wakes.
//
// Watches are never freed but used again: an event that was taken out for a descriptor that has been closed
// since meets a watch of another one, and is at worst a look for nothing. So everybody who waits here must
// bear being woken for nothing.
#pragma once
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/wait.hpp>

namespace leat::net {

enum class ready_status : std::uint8_t { ready, timeout, stopped, closed };
enum class direction : std::uint8_t { read, write };

class watch {
 public:
  // Into the poller's set. The descriptor must not block. Throws std::system_error.
  static watch& add(int fd);
  // Out of it, before the descriptor is closed; who still waits is told `closed`.
  static void remove(watch& w, int fd) noexcept;

  // Until it is worth trying again. Any thread. `what` is a literal for dumps: "read", "accept". Throws
  // leat::stopped when that was insisted on.
  ready_status wait(direction d, deadline until, int fd, const char* what);

  // A read that gave less than was asked for has emptied the stream, so that the next one can wait at once:
  // not after the other side has hung up or sent urgent data, for which no further event would come.
  bool short_read_means_empty() const noexcept { return !careful_.load(std::memory_order_acquire); }

  // For the poller: epoll's event bits.
  void notice(std::uint32_t events) noexcept;

 private:
  void reset() noexcept;

  ranked_spinlock lock_{lock_rank::channel, "watch"};
  bool readable_ LEAT_GUARDED_BY(lock_) = false;
  bool writable_ LEAT_GUARDED_BY(lock_) = false;
  csp::wait_queue readers_ LEAT_GUARDED_BY(lock_);
  csp::wait_queue writers_ LEAT_GUARDED_BY(lock_);
  std::atomic<bool> careful_{false};
  std::atomic<bool> tells_writable_{false};  // the set has been asked for that as well
  watch* next_free_ = nullptr;               // the list of free ones
};

}  // namespace leat::net
