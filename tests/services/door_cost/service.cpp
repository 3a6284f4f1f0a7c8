// SPDX-License-Identifier: BSL-1.0
//
// What the control door is measured with. `door-cost-service run FILE` is a program as all are, with its door and
// who looks for it; `door-cost-service alone FILE` runs the same by a host that nobody looks at.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/leat.hpp>
#include <leat/main.hpp>
#include <leat/net.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/host.hpp>

using namespace std::chrono_literals;

struct number {
  std::int64_t n = 0;
};
LEAT_MESSAGE(number, n);

class source : public leat::process {
  leat::out<number> to{this, "to"};
  leat::setting<std::int64_t> count{this, "count", 1, "how many"};
  void run() override {
    for (std::int64_t i = 0; i < count; ++i)
      if (to.send({i}) != leat::send_status::sent) return;
  }
};
LEAT_PROCESS(source, "sends so many, as fast as it can");

// Ten in each millisecond.
class fast : public leat::process {
  leat::out<number> to{this, "to"};
  void run() override {
    leat::ticker every(1ms, leat::missed::burst);
    std::int64_t n = 0;
    for ([[maybe_unused]] const leat::tick& t : every)
      for (int i = 0; i < 10; ++i)
        if (to.send({n++}) != leat::send_status::sent) return;
  }
};
LEAT_PROCESS(fast, "sends ten thousand a second");

class hands_on : public leat::process {
  leat::in<number> from{this, "from"};
  leat::out<number> to{this, "to"};
  void run() override {
    for (const number& v : from) to.send(v);
  }
};
LEAT_PROCESS(hands_on, "hands on");

class taker : public leat::process {
  leat::in<number> from{this, "from"};
  void run() override {
    for ([[maybe_unused]] const number& v : from) {
    }
  }
};
LEAT_PROCESS(taker, "takes");

class ping : public leat::process {
  leat::out<number> there{this, "there"};
  leat::in<number> back{this, "back"};
  leat::setting<std::int64_t> count{this, "count", 1, "how many"};
  void run() override {
    for (std::int64_t i = 0; i < count; ++i) {
      there.send({i});
      (void)back.recv();
    }
  }
};
LEAT_PROCESS(ping, "sends one, and waits for it to come back");

class pong : public leat::process {
  leat::in<number> there{this, "there"};
  leat::out<number> back{this, "back"};
  void run() override {
    for (const number& v : there) back.send(v);
  }
};
LEAT_PROCESS(pong, "sends back");

class echoes : public leat::process {
  leat::setting<std::int64_t> count{this, "count", 1, "how many"};
  void run() override {
    leat::net::listener at = leat::net::listen("127.0.0.1:0");
    leat::task_group group;
    group.go([&] {
      leat::net::stream peer = at.accept();
      char data[64];
      while (const std::size_t n = peer.read_some(data)) peer.write({data, n});
    });
    leat::net::stream to = leat::net::dial(at.local().text());
    char data[64] = {};
    for (std::int64_t i = 0; i < count; ++i) {
      to.write({data, sizeof data});
      for (std::size_t all = 0, n = 0; all < sizeof data; all += n)
        if ((n = to.read_some({data + all, sizeof data - all})) == 0)
          throw std::runtime_error("the end came early");
    }
    to.close();
    group.wait();
  }
};
LEAT_PROCESS(echoes, "talks to itself by TCP");

class pulse : public leat::process {
  leat::out<number> a{this, "a"}, b{this, "b"}, c{this, "c"}, d{this, "d"};
  leat::setting<leat::nanoseconds> period{this, "period", 100ms, "how often"};
  void run() override {
    leat::ticker every(*period);
    std::int64_t n = 0;
    for ([[maybe_unused]] const leat::tick& t : every) {
      for (const leat::out<number>* to : {&a, &b, &c, &d})
        if (to->send({n}) != leat::send_status::sent) return;
      ++n;
    }
  }
};
LEAT_PROCESS(pulse, "sends one to each, now and then");

class drain : public leat::process {
  leat::in<number> a{this, "a"}, b{this, "b"}, c{this, "c"}, d{this, "d"};
  void run() override {
    for (;;)
      for (const leat::in<number>* from : {&a, &b, &c, &d})
        if (!from->recv()) return;
  }
};
LEAT_PROCESS(drain, "takes one from each");

namespace {

int run_alone(const char* file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  const leat::config::checked r = leat::config::check_text(file, text.str(), leat::program_catalog());
  if (!r.plan) return std::fputs(leat::config::render(r.found, r.sources).c_str(), stderr), 78;
  return leat::run(leat::services::runtime_options_of(*r.plan), [&] {
    leat::services::host h(*r.plan);
    return leat::services::exit_code(h.run(leat::signals(SIGINT, SIGTERM)));
  });
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc == 3 && std::string(argv[1]) == "alone") return run_alone(argv[2]);
  return leat::main(argc, argv);
} catch (const std::exception& e) {
  return std::fprintf(stderr, "door-cost-service: %s\n", e.what()), 1;
}
