// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/http_client.hpp>
#include <leat/process/outside.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/support.hpp>
#include <leat/stock/tls_support.hpp>
#include <leat/stock/validators.hpp>

LEAT_STOCK_ANCHOR(http_post)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;
namespace http = net::http;

enum class on_refusal : std::uint8_t { retry, fail, drop };
LEAT_ENUM(on_refusal, retry, fail, drop);

// What an answer says, and of what.
enum class verdict : std::uint8_t {
  taken,
  later,   // the server is in trouble
  place,   // it is not the server that was meant, or does not let us in: nothing is wrong with the record
  record,  // it does not want this one
};
verdict verdict_of(int status) noexcept {
  if (status < 300) return verdict::taken;
  if (status < 400 || status == 401 || status == 402 || status == 403 || status == 404 || status == 405 ||
      status == 407 || status == 410 || status == 421 || status == 426 || status == 451)
    return verdict::place;
  return status >= 500 || status == 408 || status == 425 || status == 429 ? verdict::later : verdict::record;
}

class http_post : public process {
  record_in values{this, "values", "what to post"};
  setting<std::string> url{this, "url", required, "http://host:port/path or https://host/path",
                           validated_by(validate_url)};
  setting<std::string> ca{this, "ca", "",
                          "PEM file with the authorities that are trusted, for https; empty: the system's",
                          validated_by(validate_file)};
  setting<std::string> cert{this, "cert", "", "PEM file with our own certificate, if the server wants one",
                            validated_by(validate_file)};
  setting<std::string> key_file{this, "key_file", "", "PEM file with its key, which only its owner may read",
                                validated_by(validate_file)};
  setting<std::int64_t> batch{
      this, "batch", 1, "1: each record is an object; more: an array of up to so many", between(1, 100'000)};
  setting<nanoseconds> within{this, "within", 1s, "how long a record waits for others of its array",
                              between<nanoseconds>(0s, 1h)};
  setting<std::vector<std::string>> headers{this, "headers", std::vector<std::string>(),
                                            "further fields of the head: \"Authorization: Bearer ...\"",
                                            secret(validated_by(validate_header))};
  setting<nanoseconds> connect_time{this, "connect_time", 5s, "longest time to get a connection",
                                    between<nanoseconds>(10ms, 1h)};
  setting<nanoseconds> answer_time{this, "answer_time", 10s, "longest time to send and be answered",
                                   between<nanoseconds>(10ms, 1h)};
  setting<nanoseconds> retry{this, "retry", 200ms,
                             "first pause after an error of the server or the connection; it doubles",
                             between<nanoseconds>(1ms, 1h)};
  setting<nanoseconds> retry_most{this, "retry_most", 30s, "longest pause", between<nanoseconds>(1ms, 24h)};
  setting<std::int64_t> retries{this, "retries", 0, "then it is `bad` as well; 0: no end",
                                between(0, 1'000'000)};
  setting<on_bad> bad{this, "bad", on_bad::drop, "what the server does not want: drop it, or fail"};
  setting<on_refusal> refused{this, "refused", on_refusal::retry,
                              "a redirect, or an answer that lets nobody in (401, 403, 404, ...): try again, "
                              "fail, or drop the records"};
  settings_validator together{this, validate_tls_client};
  errors told{
      this,
      {{"a server that is away, does not answer, answers 5xx, 408, 425 or 429, or something that is not HTTP",
        "logged, and tried again after `retry`, doubled up to `retry_most`; records wait"},
       {"a response of 3xx, 401, 402, 403, 404, 405, 407, 410, 421, 426 or 451: a portal, a wrong address or "
        "key",
        "the same; with refused = \"fail\" the process fails, with \"drop\" they are lost, counted and "
        "logged"},
       {"another response of 4xx, or `retries` tries without success",
        "lost, counted and logged; with bad = \"fail\" the process fails"},
       {"a server whose certificate has expired, is for another name or of nobody who is trusted",
        "logged, and tried again, as one that is away: nothing is sent to it"},
       {"a file of `ca`, `cert` or `key_file` that cannot be used, or a key that others may read",
        "the process fails; if that comes of a change while it runs, logged, and the old one stays in use"},
       {"a response that is lost", "posted again: it may come twice"},
       {"a stop while the server is away", "records in hand are lost, counted and logged"}}};

  void run() override {
    std::string why;
    const std::optional<http::url> to = http::url::parse(*url, &why);
    if (!to) throw setting_error("url: \"" + *url + "\": " + why);
    http::client::options o{.to_connect = *connect_time, .to_answer = *answer_time};
    if (to->secure) o.secure = tls_client({*ca, *cert, *key_file});
    for (const std::string& line : *headers) o.fields.append(line).append("\r\n");
    http::client server(*to, std::move(o));
    complaints dropped(*this, "dropped", complaints::ledger::lost);
    std::optional<record> r;
    bool more = true;
    while (more && (r = values.recv())) {
      in_hand count(this, values);
      count.add();
      std::string body = to_json(*r);
      if (*batch > 1 && values.at_least_once()) {
        body.insert(0, "[").append("]");  // the next receive would acknowledge what is not posted yet
      } else if (*batch > 1) {
        body.insert(0, "[");
        const deadline until = *within;
        while (count.count() < static_cast<std::uint64_t>(*batch)) {
          const recv_status s = values.recv(r, until);
          if (!r) {
            more = s == recv_status::timeout;
            break;
          }
          count.add();
          body.append(",\n").append(to_json(*r));
        }
        body += "]";
      }
      if (!post(server, body, count.count(), dropped)) {
        log_error("stock", "{}: {} records were not posted when it was stopped", name(), count.count());
        return;
      }
      count.settle();
    }
    server.close();
  }

  // False: stopped.
  bool post(http::client& server, const std::string& body, std::size_t count, complaints& dropped) {
    nanoseconds pause = *retry;
    for (std::int64_t tries = 1;; ++tries) {
      std::string why;
      verdict v = verdict::later;
      try {
        const int status = server.post("application/json", body);
        v = verdict_of(status);
        if (v == verdict::taken) {
          if (failing_) log_notice("stock", "{}: posting again to {}", name(), *url);
          failing_ = false;
          return true;
        }
        why = "the server answers " + std::to_string(status);
      } catch (const std::system_error& e) {
        if (stop_requested()) return false;
        why = e.what();
      } catch (const stopped&) {
        return false;
      }
      const bool no_more = *retries > 0 && tries > *retries;
      if (no_more || v == verdict::record || (v == verdict::place && *refused != on_refusal::retry)) {
        const bool fails =
            v == verdict::place && !no_more ? *refused == on_refusal::fail : *bad == on_bad::fail;
        if (fails) throw std::runtime_error(why);
        dropped.add(why, count);
        values.acknowledge();
        return true;
      }
      if (!failing_) log_warning("stock", "{}: cannot post to {}: {}; trying again", name(), *url, why);
      failing_ = true;
      if (sleep_for(pause) == sleep_result::stopped) return false;
      pause = std::min(2 * pause, std::max(*retry, *retry_most));
    }
  }

  bool failing_ = false;
};
LEAT_PROCESS_AS("http-post", http_post, "posts records as JSON to a server, in order");
LEAT_USES_OUTSIDE("http-post", outside::device, "it talks to a server");

}  // namespace
}  // namespace leat::stock
