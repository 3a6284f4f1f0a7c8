// SPDX-License-Identifier: BSL-1.0
//
// What the examples of TLS take for granted besides.
#pragma once
#include <leat/net.hpp>
#include <leat/tls.hpp>

#include "documents/header_examples.hpp"

namespace given {

inline leat::net::listener at;
inline leat::tls_context as_server;

}  // namespace given
