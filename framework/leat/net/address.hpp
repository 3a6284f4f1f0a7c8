// SPDX-License-Identifier: BSL-1.0
//
// Where to listen and whom to dial, as text:
//   "127.0.0.1:8080"  "[::1]:8080"  "8080" (loopback)  "0.0.0.0:8080"  "unix:/run/leat.sock" "unix:@abstract"
// Names instead of numbers are for dial and resolve (dial.hpp).
#pragma once
#include <sys/socket.h>
#include <optional>
#include <string>
#include <string_view>

namespace leat::net {

class address {
 public:
  address() noexcept = default;
  address(const sockaddr* from, socklen_t size) noexcept;

  // Without any look-up. Empty: it is not an address in numbers, and `why` says what is wrong with it.
  static std::optional<address> parse(std::string_view text, std::string* why = nullptr);

  const sockaddr* data() const noexcept { return reinterpret_cast<const sockaddr*>(&storage_); }
  sockaddr* data() noexcept { return reinterpret_cast<sockaddr*>(&storage_); }
  socklen_t size() const noexcept { return size_; }
  static constexpr socklen_t capacity() noexcept { return sizeof(sockaddr_storage); }
  void resize(socklen_t n) noexcept { size_ = n; }
  int family() const noexcept { return storage_.ss_family; }
  // 0 for one without.
  unsigned short port() const noexcept;
  // As parse reads it; "-" for an unnamed one.
  std::string text() const;
  // What addresses of one peer have in common: of IPv4 the address without its port, of IPv6 the network, whose
  // addresses a machine may choose from. Bytes; empty: none, of a Unix socket.
  std::string origin() const;

  // Of a socket; empty if it has none.
  static address local_of(int fd) noexcept;
  static address peer_of(int fd) noexcept;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

// "host:port", "[::1]:port" or "port" in two; the host is empty in the last. False: neither.
bool split_host_port(std::string_view text, std::string& host, std::string& port);

}  // namespace leat::net
