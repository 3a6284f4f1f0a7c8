// SPDX-License-Identifier: BSL-1.0
//
// Not installed.
#pragma once
#include <memory>

#include <leat/net/simulated/network.hpp>

namespace leat::net::simulated {

// An end of a connection, as the transport of a stream.
std::unique_ptr<transport> make_stream_end(std::shared_ptr<network> net, std::shared_ptr<live_connection> c,
                                           int me);

}  // namespace leat::net::simulated
