// SPDX-License-Identifier: BSL-1.0
//
// GET /v1/tap: what passes through channels, a line of JSON each, until the client has enough.
#pragma once
#include <string>
#include <vector>

#include <leat/control/deployment.hpp>
#include <leat/control/tap_places.hpp>
#include <leat/net/http_server.hpp>

namespace leat::control {

// `count`: 0: until the client goes. `where`: an expression, or empty; what it is not true for is counted apart, so
// that shown + not shown + not matching = passed. `admit`: asked for a place; null: there is one.
net::http::response tap_response(deployment& d, const std::vector<std::string>& channels, double rate,
                                 double count, const std::string& where, const tap_admission& admit = {});

}  // namespace leat::control
