// SPDX-License-Identifier: BSL-1.0
//
// What processes throw away, in the ledger and in the exit status.
#include <doctest/doctest.h>
#include <unistd.h>
#include <functional>
#include <string>

#include <leat/csp/channel.hpp>
#include <leat/net/http_server.hpp>
#include <leat/net/listener.hpp>
#include <leat/stock.hpp>
#include <leat/stock/batch.hpp>

#include "services/fixture.hpp"
#include "services/program.hpp"
#include "small_disk.hpp"

namespace leat::services::test {
namespace {

// Does not look at what becomes of what it sends.
class heedless : public process {
  out<number> values{this, "values"};
  in<number> then{this, "then", "is closed when its other reader has ended"};
  void run() override {
    (void)values.send({1});
    while (then.recv()) {
    }
    for (int i = 0; i < 7; ++i) (void)values.send({i});
  }
};
LEAT_PROCESS(heedless, "sends into nothing");

class takes_one : public process {
  in<number> values{this, "values"};
  out<number> never{this, "never"};
  void run() override { (void)values.recv(); }
};
LEAT_PROCESS(takes_one, "takes one value and ends");

class takes_first : public process {
  in<number> values{this, "values"};
  void run() override { (void)values.recv(); }
};
LEAT_PROCESS(takes_first, "takes one value and ends");

class waits_for_batches : public process {
  in<stock::record_batch> values{this, "values"};
  void run() override {
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};
LEAT_PROCESS(waits_for_batches, "takes none");

class forgetful : public process {
  in<number> values{this, "values"};
  void run() override {
    for (const number& v : values)
      if (v.n % 2 == 0) count_lost();
  }
};
LEAT_PROCESS(forgetful, "throws away what is even, and says so");

// Answers each request with this status.
class refusing_server {
 public:
  explicit refusing_server(std::string status) : status_(std::move(status)) {
    group_.go([this] {
      net::serve(at_, [this](net::stream& peer) {
        net::http::serve_connection(peer, [this](const net::http::request&) {
          ++asked;
          return net::http::plain(status_);
        });
      });
    });
  }
  ~refusing_server() { at_.shutdown(); }
  std::string url() const { return "http://" + at_.local().text() + "/"; }
  std::atomic<int> asked{0};

 private:
  const std::string status_;
  net::listener at_ = net::listen("127.0.0.1:0");
  task_group group_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// On the stack of a thread: AddressSanitizer makes frames of the reader too large for that of a G.
config::plan plan_on_thread(const std::string& text) {
  return leat::blocking([&] { return plan_of(text); });
}

std::string numbers_to(const std::string& use, const std::string& config, int count) {
  return "[service]\nname = \"s\"\ndrain = \"20ms\"\n[supervisor]\nrestart = { when = \"never\" "
         "}\n[process.numbers]\nuse = \"counter\"\nconfig = { count = " +
         std::to_string(count) + " }\nout = { values = \"c\" }\n[process.sink]\nuse = \"" + use +
         "\"\nconfig = { " + config + " }\nin = { values = \"c\" }\n[channel.c]\ncapacity = 100\n";
}

TEST_CASE("what a server refuses for good is lost in the ledger, and the exit status is 1") {
  stock::use();
  leat::run([] {
    refusing_server server("422 Unprocessable Content");
    const config::plan p =
        plan_on_thread(numbers_to("http-post", "url = \"" + server.url() + "\", batch = 2", 4));
    channel<int> stop(1);
    host h(p);
    const ledger l = h.run(stop);
    const channel_account& a = account_of(l, p, "c");
    REQUIRE(a.losses.size() == 1);
    CHECK(a.losses[0].lost == 4);
    CHECK(a.stats.sent == 4);
    CHECK(has(to_text(l, p), "= received 4 + dropped 0 + left 0  (lost: 'sink' threw away 4)\n"));
    CHECK(exit_code(l) == 1);
  });
}

TEST_CASE("a portal that answers for the server eats nothing: its answers are tried again") {
  stock::use();
  for (const char* status : {"302 Found", "307 Temporary Redirect", "401 Unauthorized", "403 Forbidden",
                             "404 Not Found", "511 Network Authentication Required"}) {
    CAPTURE(status);
    leat::run([&] {
      refusing_server portal(status);
      const config::plan p = plan_on_thread(numbers_to(
          "http-post", "url = \"" + portal.url() + "\", retry = \"1ms\", retry_most = \"2ms\"", 3));
      channel<int> stop(2);
      auto beside = spawn("beside", [&] {
        CHECK(eventually([&] { return portal.asked > 5; }));
        stop.send(1);
      });
      host h(p);
      const ledger l = h.run(stop);
      // The drain time is over with the first in hand; the others are still there.
      const channel_account& a = account_of(l, p, "c");
      CHECK(a.stats.received == 1);
      CHECK(a.stats.left == 2);
      REQUIRE(a.losses.size() == 1);
      CHECK(a.losses[0].lost == 1);
      CHECK(exit_code(l) == 1);
    });
  }
}

TEST_CASE("what lets nobody in may be told to be a failure, or to cost the records") {
  stock::use();
  leat::run([] {
    refusing_server server("403 Forbidden");
    const std::string url = "url = \"" + server.url() + "\", refused = ";
    channel<int> stop(1);
    const config::plan drops = plan_on_thread(numbers_to("http-post", url + "\"drop\"", 3));
    host d(drops);
    const ledger dropped = d.run(stop);
    CHECK(account_of(dropped, drops, "c").losses.at(0).lost == 3);
    CHECK(exit_code(dropped) == 1);

    const config::plan fails = plan_on_thread(numbers_to("http-post", url + "\"fail\"", 3));
    host f(fails);
    const ledger failed = f.run(stop);
    CHECK(process_of(failed, fails, "sink").failures == 1);
    CHECK(account_of(failed, fails, "c").losses.at(0).lost == 1);
    CHECK(exit_code(failed) == 1);
  });
}

TEST_CASE("records whose retries are over are lost in the ledger, and the exit status is 1") {
  stock::use();
  leat::run([] {
    refusing_server server("503 Service Unavailable");
    const config::plan p = plan_on_thread(
        numbers_to("http-post",
                   "url = \"" + server.url() + "\", retries = 2, retry = \"1ms\", retry_most = \"2ms\"", 3));
    channel<int> stop(1);
    host h(p);
    const ledger l = h.run(stop);
    CHECK(server.asked == 9);
    CHECK(has(to_text(l, p), "(lost: 'sink' threw away 3)"));
    CHECK(exit_code(l) == 1);
  });
}

TEST_CASE("records that a full disk costs are lost in the ledger, and the exit status is 1") {
  stock::use();
  const scratch_folder folder;
  const config::plan p = plan_of(numbers_to(
      "recorder", "folder = \"" + folder.path() + "/records\", full = \"drop\", retry = \"1h\"", 40));
  const stock::test::small_disk disk(20);  // nine lines of a digit and their header
  const ledger l = run_plan(p);
  const std::uint64_t lost = account_of(l, p, "c").losses.at(0).lost;
  CHECK(lost > 20);
  CHECK(lost < 40);
  CHECK(has(to_text(l, p), "(lost: 'sink' threw away " + std::to_string(lost) + ")"));
  CHECK(exit_code(l) == 1);
}

TEST_CASE("what a process of one's own throws away is told as well") {
  const config::plan p = plan_of(numbers_to("forgetful", "", 5));
  const ledger l = run_plan(p);
  CHECK(has(to_text(l, p), "(lost: 'sink' threw away 2)"));
  CHECK(exit_code(l) == 1);
}

// Numbers to a filter, and from there to somebody who takes none.
config::plan filtered(const std::string& use, const std::string& more = {},
                      const std::string& sink = "waits") {
  stock::use();
  return plan_of(
      "[service]\nname = \"s\"\ndrain = \"20ms\"\n[supervisor]\nrestart = { when = \"never\" }\n"
      "[process.numbers]\nuse = \"counter\"\nconfig = { count = 5 }\nout = { values = \"c\" }\n"
      "[process.filter]\nuse = \"" +
      use + "\"\nin = { values = \"c\" }\n" + more + "[process.sink]\nuse = \"" + sink +
      "\"\nin = { values = \"d\" }\n[channel.c]\ncapacity = 8\n[channel.d]\ncapacity = 1\n");
}

struct filter_case {
  const char* use;
  const char* more;
  std::uint64_t taken;  // of the five, when it is stopped
  std::uint64_t in_hand;
  const char* sink = "waits";
  bool last_comes_again = true;  // else it knows by then that there are no more
};
constexpr filter_case filter_cases[] = {
    {"merge", "out = { out = \"d\" }\n", 2, 1},
    {"dedup", "out = { out = \"d\" }\n", 2, 1},
    {"sample", "out = { out = \"d\" }\n", 2, 1},
    {"tee",
     "out = { out = \"d\", out2 = \"e\" }\n[channel.e]\ncapacity = 1\n[process.too]\nuse = "
     "\"waits\"\nin = { values = \"e\" }\n",
     2, 1},
    {"throttle", "out = { out = \"d\" }\nconfig = { rate = 0.01, burst = 1 }\n", 2, 1},
    {"min-max", "out = { out = \"d\" }\nconfig = { field = \"n\", window = 2 }\n", 4, 2},
    {"batch", "out = { batches = \"d\" }\nconfig = { size = 3 }\n", 5, 2, "waits_for_batches", false},
};

// Stops it when the filter has taken so many and can go no further.
ledger run_until_taken(const config::plan& p, std::uint64_t n) {
  ledger l;
  leat::run(runtime_options_of(p), [&] {
    const channel<int> stop(1);
    host h(p);
    auto beside = spawn("beside", [&] {
      CHECK(eventually([&] {
        for (const channel_account& a : h.wires().accounts())
          if (p.channels[a.channel].name == "c") return a.stats.received >= n;
        return false;
      }));
      stop.send(15);
    });
    l = h.run(stop);
    beside.get();
  });
  return l;
}

TEST_CASE("what a filter has in hand when it is stopped is lost, once, and told") {
  for (const filter_case& f : filter_cases) {
    for (const bool at_least_once : {false, true}) {
      const std::string what = std::string(f.use) + (at_least_once ? " at least once" : "");
      CAPTURE(what);
      const std::string delivery = at_least_once ? "delivery = \"at-least-once\"\n" : "";
      const config::plan p = filtered(f.use, delivery + f.more, f.sink);
      const ledger l = run_until_taken(p, f.taken);
      const channel_account& c = account_of(l, p, "c");
      CHECK(c.stats.received == f.taken);
      CHECK(c.stats.left == 5 - f.taken);
      // The last one is the supervisor's, who gives it up.
      const std::uint64_t given_up = process_of(l, p, "filter").dead_letters;
      std::uint64_t lost = 0;
      for (const auto& x : c.losses) lost += x.lost;
      CHECK(given_up == (at_least_once && f.last_comes_again ? 1 : 0));
      CHECK(lost + given_up == f.in_hand);
    }
  }
}

TEST_CASE("a filter whose reader ends, or that fails, tells of the record that it had in hand") {
  const config::plan ends = filtered("merge", "out = { out = \"d\" }\n", "takes_first");
  const ledger l = run_plan(ends);
  const channel_account& c = account_of(l, ends, "c");
  std::uint64_t lost = 0;
  for (const auto& x : c.losses) lost += x.lost;
  const channel_stats d = account_of(l, ends, "d").stats;
  CHECK(c.stats.received == d.sent + lost);

  const std::string path =
      (std::filesystem::temp_directory_path() / ("leat-losses-bad-" + std::to_string(::getpid()))).string();
  std::ofstream(path) << "{\"n\":1}\n{\"n\":\"x\"}\n";
  const config::plan fails = plan_of(
      "[supervisor]\nrestart = { when = \"never\" }\n[process.lines]\nuse = \"line-reader\"\nconfig = { from "
      "= "
      "\"file:" +
      path +
      "\", format = \"json\" }\nout = { values = \"c\" }\n[process.filter]\nuse = \"deadband\"\nconfig = { "
      "field = "
      "\"n\", bad = \"fail\" }\nin = { values = \"c\" }\nout = { out = \"d\" }\n[process.sink]\nuse = "
      "\"noting\"\nin = "
      "{ values = \"d\" }\n[channel.c]\n[channel.d]\n");
  const ledger f = run_plan(fails);
  std::filesystem::remove(path);
  REQUIRE(account_of(f, fails, "c").losses.size() == 1);
  CHECK(account_of(f, fails, "c").losses[0].lost == 1);
}

TEST_CASE("values that are sent after the close are counted as refused, and told") {
  const config::plan p = plan_of(R"(
[process.from]
use = "heedless"
out = { values = "c" }
in  = { then = "d" }
[process.to]
use = "takes_one"
in  = { values = "c" }
out = { never = "d" }
[channel.c]
capacity = 4
[channel.d]
)");
  const ledger l = run_plan(p);
  CHECK(account_of(l, p, "c").stats.sent == 1);
  CHECK(account_of(l, p, "c").stats.refused == 7);
  CHECK(has(to_text(l, p), "(refused: 7 sent after it was closed)\n"));
}

TEST_CASE("each kind of channel counts what it refuses") {
  leat::run([] {
    const auto refused = [](const channel<int>& c) {
      c.close();
      CHECK(c.send(1) == send_status::closed);
      CHECK(c.try_send(2) == send_status::closed);
      return c.stats().refused;
    };
    CHECK(refused(channel<int>()) == 2);
    CHECK(refused(channel<int>(4)) == 2);
    CHECK(refused(channel<int>(4, {.full = full::latest})) == 2);
    CHECK(refused(channel<int>(4, {.writers = 1, .readers = 1})) == 2);
    CHECK(refused(channel<int>(broadcast, 4)) == 2);
  });
}

TEST_CASE("lines that cannot be read are told in the ledger, and are no failure") {
  stock::use();
  const std::string path =
      (std::filesystem::temp_directory_path() / ("leat-losses-lines-" + std::to_string(::getpid()))).string();
  std::ofstream(path) << "{\"n\":1}\n{\"n\":\n{\"n\":3}\n";
  const config::plan p = plan_of("[process.lines]\nuse = \"line-reader\"\nconfig = { from = \"file:" + path +
                                 "\", format = \"json\" }\nout = { values = \"c\" }\n[process.sink]\nuse = "
                                 "\"noting\"\nin = { values = \"c\" }\n[channel.c]\n");
  const ledger l = run_plan(p);
  std::filesystem::remove(path);
  CHECK(account_of(l, p, "c").stats.sent == 2);
  CHECK(has(to_text(l, p), "(rejected: 1 that 'lines' could not read)\n"));
  CHECK(exit_code(l) == 0);
}

}  // namespace
}  // namespace leat::services::test
