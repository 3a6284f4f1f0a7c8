// SPDX-License-Identifier: BSL-1.0
//
// An MQTT 5 client that keeps its connection: a session (session.hpp) over a stream.
//
//   leat::net::mqtt::client_options o;
//   o.server = "broker:1883";
//   o.session.client_id = "gateway-7";
//   leat::net::mqtt::client c(o);
//   c.subscribe({.filter = "plant/+/temperature", .qos = leat::net::mqtt::qos::at_least_once});
//   while (auto d = c.receive()) {
//     use(d->message);
//     c.acknowledge(d->token);
//   }
//
// Roles. One G connects, reads and reconnects; one writes while there is a connection; neither has a thread of its
// own. Users call from any G. The session is used under lock_, which nobody holds while it waits for the network.
//
//   reader  1 connects, opens the session, starts the writer
//           2 waits while the session is stalled (session.hpp): so a slow user slows the server down by TCP
//           3 reads, gives it to the session, wakes users and the writer; then from 2
//           4 at the end of the stream: joins the writer, tells the session, pauses, from 1
//   writer  a lets the session see the time, takes what is to be written, at most `piece` bytes
//           b nothing: waits until it is woken or the session is due; if the session wants to close, shuts the
//             stream down, which ends the reader's 3
//           c writes, `piece` by `piece`; one that does not get out within a keep-alive, or a minute, shuts it down
//             too, which ends the reader's 2 as well; then from a
//
// What is stalled holds up what comes behind it, answers to what was published among it. So whoever keeps deliveries
// until their own messages are answered needs a server that keeps to the Receive Maximum, or two clients.
//
// A PINGREQ waits for at most one piece: the socket is told to hold little that is not sent (TCP_NOTSENT_LOWAT).
// Forbidden: the writer sleeps while there is output. Whoever makes some does so under lock_ and notifies after.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>

#include <leat/base/clock.hpp>
#include <leat/csp/condition_variable.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/bytes.hpp>
#include <leat/net/mqtt/session.hpp>

namespace leat::net::mqtt {

// What a connection is made of; as leat::net::stream has it. One G reads, one writes.
class transport {
 public:
  transport() = default;
  virtual ~transport() = default;
  transport(const transport&) = delete;
  transport& operator=(const transport&) = delete;

  virtual std::size_t read_some(mutable_bytes into, std::error_code& ec) = 0;
  virtual void write(const_bytes from, std::error_code& ec, deadline until) = 0;
  // Both ways, from any G: whoever reads or writes sees the end.
  virtual void shutdown() noexcept = 0;
};
// Throws std::system_error.
using connector = std::function<std::unique_ptr<transport>(const std::string& server, deadline until)>;
std::unique_ptr<transport> connect_tcp(const std::string& server, deadline until);

struct client_news {
  bool online = false;
  bool refused = false;  // by the server: credentials, rights, a client identifier
  bool resumed = false;  // online: the server has kept the session
  std::string server = {};
  std::string why = {};  // offline: why
};

struct client_options {
  std::string server = {};  // host:port
  session_options session = {};
  timespan connect_time = std::chrono::seconds(10);
  timespan retry =
      std::chrono::milliseconds(200);  // first pause; it doubles, and each is shortened by chance
  timespan retry_most = std::chrono::seconds(30);
  bool give_up_when_refused = false;
  // A subscription that is refused is a failure() as well; next_subscribed then tells of none.
  bool give_up_unless_subscribed = false;
  connector connect = connect_tcp;
  // Told of each connection and its end, by the reader: not for long work.
  std::function<void(const client_news&)> tell = {};
};

class client {
 public:
  // It connects at once, and again until the object ends. Throws std::invalid_argument, as session does.
  explicit client(client_options o);
  // Says DISCONNECT where there is a connection, so that no will is sent.
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  void subscribe(subscription s);
  void unsubscribe(std::string_view filter);

  // Waits for room in the queue. 0: the time is up, the caller is asked to stop, or it has given up.
  std::uint64_t publish(message m, deadline until = deadline::never());
  // What became of what was published, in no particular order; each once.
  std::optional<publish_result> next_result(deadline until = deadline::never());
  // Empty: the time is up, the caller is asked to stop, or it has given up.
  std::optional<delivery> receive(deadline until = deadline::never());
  // Only now the server is told that it has arrived.
  void acknowledge(std::uint64_t token, reason r = reason::success);
  // Answers to subscribe that have come.
  std::optional<subscribe_result> next_subscribed(deadline until = deadline::never());

  bool online();
  // What was published and is not answered.
  std::size_t unpublished();
  // Waits for a connection. False: as receive.
  bool wait_online(deadline until = deadline::never());
  // Not empty: it has given up, and why.
  std::string failure();

 private:
  enum class next_step : std::uint8_t { pause, at_once, give_up };
  void run();
  next_step connect_once();
  bool talk(const std::unique_ptr<transport>& t);
  next_step go_where(const connection_end& end);
  void give_up(std::string why);
  void look_at_subscribed();
  void read(transport& t);
  void write(transport& t);
  bool write_piece(transport& t);
  void say_goodbye(transport& t);
  void ended(const std::string& why, bool was_refused);
  void pause();
  void wake_users() noexcept;
  template <class Take>
  auto wait_for(condition_variable& at, deadline until, Take take);

  const client_options o_;
  mutex lock_;
  session session_;           // under lock_, as all that follows
  bool over_ = false;         // no reader any more
  bool reader_gone_ = false;  // of this connection, as the next
  bool writer_gone_ = false;
  bool told_online_ = false;
  std::string failure_;
  condition_variable writable_, delivered_, drained_, answered_, subscribed_, changed_;

  bool broken_ = false;  // the writer's: a packet was not written to its end

  // The reader's.
  std::string home_;    // o_.server, or where it has moved
  std::string server_;  // the next to be tried
  unsigned redirects_ = 0;
  nanoseconds pause_;
  std::uint32_t random_;
  task_group group_;  // last: its end joins those who use the rest
};

// "mqtt://host:port" to host:port, 1883 unless said. Empty, and `why`: it is none, or what is not spoken here.
std::optional<std::string> server_of_url(std::string_view text, std::string& why);

}  // namespace leat::net::mqtt
