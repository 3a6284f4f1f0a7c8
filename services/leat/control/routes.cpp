// SPDX-License-Identifier: BSL-1.0
#include <leat/control/routes.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <leat/control/inspector_page.hpp>
#include <leat/control/json_writer.hpp>
#include <leat/control/metrics.hpp>
#include <leat/control/tap_stream.hpp>
#include <leat/control/view_json.hpp>

namespace leat::control {

namespace http = net::http;

namespace {

// In the body of a request: an object of a few, and the settings of one process.
constexpr std::size_t most_values = std::size_t{1} << 14;
constexpr std::string_view json_type = "application/json";

http::response as_response(outcome o) {
  http::response a;
  a.status = o.status;
  a.type = json_type;
  a.fields = "Cache-Control: no-store\r\n";
  a.body = std::move(o.json) + "\n";
  return a;
}

http::response refusal(std::string_view status, std::string_view text) {
  return as_response(refused(status, text));
}

http::response text_response(std::string_view status, std::string_view type, std::string body) {
  http::response a;
  a.status = status;
  a.type = type;
  a.fields = "Cache-Control: no-store\r\n";
  a.body = std::move(body);
  return a;
}

constexpr std::array<std::string_view, 6> post_paths{"/v1/inject", "/v1/restart", "/v1/set",
                                                     "/v1/log",    "/v1/dump",    "/v1/stop"};
constexpr std::array<std::string_view, 6> get_paths{"/v1/state", "/v1/process", "/v1/tap",
                                                    "/metrics",  "/live",       "/ready"};
template <class Paths>
bool is_one_of(std::string_view path, const Paths& all) {
  return std::find(all.begin(), all.end(), path) != all.end();
}
bool is_post_path(std::string_view path) { return is_one_of(path, post_paths); }
bool is_get_path(std::string_view path) { return path == "/" || is_one_of(path, get_paths); }
template <class Paths>
std::string listed(const Paths& all) {
  std::string text;
  for (const std::string_view path : all) text.append(text.empty() ? "" : ", ").append(path);
  return text;
}
http::response no_such_path() {
  return refusal("404 Not Found", "there is no such path. GET " + listed(get_paths) + "; POST " +
                                      listed(post_paths) + "; docs/operating.md says what they do");
}

std::optional<double> number_in(std::string_view query, std::string_view name, double otherwise) {
  const auto text = http::query_value(query, name);
  if (!text || text->empty()) return otherwise;
  double v = 0;
  const auto [end, wrong] = std::from_chars(text->data(), text->data() + text->size(), v);
  if (wrong != std::errc() || end != text->data() + text->size() || !std::isfinite(v) || v < 0)
    return std::nullopt;
  return v;
}

// All `name=value` of a query.
std::vector<std::string> values_in(std::string_view query, std::string_view name) {
  std::vector<std::string> all;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      if (auto v = http::query_value(part, name)) all.push_back(std::move(*v));
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return all;
}

// The body of a POST: a table, or why not.
std::optional<json> body_of(const http::request& r, http::response& why) {
  if (r.body.empty()) {
    json nothing;
    nothing.what = json::kind::table;
    return nothing;
  }
  // A value to be injected goes on as text.
  json_result read =
      read_json(r.body, {.most_values = most_values,
                         .kept_depth = r.path() == "/v1/inject" ? std::size_t{1} : remote::json_depth});
  if (read.value && read.value->what == json::kind::table) return std::move(read.value);
  json_writer w;
  w.object([&] {
    w.member("error", read.value ? std::string("the body must be a JSON object")
                                 : "the body cannot be read as JSON: " + read.error.text);
    w.member("line", read.value ? std::size_t{1} : read.error.line);
    w.member("column", read.value ? std::size_t{1} : read.error.column);
  });
  why = as_response({"400 Bad Request", w.take()});
  return std::nullopt;
}

http::response get(deployment& d, const http::request& r, rights may, bool by_tcp,
                   const tap_admission& admit) {
  const std::string_view path = r.path();
  if (path == "/v1/state") return as_response({"200 OK", to_json(d.look(), may == rights::change)});
  if (path == "/metrics") {
    const metrics_format f = wanted_format(r.field("accept"));
    return text_response("200 OK", content_type(f), metrics_text(d.look(), f));
  }
  if (path == "/live" || path == "/ready") {
    const deployment::health_view h = d.health();
    const bool good = path == "/live" ? h.live : h.ready;
    return text_response(good ? "200 OK" : "503 Service Unavailable", "text/plain",
                         good ? "ok\n" : h.why + "\n");
  }
  if (path == "/v1/process") {
    const auto name = http::query_value(r.query(), "name");
    if (!name || name->empty())
      return refusal("400 Bad Request", "say which: /v1/process?name=SERVICE/PROCESS");
    return as_response(d.process(*name));
  }
  if (path == "/v1/tap") {
    const auto rate = number_in(r.query(), "rate", 0), count = number_in(r.query(), "count", 0);
    if (!rate)
      return refusal("400 Bad Request", "'rate' is a number of values a second: 0 (as many as come) or more");
    if (!count || *count != std::floor(*count))
      return refusal("400 Bad Request", "'count' is a whole number of values: 0 (without an end) or more");
    const std::vector<std::string> channels = values_in(r.query(), "channel");
    const bool of_one = std::any_of(channels.begin(), channels.end(),
                                    [](const std::string& c) { return c.find('@') != std::string::npos; });
    if (of_one || !values_in(r.query(), "reader").empty())
      return refusal(
          "400 Bad Request",
          "a tap shows what is sent to all readers: name the channel without '@READER' or 'reader'");
    return tap_response(d, channels, *rate, *count,
                        http::query_value(r.query(), "where").value_or(std::string()), admit);
  }
  if (!by_tcp)
    return refusal(
        "404 Not Found",
        "the page is at the TCP door: give the deployment one with `[control] listen = \"127.0.0.1:9464\"`");
  http::response a = text_response("200 OK", "text/html; charset=utf-8", std::string(inspector_page()));
  a.fields.append("Content-Security-Policy: ").append(inspector_page_policy()).append("\r\n");
  a.fields += "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";
  return a;
}

http::response post(deployment& d, const http::request& r) {
  http::response why;
  const std::optional<json> body = body_of(r, why);
  if (!body) return why;
  const std::string_view path = r.path();
  if (path == "/v1/inject") {
    const json* const value = body->find("value");
    if (body->text_of("channel").empty() || !value)
      return refusal("400 Bad Request", "an inject needs \"channel\" and \"value\"");
    return as_response(d.inject(body->text_of("channel"), value->source(r.body), body->number_of("wait", 5)));
  }
  if (path == "/v1/restart") {
    if (body->text_of("process").empty()) return refusal("400 Bad Request", "a restart needs \"process\"");
    return as_response(d.restart(body->text_of("process")));
  }
  if (path == "/v1/set") {
    const json* const changes = body->find("set");
    if (body->text_of("process").empty() || !changes || changes->what != json::kind::table)
      return refusal("400 Bad Request", "a set needs \"process\" and \"set\", an object of settings");
    return as_response(d.set(body->text_of("process"), *changes, body->flag_of("restart")));
  }
  if (path == "/v1/log") {
    if (body->text_of("level").empty())
      return refusal("400 Bad Request", "a log needs \"level\": debug, info, notice, warning or error");
    return as_response(d.log(body->text_of("level"), body->text_of("process")));
  }
  if (path == "/v1/dump") return text_response("200 OK", "text/plain; charset=utf-8", d.dump());
  return as_response(d.stop(body->flag_of("now")));
}

}  // namespace

outcome refused(std::string_view status, std::string_view text) {
  json_writer w;
  w.object([&] { w.member("error", text); });
  return {status, w.take()};
}

http::response refusal_of(std::string_view status) {
  if (status.starts_with("413")) return refusal(status, "a request has at most 1 MiB: send less");
  if (status.starts_with("431")) return refusal(status, "the head of a request has at most 8 KiB: send less");
  if (status.starts_with("408")) return refusal(status, "the request took too long: send it at once");
  if (status.starts_with("501"))
    return refusal(status, "a body in chunks is not read: send it whole, with Content-Length");
  if (status.starts_with("505"))
    return refusal(status, "this door speaks HTTP/1.1 and 1.0, and no other version");
  return refusal(status, "what came is not a request of HTTP/1.1");
}

http::response wrong_host(std::string_view host) {
  return refusal("403 Forbidden",
                 "the request is for the host '" + std::string(host.substr(0, 100)) +
                     "', which is not a name of this machine: add it to `[control] hosts`, or "
                     "use the machine's address");
}

http::response foreign_page() {
  return refusal(
      "403 Forbidden",
      "a page of another site, or of another port, has sent this request through the browser: only the page "
      "of this door may");
}

http::response answer_to(deployment& d, const http::request& r, rights may, bool by_tcp,
                         const tap_admission& admit) {
  try {
    const bool changes = is_post_path(r.path());
    if (!changes && !is_get_path(r.path())) return no_such_path();
    if (changes != (r.method == "POST") || (!changes && r.method != "GET" && r.method != "HEAD")) {
      http::response a =
          refusal("405 Method Not Allowed", changes ? "this path takes POST" : "this path takes GET");
      a.fields += changes ? "Allow: POST\r\n" : "Allow: GET, HEAD\r\n";
      return a;
    }
    if (!changes) return get(d, r, may, by_tcp, admit);
    if (may != rights::change)
      return refusal(
          "403 Forbidden",
          "this door only shows: set [control] token_file and send its first line as `Authorization: "
          "Bearer TOKEN`, or use the Unix socket");
    return post(d, r);
  } catch (const std::bad_alloc&) {
    return refusal("503 Service Unavailable", "out of memory: try again");
  }
}

}  // namespace leat::control
