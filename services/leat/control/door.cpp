// SPDX-License-Identifier: BSL-1.0
#include <leat/control/door.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/control/routes.hpp>
#include <leat/control/socket_place.hpp>
#include <leat/control/tap_places.hpp>
#include <leat/net/allowed_hosts.hpp>
#include <leat/net/http_server.hpp>
#include <leat/remote/secret_file.hpp>

namespace leat::control {

using namespace std::chrono_literals;
namespace http = net::http;

namespace {

const http::limits limits{.head = 8192,
                          .body = most_body,
                          .keep_body = true,
                          .between = 60s,
                          .for_head = 10s,
                          .for_body = 10s,
                          .to_write = 10s,
                          .refusal = refusal_of};

// Of the same user, or root's.
bool may_enter(const net::stream& peer) {
  ucred who{};
  socklen_t n = sizeof who;
  if (::getsockopt(peer.handle().fd(), SOL_SOCKET, SO_PEERCRED, &who, &n) != 0) return false;
  return who.uid == ::geteuid() || who.uid == 0;
}

// The time it takes tells nothing of where they differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned char>(a[i]) ^
              static_cast<unsigned>(static_cast<unsigned char>(i < b.size() ? b[i] : 0));
  return differ == 0;
}

bool has_token(const http::request& r, const std::string& token) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view given = r.field("authorization");
  return !token.empty() && given.starts_with(scheme) && same_secret(given.substr(scheme.size()), token);
}

// Half of the places are for those who ask and go: taps stay as long as they like.
http::response bounded(http::response r, const std::shared_ptr<std::atomic<std::size_t>>& streams,
                       std::size_t clients) {
  if (!r.then) return r;
  // Counted down when the response is gone, however it ends.
  const std::shared_ptr<void> counted(streams.get(), [streams](void*) { --*streams; });
  if (++*streams > std::max<std::size_t>(clients / 2, 1)) {
    http::response full = refusal_of("503 Service Unavailable");
    full.body = R"({"error":"too many taps are open on this door: close one, or ask again later"})"
                "\n";
    return full;
  }
  r.then = [counted, then = std::move(r.then)](net::stream& to) { then(to); };
  return r;
}

}  // namespace

std::string read_token(const std::string& file) {
  remote::secret_line line = remote::read_secret_line(file);
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error("[control] token_file: " + file + ": " + why);
  };
  if (!line.why.empty()) fail(line.why);
  if (line.owner != ::geteuid() && line.owner != 0)
    fail("it belongs to user " + std::to_string(line.owner) +
         ", who may read and change it: chown it to user " + std::to_string(::geteuid()) + " or root");
  // What a header can carry to its end.
  if (std::any_of(line.text.begin(), line.text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; }))
    fail("its first line has a control character");
  if (line.text.starts_with(' ') || line.text.ends_with(' '))
    fail("its first line begins or ends with a blank");
  if (line.text.size() < 16) fail("its first line must have at least 16 characters");
  return std::move(line.text);
}

door::door(deployment& d, door_options o) : deployment_(d), options_(std::move(o)) {
  if (options_.socket) {
    placed_listener found = listen_at_free_path(options_.name, 64);
    socket_ = std::move(found.at);
    path_ = std::move(found.path);
    // Who connects is asked who he is, whatever the mode lets through in the moment before it is set.
    if (!path_.empty())
      (void)::chmod(path_.c_str(), 0600);
    else
      log_warning("control",
                  "no control socket ({}): `leat ps` and the other verbs do not find this deployment; "
                  "LEAT_SOCKETS=FOLDER names a folder for it",
                  found.why);
  }
  if (options_.listen.empty()) return;
  try {
    tcp_ = net::listen(options_.listen, 64);
    log_notice("control", "the inspector is on http://{}/", tcp_.local().text());
  } catch (const std::exception& e) {
    log_error("control", "[control] listen = \"{}\": {}; the deployment runs without it", options_.listen,
              e.what());
  }
}

door::~door() = default;

std::string door::tcp_address() const { return tcp_.is_open() ? tcp_.local().text() : std::string(); }

void door::serve_socket() {
  const auto streams = std::make_shared<std::atomic<std::size_t>>(0);
  net::serve(socket_,
             [&](net::stream& peer, net::guest& who) {
               if (!may_enter(peer)) return;
               try {
                 http::serve_connection(
                     peer,
                     [&](const http::request& r) {
                       return bounded(answer_to(deployment_, r, rights::change, false), streams,
                                      options_.clients);
                     },
                     limits, &who);
               } catch (const std::system_error&) {
                 // It went away, or does not read: its own affair.
               }
             },
             {.limit = options_.clients, .name = "control", .evict_idle = true});
}

void door::serve_tcp() {
  const http::allowed_hosts hosts(options_.hosts);
  const auto streams = std::make_shared<std::atomic<std::size_t>>(0);
  tap_places places;
  net::serve(tcp_,
             [&](net::stream& peer, net::guest& who) {
               const net::address local = peer.local();
               const auto answer = [&](const http::request& r) {
                 // A page of another site may send requests here, though it cannot read the answers.
                 const std::string_view from = r.field("sec-fetch-site");
                 if (from == "cross-site" || from == "same-site") return foreign_page();
                 if (!hosts.allows(r.field("host"), local)) return wrong_host(r.field("host"));
                 const rights may = has_token(r, options_.token) ? rights::change : rights::look;
                 const auto admit = [&](const std::vector<std::string>& channels, outcome& why) {
                   return places.take(may == rights::change ? std::string() : peer.peer().origin(), channels,
                                      why);
                 };
                 return bounded(answer_to(deployment_, r, may, true, admit), streams, options_.clients);
               };
               try {
                 http::serve_connection(peer, answer, limits, &who);
               } catch (const std::system_error&) {
               }
             },
             // One address leaves a quarter of the places to others.
             {.limit = options_.clients,
              .name = "control",
              .per_address = options_.clients < 16 ? 0 : options_.clients / 4 * 3,
              .evict_idle = true});
}

void door::serve(task_group& in) {
  // One that fails takes neither the other door nor the observer with it.
  const auto guarded = [](const char* which, auto serve) {
    try {
      serve();
    } catch (const std::exception& e) {
      log_error("control", "the control door ({}) is shut: {}", which, e.what());
    }
  };
  if (socket_.is_open()) in.go("control", [this, guarded] { guarded("socket", [this] { serve_socket(); }); });
  if (tcp_.is_open()) in.go("control", [this, guarded] { guarded("TCP", [this] { serve_tcp(); }); });
}

}  // namespace leat::control
