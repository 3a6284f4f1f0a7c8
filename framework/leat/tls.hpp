// SPDX-License-Identifier: BSL-1.0
//
// TLS over Leat's streams (target leat::tls, where Leat was built with OpenSSL). Not part of <leat/net.hpp>:
// who does not use it does not link it.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <leat/tls/context.hpp>
#include <leat/tls/error.hpp>
#include <leat/tls/files.hpp>
#include <leat/tls/stream.hpp>
