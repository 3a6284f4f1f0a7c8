// SPDX-License-Identifier: BSL-1.0
//
// Sends back what it gets. One G per connection; Ctrl-C ends it.
#include <cstdio>
#include <exception>

#include <leat/leat.hpp>
#include <leat/net.hpp>

int main(int argc, char** argv) try {
  return leat::run([&] {
    leat::net::listener at = leat::net::listen(argc > 1 ? argv[1] : "127.0.0.1:7000");
    std::fprintf(stderr, "echo: on %s\n", at.local().text().c_str());
    leat::task_group group;
    group.go([&, quit = leat::signals(SIGINT, SIGTERM)] {
      if (quit.recv()) at.shutdown();
    });
    leat::net::serve(at, [](leat::net::stream& peer) {
      char data[4096];
      while (const std::size_t n = peer.read_some(data)) peer.write({data, n});
    });
  });
} catch (const std::exception& e) {
  std::fprintf(stderr, "echo: %s\n", e.what());
  return 1;
}
