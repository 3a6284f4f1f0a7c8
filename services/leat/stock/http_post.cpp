// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <cstdint>
#include <optional>
#include <system_error>

#include <leat/base/log.hpp>
#include <leat/leat.hpp>
#include <leat/net/http_client.hpp>

#include <leat/stock/anchors.hpp>
#include <leat/stock/judges.hpp>
#include <leat/stock/support.hpp>

LEAT_STOCK_ANCHOR(http_post)

namespace leat::stock {
namespace {

using namespace std::chrono_literals;
namespace http = net::http;

class http_post : public process {
  record_in values{this, "values", "what to post"};
  setting<std::string> url{this, "url", required, "http://host:port/path", judged_by(judge_url)};
  setting<std::int64_t> batch{
      this, "batch", 1, "1: each record is an object; more: an array of up to so many", between(1, 100'000)};
  setting<nanoseconds> within{this, "within", 1s, "how long a record waits for others of its array",
                              between<nanoseconds>(0s, 1h)};
  setting<std::vector<std::string>> headers{this, "headers", std::vector<std::string>(),
                                            "further fields of the head: \"Authorization: Bearer ...\"",
                                            judged_by(judge_header)};
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
  errors told{
      this,
      {{"a server that is away, does not answer, answers 5xx, 408 or 429, or something that is no HTTP",
        "told, and tried again after `retry`, doubled up to `retry_most`; records wait"},
       {"an answer of 3xx or 4xx, or `retries` tries without success",
        "dropped, counted and told; with bad = \"fail\" the process fails"},
       {"an answer that is lost", "posted again: it may come twice"},
       {"a stop while the server is away", "records in hand are given up, and their number told"}}};

  void run() override {
    std::string why;
    const std::optional<http::url> to = http::url::parse(*url, &why);
    if (!to) throw setting_error("url: \"" + *url + "\": " + why);
    http::client::options o{.to_connect = *connect_time, .to_answer = *answer_time};
    for (const std::string& line : *headers) o.fields.append(line).append("\r\n");
    http::client server(*to, std::move(o));
    complaints dropped(*this, "dropped");
    std::optional<record> r;
    bool more = true;
    while (more && (r = values.recv())) {
      std::size_t count = 1;
      std::string body = to_json(*r);
      if (*batch > 1 && values.at_least_once()) {
        body.insert(0, "[").append("]");  // the next receive would acknowledge what is not posted yet
      } else if (*batch > 1) {
        body.insert(0, "[");
        const deadline until = *within;
        while (count < static_cast<std::size_t>(*batch)) {
          const recv_status s = values.recv(r, until);
          if (!r) {
            more = s == recv_status::timeout;
            break;
          }
          body.append(",\n").append(to_json(*r));
          ++count;
        }
        body += "]";
      }
      if (!post(server, body, count, dropped)) {
        log_error("stock", "{}: {} records were not posted when it was stopped", name(), count);
        return;
      }
    }
  }

  // False: stopped.
  bool post(http::client& server, const std::string& body, std::size_t count, complaints& dropped) {
    nanoseconds pause = *retry;
    for (std::int64_t tries = 1;; ++tries) {
      std::string why;
      bool again = true;
      try {
        const int status = server.post("application/json", body);
        if (status < 300) {
          if (failing_) log_notice("stock", "{}: posting again to {}", name(), *url);
          failing_ = false;
          return true;
        }
        why = "the server answers " + std::to_string(status);
        again = status >= 500 || status == 408 || status == 429;
      } catch (const std::system_error& e) {
        if (stop_requested()) return false;
        why = e.what();
      } catch (const stopped&) {
        return false;
      }
      if (!again || (*retries > 0 && tries > *retries)) {
        if (*bad == on_bad::fail) throw std::runtime_error(why);
        for (std::size_t i = 0; i < count; ++i) dropped.add(why);
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

}  // namespace
}  // namespace leat::stock
