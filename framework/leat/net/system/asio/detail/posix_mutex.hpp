// SPDX-License-Identifier: BSL-1.0
//
// Asio's own header of this name, with its locks known to the runtime (net/asio_lock.cpp). Users of leat::net
// have this folder among their include folders, before Asio's.
//
// Asio is compiled into the program. So a G that hangs amid calls of it stands in the program's own code, and
// could be taken off its thread there with the lock of the io_context held, which would end all networking.
// No guard: Asio's header has its own.
#pragma GCC system_header
#include <pthread.h>

int leat_asio_lock(pthread_mutex_t* mutex) noexcept;
int leat_asio_unlock(pthread_mutex_t* mutex) noexcept;

#define pthread_mutex_lock(mutex) leat_asio_lock(mutex)
#define pthread_mutex_unlock(mutex) leat_asio_unlock(mutex)
#include_next <asio/detail/posix_mutex.hpp>
#undef pthread_mutex_lock
#undef pthread_mutex_unlock
