// SPDX-License-Identifier: BSL-1.0
//
// A session of the client and a model of a server, over a link that breaks at any byte, delays and doubles, all by a
// seed. The reader acknowledges late and in any order; the client's program dies and comes back with nothing but its
// client identifier; the server forgets sessions, or drops a message of one that it keeps while the client is away, and
// gives its identifier to another. Some servers send twice as much at once as they may. Whatever happens:
//   - the server sees a PUBACK or PUBREC only of what the reader has acknowledged;
//   - each message with QoS 1 and 2 for the client reaches the reader, each that it published reaches the server;
//   - the client has no more in flight than the server's Receive Maximum, and holds no more than its own;
//   - neither side ever finds the other against the standard.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "net/mqtt_peer.hpp"

namespace leat::net::mqtt::test {
namespace {

constexpr std::uint16_t client_window = 5, server_window = 4;

// Has a queue of messages for one client that outlives everything, as a publisher that tries again would.
class model_server {
 public:
  explicit model_server(int messages, bool oversteps) : window_(client_window * (oversteps ? 2u : 1u)) {
    for (int n = 0; n < messages; ++n) waiting_.push_back(n);
  }

  std::set<std::string> got;                    // published by the client
  std::set<int> answered;                       // of its own
  const std::set<int>* acknowledged = nullptr;  // what the reader has said

  void open() {
    connected_ = false;
    to_answer_.clear();
    unread_.clear();
  }
  void forget_session() {
    for (auto& [id, m] : in_flight_) waiting_.push_front(m.n);
    in_flight_.clear();
    released_.clear();
    has_session_ = false;
  }
  // Of the session that is kept; somebody publishes it again.
  void drop_one() {
    const auto at = std::find_if(in_flight_.begin(), in_flight_.end(),
                                 [](const auto& x) { return qos_of(x.second.n) == qos::at_least_once; });
    if (at == in_flight_.end()) return;
    waiting_.push_back(at->second.n);
    in_flight_.erase(at);
  }
  bool done() const { return waiting_.empty() && in_flight_.empty() && released_.empty(); }

  void receive(const std::string& bytes, std::string& out) {
    unread_ += bytes;
    for (const packet& p : packets_in(unread_)) handle(p, out);
  }
  void answer(std::string& out, bool twice) {
    if (to_answer_.empty()) return;
    for (int i = 0; i < (twice ? 2 : 1); ++i)
      REQUIRE(encode(ack_packet{.id = to_answer_.front()}, out) == nullptr);
    to_answer_.pop_front();
  }
  void send(std::string& out) {
    while (connected_ && !waiting_.empty() && in_flight_now() < window_) {
      const int n = waiting_.front();
      waiting_.pop_front();
      do next_id_ = static_cast<std::uint16_t>(next_id_ % 12 + 1);
      while (in_flight_.contains(next_id_) || released_.contains(next_id_));
      in_flight_[next_id_] = {n, sequence_++};
      write(next_id_, false, out);
    }
  }

 private:
  struct flying {
    int n = 0;
    int order = 0;
  };
  std::size_t in_flight_now() const { return in_flight_.size() + released_.size(); }
  static qos qos_of(int n) { return n % 3 == 0 ? qos::exactly_once : qos::at_least_once; }
  void write(std::uint16_t id, bool again, std::string& out) {
    const int n = in_flight_.at(id).n;
    publish_packet p{
        .topic = "in", .payload = std::to_string(n), .id = id, .qos = qos_of(n), .duplicate = again};
    REQUIRE(encode(p, out) == nullptr);
  }
  void handle(const packet& p, std::string& out) {
    if (std::holds_alternative<connect_packet>(p)) {
      connack_packet a;
      a.session_present = has_session_ && !std::get<connect_packet>(p).clean_start;
      a.properties.set(property_id::receive_maximum, server_window).set(property_id::topic_alias_maximum, 2);
      REQUIRE(encode(a, out) == nullptr);
      has_session_ = connected_ = true;
      std::map<int, std::uint16_t> in_order;
      for (const auto& [id, m] : in_flight_) in_order[m.order] = id;
      for (const auto& [order, id] : in_order) write(id, true, out);
      for (const auto& r : released_)
        REQUIRE(encode(ack_packet{.type = packet_type::pubrel, .id = r.first}, out) == nullptr);
      aliases_.clear();
      return;
    }
    REQUIRE(connected_);
    if (const auto* const m = std::get_if<publish_packet>(&p)) {
      const auto alias = m->properties.number(property_id::topic_alias);
      if (alias && !m->topic.empty()) aliases_[*alias] = m->topic;
      const std::string topic = m->topic.empty() ? aliases_.at(*alias) : m->topic;
      REQUIRE(topic.starts_with("out/"));
      got.insert(topic + "=" + m->payload);
      to_answer_.push_back(m->id);
      REQUIRE(to_answer_.size() <= server_window);
      return;
    }
    if (const auto* const a = std::get_if<ack_packet>(&p)) {
      const auto at = in_flight_.find(a->id);
      if (a->type == packet_type::pubcomp) {
        released_.erase(a->id);
      } else if (at != in_flight_.end()) {
        REQUIRE(acknowledged->contains(at->second.n));
        answered.insert(at->second.n);
        if (a->type == packet_type::pubrec) released_[a->id] = at->second.n;
        in_flight_.erase(at);
      }
      if (a->type == packet_type::pubrec)
        REQUIRE(encode(ack_packet{.type = packet_type::pubrel, .id = a->id}, out) == nullptr);
      return;
    }
    REQUIRE(std::holds_alternative<pingreq_packet>(p));
    REQUIRE(encode(pingresp_packet{}, out) == nullptr);
  }

  const std::size_t window_;
  bool connected_ = false, has_session_ = false;
  std::deque<std::uint16_t> to_answer_;
  std::uint16_t next_id_ = 0;
  int sequence_ = 0;
  std::string unread_;
  std::deque<int> waiting_;
  std::map<std::uint16_t, flying> in_flight_;
  std::map<std::uint16_t, int> released_;
  std::map<std::uint32_t, std::string> aliases_;
};

struct world {
  static constexpr int messages = 40;

  explicit world(std::uint32_t seed) : random(seed), server(messages, seed % 2 == 0) {
    server.acknowledged = &acknowledged;
  }

  std::mt19937 random;
  time_point now = from_ns(1'000'000'000'000);
  model_server server;
  session client{options()};
  std::string up, down;  // on the way
  std::set<int> seen, acknowledged;
  std::vector<std::pair<std::uint64_t, int>> in_hand;
  std::map<std::uint64_t, int> publishing;
  std::deque<int> to_publish;
  std::set<int> published;
  int breaks = 0, restarts = 0, twice = 0, stalls = 0;

  static session_options options() {
    return {.client_id = "me",
            .session_expiry = 1000,
            .receive_maximum = client_window,
            .topic_aliases = 2,
            .queue = 8};
  }
  bool chance(unsigned one_in) { return random() % one_in == 0; }

  void connect() {
    up.clear();
    down.clear();
    server.open();
    client.open(now);
  }
  void cut() {
    ++breaks;
    client.lost();
    if (chance(4)) server.drop_one();
    connect();
  }
  // kill -9: all that the program had is gone, but what its users would publish again.
  void restart() {
    ++restarts;
    for (const auto& [token, n] : publishing) to_publish.push_front(n);
    publishing.clear();
    in_hand.clear();
    client = session(options());
    connect();
  }
  void move(std::string& way, bool to_server) {
    const std::size_t n = std::min<std::size_t>(way.size(), random() % 40);
    const std::string piece = way.substr(0, n);
    way.erase(0, n);
    if (to_server)
      server.receive(piece, down);
    else
      client.receive(piece, now);
  }
  void read() {
    while (auto d = client.next_delivery()) {
      const int n = std::stoi(d->message.payload);
      twice += !seen.insert(n).second;
      in_hand.emplace_back(d->token, n);
    }
    if (in_hand.empty() || !chance(3)) return;
    const std::size_t i = random() % in_hand.size();
    acknowledged.insert(in_hand[i].second);
    client.acknowledge(in_hand[i].first);
    in_hand.erase(in_hand.begin() + static_cast<std::ptrdiff_t>(i));
  }
  void publish() {
    while (auto r = client.next_result()) {
      REQUIRE(r->outcome == publish_outcome::acknowledged);
      published.insert(publishing.at(r->token));
      publishing.erase(r->token);
    }
    if (to_publish.empty() || !chance(4)) return;
    const int n = to_publish.front();
    const std::uint64_t token =
        client.publish(at_least_once("out/" + std::to_string(n % 5), std::to_string(n)), now);
    if (token == 0) return;
    to_publish.pop_front();
    publishing[token] = n;
  }
  void step(bool faults) {
    now += std::chrono::milliseconds(random() % 100);
    client.tick(now);
    REQUIRE_MESSAGE(!client.end(), client.end().value_or(connection_end{}).why);
    if (faults && chance(60)) cut();
    if (faults && chance(300)) restart();
    if (faults && chance(300)) {
      server.forget_session();
      cut();
    }
    (void)client.take_output(up, random() % 60, now);
    server.send(down);
    if (chance(4)) server.answer(down, chance(10));
    if (chance(2)) move(up, true);
    if (chance(2)) move(down, false);
    read();
    publish();
    stalls += client.stalled();
    REQUIRE(client.unacknowledged() <= client_window);
  }
};

TEST_CASE("nothing is lost over a link that breaks at any byte, for 400 seeds") {
  int breaks = 0, restarts = 0, twice = 0, stalls = 0;
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    world w(seed);
    for (int n = 0; n < world::messages; ++n) w.to_publish.push_back(n);
    w.connect();
    for (int i = 0; i < 3000; ++i) w.step(true);
    int left = 100'000;
    while ((!w.server.done() || w.published.size() < world::messages) && --left > 0) w.step(false);
    REQUIRE(left > 0);
    REQUIRE(w.seen.size() == world::messages);
    REQUIRE(w.server.answered.size() == world::messages);
    REQUIRE(w.server.got.size() == world::messages);
    REQUIRE(w.client.unpublished() == 0);
    breaks += w.breaks;
    restarts += w.restarts;
    twice += w.twice;
    stalls += w.stalls;
  }
  MESSAGE(breaks << " breaks, " << restarts << " restarts, " << twice << " messages came twice");
  CHECK(breaks > 10'000);
  CHECK(restarts > 1000);
  CHECK(twice > 0);
  CHECK(stalls > 1000);
}

}  // namespace
}  // namespace leat::net::mqtt::test
