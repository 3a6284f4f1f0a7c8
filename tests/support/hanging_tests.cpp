// SPDX-License-Identifier: BSL-1.0
// Not a test: a program of tests that hang, which time_limit_test.cpp runs.
#include <doctest/doctest.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include <leat/base/check.hpp>

static void say_where_everything_stood(int fd, void*) { leat::write_text(fd, "three widgets stand idle\n"); }

extern "C" [[gnu::noinline]] void hang_forever_here() {
  for (;;) ::pause();
}

TEST_CASE("quick") { CHECK(true); }

TEST_CASE("hangs with the default limit") {
  leat::add_last_words(say_where_everything_stood, nullptr);
  std::atomic<bool> named{false};
  std::thread other([&] {
    ::pthread_setname_np(::pthread_self(), "sleepy-helper");
    named = true;
    hang_forever_here();
  });
  while (!named) std::this_thread::yield();
  hang_forever_here();
  other.join();
}

TEST_CASE("hangs with a limit of its own" * doctest::timeout(0.3)) { hang_forever_here(); }

TEST_CASE("spins with a limit of its own" * doctest::timeout(0.3)) {
  for (;;) asm volatile("" ::: "memory");
}
