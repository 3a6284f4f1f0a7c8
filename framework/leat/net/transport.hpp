// SPDX-License-Identifier: BSL-1.0
//
// What stands behind a descriptor that is none of the system's: the one seam between streams, listeners and datagrams,
// and the network of a simulated world (simulated/). A descriptor asks it where it would make a system call; so it
// behaves as the call does on a socket that does not block.
#pragma once
#include <sys/types.h>
#include <cerrno>
#include <memory>

#include <leat/base/clock.hpp>
#include <leat/net/address.hpp>
#include <leat/net/bytes.hpp>
#include <leat/net/watch.hpp>

namespace leat::net {

class transport {
 public:
  transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;
  virtual ~transport() = default;  // closes it

  // A number of bytes, or less than 0: the error, negated.
  virtual ssize_t read(mutable_bytes) { return -EOPNOTSUPP; }
  virtual ssize_t write(const_bytes) { return -EOPNOTSUPP; }
  // Until it is worth trying again. Throws leat::stopped when that was insisted on.
  virtual ready_status wait(direction d, deadline until, const char* what) = 0;
  // Bytes are here that a read would get.
  virtual bool has_unread() const noexcept { return false; }
  virtual void shutdown(int how) noexcept { (void)how; }
  virtual address local() const noexcept { return {}; }
  virtual address peer() const noexcept { return {}; }

  // Of a listener: null, and the error.
  virtual std::unique_ptr<transport> accept(int& error) {
    error = EOPNOTSUPP;
    return nullptr;
  }

  // Of datagrams. The whole length, also of one that was cut.
  virtual ssize_t receive(mutable_bytes, address& from) {
    (void)from;
    return -EOPNOTSUPP;
  }
  // `to` null: to its peer.
  virtual ssize_t send(const_bytes, const address* to) {
    (void)to;
    return -EOPNOTSUPP;
  }
  // The error, or 0.
  virtual int connect(const address&) { return EOPNOTSUPP; }
};

}  // namespace leat::net
