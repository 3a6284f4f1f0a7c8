// SPDX-License-Identifier: BSL-1.0
#include <leat/stock/line_endpoint.hpp>

#include <charconv>
#include <optional>

#include <leat/base/value.hpp>
#include <leat/net/address.hpp>
#include <leat/process/settings.hpp>
#include <leat/stock/validators.hpp>

namespace leat::stock {
namespace {

std::optional<unsigned> unsigned_number(std::string_view text) {
  unsigned n = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc{} || at != end) return std::nullopt;
  return n;
}

struct wrong_endpoint {
  std::string why;
};

class endpoint_parser {
 public:
  endpoint_parser(std::string_view text, direction d) : text_(text), direction_(d) {}

  line_endpoint parse() const {
    if (text_ == "stdin" || text_ == "stdout") {
      if ((text_ == "stdin") != (direction_ == direction::read))
        wrong(direction_ == direction::read ? "stdout cannot be read: \"stdin\"?"
                                            : "stdin cannot be written to: \"stdout\"?");
      return {};
    }
    const std::size_t colon = text_.find(':');
    const std::string_view word = text_.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? "" : text_.substr(colon + 1);
    if (colon != std::string_view::npos) {
      if (word == "file") return {.medium = medium::file, .path = some(rest, "a path")};
      if (word == "serial") return serial(rest);
      if (word == "tcp") return {.medium = medium::tcp, .address = remote(rest)};
      if (word == "tcp-listen") return {.medium = medium::tcp_listen, .address = local(rest)};
      if (word == "udp")
        return {.medium = medium::udp, .address = direction_ == direction::read ? local(rest) : remote(rest)};
      if (word == "unix") return {.medium = medium::unix_socket, .address = socket_path(rest)};
      if (word == "unix-listen") return {.medium = medium::unix_listen, .address = socket_path(rest)};
    }
    wrong(std::string("expected ") + (direction_ == direction::read ? "\"stdin\"" : "\"stdout\"") +
          ", \"file:PATH\", \"serial:DEVICE?baud=9600\", \"tcp:HOST:PORT\", \"tcp-listen:ADDRESS:PORT\", "
          "\"udp:ADDRESS:PORT\", \"unix:PATH\" or \"unix-listen:PATH\"");
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const { throw wrong_endpoint{why}; }

  std::string some(std::string_view text, const char* what) const {
    if (text.empty()) wrong(std::string(what) + " is missing");
    if (text.find('\0') != std::string_view::npos) wrong(std::string(what) + " has a zero byte in it");
    return std::string(text);
  }

  // An address of this machine, in numbers: a name could be that of another.
  std::string local(std::string_view text) const {
    some(text, "an address");
    std::string why;
    if (text.starts_with("unix:")) wrong("expected ADDRESS:PORT, [ADDRESS]:PORT or PORT");
    if (!net::address::parse(text, &why)) wrong(why);
    return std::string(text);
  }

  std::string remote(std::string_view text) const {
    some(text, "an address");
    if (const std::string why = validate_remote(text); !why.empty()) wrong(why);
    return std::string(text);
  }

  std::string socket_path(std::string_view text) const {
    std::string address = "unix:" + some(text, "a path");
    std::string why;
    if (!net::address::parse(address, &why)) wrong(why);
    return address;
  }

  line_endpoint serial(std::string_view text) const {
    const std::size_t mark = text.find('?');
    line_endpoint p{.medium = medium::serial, .path = some(text.substr(0, mark), "a device")};
    std::string_view rest = mark == std::string_view::npos ? "" : text.substr(mark + 1);
    while (!rest.empty()) {
      const std::size_t next = rest.find('&');
      option(p.serial, rest.substr(0, next));
      rest = next == std::string_view::npos ? "" : rest.substr(next + 1);
    }
    return p;
  }

  void option(net::serial_options& o, std::string_view text) const {
    const std::size_t equals = text.find('=');
    const std::string_view key = text.substr(0, equals);
    const std::string_view v = equals == std::string_view::npos ? "" : text.substr(equals + 1);
    const auto number = [&](unsigned least, unsigned most) {
      const std::optional<unsigned> n = unsigned_number(v);
      if (!n || *n < least || *n > most)
        wrong(std::string(key) + " is a number from " + std::to_string(least) + " to " +
              std::to_string(most) + ", not " + leat::in_quotes(v));
      return *n;
    };
    const auto one_of = [&](auto... choices) {
      std::string names;
      for (const auto& [name, value] : {choices...}) {
        if (name == v) return value;
        names += (names.empty() ? "" : ", ") + std::string(name);
      }
      wrong(std::string(key) + " is one of " + names + ", not " + leat::in_quotes(v));
    };
    if (key == "baud") {
      o.baud = number(50, 4'000'000);
    } else if (key == "bits") {
      o.bits = number(5, 8);
    } else if (key == "stop") {
      o.stop_bits = number(1, 2);
    } else if (key == "parity") {
      using choice = std::pair<std::string_view, net::parity>;
      o.parity = one_of(choice("none", net::parity::none), choice("even", net::parity::even),
                        choice("odd", net::parity::odd));
    } else if (key == "flow") {
      using choice = std::pair<std::string_view, net::flow>;
      o.flow = one_of(choice("none", net::flow::none), choice("hardware", net::flow::hardware),
                      choice("software", net::flow::software));
    } else {
      wrong("a serial port has no " + leat::in_quotes(key) + ": baud, bits, parity, stop or flow");
    }
  }

  std::string_view text_;
  direction direction_;
};

}  // namespace

line_endpoint parse_endpoint(std::string_view setting, std::string_view text, direction d) {
  try {
    return endpoint_parser(text, d).parse();
  } catch (const wrong_endpoint& e) {
    throw setting_error(std::string(setting) + " = " + leat::in_quotes(text) + ": " + e.why);
  }
}

std::string validate_endpoint(std::string_view text, direction d) {
  try {
    (void)endpoint_parser(text, d).parse();
    return {};
  } catch (const wrong_endpoint& e) {
    return e.why;
  }
}

}  // namespace leat::stock
