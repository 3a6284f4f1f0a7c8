// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_server.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>

namespace leat::net::http {
namespace {

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

constexpr std::size_t most_unsent = std::size_t{64} << 10;

class connection {
 public:
  connection(stream& peer, const std::function<answer(const request&)>& handler, const limits& l)
      : peer_(peer), handler_(handler), l_(l), in_(std::make_unique<char[]>(l.head)) {}

  void serve() {
    while (open_) {
      answer_what_is_there();
      send();
      if (open_) read_more();
    }
  }

 private:
  void answer_what_is_there() {
    while (open_ && begin_ < end_) {
      if (const std::size_t n = std::min<std::uint64_t>(body_left_, end_ - begin_)) {
        body_left_ -= n;
        begin_ += n;
        if (body_left_ == 0) until_ = deadline::never();
        continue;
      }
      switch (parser_.parse({in_.get() + begin_, end_ - begin_})) {
        case progress::complete: reply(parser_.get()); break;
        case progress::refused: return fail(parser_.status());
        case progress::incomplete:
          if (begin_ == 0 && end_ == l_.head) fail("431 Request Header Fields Too Large");
          return;
      }
      parser_.reset();
      // A client that asks for much at once and reads nothing must not fill the memory.
      if (out_.size() > most_unsent) send();
    }
  }

  void send() {
    if (!out_.empty()) peer_.write(out_, l_.to_write);
    if (out_.capacity() > 4 * most_unsent)
      out_ = {};
    else
      out_.clear();
  }

  void reply(const request& r) {
    begin_ += r.head_size;
    until_ = deadline::never();
    if (r.body_size > l_.body) return fail("413 Content Too Large");
    const answer a = handler_(r);
    // Whether the client still sends the body, after an answer that it did not expect, cannot be known.
    const bool keep = r.keep_alive && !(r.expects_continue && r.body_size > 0) && !a.then;
    const bool head = r.method == "HEAD";
    put(a, keep, head);
    if (a.then && !head) return hand_over(a);
    if (!keep) return end();
    body_left_ = r.body_size;
    if (body_left_ > 0) until_ = deadline(l_.for_body);
  }

  void put(const answer& a, bool keep, bool head) {
    out_.append("HTTP/1.1 ").append(a.status).append("\r\n").append(date_.get()).append(a.fields);
    out_.append("Content-Type: ").append(a.type);
    if (!a.then) out_.append("\r\nContent-Length: ").append(std::to_string(a.body.size()));
    // HTTP/1.0 clients that asked for it must be told; others do not mind.
    out_.append(keep ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
    if (!head) out_.append(a.body);
  }

  void hand_over(const answer& a) {
    open_ = false;
    peer_.write(out_, l_.to_write);
    out_.clear();
    try {
      a.then(peer_);
    } catch (const std::system_error&) {
      // The peer has gone.
    }
  }

  void fail(const char* status) {
    put(plain(status), false, false);
    end();
  }

  // The answers go out, and the client may read them: a close with bytes unread would be a reset.
  void end() {
    open_ = false;
    peer_.write(out_, l_.to_write);
    out_.clear();
    peer_.shutdown_write();
    const deadline until = std::chrono::seconds(1);
    std::error_code ec;
    for (std::uint64_t drained = 0; drained < 2 * l_.body && !ec;) {
      const std::size_t n = peer_.read_some({in_.get(), l_.head}, ec, until);
      if (n == 0) return;
      drained += n;
    }
  }

  void read_more() {
    std::memmove(in_.get(), in_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    const bool between = end_ == 0 && body_left_ == 0;
    if (!between && until_.is_never()) until_ = deadline(l_.for_head);
    std::error_code ec;
    const std::size_t n =
        peer_.read_some({in_.get() + end_, l_.head - end_}, ec, between ? deadline(l_.between) : until_);
    if (ec == std::errc::timed_out && !between) return fail("408 Request Timeout");
    open_ = n > 0;  // the end, an error or a stop
    end_ += n;
  }

  stream& peer_;
  const std::function<answer(const request&)>& handler_;
  const limits& l_;
  request_parser parser_;
  date_field date_;
  std::string out_;
  bool open_ = true;
  std::uint64_t body_left_ = 0;         // of the last request: read and dropped
  deadline until_ = deadline::never();  // for the request that has begun
  std::size_t begin_ = 0, end_ = 0;
  std::unique_ptr<char[]> in_;
};

}  // namespace

answer plain(std::string_view status) { return {.status = status, .body = std::string(status) + '\n'}; }
answer not_found() { return plain("404 Not Found"); }
answer method_not_allowed() {
  answer a = plain("405 Method Not Allowed");
  a.fields = "Allow: GET, HEAD\r\n";
  return a;
}

void serve_connection(stream& peer, const std::function<answer(const request&)>& handler, const limits& l) {
  connection(peer, handler, l).serve();
}

}  // namespace leat::net::http
