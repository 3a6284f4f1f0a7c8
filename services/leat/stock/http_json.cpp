// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/http_server.hpp>
#include <leat/net/listener.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/live_feed.hpp>
#include <leat/stock/live_page.hpp>

LEAT_STOCK_ANCHOR(http_json)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;
namespace http = net::http;

// The page may load from here alone, and be framed by nobody.
constexpr std::string_view page_fields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n";
constexpr std::string_view all_fields = "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n";

http::answer made(std::string_view type, std::string body, std::string_view fields = {}) {
  return {.type = type, .fields = std::string(all_fields).append(fields), .body = std::move(body)};
}
http::answer json(std::string body) { return made("application/json", std::move(body)); }

// A page of another site whose name is made to lead to this machine cannot read what is here: its requests
// still tell that name.
bool is_local_name(std::string_view host) noexcept {
  if (host.starts_with('[')) return true;
  host = host.substr(0, host.rfind(':'));
  if (host.empty() || host == "localhost" || host.ends_with(".localhost")) return true;
  return host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Records without a key are shown as one; but one that the file names is meant to be there.
std::vector<needed_field> key_if_named(const value& settings) {
  const value* const key = settings.find("key");
  const auto* const name = key ? key->get_if<std::string>() : nullptr;
  if (!name || !key->at().known()) return {};
  return {{*name, field_kind::any, key}};
}

class http_json : public process {
  record_in values{this, "values", exclusive_port, needs_by(key_if_named), "what is shown"};
  setting<std::string> listen{this, "listen", "127.0.0.1:8080",
                              "address and port; others than 127.0.0.1 let others in. Port 0: any",
                              judged_by(judge_listen)};
  setting<std::string> title{this, "title", "Leat", "of the page"};
  setting<std::string> key{this, "key", "sensor", "field that tells sensors apart"};
  field_setting<> field{this, "field", "values", field_kind::any, "value", "field that the page shows"};
  setting<std::int64_t> history{this, "history", 1000, "records that are kept", between(1, 1'000'000)};
  setting<std::int64_t> keys{this, "keys", 1000, "most sensors in /latest", between(1, 100'000)};
  setting<std::int64_t> connections{
      this, "connections", 64, "at a time; three quarters of them may listen to /events", between(2, 10'000)};
  setting<byte_size> request_size{this, "request_size", byte_size{8192}, "longest head of a request",
                                  between(byte_size{1024}, byte_size{1 << 20})};
  setting<nanoseconds> request_time{this, "request_time", 10s, "longest time that a request takes to come",
                                    between<nanoseconds>(10ms, 1h)};
  setting<nanoseconds> idle_time{this, "idle_time", 60s, "longest time between two requests",
                                 between<nanoseconds>(10ms, 24h)};
  setting<nanoseconds> write_time{this, "write_time", 10s,
                                  "longest time that a client may take to read an answer, or some events",
                                  between<nanoseconds>(10ms, 1h)};
  setting<nanoseconds> heartbeat{this, "heartbeat", 15s, "a sign of life on /events without events",
                                 between<nanoseconds>(10ms, 1h)};
  errors told{this,
              {{"an address that is taken, or not one of this machine", "the process fails"},
               {"a record without `key`", "shown under an empty name"},
               {"more sensors than `keys`", "further ones are not in /latest, which is told"},
               {"more connections than `connections`", "wait until one has ended"},
               {"more listeners to /events than three quarters of `connections`", "503, with Retry-After"},
               {"a request that is none, too large or too slow", "400, 408, 413, 431 and so on"},
               {"a request that names another host, while it listens on loopback", "403"},
               {"a listener that does not read for `write_time`, or falls behind the history",
                "dropped, counted and told at the end"}}};

  void run() override {
    net::listener at = net::listen(*listen);
    loopback_only_ = at.local().text().starts_with("127.") || at.local().text().starts_with("[::1]");
    log_info("stock", "{}: on http://{}/", name(), at.local().text());
    feed_.emplace(static_cast<std::size_t>(*history), static_cast<std::size_t>(*keys));
    task_group group;
    std::atomic<bool> over{false};
    group.go("server", [&] {
      try {
        serve(at);
      } catch (...) {
        over = true;
        at.shutdown();
        throw;  // out of wait()
      }
    });
    bool warned = false;
    for (const record& r : values) {
      if (over) break;
      const field_value* const k = r.find(*key);
      feed_->add(k ? to_text(*k) : std::string(), to_json(r));
      if (!warned && feed_->turned_away() > 0) {
        warned = true;
        log_warning("stock", "{}: more than {} sensors; further ones are not in /latest", name(), *keys);
      }
    }
    at.shutdown();
    group.stop();
    (void)group.wait();
    if (const auto n = dropped_.load(); n > 0)
      log_notice("stock", "{}: {} listeners were too slow and were dropped", name(), n);
  }

  void serve(net::listener& at) {
    const http::limits limits{.head = static_cast<std::size_t>(request_size->bytes),
                              .body = 64 * 1024,
                              .between = *idle_time,
                              .for_head = *request_time,
                              .for_body = *request_time,
                              .to_write = *write_time};
    const std::function<http::answer(const http::request&)> handler = [this](const http::request& r) {
      return answer_to(r);
    };
    net::serve(at,
               [&](net::stream& peer) {
                 try {
                   http::serve_connection(peer, handler, limits);
                 } catch (const std::system_error&) {
                   // It went away, or does not read: its own affair.
                 }
               },
               {.limit = static_cast<std::size_t>(*connections), .name = "client"});
  }

  http::answer answer_to(const http::request& r) {
    if (loopback_only_ && !is_local_name(r.field("host"))) return http::plain("403 Forbidden");
    if (r.method != "GET" && r.method != "HEAD") return http::method_not_allowed();
    const std::string_view path = r.path();
    if (path == "/") return made("text/html; charset=utf-8", live_page(*title, *key, *field), page_fields);
    if (path == "/page.css") return made("text/css; charset=utf-8", std::string(live_page_style));
    if (path == "/page.js") return made("text/javascript; charset=utf-8", std::string(live_page_script));
    if (path == "/latest") return json(feed_->latest());
    if (path == "/health") return json(health());
    if (path != "/history" && path != "/events") return http::not_found();
    const std::optional<std::size_t> n = number_of(r, "n");
    if (!n) return http::plain("400 Bad Request");
    return path == "/history" ? json(feed_->history(*n)) : events(r, *n);
  }

  // As many as there are if it is not there; none if it is no number.
  static std::optional<std::size_t> number_of(const http::request& r, std::string_view what) {
    const std::optional<std::string> text = http::query_value(r.query(), what);
    std::size_t n = SIZE_MAX;
    if (!text) return n;
    const char* const end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, n);
    if (error != std::errc{} || at != end) return {};
    return n;
  }

  http::answer events(const http::request& r, std::size_t n) {
    // A browser that reconnects tells the last id in a field, with the address that it began with.
    std::string seen_id(r.field("last-event-id"));
    if (seen_id.empty()) seen_id = http::query_value(r.query(), "after").value_or("");
    const auto most = static_cast<std::size_t>(*connections - (*connections + 3) / 4);
    if (listeners_.fetch_add(1) >= most) {
      listeners_.fetch_sub(1);
      http::answer a = http::plain("503 Service Unavailable");
      a.fields = "Retry-After: 5\r\n";
      return a;
    }
    const std::shared_ptr<void> counted(nullptr, [this](void*) { listeners_.fetch_sub(1); });
    http::answer a = made("text/event-stream", {});
    a.then = [this, counted, seen = feed_->begin(seen_id, n)](net::stream& to) mutable { tell(to, seen); };
    return a;
  }

  void tell(net::stream& to, std::uint64_t& seen) {
    std::string text = "retry: 1000\n\n";
    for (std::error_code ec;;) {
      to.write(text, ec, *write_time);
      if (ec == std::errc::timed_out) dropped_.fetch_add(1);
      if (ec) return;
      text.clear();
      switch (feed_->next(seen, text, *heartbeat)) {
        case live_feed::status::events: break;
        case live_feed::status::idle: text = ":\n\n"; break;
        case live_feed::status::behind: dropped_.fetch_add(1); return;
        case live_feed::status::over: return;
      }
    }
  }

  std::string health() {
    return "{\"status\":\"ok\",\"records\":" + std::to_string(feed_->count()) +
           ",\"sensors\":" + std::to_string(feed_->keys()) +
           ",\"listeners\":" + std::to_string(listeners_.load()) +
           ",\"dropped_listeners\":" + std::to_string(dropped_.load()) + "}\n";
  }

  bool loopback_only_ = true;
  std::optional<live_feed> feed_;
  std::atomic<std::size_t> listeners_{0};
  std::atomic<std::uint64_t> dropped_{0};
};
LEAT_PROCESS_AS("http-json", http_json, "shows records over HTTP: as JSON, as events, and as a live page");

}  // namespace
}  // namespace leat::stock
