// SPDX-License-Identifier: BSL-1.0
//
// modbus-poll and modbus-write against libmodbus' own server.
#include <fcntl.h>
#include <modbus/modbus.h>
#include <netinet/in.h>
#include <poll.h>
#include <pty.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>
#include <atomic>
#include <thread>

#include "stock/fixture.hpp"

namespace leat::modbus::test {
namespace {

using namespace leat::stock::test;
using strings = std::vector<std::string>;

// For a device that answers, on a machine that has other things to do.
constexpr std::chrono::seconds slow(45);

// A device with 20 of each kind, on a thread of its own.
class device {
 public:
  // Over TCP, at a port of its own or this one.
  explicit device(int port = 0)
      : line_(modbus_new_tcp("127.0.0.1", port)), map_(modbus_mapping_new(20, 20, 20, 20)) {
    listener_ = modbus_tcp_listen(line_, 4);
    sockaddr_in at{};
    socklen_t size = sizeof at;
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  // At the far end of a serial line, as this unit.
  device(int fd, int unit)
      : line_(modbus_new_rtu("/dev/null", 9600, 'N', 8, 1)),
        map_(modbus_mapping_new(20, 20, 20, 20)),
        talks_(true) {
    modbus_set_socket(line_, fd);
    modbus_set_slave(line_, unit);
    thread_ = std::thread([this] { serve(); });
  }
  ~device() {
    ends_ = true;
    thread_.join();
    if (listener_ >= 0) {
      if (talks_) modbus_close(line_);
      ::close(listener_);
    }
    modbus_mapping_free(map_);
    modbus_free(line_);
  }
  device(const device&) = delete;

  int port() const { return port_; }
  std::string bus() const { return "tcp:127.0.0.1:" + std::to_string(port_); }
  void put(int number, std::uint16_t v) {
    const std::lock_guard hold(lock_);
    map_->tab_registers[number] = v;
    map_->tab_input_registers[number] = static_cast<std::uint16_t>(v + 1);
    map_->tab_bits[number] = map_->tab_input_bits[number] = v & 1;
  }
  int get(int number) {
    const std::lock_guard hold(lock_);
    return map_->tab_registers[number];
  }
  int bit(int number) {
    const std::lock_guard hold(lock_);
    return map_->tab_bits[number];
  }
  std::atomic<bool> silent{false};
  std::atomic<int> late_ms{0};  // of the next answer
  std::atomic<int> asked{0};

 private:
  void serve() {
    while (!ends_) {
      pollfd fds[2] = {{listener_, POLLIN, 0}, {talks_ ? modbus_get_socket(line_) : -1, POLLIN, 0}};
      if (::poll(fds, 2, 5) <= 0) continue;
      if (fds[1].revents != 0) {
        std::uint8_t query[MODBUS_TCP_MAX_ADU_LENGTH];
        const int n = modbus_receive(line_, query);
        if (n > 0) std::this_thread::sleep_for(std::chrono::milliseconds(late_ms.exchange(0)));
        if (n > 0 && !silent) {
          const std::lock_guard hold(lock_);
          (void)modbus_reply(line_, query, n, map_);
        }
        asked += n > 0;
        if (n < 0 && listener_ >= 0) {
          modbus_close(line_);
          talks_ = false;
        }
      }
      if (fds[0].revents != 0) {
        if (talks_) modbus_close(line_);
        talks_ = modbus_tcp_accept(line_, &listener_) >= 0;
      }
    }
  }

  std::mutex lock_;
  modbus_t* const line_;
  modbus_mapping_t* const map_;
  int listener_ = -1, port_ = 0;
  bool talks_ = false;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

value reg(const char* name, int number, const char* table = "holding", const char* type = nullptr) {
  value::table t{value_member{"name", {}, value(name)}, value_member{"number", {}, value(number)},
                 value_member{"table", {}, value(table)}};
  if (type) t.push_back(value_member{"type", {}, value(type)});
  return value(std::move(t));
}

// What a bus looks like when nobody answers there.
int unused_port() {
  const device d;
  return d.port();
}

TEST_CASE("registers of all tables are read, one record for each or one for all") {
  at_procs([] {
    device d;
    for (int i = 0; i < 20; ++i) d.put(i, static_cast<std::uint16_t>(100 + i));
    const value::list registers{reg("h", 3), reg("wide", 4, "holding", "u32"), reg("i", 3, "input"),
                                reg("c", 3, "coil"), reg("d", 4, "discrete")};
    rig each("modbus-poll");
    const auto out = each.channel("readings");
    each.set("bus", d.bus()).set("registers", registers).set("period", 1h).set("timeout", slow).start();
    std::vector<record> all;
    for (int i = 0; i < 5; ++i) {
      auto r = out.recv_until(patience);
      REQUIRE(r);
      CHECK(r->find("at")->kind() == value_kind::moment);
      all.push_back(std::move(*r));
    }
    CHECK(texts_of(all, "sensor") == strings{"h", "wide", "i", "c", "d"});
    CHECK(texts_of(all, "value") ==
          strings{"103", std::to_string((104 << 16) + 105), "104", "true", "false"});
    CHECK(each.stop() == ended::returned);

    rig one("modbus-poll");
    const auto whole = one.channel("readings");
    one.set("bus", d.bus()).set("registers", registers).set("records", "all").set("period", 10ms);
    one.set("timeout", slow).start();
    for (int i = 0; i < 2; ++i) {
      auto r = whole.recv_until(patience);
      REQUIRE(r);
      r->erase("at");
      CHECK(to_json(*r) == R"({"h":103,"wide":6815849,"i":104,"c":true,"d":false})");
    }
    CHECK(one.stop() == ended::returned);
  });
}

TEST_CASE("a register that the device refuses is told and left out, and the others are read") {
  at_procs([] {
    device d;
    d.put(1, 7);
    log_reader log;
    rig r("modbus-poll");
    const auto out = r.channel("readings");
    r.set("bus", d.bus()).set("records", "all").set("period", 10ms).set("lost", "fail").set("timeout", slow);
    r.set("registers", value::list{reg("there", 1), reg("beyond", 500)}).start();
    for (int i = 0; i < 3; ++i) {
      const auto got = out.recv_until(patience);
      REQUIRE(got);
      CHECK(got->number("there") == 7);
      CHECK(got->find("beyond")->is_null());
    }
    CHECK(log.count("Illegal data address (beyond); tries again") == 1);
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("a device that falls silent, or goes away, is asked again until it answers") {
  at_procs([] {
    log_reader log;
    const int port = unused_port();
    rig r("modbus-poll");
    const auto out = r.channel("readings", 1, {.full = full::drop_oldest});
    r.set("bus", "tcp:127.0.0.1:" + std::to_string(port)).set("registers", value::list{reg("a", 0)});
    r.set("period", 10ms).set("timeout", 50ms).set("retry", 1ms).set("retry_most", 5ms).start();
    CHECK(eventually([&] { return log.has("cannot connect to tcp:127.0.0.1:"); }));
    {
      device d(port);
      CHECK(out.recv_until(patience));
      CHECK(eventually([&] { return log.has("answers again"); }));
      d.silent = true;
      CHECK(
          eventually([&] { return log.has("no answer from tcp:127.0.0.1:" + std::to_string(port) + ": "); }));
      d.silent = false;
      CHECK(eventually([&] { return log.count("answers again") == 2; }));
      (void)out.try_recv();
      CHECK(out.recv_until(patience));
    }
    CHECK(eventually([&] { return log.count("cannot connect") >= 2; }));
    device back(port);
    CHECK(eventually([&] { return log.count("answers again") == 3; }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("it may fail instead, for its supervisor; and a stop ends it while nothing answers") {
  at_procs([] {
    const std::string nowhere = "tcp:127.0.0.1:" + std::to_string(unused_port());
    rig fails("modbus-poll");
    const auto out = fails.channel("readings");
    fails.set("bus", nowhere).set("registers", value::list{reg("a", 0)}).set("lost", "fail").start();
    CHECK(fails.failure() == "cannot connect to " + nowhere + ": Connection refused");

    rig stops("modbus-poll");
    const auto none = stops.channel("readings");
    log_reader log;
    stops.set("bus", nowhere).set("registers", value::list{reg("a", 0)}).set("retry", 1h).start();
    CHECK(eventually([&] { return log.has("tries again"); }));
    CHECK(stops.stop() == ended::returned);
  });
}

TEST_CASE("live: a shorter period counts at once") {
  at_procs([] {
    device d;
    rig r("modbus-poll");
    const auto out = r.channel("readings", 1, {.full = full::drop_oldest});
    r.set("bus", d.bus())
        .set("registers", value::list{reg("a", 0)})
        .set("period", 1h)
        .set("timeout", slow)
        .start();
    CHECK(out.recv_until(patience));
    r.change("period", nanoseconds(10ms));
    CHECK(eventually([&] { return d.asked > 3; }));
    CHECK(r.stop() == ended::returned);
  });
}

TEST_CASE("records are written to the registers that they name, and what cannot be is lost, told") {
  at_procs([] {
    device d;
    log_reader log;
    rig r("modbus-write");
    const auto in = r.channel("values"), done = r.channel("written");
    r.set("bus", d.bus());
    r.set("registers", value::list{reg("level", 2), reg("pump", 1, "coil"), reg("beyond", 500),
                                   reg("f", 4, "holding", "f32")});
    r.start();
    const auto set = [](const char* name, field_value v) {
      return record{{"sensor", name}, {"value", std::move(v)}};
    };
    in.send(set("level", 1234));
    in.send(set("pump", true));
    in.send(set("nobody", 1));
    in.send(set("level", 70000));
    in.send(set("beyond", 1));
    in.send({{"value", 1}});
    in.send(set("f", 1.5));
    in.close();
    CHECK(r.wait() == ended::returned);
    CHECK(d.get(2) == 1234);
    CHECK(d.bit(1) == 1);
    CHECK((d.get(4) == 0x3fc0 && d.get(5) == 0));
    CHECK(texts_of(drained(done), "sensor") == strings{"level", "pump", "f"});
    CHECK(log.has("modbus-write: lost: there is no register 'nobody'"));

    rig all("modbus-write");
    const auto fields = all.channel("values");
    all.set("bus", d.bus())
        .set("records", "all")
        .set("registers", value::list{reg("a", 7), reg("b", 8)})
        .start();
    fields.send({{"a", 1}, {"b", 2}, {"other", "x"}});
    fields.send({{"b", 3}, {"a", {}}});
    fields.send({{"a", 9}, {"b", "warm"}});  // nothing of it
    fields.close();
    CHECK(all.wait() == ended::returned);
    CHECK((d.get(7) == 1 && d.get(8) == 3));
    CHECK(log.has("lost: 'b': expected a number, got warm"));
  });
}

TEST_CASE("a record waits for a device that is away, and is lost, told, if it is stopped before") {
  at_procs([] {
    log_reader log;
    const int port = unused_port();
    rig r("modbus-write");
    const auto in = r.channel("values");
    r.set("bus", "tcp:127.0.0.1:" + std::to_string(port)).set("registers", value::list{reg("a", 0)});
    r.set("retry", 1ms).set("retry_most", 5ms).start();
    in.send({{"sensor", "a"}, {"value", 5}});
    CHECK(eventually([&] { return log.has("tries again"); }));
    {
      device d(port);
      CHECK(eventually([&] { return d.get(0) == 5; }));
    }
    in.send({{"sensor", "a"}, {"value", 6}});
    CHECK(eventually([&] { return log.count("tries again") >= 2; }));
    CHECK(r.stop() == ended::returned);
    CHECK(log.has("modbus-write: lost 1 record, which was not written yet"));
  });
}

TEST_CASE("two processes share a serial line, which nobody else may use") {
  run_clean(with_procs(2), [] {
    int far = -1, keeps = -1;
    char name[100];
    REQUIRE(::openpty(&far, &keeps, name, nullptr, nullptr) == 0);
    const std::string bus = "rtu:" + std::string(name) + "?baud=115200";
    {
      device d(far, 17);
      d.put(1, 42);
      log_reader log;
      const int other = ::open(name, O_RDWR | O_NOCTTY);
      REQUIRE(::flock(other, LOCK_EX) == 0);
      rig poll("modbus-poll"), write("modbus-write");
      const auto out = poll.channel("readings", 1, {.full = full::drop_oldest}), in = write.channel("values");
      const auto common = [](rig& r, const std::string& where) {
        r.set("bus", where)
            .set("unit", 17)
            .set("retry", 1ms)
            .set("timeout", 200ms)
            .set("registers", value::list{reg("a", 1)});
      };
      common(poll, bus);
      poll.set("period", 10ms).start();
      CHECK(eventually(
          [&] { return log.has("cannot open " + bus + ": another process of this program uses it"); }));
      ::close(other);
      const auto got = out.recv_until(patience);
      REQUIRE(got);
      CHECK(got->number("value") == 42);
      common(write, bus);
      write.start();
      in.send({{"sensor", "a"}, {"value", 43}});
      CHECK(eventually([&] {
        const auto next = out.recv_until(patience);
        return next && next->number("value") == 43;
      }));
      rig other_speed("modbus-poll");
      const auto none = other_speed.channel("readings");
      common(other_speed, "rtu:" + std::string(name) + "?baud=9600");
      other_speed.start();
      CHECK(other_speed.failure() ==
            "bus: another process uses this line as \"" + bus + "\"; both must say the same");
      CHECK(write.stop() == ended::returned);
      CHECK(poll.stop() == ended::returned);
    }
    ::close(far);
    ::close(keeps);
  });
}

TEST_CASE("an answer that comes late on a serial line is not taken for that of the next request") {
  run_clean(with_procs(2), [] {
    int far = -1, keeps = -1;
    char name[100];
    REQUIRE(::openpty(&far, &keeps, name, nullptr, nullptr) == 0);
    {
      device d(far, 17);
      d.put(1, 10);
      d.put(8, 80);
      d.late_ms = 2500;
      log_reader log;
      rig r("modbus-poll");
      const auto out = r.channel("readings");
      r.set("bus", "rtu:" + std::string(name)).set("unit", 17).set("timeout", 2s).set("period", 10ms);
      r.set("registers", value::list{reg("a", 1), reg("b", 8)}).start();
      std::vector<record> all;
      for (int i = 0; i < 3; ++i) {
        auto got = out.recv_until(patience);
        REQUIRE(got);
        all.push_back(std::move(*got));
      }
      CHECK(texts_of(all, "sensor") == strings{"b", "a", "b"});
      CHECK(texts_of(all, "value") == strings{"80", "10", "80"});
      CHECK(log.count("no answer from") == 1);
      CHECK(r.stop() == ended::returned);
    }
    ::close(far);
    ::close(keeps);
  });
}

TEST_CASE("all devices of a serial line are written at once, without an answer, and cannot be read") {
  run_clean(with_procs(2), [] {
    int far = -1, keeps = -1;
    char name[100];
    REQUIRE(::openpty(&far, &keeps, name, nullptr, nullptr) == 0);
    {
      device d(far, 17);
      log_reader log;
      rig write("modbus-write"), poll("modbus-poll");
      const auto in = write.channel("values"), done = write.channel("written");
      const auto common = [&](rig& r) {
        r.set("bus", "rtu:" + std::string(name)).set("unit", 0).set("timeout", 100ms);
        r.set("registers", value::list{reg("a", 1)}).start();
      };
      common(write);
      in.send({{"sensor", "a"}, {"value", 5}});
      CHECK(done.recv_until(patience));
      CHECK(eventually([&] { return d.get(1) == 5; }));
      CHECK(d.asked == 1);
      const auto none = poll.channel("readings");
      common(poll);
      CHECK(eventually([&] { return log.has("unit 0 of a serial line is all devices, and none answers"); }));
      CHECK(poll.stop() == ended::returned);
      CHECK(write.stop() == ended::returned);
    }
    ::close(far);
    ::close(keeps);
  });
}

TEST_CASE("a stop ends the wait for a bus that others use") {
  at_procs([] {
    auto d = std::make_unique<device>();
    d->silent = true;
    rig first("modbus-poll"), second("modbus-poll"), write("modbus-write");
    const auto a = first.channel("readings"), b = second.channel("readings"), in = write.channel("values");
    const std::string bus = d->bus();
    for (rig* r : {&first, &second, &write})
      r->set("bus", bus).set("registers", value::list{reg("a", 0)}).set("timeout", slow);
    first.start();
    CHECK(eventually([&] { return d->asked == 1; }));
    second.start();
    write.start();
    in.send({{"sensor", "a"}, {"value", 5}});
    CHECK(eventually([&] { return in.size() == 0; }));
    sleep_for(20ms);
    log_reader log;
    const time_point begun = leat::now();
    CHECK(second.stop() == ended::returned);
    CHECK(write.stop() == ended::returned);
    CHECK(leat::now() - begun < slow / 2);
    CHECK(log.has("modbus-write: lost 1 record, which was not written yet"));
    d.reset();  // ends the request of the first
    CHECK(first.stop() == ended::returned);
  });
}

}  // namespace
}  // namespace leat::modbus::test
