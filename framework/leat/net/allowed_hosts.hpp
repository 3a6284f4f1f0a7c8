// SPDX-License-Identifier: BSL-1.0
//
// Which hosts a request may name in its field Host. A page of another site whose name is made to lead to this
// machine (DNS rebinding) cannot read what is here: its requests still tell that name. So a request must name
// this machine: the address that it came to, a loopback address, localhost, the machine's own name, or one
// that the configuration allows.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <leat/net/address.hpp>

namespace leat::net::http {

class allowed_hosts {
 public:
  // Further names and addresses; "*": any.
  explicit allowed_hosts(const std::vector<std::string>& further);

  // `host` as the request has it, with or without a port; `local` is the connection's address here. Requests
  // that name none do not come from a browser; nor does what comes through a Unix socket.
  bool allows(std::string_view host, const address& local) const;

 private:
  bool any_ = false;
  std::vector<std::string> names_;  // and addresses, as `normal_form` has them
};

}  // namespace leat::net::http
