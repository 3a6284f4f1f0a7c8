// SPDX-License-Identifier: BSL-1.0
//
// The client's side of an MQTT 5 session as a machine: bytes, calls and time go in, bytes, deliveries and results
// come out. It has no thread, no clock, no socket; one user at a time. client.hpp drives it.
//
// A session outlives its connections. Each of them:
//
//   offline --open--> connecting --CONNACK--> online --disconnect, an error--> closing --> offline (lost)
//
// What it promises:
// - A message with QoS 1 is acknowledged (PUBACK) after acknowledge() was called for its delivery, never before;
//   in the order of receipt, as 4.6 asks for. One with QoS 2 is answered by PUBREC then.
// - A message that was published with QoS 1 is kept until its PUBACK, and sent again on the next connection:
//   as a duplicate where the server has kept the session, anew where it has not.
// - No more is published at once than the server's Receive Maximum. What waits to be published is bounded by `queue`.
// - No more is delivered and not acknowledged than our Receive Maximum, and no more waits for the reader than
//   `most_waiting` and `most_waiting_bytes` say. A PUBLISH beyond that stays unread, and so does all behind it
//   (stalled) until the reader has taken or acknowledged something. A server that oversteps our Receive Maximum, as
//   mosquitto 2.0.11 does with a backlog, is slowed down by that, not left: it would do the same again.
// - Answers that the connection does not take stall it as well: there is no end to what they could be otherwise.
// - A PINGREQ is due by time and stands before all data that waits. A connection on which nothing was heard for
//   a keep-alive after it is given up.
// - What the peer does against the standard ends the connection, with the reason code for it.
//
// A delivery that the reader has not acknowledged when the connection breaks comes again if the server has kept
// the session. If the reader still has it then, it is not delivered twice: the packet has the same identifier
// and is marked as a duplicate, so the reader's acknowledgement answers it.
//
// After a restart of the program a session may be present of which this object knows nothing. It is taken: the
// part of a session that a client without unfinished messages has is empty.
//
// A CONNECT without an answer leaves it open whether the server has begun a new session by it. The next CONNACK then
// says "session present" of a session that may be empty: so it is taken for another one. Subscriptions are asked for
// again, and what was received under the old one may come twice.
//
// Not here: QoS 2 for what is published, enhanced authentication (an AUTH from the server is a protocol error,
// because none was asked for).
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/net/mqtt/keep_alive.hpp>
#include <leat/net/mqtt/packet.hpp>
#include <leat/net/mqtt/packet_ids.hpp>

namespace leat::net::mqtt {

struct message {
  std::string topic = {};
  std::string payload = {};
  mqtt::qos qos = mqtt::qos::at_most_once;
  bool retain = false;
  mqtt::properties properties = {};
};

struct session_options {
  std::string client_id = {};        // empty: the server gives one
  bool clean_start = false;          // of the first connection: what the server has kept is forgotten
  std::uint32_t session_expiry = 0;  // seconds that the server keeps it; 0: as long as the connection
  std::uint16_t keep_alive = 30;     // seconds; 0: none. The server may say otherwise
  std::optional<std::string> user_name = {};
  std::optional<std::string> password = {};
  std::optional<will_message> will = {};
  std::uint16_t receive_maximum = 64;
  std::uint32_t maximum_packet_size = std::uint32_t{1} << 20;
  std::uint16_t topic_aliases = 16;  // at most so many, either way
  std::size_t queue = 1024;          // messages that wait to be published, or for their PUBACK
  std::size_t most_waiting = 1024;   // deliveries that nobody has taken
  std::size_t most_waiting_bytes = std::size_t{4} << 20;  // of those; one is always taken
  nanoseconds connect_time = std::chrono::seconds(10);    // from open to CONNACK
  properties connect_properties = {};                     // user properties, for instance
};

struct delivery {
  mqtt::message message = {};
  std::uint64_t token = 0;  // for acknowledge; 0: QoS 0, which has none
  bool duplicate = false;
};
// In memory, about.
std::size_t bytes_held(const delivery& d) noexcept;

enum class publish_outcome : std::uint8_t {
  acknowledged,  // by the server
  sent,          // QoS 0: handed to the connection
  refused,       // by the server, or it takes nothing of that kind
  expired,       // before it could be sent
  too_large,     // for the server
};
struct publish_result {
  std::uint64_t token = 0;
  publish_outcome outcome = publish_outcome::acknowledged;
  reason code = reason::success;
  std::string why = {};
};
struct subscribe_result {
  std::string filter = {};
  reason code = reason::success;  // granted QoS, or an error
  std::string why = {};
};
struct connection_end {
  reason code = reason::success;
  std::string why = {};
  bool by_server = false;
  bool refused = false;               // by CONNACK, for a reason that does not pass by itself
  std::string server_reference = {};  // with use_another_server, server_moved
};

class session {
 public:
  enum class phase : std::uint8_t { offline, connecting, online, closing };

  // Throws std::invalid_argument: options that no CONNECT can say.
  explicit session(session_options o);

  // The driver's. A new connection: what take_output gives goes to it.
  void open(time_point now);
  void receive(std::string_view bytes, time_point now);
  // Something that was received waits for the reader or for take_output: read no more. receive({}, now) goes on where
  // it stands once this is false.
  bool stalled() const noexcept;
  // Nothing is read for a while because deliveries wait: silence says nothing then.
  void pause_reading(bool paused, time_point now) noexcept;
  // The connection is gone, for whatever reason.
  void lost();
  void tick(time_point now);
  // When tick has something to do; time_point::max(): never.
  time_point due() const noexcept;
  // Appends what is to be written: what is due by time and answers first, then messages until `most` bytes are
  // there. False: there is nothing.
  bool take_output(std::string& to, std::size_t most, time_point now);
  bool has_output() const noexcept;
  // All has been taken that goes out before the connection is closed.
  bool wants_close() const noexcept { return phase_ == phase::closing && control_.empty(); }
  // Why the connection ended; empty: not by anything that was said on it. Until the next open.
  const std::optional<connection_end>& end() const noexcept { return end_; }

  // The user's. 0: `queue` messages wait already. The result comes in next_result, with this token. Of results that
  // nobody takes the last 2 * queue are kept.
  std::uint64_t publish(message m, time_point now);
  // Asked for now or on the next connection, and again whenever the server has lost the session.
  void subscribe(subscription s);
  void unsubscribe(std::string_view filter);
  // Any order. A token of an earlier session, or one that is done, is left alone.
  void acknowledge(std::uint64_t token, reason r = reason::success);
  void disconnect(reason r = reason::success);

  std::optional<delivery> next_delivery();
  std::optional<publish_result> next_result();
  std::optional<subscribe_result> next_subscribed();

  phase at() const noexcept { return phase_; }
  bool session_present() const noexcept { return kept_.present; }
  const std::string& client_id() const noexcept { return o_.client_id; }
  std::size_t deliveries() const noexcept { return deliveries_.all.size(); }
  std::size_t unacknowledged() const noexcept { return inbound_.size(); }
  std::size_t unpublished() const noexcept { return queue_.size() + in_flight_.size(); }
  std::uint16_t keep_alive() const noexcept { return alive_.seconds(); }

 private:
  struct outgoing {
    std::uint64_t token = 0;
    mqtt::message message = {};
    std::optional<time_point> expires = {};
    std::uint16_t id = 0;  // once it was sent with QoS 1
    bool sent = false;     // on this connection
    bool before = false;   // on an earlier one of the same session
  };
  struct incoming {
    std::uint64_t token = 0;
    std::uint16_t id = 0;
    mqtt::qos qos = mqtt::qos::at_least_once;
    std::size_t print = 0;  // of topic and payload
    bool done = false;
    reason code = reason::success;
  };
  enum class asked : std::uint8_t { not_yet, waits, granted };
  struct wanted {
    mqtt::subscription subscription = {};
    asked state = asked::not_yet;
    std::uint16_t id = 0;
  };
  struct unwanted {
    std::string filter = {};
    std::uint16_t id = 0;  // 0: not asked for on this connection
  };
  // What the reader asks for, and the answers to it that nobody has taken.
  struct subscription_list {
    std::vector<wanted> asked_for = {};
    std::vector<unwanted> given_up = {};
    std::deque<subscribe_result> answers = {};

    void connection_lost(packet_ids& ids);
    // One answer for each filter: the last.
    void answer(subscribe_result r);
  };
  // Those that nobody has taken.
  struct delivery_queue {
    std::deque<delivery> all = {};
    std::size_t bytes = 0;

    void push(delivery d);
    std::optional<delivery> take();
    bool is_full(const session_options& o) const noexcept {
      return !all.empty() && (all.size() >= o.most_waiting || bytes >= o.most_waiting_bytes);
    }
  };
  // What is known of the session that the server keeps.
  struct servers_session {
    bool present = false;
    bool ever_online = false;
    bool answered = true;   // the last CONNECT, by a CONNACK
    bool doubtful = false;  // one before it was not
  };
  // What the server said in its CONNACK.
  struct server_limits {
    std::uint32_t receive_maximum = 65535;
    std::uint32_t packet_size = 0xFFFF'FFFF;
    std::uint32_t aliases = 0;
    qos most_qos = qos::exactly_once;
    bool retain = true, wildcards = true, shared = true;
  };

  void write(const packet& p);
  void fail(reason code, std::string why);
  void handle(packet& p, time_point now);
  void on(connack_packet& p, time_point now);
  void on(publish_packet& p);
  void on(const ack_packet& p);
  void on(const suback_packet& p);
  void on(const disconnect_packet& p);
  void on_puback(const ack_packet& p);
  void resume_or_forget(bool present);
  bool resolve_alias(publish_packet& p);
  bool take_again(const publish_packet& p, std::size_t print);
  void answer_done();
  bool has_no_room_for(unsigned char header) const noexcept;

  void ask_for(wanted& w);
  void ask_for_all();
  bool send_next(std::string& to, time_point now);
  bool send_message(outgoing& m, std::string& to, time_point now);
  void finish(const outgoing& m, publish_outcome how, reason code, std::string why);
  std::uint32_t quota() const noexcept { return server_.receive_maximum - in_flight_now_; }

  session_options o_;
  phase phase_ = phase::offline;
  server_limits server_;
  servers_session kept_;
  std::optional<connection_end> end_;
  std::string unread_;   // the begin of a packet; stalled: whole ones
  std::string control_;  // answers, PINGREQ, SUBSCRIBE, DISCONNECT

  time_point opened_{};
  mqtt::keep_alive alive_;

  std::uint64_t next_token_ = 1;
  packet_ids ids_;

  std::deque<outgoing> queue_;
  // With QoS 1, sent and not answered: first the in_flight_now_ that were sent on this connection, then those that
  // have to be sent again.
  std::deque<outgoing> in_flight_;
  std::uint32_t in_flight_now_ = 0;
  std::unordered_map<std::string, std::uint32_t> aliases_out_;

  std::vector<std::string> aliases_in_;
  std::deque<incoming> inbound_;                      // of this connection, in order of receipt
  std::deque<incoming> orphans_;                      // of earlier ones: the server may send them again
  std::unordered_set<std::uint16_t> awaits_release_;  // QoS 2: PUBREC is sent

  subscription_list subscriptions_;
  delivery_queue deliveries_;
  std::deque<publish_result> results_;
};

}  // namespace leat::net::mqtt
