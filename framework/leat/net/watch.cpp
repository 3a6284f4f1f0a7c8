// SPDX-License-Identifier: BSL-1.0
#include <leat/net/watch.hpp>

#include <sys/epoll.h>
#include <cerrno>
#include <system_error>

#include <leat/net/io_wait.hpp>
#include <leat/net/poller.hpp>

namespace leat::net {
namespace {

constexpr std::uint32_t events_to_read = EPOLLIN | EPOLLRDHUP | EPOLLPRI | EPOLLET;

ranked_spinlock free_lock{lock_rank::thread_list, "free watches"};
watch* free_list LEAT_GUARDED_BY(free_lock) = nullptr;

}  // namespace

watch& watch::add(int fd) {
  const sched::no_quarantine unbroken;
  const poller& set = poller::get();
  watch* w = nullptr;
  {
    lock_guard hold(free_lock);
    w = free_list;
    if (w) free_list = w->next_free_;
  }
  if (!w) w = new watch;
  w->reset();
  epoll_event e{};
  e.events = events_to_read;
  e.data.ptr = w;
  if (::epoll_ctl(set.set(), EPOLL_CTL_ADD, fd, &e) != 0) {
    const int error = errno;
    lock_guard hold(free_lock);
    w->next_free_ = free_list;
    free_list = w;
    throw std::system_error(error, std::system_category(), "leat::net: the descriptor cannot be waited for");
  }
  return *w;
}

void watch::reset() noexcept {
  lock_guard hold(lock_);
  readable_ = writable_ = false;
  careful_.store(false, std::memory_order_relaxed);
  tells_writable_.store(false, std::memory_order_relaxed);
}

void watch::remove(watch& w, int fd) noexcept {
  const sched::no_quarantine unbroken;
  (void)::epoll_ctl(poller::get().set(), EPOLL_CTL_DEL, fd, nullptr);
  csp::waiter_list woken;
  {
    lock_guard hold(w.lock_);
    csp::claim_all(w.readers_, csp::ending::closed, woken);
    csp::claim_all(w.writers_, csp::ending::closed, woken);
  }
  if (!woken.empty()) {
    const csp::entered in;
    csp::wake_all(in.m, woken);
  }
  lock_guard hold(free_lock);
  w.next_free_ = free_list;
  free_list = &w;
}

void watch::notice(std::uint32_t events) noexcept {
  constexpr std::uint32_t for_readers = EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI;
  constexpr std::uint32_t for_writers = EPOLLOUT | EPOLLHUP | EPOLLERR;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    // Before readable_, and before anybody is woken: pairs with short_read_means_empty.
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLPRI))
      careful_.store(true, std::memory_order_release);
    if (events & for_readers) {
      if (readers_.empty()) readable_ = true;
      csp::claim_all(readers_, csp::ending::done, woken);
    }
    if (events & for_writers) {
      if (writers_.empty()) writable_ = true;
      csp::claim_all(writers_, csp::ending::done, woken);
    }
  }
  csp::wake_all(nullptr, woken);
}

ready_status watch::wait(direction d, deadline until, int fd,
                         const char* what) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  require_runtime("a descriptor of the system");
  csp::ending how{};
  // Most descriptors never wait to be written to, and with every event would be told that they can be.
  if (d == direction::write && !tells_writable_.exchange(true, std::memory_order_relaxed)) {
    epoll_event e{};
    e.events = events_to_read | EPOLLOUT;
    e.data.ptr = this;
    if (::epoll_ctl(poller::get().set(), EPOLL_CTL_MOD, fd, &e) != 0) {
      tells_writable_.store(false, std::memory_order_relaxed);
      throw std::system_error(errno, std::system_category(), "leat::net: epoll_ctl");
    }
  }
  {
    io_wait in(what, fd);
    lock_.lock();
    bool& flag = d == direction::read ? readable_ : writable_;
    if (flag) {
      flag = false;
      lock_.unlock();
      return ready_status::ready;
    }
    if (in.stop_asked()) {
      lock_.unlock();
      how = csp::ending::stopped;
    } else {
      how = csp::wait_and_unlock(in.runtime(), lock_, d == direction::read ? readers_ : writers_, nullptr,
                                 csp::wait_reason::io, csp::until_ns(until));
    }
  }
  switch (how) {
    case csp::ending::timeout: return ready_status::timeout;
    case csp::ending::stopped: throw_if_insisted_on_this_g(); return ready_status::stopped;
    case csp::ending::closed: return ready_status::closed;
    default: return ready_status::ready;
  }
}

}  // namespace leat::net
