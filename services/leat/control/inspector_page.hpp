// SPDX-License-Identifier: BSL-1.0
//
// The inspector page: the graph of a running deployment in a browser, from /v1/state and its neighbours, relative to
// where the page itself is. One text, with style and script inside; its parts are the files of
// services/leat/control/page, put together when Leat is built. Not installed.
#pragma once
#include <string_view>

namespace leat::control {

// text/html; charset=utf-8.
std::string_view inspector_page();
// The value of its Content-Security-Policy: without it the page works as well, but is not strict.
std::string_view inspector_page_policy();

}  // namespace leat::control
