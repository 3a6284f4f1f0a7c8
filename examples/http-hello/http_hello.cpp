// SPDX-License-Identifier: BSL-1.0
//
// HTTP/1.1 with keep-alive and pipelining, and one page. One G per connection; Ctrl-C ends it.
#include <cstdio>
#include <exception>

#include <leat/leat.hpp>
#include <leat/net.hpp>
#include <leat/net/http_server.hpp>

namespace http = leat::net::http;

namespace {

http::response hello(const http::request& r) {
  if (r.method != "GET" && r.method != "HEAD") return http::method_not_allowed();
  if (r.path() != "/") return http::not_found();
  return {.body = "Hello, world!\n"};
}

}  // namespace

int main(int argc, char** argv) try {
  return leat::run([&] {
    leat::net::listener at = leat::net::listen(argc > 1 ? argv[1] : "127.0.0.1:8080");
    std::fprintf(stderr, "http-hello: on %s\n", at.local().text().c_str());
    leat::task_group group;
    group.go([&, quit = leat::signals(SIGINT, SIGTERM)] {
      if (quit.recv()) at.shutdown();
    });
    leat::net::serve(at, [](leat::net::stream& peer) { http::serve_connection(peer, hello); },
                     {.name = "client"});
  });
} catch (const std::exception& e) {
  std::fprintf(stderr, "http-hello: %s\n", e.what());
  return 1;
}
