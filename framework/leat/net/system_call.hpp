// SPDX-License-Identifier: BSL-1.0
//
// recv and send on a socket that does not block. The C library's own are cancellation points, which costs
// two atomic read-modify-writes each in a program with threads: a hundredth of a small request. Sanitizers
// watch the library's functions, so they get those.
#pragma once
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LEAT_BARE_SOCKET_CALLS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LEAT_BARE_SOCKET_CALLS 0
#endif
#endif
#if !defined(LEAT_BARE_SOCKET_CALLS)
#if defined(SYS_recvfrom) && defined(SYS_sendto)
#define LEAT_BARE_SOCKET_CALLS 1
#else
#define LEAT_BARE_SOCKET_CALLS 0
#endif
#endif

namespace leat::net {

inline ssize_t receive(int fd, void* into, std::size_t size) noexcept {
#if LEAT_BARE_SOCKET_CALLS
  return static_cast<ssize_t>(::syscall(SYS_recvfrom, fd, into, size, 0, nullptr, nullptr));
#else
  return ::recv(fd, into, size, 0);
#endif
}

inline ssize_t send_quietly(int fd, const void* from, std::size_t size) noexcept {
#if LEAT_BARE_SOCKET_CALLS
  return static_cast<ssize_t>(::syscall(SYS_sendto, fd, from, size, MSG_NOSIGNAL, nullptr, 0));
#else
  return ::send(fd, from, size, MSG_NOSIGNAL);
#endif
}

}  // namespace leat::net
