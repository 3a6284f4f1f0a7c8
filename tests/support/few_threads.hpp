// SPDX-License-Identifier: BSL-1.0
//
// Limits on threads for tests, for a child process of its own: they cannot be taken back.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>

namespace leat::test {

// From now on the kernel refuses every further thread of this process, as at TasksMax=. Needs no privilege.
// False: it has no seccomp.
inline bool refuse_threads() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter) == 0;
}

// As another user, whom nobody else is, this process may have `n` threads; it may raise that itself. False:
// not root.
inline bool allow_threads(unsigned n) {
  const auto nobody_else = static_cast<uid_t>(1'500'000'000 + ::getpid());
  const rlimit few{n, 1000};
  return ::setrlimit(RLIMIT_NPROC, &few) == 0 && ::geteuid() == 0 &&
         ::setresuid(nobody_else, nobody_else, nobody_else) == 0;
}

}  // namespace leat::test
