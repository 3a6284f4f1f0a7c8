// SPDX-License-Identifier: BSL-1.0
#include <leat/base/log_aside.hpp>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>
#include <leat/base/mutex.hpp>

namespace leat::detail {
namespace {

struct line {
  log_level level = log_level::info;
  std::uint8_t component_size = 0;
  std::uint16_t text_size = 0;
  char component[24] = {};
  char text[1024] = {};

  void set(log_level l, std::string_view c, std::string_view t) noexcept {
    level = l;
    component_size = static_cast<std::uint8_t>(c.copy(component, sizeof component));
    text_size = static_cast<std::uint16_t>(t.copy(text, sizeof text));
  }
  void give() const noexcept { give_log_line(level, {component, component_size}, {text, text_size}); }
};

constexpr std::size_t room = 64;

constinit ranked_mutex lock(lock_rank::log, "log aside");
constinit line lines[room];
constinit std::size_t first = 0, count = 0;
constinit std::uint64_t lost = 0;
constinit bool giving = false;
constinit std::atomic<std::uint32_t> puts{0};
constinit std::atomic<pid_t> runs_in{0};  // a fork has no such thread

// b. False: there is none.
bool give_one() noexcept {
  static line one;
  {
    const lock_guard hold(lock);
    giving = count > 0 || lost > 0;
    if (!giving) return false;
    if (count > 0) {
      one = lines[first];
      first = (first + 1) % room;
      --count;
    } else {
      fixed_text<96> text;
      text.format("the sink of the log took nothing for a while: {} lines were lost here",
                  std::exchange(lost, 0));
      one.set(log_level::warning, "log", text.view());
    }
  }
  one.give();
  return true;
}

void* run(void*) noexcept {
  for (;;) {
    const std::uint32_t seen = puts.load(std::memory_order_acquire);  // a; pairs with put_log_aside
    while (give_one()) {
    }
    puts.wait(seen, std::memory_order_acquire);
  }
}

}  // namespace

constinit std::atomic<bool (*)() noexcept> must_not_wait_for_sink{nullptr};

bool start_log_aside() noexcept {
  if (runs_in.load(std::memory_order_relaxed) == ::getpid()) return true;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool started = ::pthread_create(&thread, nullptr, &run, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  (void)::pthread_setname_np(thread, "leat-log");
  ::pthread_detach(thread);
  runs_in.store(::getpid(), std::memory_order_relaxed);
  return true;
}

void put_log_aside(log_level level, std::string_view component, std::string_view text) noexcept {
  {
    const lock_guard hold(lock);
    // Once a line is lost, those after it are too, until the gap has been told.
    if (lost > 0 || count == room)
      ++lost;
    else
      lines[(first + count++) % room].set(level, component, text);
  }
  puts.fetch_add(1, std::memory_order_release);
  puts.notify_one();
}

bool wait_for_log_aside(int within_ms) noexcept {
  const std::int64_t until = real_now_ns() + within_ms * std::int64_t{1'000'000};
  for (;;) {
    {
      const lock_guard hold(lock);
      if (count == 0 && lost == 0 && !giving) return true;
    }
    if (real_now_ns() >= until) return false;
    ::usleep(200);
  }
}

}  // namespace leat::detail
