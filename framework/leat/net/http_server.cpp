// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_server.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <system_error>
#include <vector>

#include <leat/base/system_time.hpp>

namespace leat::net::http {
namespace {

// "Date: ...\r\n", made once a second.
class date_field {
 public:
  const std::string& get() {
    const auto now = static_cast<std::time_t>(system_now_ns() / 1'000'000'000);
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

// An assignment of an empty one keeps the memory.
void release(std::string& s) noexcept { std::string().swap(s); }

constexpr std::size_t most_unsent = std::size_t{64} << 10;

class connection {
 public:
  connection(stream& peer, const std::function<response(const request&)>& handler, const limits& l,
             guest* who)
      : peer_(peer),
        handler_(handler),
        l_(l),
        who_(who),
        until_(l.for_head),
        in_(std::make_unique<char[]>(l.head)) {}

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
      if (keeps_) {
        take_body();
        continue;
      }
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
      release(out_);
    else
      out_.clear();
    held_.clear();
  }

  void reply(const request& r) {
    begin_ += r.head_size;
    until_ = deadline::never();
    first_ = false;
    if (r.body_size > l_.body) return fail("413 Content Too Large");
    if (l_.keep_body && r.body_size > 0) return keep_body(r);
    answer(r);
  }

  // The head is kept, too: the request's views lead into it.
  void keep_body(const request& r) {
    const std::string_view head(in_.get() + begin_ - r.head_size, r.head_size);
    kept_.assign(head);
    wanted_ = r.head_size + r.body_size;
    keeps_ = true;
    until_ = deadline(l_.for_body);
    if (r.expects_continue) {
      send();
      peer_.write("HTTP/1.1 100 Continue\r\n\r\n", l_.to_write);
    }
    if (begin_ < end_) take_body();
  }
  void take_body() {
    const std::size_t n = std::min<std::uint64_t>(wanted_ - kept_.size(), end_ - begin_);
    kept_.append(in_.get() + begin_, n);
    begin_ += n;
    if (kept_.size() < wanted_) return;
    keeps_ = false;
    until_ = deadline::never();
    request_parser again;
    if (again.parse(kept_) != progress::complete) return fail(again.status());
    request r = again.get();
    r.body = std::string_view(kept_).substr(r.head_size);
    r.body_size = 0;  // nothing of it is left to be read
    r.expects_continue = false;
    answer(r);
    release(kept_);
  }

  void answer(const request& r) {
    response a = handler_(r);
    // Whether the client still sends the body, after an answer that it did not expect, cannot be known.
    const bool keep = r.keep_alive && !(r.expects_continue && r.body_size > 0) && !a.then;
    const bool head = r.method == "HEAD";
    put(a, keep, head);
    release(a.body);  // not kept twice while a slow client takes it
    if (a.until_sent) held_.push_back(a.until_sent);
    if (a.then && !head) return hand_over(a);
    if (!keep) return end();
    body_left_ = r.body_size;
    if (body_left_ > 0) until_ = deadline(l_.for_body);
  }

  void put(const response& a, bool keep, bool head) {
    out_.append("HTTP/1.1 ").append(a.status).append("\r\n").append(date_.get()).append(a.fields);
    out_.append("Content-Type: ").append(a.type);
    if (!a.then) out_.append("\r\nContent-Length: ").append(std::to_string(a.body.size()));
    // HTTP/1.0 clients that asked for it must be told; others do not mind.
    out_.append(keep ? "\r\nConnection: keep-alive\r\n\r\n" : "\r\nConnection: close\r\n\r\n");
    if (!head) out_.append(a.body);
  }

  void hand_over(const response& a) {
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
    put(l_.refusal(status), false, false);
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
    const bool between = end_ == 0 && body_left_ == 0 && !keeps_;
    if (!between && until_.is_never()) until_ = deadline(l_.for_head);
    if (between && who_) who_->idle();
    std::error_code ec;
    const std::size_t n = peer_.read_some({in_.get() + end_, l_.head - end_}, ec,
                                          between && !first_ ? deadline(l_.between) : until_);
    if (between && who_) who_->busy();
    if (ec == std::errc::timed_out && !between) return fail("408 Request Timeout");
    open_ = n > 0;  // the end, an error or a stop
    end_ += n;
  }

  stream& peer_;
  const std::function<response(const request&)>& handler_;
  const limits& l_;
  guest* const who_;
  request_parser parser_;
  date_field date_;
  std::string out_;
  std::vector<std::shared_ptr<void>> held_;  // until what is in out_ has been taken
  bool open_ = true;
  bool first_ = true;            // no request has come yet
  std::uint64_t body_left_ = 0;  // of the last request: read and dropped
  bool keeps_ = false;           // a body is on its way that the handler gets
  std::string kept_;             // head and body
  std::uint64_t wanted_ = 0;     // size of it
  deadline until_;               // for the first request, then for one that has begun
  std::size_t begin_ = 0, end_ = 0;
  std::unique_ptr<char[]> in_;
};

}  // namespace

response plain(std::string_view status) { return {.status = status, .body = std::string(status) + '\n'}; }
response not_found() { return plain("404 Not Found"); }
response method_not_allowed() {
  response a = plain("405 Method Not Allowed");
  a.fields = "Allow: GET, HEAD\r\n";
  return a;
}

void serve_connection(stream& peer, const std::function<response(const request&)>& handler, const limits& l,
                      guest* who) {
  connection(peer, handler, l, who).serve();
}

}  // namespace leat::net::http
