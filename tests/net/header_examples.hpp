// SPDX-License-Identifier: BSL-1.0
//
// What the examples of networking take for granted besides.
#pragma once
#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/ip/tcp.hpp>
#include <csignal>
#include <string>

#include <leat/net.hpp>

#include "documents/header_examples.hpp"

namespace given {

inline asio::ip::tcp::socket socket(leat::io());
inline asio::ip::tcp::endpoint peer;
inline char data[64];
inline asio::awaitable<void> coroutine() { co_return; }
inline leat::net::listener at;
inline std::string text;

}  // namespace given
