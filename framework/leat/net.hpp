// SPDX-License-Identifier: BSL-1.0
//
// Networking: Asio's operations in blocking style (leat::await), and Leat's own streams.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <leat/net/address.hpp>
#include <leat/net/await.hpp>
#include <leat/net/child.hpp>
#include <leat/net/dial.hpp>
#include <leat/net/file.hpp>
#include <leat/net/io.hpp>
#include <leat/net/listener.hpp>
#include <leat/net/serial.hpp>
#include <leat/net/signals.hpp>
#include <leat/net/standard.hpp>
#include <leat/net/stream.hpp>
#include <leat/net/udp.hpp>
