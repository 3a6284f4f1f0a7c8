// SPDX-License-Identifier: BSL-1.0
#include <array>
#include <asio.hpp>
#include <memory>
#include <thread>
#include <utility>

extern const char* const peer_name;
const char* const peer_name = "asio";

namespace {

using asio::ip::tcp;

struct session : std::enable_shared_from_this<session> {
  explicit session(tcp::socket s) : socket(std::move(s)) {}
  void read() {
    socket.async_read_some(asio::buffer(data), [me = shared_from_this()](asio::error_code e, std::size_t n) {
      if (!e) me->write(n);
    });
  }
  void write(std::size_t n) {
    asio::async_write(socket, asio::buffer(data, n),
                      [me = shared_from_this()](asio::error_code e, std::size_t) {
                        if (!e) me->read();
                      });
  }
  tcp::socket socket;
  std::array<char, 4096> data;
};

void accept(tcp::acceptor& at) {
  at.async_accept([&at](asio::error_code e, tcp::socket s) {
    if (e) return;
    s.set_option(tcp::no_delay(true));
    std::make_shared<session>(std::move(s))->read();
    accept(at);
  });
}

}  // namespace

void serve(int listener, int threads);
void serve(int listener, int threads) {
  // One thread: without its locks, as its documentation advises.
  asio::io_context io(threads);
  tcp::acceptor at(io, tcp::v4(), listener);
  accept(at);
  for (int i = 1; i < threads; ++i) std::thread([&io] { io.run(); }).detach();
  io.run();
}
