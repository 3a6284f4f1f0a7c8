// SPDX-License-Identifier: BSL-1.0
#include <leat/net/poller.hpp>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>
#include <utility>

#include <leat/csp/wait.hpp>
#include <leat/net/watch.hpp>

namespace leat::net {
namespace {

[[noreturn]] void refuse(const char* what) { throw std::system_error(errno, std::system_category(), what); }

// In place of a watch.
char bell_mark, timer_mark;

constexpr int batch = 128;
constexpr int longest_alone = 5;  // ms; Asio's events wait so long when the one inside has just left

}  // namespace

// Closed again when a later one cannot be had: get() may be called again.
poller::descriptors::~descriptors() {
  for (const int fd : {set, bell, timer})
    if (fd >= 0) ::close(fd);
}

void poller::open(descriptors& d) {
  if ((d.set = ::epoll_create1(EPOLL_CLOEXEC)) < 0) refuse("leat::net: epoll_create1");
  if ((d.bell = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) < 0) refuse("leat::net: eventfd");
  if ((d.timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) < 0)
    refuse("leat::net: timerfd");
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.ptr = &bell_mark;
  if (::epoll_ctl(d.set, EPOLL_CTL_ADD, d.bell, &e) != 0) refuse("leat::net: epoll_ctl");
  e.data.ptr = &timer_mark;
  if (::epoll_ctl(d.set, EPOLL_CTL_ADD, d.timer, &e) != 0) refuse("leat::net: epoll_ctl");
}

poller::poller(descriptors&& d)
    : set_(std::exchange(d.set, -1)),
      bell_(std::exchange(d.bell, -1)),
      timer_(std::exchange(d.timer, -1)),
      timer_at_(csp::forever) {}

poller& poller::get() {
  static constinit sched::made_once<poller> p;
  return p.get([]() -> poller& {
    descriptors d;
    open(d);
    auto* const made = new poller(std::move(d));
    sched::use_poller(*made);
    return *made;
  });
}

void poller::use(callback_loop& loop) noexcept {
  loop_.store(&loop, std::memory_order_release);  // pairs with wait and poll
  interrupt();
}

bool poller::take_events(int timeout_ms) noexcept {
  epoll_event events[batch];
  bool bell = false;
  for (;;) {
    const int n = ::epoll_wait(set_, events, batch, timeout_ms);  // EINTR: like nothing
    for (int i = 0; i < n; ++i) {
      void* const what = events[i].data.ptr;
      bell |= what == &bell_mark;
      if (what == &bell_mark || what == &timer_mark) continue;
      static_cast<watch*>(what)->notice(events[i].events);
    }
    if (n < batch) return bell;
    timeout_ms = 0;
  }
}

void poller::poll() noexcept {
  (void)take_events(0);
  if (callback_loop* const loop = loop_.load(std::memory_order_acquire)) loop->poll();
}

void poller::set_timer(std::int64_t until) noexcept {
  if (until == timer_at_) return;
  timer_at_ = until;
  itimerspec t{};
  if (until != csp::forever) {
    const std::int64_t at = until > 0 ? until : 1;  // zero would disarm it
    t.it_value.tv_sec = static_cast<time_t>(at / 1'000'000'000);
    t.it_value.tv_nsec = static_cast<long>(at % 1'000'000'000);
  }
  (void)::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &t, nullptr);
}

void poller::wait(std::int64_t until) noexcept {
  bool bell = rung_.load(std::memory_order_acquire) != 0;  // a
  if (!bell) {
    set_timer(until);
    callback_loop* const loop = loop_.load(std::memory_order_acquire);
    const bool waited = loop && loop->wait();
    bell = take_events(waited ? 0 : loop ? longest_alone : -1);  // b
    // One that has fired stays readable until it is set again.
    if (timer_at_ != csp::forever && timer_at_ <= real_now_ns()) set_timer(csp::forever);
  }
  if (!bell) return;
  std::uint64_t rings = 0;
  (void)!::read(bell_, &rings, sizeof rings);  // c
  rung_.store(0, std::memory_order_seq_cst);   // d
}

void poller::interrupt() noexcept {
  if (rung_.exchange(1, std::memory_order_seq_cst) != 0) return;  // 1
  const std::uint64_t one = 1;
  (void)!::write(bell_, &one, sizeof one);  // 2
}

}  // namespace leat::net
