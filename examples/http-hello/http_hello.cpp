// SPDX-License-Identifier: BSL-1.0
//
// HTTP/1.1 with keep-alive and pipelining, and one page. One G per connection; Ctrl-C ends it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include <leat/leat.hpp>
#include <leat/net.hpp>

#include "request.hpp"

using namespace std::chrono_literals;
using leat::net::stream;

namespace {

constexpr std::size_t longest_head = 8192;
constexpr std::uint64_t largest_body = 1 << 20;
constexpr auto time_between = 60s, time_for_head = 10s, time_for_body = 30s, time_to_write = 10s;
constexpr std::string_view page = "Hello, world!\n";

// "Date: ...\r\n", made once a second.
class date_field {
 public:
  const std::string& get() {
    const std::time_t now = std::time(nullptr);
    if (now != at_) {
      std::tm utc{};
      ::gmtime_r(&now, &utc);
      char text[64];
      const std::size_t n = std::strftime(text, sizeof text, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &utc);
      text_.assign(text, n);
      at_ = now;
    }
    return text_;
  }

 private:
  std::time_t at_ = -1;
  std::string text_;
};

class connection {
 public:
  explicit connection(stream& peer) : peer_(peer) {}

  void serve() {
    while (open_) {
      answer_what_is_there();
      if (!out_.empty()) peer_.write(out_, time_to_write);
      out_.clear();
      if (open_) read_more();
    }
  }

 private:
  void answer_what_is_there() {
    while (open_ && begin_ < end_) {
      if (const std::size_t n = std::min<std::uint64_t>(body_left_, end_ - begin_)) {
        body_left_ -= n;
        begin_ += n;
        if (body_left_ == 0) until_ = leat::deadline::never();
        continue;
      }
      switch (parser_.parse({in_ + begin_, end_ - begin_})) {
        case hello::progress::complete: answer(parser_.get()); break;
        case hello::progress::refused: return fail(parser_.status());
        case hello::progress::incomplete:
          if (begin_ == 0 && end_ == sizeof in_) fail("431 Request Header Fields Too Large");
          return;
      }
      parser_.reset();
    }
  }

  void answer(const hello::request& r) {
    begin_ += r.head_size;
    until_ = leat::deadline::never();
    if (r.body_size > largest_body) return fail("413 Content Too Large");
    // Whether the client still sends the body, after an answer that it did not expect, cannot be known.
    const bool keep = r.keep_alive && !(r.expects_continue && r.body_size > 0);
    const bool head = r.method == "HEAD";
    if (!head && r.method != "GET") {
      put("405 Method Not Allowed", "Allow: GET, HEAD\r\n", "405 Method Not Allowed\n", keep, false);
    } else if (r.path() != "/") {
      put("404 Not Found", "", "404 Not Found\n", keep, head);
    } else {
      put("200 OK", "", page, keep, head);
    }
    if (!keep) return end();
    body_left_ = r.body_size;
    if (body_left_ > 0) until_ = leat::deadline(time_for_body);
  }

  void put(std::string_view status, std::string_view fields, std::string_view body, bool keep, bool head) {
    out_.append("HTTP/1.1 ").append(status).append("\r\n").append(date_.get()).append(fields);
    out_.append("Content-Type: text/plain\r\nContent-Length: ").append(std::to_string(body.size()));
    // HTTP/1.0 clients that asked for it must be told; others do not mind.
    out_.append(keep ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
    if (!head) out_.append(body);
  }

  void fail(const char* status) {
    put(status, "", std::string(status) + "\n", false, false);
    end();
  }

  // The answers go out, and the client may read them: a close with bytes unread would be a reset.
  void end() {
    open_ = false;
    peer_.write(out_, time_to_write);
    out_.clear();
    peer_.shutdown_write();
    const leat::deadline until = 1s;
    std::error_code ec;
    for (std::size_t drained = 0; drained < 2 * largest_body && !ec;) {
      const std::size_t n = peer_.read_some(in_, ec, until);
      if (n == 0) return;
      drained += n;
    }
  }

  void read_more() {
    std::memmove(in_, in_ + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const bool between = end_ == 0 && body_left_ == 0;
    if (!between && until_.is_never()) until_ = leat::deadline(time_for_head);
    std::error_code ec;
    const std::size_t n =
        peer_.read_some({in_ + end_, sizeof in_ - end_}, ec, between ? leat::deadline(time_between) : until_);
    if (ec == std::errc::timed_out && !between) return fail("408 Request Timeout");
    open_ = n > 0;  // the end, an error or a stop
    end_ += n;
  }

  stream& peer_;
  hello::request_parser parser_;
  date_field date_;
  std::string out_;
  bool open_ = true;
  std::uint64_t body_left_ = 0;                     // of the last request: read and dropped
  leat::deadline until_ = leat::deadline::never();  // for the request that has begun
  std::size_t begin_ = 0, end_ = 0;
  char in_[longest_head];
};

}  // namespace

int main(int argc, char** argv) {
  return leat::run([&] {
    leat::net::listener at = leat::net::listen(argc > 1 ? argv[1] : "127.0.0.1:8080");
    std::fprintf(stderr, "http-hello: on %s\n", at.local().text().c_str());
    leat::task_group group;
    group.go([&, quit = leat::signals(SIGINT, SIGTERM)] {
      if (quit.recv()) at.shutdown();
    });
    leat::net::serve(at, [](stream& peer) { connection(peer).serve(); }, {.name = "client"});
  });
}
