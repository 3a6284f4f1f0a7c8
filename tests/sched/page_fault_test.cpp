// SPDX-License-Identifier: BSL-1.0
//
// A G whose thread waits for a page of memory: from swap, or of a file on a server that has gone. Here a page is kept
// back by userfaultfd(2), where the system allows that.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <memory>

#include <doctest/doctest.h>

#include <leat/sched/fence.hpp>

#include "fixture.hpp"
#include "hang_guard.hpp"
#include "overrun_fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

// A page that whoever touches it waits for.
class late_page {
 public:
  late_page()
      : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        fd_(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY))) {
    if (fd_ < 0) return;
    uffdio_api api{};
    api.api = UFFD_API;
    page_ = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page_ != MAP_FAILED);
    uffdio_register reg{};
    reg.range = range();
    reg.mode = UFFDIO_REGISTER_MODE_MISSING;
    is_late_ = ::ioctl(fd_, UFFDIO_API, &api) == 0 && ::ioctl(fd_, UFFDIO_REGISTER, &reg) == 0;
  }
  ~late_page() {
    if (page_) ::munmap(page_, size_);
    if (fd_ >= 0) (void)::close(fd_);
  }
  late_page(const late_page&) = delete;
  late_page& operator=(const late_page&) = delete;

  bool can_be_had() const { return is_late_; }
  void touch() const { *static_cast<volatile char*>(page_) = 1; }
  void arrive() const {
    uffdio_zeropage zero{};
    zero.range = range();
    REQUIRE(::ioctl(fd_, UFFDIO_ZEROPAGE, &zero) == 0);
  }

 private:
  uffdio_range range() const { return {reinterpret_cast<std::uintptr_t>(page_), size_}; }

  const std::size_t size_;
  const int fd_;
  void* page_ = nullptr;
  bool is_late_ = false;
};

}  // namespace

TEST_CASE(
    "a thread in a page fault is in no system call, and is not put behind the fence while its page may "
    "come") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [] {
      const late_page page;
      if (!page.can_be_had()) {
        MESSAGE("skipped: userfaultfd is not allowed here");
        return;
      }
      const auto guard = guard_of(10ms, 10ms);
      std::atomic<pid_t> tid{0};
      auto t = spawn({.guard = guard}, [&] {
        tid = static_cast<pid_t>(::syscall(SYS_gettid));
        page.touch();
        yield();
      });
      CHECK(eventually([&] { return guard->was(overrun_step::insisted); }));
      const sched::thread_sight at = sched::look_at_thread(tid);
      CHECK(at.faults);
      CHECK_FALSE(at.waits);
      (void)sleep_for(300ms);
      CHECK_FALSE(guard->is_over());
      page.arrive();
      CHECK_THROWS_AS(t.get(), stopped);
      CHECK_FALSE(guard->is_over());
      CHECK(stats().quarantined == 0);
    });
  }
}
