// SPDX-License-Identifier: BSL-1.0
//
// mqtt-subscribe and mqtt-publish against mosquitto; what settings and payloads say, without it.
#include <sys/stat.h>
#include <fstream>
#include <set>

#include <leat/stock/mqtt_settings.hpp>

#include "net/broker.hpp"
#include "net/told_server.hpp"
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using net::mqtt::test::broker;
using net::mqtt::test::has;

template <class F>
void with_broker(F body) {
  if (!has("mosquitto")) return;
  run_clean(with_procs(2), [&] {
    broker b;
    body(b);
  });
}

struct subscriber : rig {
  leat::channel<record> values;
  explicit subscriber(const broker& b, std::size_t capacity = 64)
      : rig("mqtt-subscribe"), values(channel("values", capacity)) {
    set("url", b.url()).set("retry", 10ms).set("topics", std::vector<std::string>{"t/#"});
  }
};
struct publisher : rig {
  leat::channel<record> values;
  explicit publisher(const broker& b, std::string topic) : rig("mqtt-publish"), values(channel("values", 4)) {
    set("url", b.url()).set("retry", 10ms).set("topic", std::move(topic));
  }
};

TEST_CASE("records go through a broker in each format") {
  for (const std::string format : {"json", "cbor", "text", "raw"})
    with_broker([&](broker& b) {
      log_reader log;
      subscriber in(b);
      in.set("format", format).set("topic_field", "topic").start();
      publisher out(b, "t/{site}");
      out.set("format", format).set("retain", true).start();
      out.values.send({{"site", "north"}, {"payload", "21.5"}});
      const auto r = in.values.recv_until(patience);
      REQUIRE(r);
      CHECK(to_text(*r->find("payload")) == "21.5");
      CHECK(to_text(*r->find("topic")) == "t/north");
      CHECK((r->find("site") != nullptr) == (format == "json" || format == "cbor"));
      out.values.close();
      CHECK(out.wait() == ended::returned);
      CHECK(in.stop() == ended::returned);
      CHECK(log.has("connected to 127.0.0.1:"));
    });
}

TEST_CASE("what is no such record is told, and the next one comes") {
  with_broker([](broker& b) {
    log_reader log;
    subscriber in(b);
    in.start();
    net::mqtt::client c(b.options("w"));
    for (const char* payload : {"{", "[1]", "{\"a\":1}"})
      CHECK(c.publish(
                {.topic = "t/x", .payload = payload, .qos = net::mqtt::qos::at_least_once, .retain = true}) !=
            0);
    // Subscribed or not yet: the last one is retained.
    const auto r = in.values.recv_until(patience);
    REQUIRE(r);
    CHECK(*r->number("a") == 1);
    publisher out(b, "t/{site}");
    out.start();
    out.values.send({{"x", 1}});
    out.values.send({{"site", "a/b"}});
    out.values.close();
    CHECK(out.wait() == ended::returned);
    CHECK(log.has("field 'site' is missing, and the topic needs it"));
  });
}

TEST_CASE("a publisher whose broker goes and comes loses nothing") {
  with_broker([](broker& b) {
    log_reader log;
    subscriber in(b, 1000);
    in.set("client_id", "in").set("session", 1h).start();
    CHECK(eventually([&] { return log.has("connected"); }));
    publisher out(b, "t/x");
    out.set("client_id", "out").set("session", 1h).start();
    std::set<int> seen;
    const auto read_until = [&](int n) {
      while (!seen.contains(n)) {
        const auto r = in.values.recv_until(patience);
        REQUIRE(r);
        seen.insert(static_cast<int>(*r->number("n")));
      }
    };
    // Until it is subscribed to, what is published goes to nobody.
    CHECK(eventually([&] {
      out.values.send({{"n", 0}});
      return in.values.try_recv().has_value();
    }));
    for (int n = 1; n <= 20; ++n) out.values.send({{"n", n}});
    read_until(20);
    b.save();
    b.kill();
    for (int n = 21; n <= 40; ++n) out.values.send({{"n", n}});
    b.start();
    read_until(40);
    for (int n = 1; n <= 40; ++n) CHECK(seen.contains(n));
    out.values.close();
    CHECK(out.wait() == ended::returned);
    CHECK(log.has("trying again"));
  });
}

TEST_CASE("a subscriber that is stopped with a full channel leaves the rest with the broker") {
  with_broker([](broker& b) {
    net::mqtt::client w(b.options("w"));
    std::set<int> seen;
    for (int round = 0; round < 20; ++round) {
      subscriber in(b, 1);
      in.set("client_id", "in").set("session", 1h).set("format", "text").start();
      if (round == 0) {
        CHECK(eventually([&] {
          (void)net::mqtt::test::published(
              w, {.topic = "t/x", .payload = "-1", .qos = net::mqtt::qos::at_least_once});
          return in.values.try_recv().has_value();
        }));
        for (int n = 0; n < 40; ++n)
          (void)net::mqtt::test::published(
              w, {.topic = "t/x", .payload = std::to_string(n), .qos = net::mqtt::qos::at_least_once});
      }
      for (int k = 0; k < 2; ++k) {
        const auto r = in.values.recv_until(patience);
        REQUIRE(r);
        seen.insert(std::stoi(*r->text("payload")));
      }
      (void)in.stop();
      // What had been sent to the channel was acknowledged.
      for (const record& r : drained(in.values)) seen.insert(std::stoi(*r.text("payload")));
    }
    subscriber in(b);
    in.set("client_id", "in").set("session", 1h).set("format", "text").start();
    while (!seen.contains(39)) {
      const auto r = in.values.recv_until(patience);
      REQUIRE(r);
      seen.insert(std::stoi(*r->text("payload")));
    }
    for (int n = 0; n < 40; ++n) CHECK(seen.contains(n));
  });
}

TEST_CASE("a subscriber that the broker refuses fails, though no message comes") {
  run_clean(with_procs(2), [] {
    net::mqtt::test::told_server strict([](net::stream& peer, const net::mqtt::packet& p) {
      using net::mqtt::test::told_server;
      if (std::holds_alternative<net::mqtt::connect_packet>(p))
        told_server::say(peer, net::mqtt::connack_packet{});
      if (const auto* const s = std::get_if<net::mqtt::subscribe_packet>(&p))
        told_server::say(
            peer, net::mqtt::suback_packet{.id = s->id, .reasons = {net::mqtt::reason::not_authorized}});
    });
    rig in("mqtt-subscribe");
    const auto values = in.channel("values", 4);
    in.set("url", "mqtt://" + strict.where())
        .set("client_id", "c")
        .set("topics", std::vector<std::string>{"secret"})
        .start();
    CHECK(in.failure() == "'secret': the server refuses the subscription: not authorized");
  });
}

TEST_CASE("a message that is not wanted fails the publisher, and its record is counted as lost") {
  run_clean(with_procs(2), [] {
    net::mqtt::test::told_server strict([](net::stream& peer, const net::mqtt::packet& p) {
      using net::mqtt::test::told_server;
      if (std::holds_alternative<net::mqtt::connect_packet>(p))
        told_server::say(peer, net::mqtt::connack_packet{});
      if (const auto* const m = std::get_if<net::mqtt::publish_packet>(&p))
        told_server::say(peer,
                         net::mqtt::ack_packet{.id = m->id, .reason = net::mqtt::reason::not_authorized});
    });
    log_reader log;
    rig out("mqtt-publish");
    const auto values = out.channel("values", 4);
    out.set("url", "mqtt://" + strict.where())
        .set("client_id", "c")
        .set("topic", "t")
        .set("unwanted", "fail")
        .start();
    values.send({{"x", 1}});
    values.close();
    CHECK(out.failure() == "the server refuses the message: not authorized");
    CHECK(log.has("mqtt-publish: lost 1 record: it failed"));
  });
}

TEST_CASE("a password comes from a file that others cannot read, or from a variable") {
  run_clean(with_procs(1), [] {
    temp_folder folder;
    const std::string file = folder / "password";
    std::ofstream(file) << "secret\n";
    ::chmod(file.c_str(), 0644);
    rig r("mqtt-publish");
    const auto values = r.channel("values");
    r.set("url", "mqtt://127.0.0.1:1")
        .set("topic", "t")
        .set("user_name", "u")
        .set("password_file", file)
        .start();
    CHECK(r.failure() == "password_file: everybody may use " + file + "; `chmod o= " + file + "` mends it");
    rig missing("mqtt-publish");
    const auto more = missing.channel("values");
    missing.set("url", "mqtt://127.0.0.1:1")
        .set("topic", "t")
        .set("password_variable", "LEAT_NO_SUCH")
        .start();
    CHECK(missing.failure() == "password_variable: there is no variable LEAT_NO_SUCH");
  });
}

TEST_CASE("topics are made of fields") {
  const topic_template t("plant/{site}/{sensor.name}/x");
  CHECK(t.fields() == std::vector<std::string>{"site", "sensor.name"});
  std::string why;
  CHECK(t.topic_of({{"site", 7}, {"sensor", record{{"name", "a"}}}}, why) == "plant/7/a/x");
  CHECK(!t.topic_of({{"site", "a+"}, {"sensor", record{{"name", "a"}}}}, why));
  CHECK(why == "field 'site' has a value that cannot be a level of a topic");
  CHECK(!t.topic_of({{"site", "a"}}, why));
  for (const char* bad : {"", "a/#", "{", "}", "{}", "a{b{c}}", "{a"})
    CHECK(validate_topic_template(bad) != "");
  for (const char* good : {"a", "{a}", "{a}{b}", "$x/{a}"}) CHECK(validate_topic_template(good) == "");
}

}  // namespace
}  // namespace leat::stock::test
