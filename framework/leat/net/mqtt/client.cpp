// SPDX-License-Identifier: BSL-1.0
#include <leat/net/mqtt/client.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

#include <leat/base/random.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>

namespace leat::net::mqtt {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t piece = std::size_t{16} << 10;
constexpr std::size_t read_piece = std::size_t{64} << 10;
constexpr unsigned most_redirects = 5;  // in a row without a pause

// The first of those that a server reference names.
std::string server_in_reference(std::string_view text) {
  text = text.substr(0, text.find(' '));
  std::string why;
  const std::string url = text.find("://") == text.npos ? "mqtt://" + std::string(text) : std::string(text);
  return server_of_url(url, why).value_or(std::string());
}

}  // namespace

client::client(client_options o)
    : o_(std::move(o)),
      session_(o_.session),
      home_(o_.server),
      server_(o_.server),
      pause_(o_.retry),
      random_(first_random(this)) {
  group_.go("mqtt reader", [this] { run(); });
}

client::~client() = default;

// The user's calls: `take` gives what is waited for, or nothing yet.
template <class Take>
auto client::wait_for(condition_variable& at, deadline until, Take take) {
  std::unique_lock hold(lock_);
  auto found = take();
  if (!found && !over_) (void)at.wait_until(hold, until, [&] { return (found = take()) || over_; });
  return found;
}

std::optional<delivery> client::receive(deadline until) {
  std::optional<delivery> d = wait_for(delivered_, until, [this] { return session_.next_delivery(); });
  drained_.notify_one();
  return d;
}

std::optional<publish_result> client::next_result(deadline until) {
  return wait_for(answered_, until, [this] { return session_.next_result(); });
}

std::optional<subscribe_result> client::next_subscribed(deadline until) {
  return wait_for(subscribed_, until, [this] { return session_.next_subscribed(); });
}

std::uint64_t client::publish(message m, deadline until) {
  std::unique_lock hold(lock_);
  const auto has_room = [this] { return session_.unpublished() < o_.session.queue || over_; };
  if (!changed_.wait_until(hold, until, has_room) || over_) return 0;
  const std::uint64_t token = session_.publish(std::move(m), now());
  hold.unlock();
  writable_.notify_one();
  answered_.notify_all();  // one that cannot be published has its result already
  return token;
}

void client::acknowledge(std::uint64_t token, reason r) {
  {
    const std::lock_guard hold(lock_);
    session_.acknowledge(token, r);
  }
  writable_.notify_one();
  drained_.notify_one();
}

void client::subscribe(subscription s) {
  {
    const std::lock_guard hold(lock_);
    session_.subscribe(std::move(s));
    look_at_subscribed();
    if (!failure_.empty()) session_.disconnect();
  }
  writable_.notify_one();
  subscribed_.notify_all();
}

void client::unsubscribe(std::string_view filter) {
  {
    const std::lock_guard hold(lock_);
    session_.unsubscribe(filter);
  }
  writable_.notify_one();
}

bool client::online() {
  const std::lock_guard hold(lock_);
  return session_.at() == session::phase::online;
}

std::size_t client::unpublished() {
  const std::lock_guard hold(lock_);
  return session_.unpublished();
}

bool client::wait_online(deadline until) {
  std::unique_lock hold(lock_);
  const auto there = [this] { return session_.at() == session::phase::online; };
  return changed_.wait_until(hold, until, [&] { return there() || over_; }) && there();
}

std::string client::failure() {
  const std::lock_guard hold(lock_);
  return failure_;
}

void client::wake_users() noexcept {
  delivered_.notify_all();
  answered_.notify_all();
  subscribed_.notify_all();
  changed_.notify_all();
}

// The reader.

void client::run() {
  struct closer {
    client& c;
    ~closer() {
      {
        const std::lock_guard hold(c.lock_);
        c.over_ = true;
      }
      c.wake_users();
    }
  } const at_end{*this};
  try {
    while (!stop_requested()) {
      const next_step next = connect_once();
      if (next == next_step::give_up) return;
      if (next == next_step::pause) pause();
    }
  } catch (const std::exception& e) {  // no memory, no G, a connector or `tell` that throws
    give_up(e.what());
    const std::lock_guard hold(lock_);
    session_.lost();
  }
}

void client::give_up(std::string why) {
  const std::lock_guard hold(lock_);
  if (failure_.empty()) failure_ = why.empty() ? "it failed" : std::move(why);
}

// Under lock_.
void client::look_at_subscribed() {
  if (!o_.give_up_unless_subscribed) return;
  while (const auto s = session_.next_subscribed())
    if (is_error(s->code) && failure_.empty()) failure_ = "'" + s->filter + "': " + s->why;
}

client::next_step client::connect_once() {
  std::unique_ptr<transport> t;
  std::string failed;
  try {
    t = o_.connect(server_, o_.connect_time);
  } catch (const std::system_error& e) {
    failed = e.what();
  } catch (const std::invalid_argument& e) {
    failed = e.what();
  }
  if (!t) {
    ended(failed.empty() ? "there is no connection" : failed, false);
    // One that was named by another server: back to where that was known.
    if (server_ == home_) home_ = o_.server;
    server_ = home_;
    return next_step::pause;
  }
  const time_point begin = now();
  const bool was_online = talk(t);
  connection_end end;
  {
    const std::lock_guard hold(lock_);
    end = session_.end().value_or(connection_end{.why = "the connection was closed"});
    session_.lost();
  }
  if (stop_requested()) return next_step::pause;
  if (!failure().empty()) return next_step::give_up;
  if (was_online && now() - begin >= pause_) {
    pause_ = o_.retry;
    redirects_ = 0;
  }
  ended(end.why, end.refused);
  return go_where(end);
}

// From the CONNECT to the end. True: it was online.
bool client::talk(const std::unique_ptr<transport>& t) {
  {
    const std::lock_guard hold(lock_);
    session_.open(now());
    reader_gone_ = writer_gone_ = told_online_ = broken_ = false;
  }
  task<void> writer = spawn("mqtt writer", [this, &t] { write(*t); });
  read(*t);
  if (stop_requested()) {
    writer.request_stop();  // it says goodbye, and shuts the stream down
  } else {
    {
      const std::lock_guard hold(lock_);
      reader_gone_ = true;
    }
    writable_.notify_one();
    t->shutdown();
  }
  (void)writer.join();
  const std::lock_guard hold(lock_);
  return told_online_;
}

client::next_step client::go_where(const connection_end& end) {
  const bool moved = end.code == reason::server_moved;
  const std::string next = moved || end.code == reason::use_another_server
                               ? server_in_reference(end.server_reference)
                               : std::string();
  if (!next.empty()) {
    server_ = next;
    if (moved) home_ = next;
    if (++redirects_ <= most_redirects) return next_step::at_once;
    home_ = o_.server;  // they send us round
  }
  server_ = home_;
  redirects_ = 0;
  if (!end.refused || !o_.give_up_when_refused) return next_step::pause;
  give_up(end.why);
  return next_step::give_up;
}

void client::ended(const std::string& why, bool was_refused) {
  changed_.notify_all();
  if (o_.tell && !stop_requested()) o_.tell({.refused = was_refused, .server = server_, .why = why});
}

// Between half of it and all of it, so that those who lost the same server do not come back together.
void client::pause() {
  const nanoseconds half = pause_ / 2;
  const double part = static_cast<double>(next_random(random_)) / 4294967296.0;
  (void)sleep_for(half + nanoseconds(static_cast<std::int64_t>(static_cast<double>(half.count()) * part)));
  pause_ = std::min<nanoseconds>(2 * pause_, std::max<nanoseconds>(o_.retry, o_.retry_most));
}

void client::read(transport& t) {
  std::vector<char> bytes(read_piece);
  for (bool goes_on = false;;) {  // with what is there already
    std::error_code ec;
    const std::size_t n = goes_on ? 0 : t.read_some(bytes, ec);
    if (ec || (n == 0 && !goes_on)) return;
    std::unique_lock hold(lock_);
    session_.receive({bytes.data(), n}, now());
    look_at_subscribed();
    if (!failure_.empty()) return;
    const bool just_online = session_.at() == session::phase::online && !std::exchange(told_online_, true);
    const client_news news{.online = true, .resumed = session_.session_present(), .server = server_};
    // What it waits for may be due sooner now, too: it was the CONNACK before.
    const bool wakes_writer =
        just_online || session_.has_output() || session_.at() == session::phase::closing;
    const bool stalled = session_.stalled();
    hold.unlock();
    if (wakes_writer) writable_.notify_one();
    wake_users();
    if (just_online && o_.tell) o_.tell(news);
    hold.lock();
    // A user may have made room since: then there is no pause, but something to go on with.
    goes_on = stalled;
    if (!session_.stalled()) continue;
    session_.pause_reading(true, now());
    writable_.notify_one();  // what is due has changed
    const bool drained = drained_.wait(hold, [this] { return !session_.stalled() || writer_gone_; });
    session_.pause_reading(false, now());
    if (!drained || writer_gone_) return;
  }
}

// The writer.

void client::write(transport& t) {
  try {
    while (write_piece(t)) {
    }
    if (stop_requested() && !broken_) say_goodbye(t);
  } catch (const std::exception& e) {
    give_up(e.what());
  }
  {
    const std::lock_guard hold(lock_);
    writer_gone_ = true;
  }
  t.shutdown();
  drained_.notify_one();  // a reader that waits for users finds its connection closed then
}

bool client::write_piece(transport& t) {
  std::string out;
  nanoseconds patience = 60s;
  {
    std::unique_lock hold(lock_);
    for (;;) {
      if (stop_requested() || reader_gone_) return false;
      const time_point at = now();
      session_.tick(at);
      if (session_.take_output(out, piece, at)) break;
      if (session_.wants_close()) return false;
      answered_.notify_all();  // what cannot be sent has its result as well
      changed_.notify_all();
      (void)writable_.wait_until(hold, deadline(session_.due()));
    }
    if (session_.keep_alive() > 0)
      patience = std::min<nanoseconds>(patience, std::chrono::seconds(session_.keep_alive()));
  }
  drained_.notify_one();   // answers had no room, perhaps
  answered_.notify_all();  // QoS 0 has its result now, and has made room
  changed_.notify_all();
  std::error_code ec;
  // A large message gets on when its pieces do, however long it takes.
  for (std::size_t at = 0; at < out.size() && !ec; at += piece)
    t.write(const_bytes(out.data() + at, std::min(piece, out.size() - at)), ec, patience);
  broken_ = static_cast<bool>(ec);
  return !ec;
}

// A stop ends writes that would have to wait, so this takes no time.
void client::say_goodbye(transport& t) {
  std::string out;
  {
    const std::lock_guard hold(lock_);
    session_.disconnect();
    (void)session_.take_output(out, 0, now());
  }
  std::error_code ignored;
  if (!out.empty()) t.write(out, ignored, deadline(1s));
}

}  // namespace leat::net::mqtt
