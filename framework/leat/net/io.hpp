// SPDX-License-Identifier: BSL-1.0
//
// Asio's io_context as part of the runtime.
#pragma once
#include <asio/io_context.hpp>

namespace leat {

// The io_context that the runtime polls: the place for all Asio objects of the program. There is one; it
// lasts as long as the program, so that objects may be made before leat::run and outlive it. Handlers of the
// program's own run on scheduler threads, on no G: they may post, ready others through try_ calls, and
// nothing that waits. Once it is in use, deadlocks are not reported any more: a handler might do something.
//
// Everything in the context, handlers and the steps of composed operations, runs one at a time: like a
// strand over the whole context. So an operation may be cancelled from any handler.
asio::io_context& io();

}  // namespace leat
