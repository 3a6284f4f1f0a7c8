// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as the head of a response: a connection is kept only where nobody could disagree about the
// length. And any text read as the address to post to.
#include <leat/net/http_client.hpp>
#include <leat/net/http_response.hpp>

#include "fuzz/fuzz.hpp"
#include "net/http_cases.hpp"

namespace leat::fuzz {
namespace {

void read_url(std::string_view text) {
  std::string why;
  const auto u = net::http::url::parse(text, &why);
  if (!u) return require(!why.empty(), "a refusal has a reason");
  require(u->path.starts_with('/') && u->host.find(':') != std::string::npos,
          "an address has a path and a port");
  // Both go into the head of a request.
  for (const char c : u->host + u->path)
    require(c > ' ' && c < 0x7f, "an address has no blanks and no line ends");
  const auto again = net::http::url::parse("http://" + u->host + u->path);
  require(again && again->host == u->host && again->path == u->path, "an address is read back");
}

void read_head(std::string_view text) {
  const char* why = nullptr;
  const std::optional<net::http::response_head> r = net::http::parse_response(text, why);
  if (!r) return require(why && *why, "a refusal has a reason");
  require(r->status >= 100 && r->status <= 599, "a status has three digits");
  if (!r->keep_alive) return;
  std::string head(text);
  for (char& c : head)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  std::size_t lengths = 0;
  for (std::size_t i = 0; i < head.size(); ++i) {
    require(head[i] != '\n' || (i > 0 && head[i - 1] == '\r'), "a kept connection has no half line ends");
    require(head[i] != '\r' || (i + 1 < head.size() && head[i + 1] == '\n'),
            "a kept connection has no half line ends");
    require(head[i] != '\0', "a kept connection has no zero bytes");
    if (head[i] != '\n') continue;
    const std::string_view line = std::string_view(head).substr(i + 1);
    require(!line.starts_with("transfer-encoding:") && !line.starts_with("transfer-encoding ") &&
                !line.starts_with(' ') && !line.starts_with('\t'),
            "a kept connection has no coding and no folded line");
    if (line.starts_with("content-length:")) ++lengths;
  }
  const bool bodiless = r->status < 200 || r->status == 204 || r->status == 304;
  require(lengths == 1 || (bodiless && lengths == 0), "a kept connection has one length");
  require(!bodiless || r->body_size == 0, "what has no body has none");
}

void run(std::string_view input) {
  if (choice(input, 4) == 3) return read_url(input);
  read_head(input);
}

inputs seeds() {
  inputs all;
  for (const auto& c : net::http::test::response_cases) all.push_back(chosen(0, c.text));
  for (const char* url : {"http://127.0.0.1:8080/in", "http://[::1]/x?y", "https://a", "http://a?b/c",
                          "http://a:80#x", "http://u@a/"})
    all.push_back(chosen(3, url));
  return all;
}

LEAT_FUZZ_TARGET("http-response", run, seeds);

}  // namespace
}  // namespace leat::fuzz
