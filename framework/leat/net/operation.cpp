// SPDX-License-Identifier: BSL-1.0
#include <leat/net/operation.hpp>

#include <unistd.h>

#include <leat/net/io_wait.hpp>
#include <leat/net/poller.hpp>
#include <leat/sched/local.hpp>

namespace leat::net {
namespace {

// Asio allocates what it puts into a slot, and keeps the memory in the signal: one signal per G, so that only
// its first operation allocates.
struct kept_signal {
  asio::cancellation_signal signal;
};
const local<kept_signal> signal_of_g;

struct cannot_be_cancelled {
  void operator()(asio::cancellation_type_t) noexcept {}
};

}  // namespace

operation::operation(const char* what, deadline until)
    : what_(what), until_(until), g_(sched::current_g()), first_(g_) {
  require_runtime("an Asio operation");  // now: once it has been started, the operation must be waited for
  if (g_) {
    sched::throw_if_insisted(*g_);
    may_start_ = g_->stop.load(std::memory_order_relaxed) == sched::stop_level::none;
    signal_ = &signal_of_g->signal;
  } else {
    signal_ = &own_signal_.emplace();
  }
  // What an earlier operation left there must not be called for this one.
  (void)signal_->slot().emplace<cannot_be_cancelled>();
}

operation::~operation() = default;

bool operation::stop_is_insisted() const noexcept {
  return g_ && g_->stop.load(std::memory_order_relaxed) == sched::stop_level::insisted;
}

end_of_wait operation::wait_first() noexcept {
  io_wait in(what_, -1);
  const std::int32_t claim =
      first_.block(in.runtime(), csp::wait_reason::io, csp::until_ns(until_), csp::stops::end_it);
  switch (csp::wait::ended_by(claim)) {
    case csp::ending::done: return end_of_wait::completed;
    case csp::ending::stopped: return end_of_wait::stopped;
    default: return end_of_wait::timeout;
  }
}

void operation::wait_second() noexcept {
  if (!g_) {
    // Acquire pairs with count_down.
    for (; open_.load(std::memory_order_acquire) != 0; ::usleep(500)) {
      const sched::entered in;
      if (!sched::scheduler::current()) poller::get().poll();
    }
    return;
  }
  io_wait in(what_, -1);
  (void)second_->block(in.runtime(), csp::wait_reason::io, csp::forever, csp::stops::are_ignored);
}

void operation::completed() noexcept {
  completed_.store(true, std::memory_order_relaxed);
  switch (first_.try_claim(0)) {
    case csp::wait::claimed::wake_it: wake_from_anywhere(first_); return;
    case csp::wait::claimed::wakes_itself: return;
    case csp::wait::claimed::lost: count_down(); return;
  }
}

void operation::cancel() noexcept {
  if (completed_.load(std::memory_order_relaxed)) return;
  // From the most thorough on: an operation takes what it supports.
  signal_->emit(asio::cancellation_type::all);
}

void operation::count_down() noexcept {
  // Acquire and release: whoever is last has seen everything the other did here.
  csp::G* const g = g_;
  if (open_.fetch_sub(1, std::memory_order_acq_rel) != 1 || !g) return;  // a plain thread may be gone by now
  if (second_->try_claim(0) == csp::wait::claimed::wake_it) wake_from_anywhere(*second_);
}

void* operation::allocate(std::size_t size) {
  if (size <= room_size)
    for (std::size_t i = 0; i < rooms; ++i)
      // Acquire pairs with the release of the one who had it before, perhaps on another thread.
      if (!taken_[i].exchange(true, std::memory_order_acquire)) return room_[i];
  return ::operator new(size);
}

void operation::deallocate(void* p, std::size_t) noexcept {
  for (std::size_t i = 0; i < rooms; ++i) {
    if (p != room_[i]) continue;
    taken_[i].store(false, std::memory_order_release);
    return;
  }
  ::operator delete(p);
}

}  // namespace leat::net
