// SPDX-License-Identifier: BSL-1.0
//
// What the client connects to, and over what.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <algorithm>

#include <leat/net/dial.hpp>
#include <leat/net/mqtt/client.hpp>

namespace leat::net::mqtt {
namespace {

constexpr int most_not_sent = 16 << 10;  // a piece of the client's writer

class tcp_transport final : public transport {
 public:
  explicit tcp_transport(stream s) : stream_(std::move(s)) {
    const int little = most_not_sent;
    (void)::setsockopt(stream_.handle().fd(), IPPROTO_TCP, TCP_NOTSENT_LOWAT, &little, sizeof little);
  }
  std::size_t read_some(mutable_bytes into, std::error_code& ec) override {
    return stream_.read_some(into, ec);
  }
  void write(const_bytes from, std::error_code& ec, deadline until) override {
    stream_.write(from, ec, until);
  }
  void shutdown() noexcept override { stream_.shutdown(); }

 private:
  stream stream_;
};

}  // namespace

std::unique_ptr<transport> connect_tcp(const std::string& server, deadline until) {
  return std::make_unique<tcp_transport>(dial(server, until));
}

std::optional<std::string> server_of_url(std::string_view text, std::string& why) {
  const auto wrong = [&](const char* what) {
    why = what;
    return std::optional<std::string>();
  };
  if (text.starts_with("mqtts://") || text.starts_with("wss://"))
    return wrong("TLS is not spoken here yet, only mqtt://host:port");
  if (!text.starts_with("mqtt://")) return wrong("expected mqtt://host:port");
  text.remove_prefix(7);
  if (text.ends_with('/')) text.remove_suffix(1);
  if (text.find('@') != text.npos)
    return wrong("credentials do not belong into an address: use user_name and password_file");
  if (std::any_of(text.begin(), text.end(),
                  [](char c) { return c <= ' ' || c >= 0x7f || c == '/' || c == '?'; }))
    return wrong("a blank or a character that host:port cannot have");
  const std::size_t colon = text.rfind(':'), bracket = text.rfind(']');
  const bool has_port = colon != text.npos && (bracket == text.npos || colon > bracket);
  if (text.empty() || text.front() == ':' || text == "[]") return wrong("there is no host");
  if (has_port) {
    const std::string_view port = text.substr(colon + 1);
    unsigned n = 0;
    for (const char c : port)
      n = c < '0' || c > '9' || n > 65535 ? 65536 : n * 10 + static_cast<unsigned>(c - '0');
    if (port.empty() || n == 0 || n > 65535) return wrong("a port is a number from 1 to 65535");
    if (bracket == text.npos && text.find(':') != colon)
      return wrong("an address of IPv6 stands in brackets: mqtt://[::1]:1883");
  }
  return std::string(text) + (has_port ? "" : ":1883");
}

}  // namespace leat::net::mqtt
