// SPDX-License-Identifier: BSL-1.0
//
// From a request at the control door to its answer: paths, methods, parameters, who may do what. Knows nothing
// of sockets, so that the fuzzer and the tests can ask it directly.
#pragma once
#include <string>
#include <string_view>

#include <leat/control/deployment.hpp>
#include <leat/control/tap_places.hpp>
#include <leat/net/http_request.hpp>
#include <leat/net/http_server.hpp>

namespace leat::control {

// What the one who asks may do.
enum class rights : std::uint8_t {
  look,    // GET
  change,  // everything
};

// `admit`: for taps, as tap_response has it.
net::http::response answer_to(deployment& d, const net::http::request& r, rights may, bool by_tcp,
                              const tap_admission& admit = {});

// What the server refuses before a request gets here, as JSON like the rest: "413 Content Too Large".
net::http::response refusal_of(std::string_view status);
// 403, with what to do: of a request that names another host, and of one that a page of another site has sent.
net::http::response wrong_host(std::string_view host);
net::http::response foreign_page();

// Largest body of a request.
inline constexpr std::size_t most_body = std::size_t{1} << 20;

}  // namespace leat::control
