// SPDX-License-Identifier: BSL-1.0
//
// The secret that opens the TCP door of a deployment ([control] token_file). It goes into a header of the request and
// nowhere else: no message shows any of it.
#pragma once
#include <string>

#include <leat/remote/exchange.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {

// The first line of a file that nobody else may read; without a file what LEAT_TOKEN has, or nothing. Throws a failure
// with exit_usage.
std::string read_client_token(const std::string& file);

// find_deployment, with the token if it is one by TCP.
endpoint deployment_of(const request& r);

}  // namespace leat::remote
