// SPDX-License-Identifier: BSL-1.0
#include <atomic>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/http_server.hpp>
#include <leat/net/listener.hpp>

#include <leat/net/allowed_hosts.hpp>
#include <leat/stock/anchors.hpp>
#include <leat/stock/live_feed.hpp>
#include <leat/stock/live_page.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/tls_support.hpp>
#include <leat/stock/validators.hpp>

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

http::response made(std::string_view type, std::string body, std::string_view fields = {}) {
  return {.type = type, .fields = std::string(all_fields).append(fields), .body = std::move(body)};
}
http::response json(std::string body) { return made("application/json", std::move(body)); }

// Bytes that clients have not taken yet, of all of them together.
class unsent {
 public:
  explicit unsent(std::size_t most) : most_(most) {}
  // Null: there is no room. They count until the last copy of what it returns has gone.
  std::shared_ptr<void> take(std::size_t n) {
    if (now_.fetch_add(n) + n > most_) {
      now_.fetch_sub(n);
      return nullptr;
    }
    return {this, [n](unsent* u) { u->now_.fetch_sub(n); }};
  }

 private:
  const std::size_t most_;
  std::atomic<std::size_t> now_{0};
};

// Records without a key are shown as one; but one that the file names is meant to be there.
std::vector<needed_field> key_if_named(const value& settings) {
  const value* const key = settings.find("key");
  const auto* const name = key ? key->get_if<std::string>() : nullptr;
  if (!name || !key->at().known()) return {};
  return {{*name, value_kind::any, key}};
}

// Limits in their order, and no sensor twice.
std::vector<setting_diagnostic> validate_scales(const value& all) {
  const auto* const list = all.get_if<value::list>();
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string> known;
  bool others = false;
  for (const value& v : list ? *list : value::list()) {
    const std::string* const sensor = text_in(v, "sensor");
    if (!(sensor ? known.insert(*sensor).second : !std::exchange(others, true)))
      wrong.push_back({sensor ? leat::in_quotes(*sensor) + " has two scales"
                              : std::string("two scales without `sensor`: one is for all others"),
                       &v});
    const value *low = v.find("low"), *high = v.find("high");
    const double* const least = low ? low->get_if<double>() : nullptr;
    const double* const most = high ? high->get_if<double>() : nullptr;
    if (least && most && *least >= *most) wrong.push_back({"`low` is not below `high`", high});
  }
  return wrong;
}

class http_json : public process {
  record_in values{this, "values", exclusive_port, needs_by(key_if_named), "what is shown"};
  setting<std::string> listen{this, "listen", "127.0.0.1:8080",
                              "address and port; others than 127.0.0.1 let others in. Port 0: any",
                              validated_by(validate_listen)};
  setting<std::string> cert{this, "cert", "",
                            "PEM file with the server's certificate and those above it: makes it https",
                            validated_by(validate_file)};
  setting<std::string> key_file{this, "key_file", "", "PEM file with its key, which only its owner may read",
                                validated_by(validate_file)};
  setting<std::string> ca{this, "ca", "",
                          "PEM file with authorities: clients must have a certificate of one of them",
                          validated_by(validate_file)};
  setting<std::string> title{this, "title", "Leat", "of the page"};
  setting<std::string> key{this, "key", "sensor", "field that tells sensors apart"};
  field_setting<> field{this, "field", "values", value_kind::any, "value", "field that the page shows"};
  setting<nanoseconds> window{this, "window", 2min, "how far back the page's trends go",
                              between<nanoseconds>(1s, 24h * 366)};
  setting<std::vector<page_scale>> scales{this, "scales", std::vector<page_scale>(),
                                          "how the page shows sensors: the unit, and limits that stand out",
                                          validated_by(validate_scales)};
  setting<std::int64_t> history{this, "history", 1000, "records that are kept", between(1, 1'000'000)};
  setting<std::int64_t> keys{this, "keys", 1000, "most sensors in /latest", between(1, 100'000)};
  setting<byte_size> memory{
      this, "memory", byte_size{16 << 20},
      "most bytes of the records that are kept, and of the responses that clients have not "
      "taken yet",
      between(byte_size{64 << 10}, byte_size{std::uint64_t{1} << 40})};
  setting<std::int64_t> connections{
      this, "connections", 64, "at a time; three quarters of them may listen to /events", between(2, 10'000)};
  setting<std::int64_t> per_address{
      this, "per_address", 0, "connections from one address; 0: three quarters of `connections`, from 16 on",
      between(0, 10'000)};
  setting<std::vector<std::string>> hosts{
      this, "hosts", std::vector<std::string>(),
      "names under which it may be asked, beside this machine's own names and addresses; \"*\": any"};
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
  settings_validator together{this, validate_tls_server};
  errors told{
      this,
      {{"a file of `cert`, `key_file` or `ca` that cannot be used, or a key that others may read",
        "the process fails; if that comes of a change while it runs, logged, and the old one stays in use"},
       {"a client that does not speak TLS to `cert`, or has no certificate of `ca`", "closed"},
       {"an address that is taken, or not one of this machine", "the process fails"},
       {"a record without `key`", "shown under an empty name"},
       {"more sensors than `keys`", "further ones are not in /latest, which is logged"},
       {"more connections than `connections`",
        "the one that has been idle for longest is closed; if none is, they wait"},
       {"more connections from one address than `per_address`", "closed at once"},
       {"records of more than `memory` in all", "the oldest are forgotten"},
       {"a record of more than an eighth of `memory`", "not shown, counted and logged"},
       {"responses of more than `memory` that clients do not take", "503, with Retry-After"},
       {"more listeners to /events than three quarters of `connections`", "503, with Retry-After"},
       {"a request that is none, too large or too slow", "400, 408, 413, 431 and so on"},
       {"a request that names another host than this machine or one of `hosts`", "403, which is logged"},
       {"a listener that does not read for `write_time`, or falls behind the history",
        "dropped, counted and logged at the end"}}};

  void run() override {
    net::listener at = net::listen(*listen);
    secure_ = tls_server({*ca, *cert, *key_file});
    log_info("stock", "{}: on {}://{}/", name(), secure_ ? "https" : "http", at.local().text());
    const auto bytes = static_cast<std::size_t>(memory->bytes);
    feed_.emplace(static_cast<std::size_t>(*history), static_cast<std::size_t>(*keys), bytes);
    unsent_.emplace(bytes);
    hosts_.emplace(*hosts);
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
    const field_path key_path = field_path::named(*key);
    bool warned = false;
    complaints too_large(*this, "not shown");
    std::uint64_t too_large_before = 0;
    for (const record& r : values) {
      if (over) break;
      const field_value* const k = key_path.find(r);
      feed_->add(k ? to_text(*k) : std::string(), to_json(r));
      if (!warned && feed_->turned_away() > 0) {
        warned = true;
        log_warning("stock", "{}: more than {} sensors, or too much of them; further ones are not in /latest",
                    name(), *keys);
      }
      if (const std::uint64_t n = feed_->too_large(); n > too_large_before) {
        too_large.add("a record of more than an eighth of `memory`", n - too_large_before);
        too_large_before = n;
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
    net::serve(at,
               [&](net::stream& peer, net::guest& who) {
                 const net::address local = peer.local();
                 if (secure_) {
                   who.idle();  // who says nothing has no right to its place
                   secure_(peer, *request_time);
                   who.busy();
                 }
                 // What it throws, of one that went away or does not read, gives the connection up.
                 http::serve_connection(
                     peer, [&](const http::request& r) { return answer_to(r, local); }, limits, &who);
               },
               {.limit = static_cast<std::size_t>(*connections),
                .name = "client",
                .per_address = places_per_address(*per_address, *connections),
                .evict_idle = true});
  }

  http::response answer_to(const http::request& r, const net::address& local) {
    if (!hosts_->allows(r.field("host"), local)) {
      if (!foreign_host_.exchange(true))
        log_warning("stock", "{}: refuses requests for '{}'; if it is meant, add it to `hosts`", name(),
                    r.field("host").substr(0, 100));
      return http::plain("403 Forbidden");
    }
    if (r.method != "GET" && r.method != "HEAD") return http::method_not_allowed();
    const std::string_view path = r.path();
    if (path == "/")
      return made("text/html; charset=utf-8", live_page({*title, *key, *field, *window, *scales}),
                  page_fields);
    if (path == "/page.css") return made("text/css; charset=utf-8", std::string(live_page_style()));
    if (path == "/page.js") return made("text/javascript; charset=utf-8", std::string(live_page_script()));
    if (path == "/latest") return within_memory(feed_->latest());
    if (path == "/health") return json(health());
    if (path != "/history" && path != "/events") return http::not_found();
    const std::optional<std::size_t> n = number_of(r, "n");
    if (!n) return http::plain("400 Bad Request");
    return path == "/history" ? within_memory(feed_->history(*n)) : events(r, *n);
  }

  http::response within_memory(std::string body) {
    std::shared_ptr<void> counted = unsent_->take(body.size());
    if (!counted) return later();
    http::response a = json(std::move(body));
    a.until_sent = std::move(counted);
    return a;
  }
  static http::response later() {
    http::response a = http::plain("503 Service Unavailable");
    a.fields = "Retry-After: 5\r\n";
    return a;
  }

  // As many as there are if it is not there; none if it is not a number.
  static std::optional<std::size_t> number_of(const http::request& r, std::string_view what) {
    const std::optional<std::string> text = http::query_value(r.query(), what);
    std::size_t n = SIZE_MAX;
    if (!text) return n;
    const char* const end = text->data() + text->size();
    const auto [at, error] = std::from_chars(text->data(), end, n);
    if (error != std::errc{} || at != end) return {};
    return n;
  }

  http::response events(const http::request& r, std::size_t n) {
    // A browser that reconnects tells the last id in a field, with the address that it began with.
    std::string seen_id(r.field("last-event-id"));
    if (seen_id.empty()) seen_id = http::query_value(r.query(), "after").value_or("");
    const auto most = static_cast<std::size_t>(*connections - (*connections + 3) / 4);
    if (listeners_.fetch_add(1) >= most) {
      listeners_.fetch_sub(1);
      return later();
    }
    const std::shared_ptr<void> counted(nullptr, [this](void*) { listeners_.fetch_sub(1); });
    http::response a = made("text/event-stream", {});
    a.then = [this, counted, seen = feed_->begin(seen_id, n)](net::stream& to) mutable { tell(to, seen); };
    return a;
  }

  void tell(net::stream& to, std::uint64_t& seen) {
    std::string text = "retry: 1000\n\n";
    for (std::error_code ec;;) {
      std::shared_ptr<void> counted = unsent_->take(text.size());
      if (counted) to.write(text, ec, *write_time);
      if (!counted || ec == std::errc::timed_out) dropped_.fetch_add(1);
      if (!counted || ec) return;
      counted.reset();
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

  std::function<void(net::stream&, deadline)> secure_;  // empty: plain connections
  std::optional<live_feed> feed_;
  std::optional<unsent> unsent_;
  std::optional<http::allowed_hosts> hosts_;
  std::atomic<bool> foreign_host_{false};
  std::atomic<std::size_t> listeners_{0};
  std::atomic<std::uint64_t> dropped_{0};
};
LEAT_PROCESS_AS("http-json", http_json, "shows records over HTTP: as JSON, as events, and as a live page");

}  // namespace
}  // namespace leat::stock
