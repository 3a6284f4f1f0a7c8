// SPDX-License-Identifier: BSL-1.0
//
// The doors of the real program, and clients that mean no good.
#include <leat/control/door.hpp>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "control/client.hpp"
#include "services/program.hpp"
#include "support/paths.hpp"
#include "support/soak.hpp"

namespace leat::control {
namespace {

using remote::json;
using remote::json_result;
using remote::read_json;
using services::test::program;
using services::test::scratch_folder;
using test::ask;
using test::body_of;
using test::client;
using test::get;
using test::post;
using test::status_of;
using clock = std::chrono::steady_clock;

constexpr const char* service = R"(leat = 1
[process.tick]
use    = "sensor-sim"
config = { period = "1ms" }
out    = { values = "ticks" }
[process.keep]
use    = "sample"
config = { nth = 1000000 }
in     = { values = "ticks" }
out    = { out = "kept" }
[process.show]
use    = "log"
in     = { values = "kept" }
[channel.ticks]
capacity = 8
[channel.kept]
capacity = 8
inject   = true
)";

template <class F>
bool eventually(F holds) {
  for (const auto until = clock::now() + test::patience; clock::now() < until;
       std::this_thread::sleep_for(std::chrono::milliseconds(5)))
    if (holds()) return true;
  return false;
}

// `leat run door.toml` with a folder of its own for the socket.
class running {
 public:
  explicit running(const std::string& control = {}, const scratch_folder* beside = nullptr)
      : folder_(beside ? *beside : own_),
        program_({leat::test::program_path("leat"), "run", folder_.file("door.toml", service + control)},
                 {"LEAT_SOCKETS=" + folder_.path() + "/run", "LEAT_LOG=notice"}) {}

  const scratch_folder& folder() const { return folder_; }
  std::string socket(const char* name = "door") const { return folder_.path() + "/run/" + name + ".sock"; }
  bool is_up() const {
    return eventually([&] { return client(socket()).connected(); });
  }
  // Of the TCP door; empty: it did not come.
  std::string port() {
    if (!program_.says("the inspector is on http://127.0.0.1:")) return {};
    if (!program_.says("/\n")) return {};
    const std::size_t at = program_.said.find("127.0.0.1:") + 10;
    return program_.said.substr(at, program_.said.find('/', at) - at);
  }
  std::uint64_t received() const {
    const json_result r = read_json(body_of(ask(socket(), get("/v1/state"))));
    if (r.value)
      for (const json& c : r.value->list_of("channels"))
        if (c.text_of("name") == "door/ticks") return c.count_of("received");
    return 0;
  }
  bool goes_on() const {
    const std::uint64_t before = received();
    return eventually([&] { return received() > before; });
  }
  program& process() { return program_; }

 private:
  scratch_folder own_;
  const scratch_folder& folder_;
  program program_;
};

TEST_CASE("the socket is for this user alone, and answers what the contract says") {
  running r;
  REQUIRE(r.is_up());
  struct stat s{};
  REQUIRE(::stat(r.socket().c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0600);
  REQUIRE(::stat((r.folder().path() + "/run").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);

  REQUIRE(eventually([&] { return r.received() > 10; }));
  const json_result state = read_json(body_of(ask(r.socket(), get("/v1/state"))));
  REQUIRE(state.value.has_value());
  CHECK(state.value->text_of("deployment") == "door");
  CHECK(state.value->flag_of("may_change"));
  CHECK(state.value->list_of("processes").size() == 3);
  CHECK(state.value->list_of("files").size() == 1);
  CHECK(status_of(ask(r.socket(), get("/live"))) == "200");
  CHECK(status_of(ask(r.socket(), get("/ready"))) == "200");
  CHECK(status_of(ask(r.socket(), get("/nothing"))) == "404");
  CHECK(status_of(ask(r.socket(), post("/v1/restart", R"({"process":"door/nobody"})"))) == "404");
  CHECK(body_of(ask(r.socket(), post("/v1/restart", R"({"process":"door/keep"})")))
            .starts_with(R"({"restarted":["door/keep"]})"));

  // What is injected is checked, and the place of a mistake is one in the value.
  const std::string good = R"({"sensor":"by hand","at":"2026-01-01T00:00:00Z","value":1.5})";
  const std::string taken = ask(r.socket(), post("/v1/inject", R"({"channel":"kept","value":)" + good + "}"));
  CHECK(body_of(taken).starts_with(R"({"sent":true})"));
  const std::string refused =
      ask(r.socket(), post("/v1/inject", "{\"channel\":\"kept\",\n\n \"value\":{\n  \"sensor\":[1}}"));
  CHECK(status_of(refused) == "400");
  const std::string wrong = ask(r.socket(), post("/v1/inject", R"({"channel":"kept","value":[1]})"));
  CHECK(status_of(wrong) == "400");
  CHECK(wrong.find(R"("line":1,"column":1)") != std::string::npos);
  CHECK(status_of(ask(r.socket(), post("/v1/inject", R"({"channel":"door/none","value":1})"))) == "404");
  // A ring has no place for another writer, and what would make one is said.
  const std::string ring = ask(r.socket(), post("/v1/inject", R"({"channel":"ticks","value":)" + good + "}"));
  CHECK(status_of(ring) == "409");
  CHECK(ring.find("inject = true") != std::string::npos);

  const client tap(r.socket());
  REQUIRE(tap.send(get("/v1/tap?channel=ticks&count=3")));
  const std::string lines = body_of(tap.until_end());
  CHECK(std::count(lines.begin(), lines.end(), '\n') >= 4);
  CHECK(lines.find(R"({"channel":"door/ticks","seq":)") != std::string::npos);
  CHECK(lines.find(R"("end":"count","shown":3)") != std::string::npos);

  // Every second one: what is not shown for that reason is counted apart.
  const client some(r.socket());
  REQUIRE(some.send(get("/v1/tap?channel=ticks&count=2&where=count(value,%20100)%20%25%202%20%3D%3D%200")));
  const std::string shown = body_of(some.until_end());
  CHECK(shown.find(R"("end":"count","shown":2)") != std::string::npos);
  CHECK(shown.find(R"("not_matching":2)") != std::string::npos);
  const std::string no_expression = ask(r.socket(), get("/v1/tap?channel=ticks&where=value%20%3E"));
  CHECK(status_of(no_expression) == "400");
  CHECK(no_expression.find("expression:1:8: error: expected a value, but the expression ends here") !=
        std::string::npos);

  // An expression of somebody at the door takes little: of what it remembers, and of texts.
  std::string many = "rate(value)";
  for (int i = 0; i < 16; ++i) many += "%2Brate(value)";
  const std::string greedy = ask(r.socket(), get("/v1/tap?channel=ticks&where=" + many + "%3E0"));
  CHECK(status_of(greedy) == "400");
  CHECK(greedy.find("more than 16 of previous, rate and windows") != std::string::npos);
  const std::string text(64, 'a');
  std::string doubled = "'" + text + "'";
  for (int i = 0; i < 2; ++i) doubled = "replace(" + doubled + ",'a','" + text + "')";
  const client small(r.socket());
  REQUIRE(small.send(get("/v1/tap?channel=ticks&count=1&where=" + doubled + "%20is%20missing")));
  CHECK(body_of(small.until_end()).find(R"("end":"count","shown":1)") != std::string::npos);

  // Nobody asks for more than this: it ends as by a signal.
  CHECK(status_of(ask(r.socket(), post("/v1/stop", "{}"))) == "200");
  CHECK(r.process().end() == 0);
  CHECK(::access(r.socket().c_str(), F_OK) != 0);
}

TEST_CASE("another user is not let in, even where the modes would allow it") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can become another user");
    return;
  }
  running r;
  REQUIRE(r.is_up());
  REQUIRE(::chmod(r.folder().path().c_str(), 0755) == 0);
  REQUIRE(::chmod((r.folder().path() + "/run").c_str(), 0755) == 0);
  REQUIRE(::chmod(r.socket().c_str(), 0666) == 0);
  const std::string socket = r.socket();
  const leat::test::child_result other = leat::test::run_forked([&] {
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(9);
    const client c(socket);
    if (!c.connected()) ::_exit(8);
    (void)c.send(get("/v1/state"));
    ::_exit(c.until_end().empty() ? 0 : 7);
  });
  CHECK(other.exited(0));
  CHECK(status_of(ask(r.socket(), get("/live"))) == "200");
}

TEST_CASE("by TCP one may look, and with the token do everything") {
  const scratch_folder folder;
  const std::string token = folder.file("token", "0123456789abcdef0123\nmore\n");
  REQUIRE(::chmod(token.c_str(), 0600) == 0);
  running r(
      "[control]\nlisten = \"127.0.0.1:0\"\ntoken_file = \"" + token + "\"\nhosts = [\"board.example\"]\n",
      &folder);
  const std::string port = r.port();
  REQUIRE(!port.empty());
  const std::string host = "Host: localhost:" + port + "\r\n";
  const std::string log = R"({"level":"info"})";
  const auto with = [&](const std::string& authorization) {
    return status_of(ask(port, post("/v1/log", log, host + authorization)));
  };

  CHECK(status_of(ask(port, get("/v1/state", host))) == "200");
  CHECK(status_of(ask(port, get("/metrics", "Host: 127.0.0.1\r\n"))) == "200");
  CHECK(status_of(ask(port, get("/live", "Host: board.example\r\n"))) == "200");
  const std::string wrong = ask(port, get("/v1/state", "Host: evil.example\r\n"));
  CHECK(status_of(wrong) == "403");
  CHECK(body_of(wrong).find("'evil.example'") != std::string::npos);
  // The browser says who has sent it; the host is right.
  const std::string foreign = ask(port, get("/v1/state", host + "Sec-Fetch-Site: cross-site\r\n"));
  CHECK(status_of(foreign) == "403");
  CHECK(body_of(foreign).find("a page of another site") != std::string::npos);
  CHECK(body_of(foreign).find("hosts") == std::string::npos);
  CHECK(status_of(ask(port, post("/v1/log", log,
                                 "Host: evil.example\r\nAuthorization: Bearer 0123456789abcdef0123\r\n"))) ==
        "403");

  CHECK(with("") == "403");
  for (const char* no :
       {"Bearer ", "Bearer 0123456789abcdef012", "Bearer 0123456789abcdef01234",
        "Bearer 1123456789abcdef0123", "Basic 0123456789abcdef0123", "0123456789abcdef0123", "Bearer more"}) {
    CAPTURE(no);
    CHECK(with(std::string("Authorization: ") + no + "\r\n") == "403");
  }
  CHECK(with("Authorization: Bearer 0123456789abcdef0123\r\n") == "200");
  CHECK(ask(port, get("/v1/state", host)).find("\"may_change\":false") != std::string::npos);
  CHECK(ask(port, get("/v1/state", host + "Authorization: Bearer 0123456789abcdef0123\r\n"))
            .find("\"may_change\":true") != std::string::npos);
}

TEST_CASE("without a token file nobody changes anything by TCP") {
  running r("[control]\nlisten = \"127.0.0.1:0\"\n");
  const std::string port = r.port();
  REQUIRE(!port.empty());
  for (const char* given : {"", "Authorization: Bearer \r\n", "Authorization: Bearer x\r\n"})
    CHECK(status_of(ask(port, post("/v1/stop", "{}", std::string("Host: localhost\r\n") + given))) == "403");
  CHECK(r.goes_on());
}

TEST_CASE("by TCP one address cannot have all places") {
  running r("[control]\nlisten = \"127.0.0.1:0\"\nclients = 16\n");
  const std::string port = r.port();
  REQUIRE(!port.empty());
  std::vector<client> mine;
  for (int i = 0; i < 12; ++i) {
    mine.emplace_back(port);
    REQUIRE(mine.back().send(get("/live")));
    REQUIRE(status_of(mine.back().answer()) == "200");
  }
  const client one_more(port);
  CHECK(one_more.is_dropped());
  REQUIRE(mine[3].send(get("/live")));
  CHECK(status_of(mine[3].answer()) == "200");
  mine.pop_back();
  CHECK(eventually([&] { return status_of(ask(port, get("/live"))) == "200"; }));
}

TEST_CASE("by TCP nobody takes all places of a tap from the socket") {
  running r("[control]\nlisten = \"127.0.0.1:0\"\n");
  const std::string port = r.port();
  REQUIRE(!port.empty());
  REQUIRE(r.is_up());
  std::vector<client> taps;
  for (int i = 0; i < 8; ++i) {
    taps.emplace_back(port);
    REQUIRE(taps.back().send(get("/v1/tap?channel=ticks&rate=1")));
    REQUIRE(status_of(taps.back().some()) == "200");
  }
  const std::string refused = ask(port, get("/v1/tap?channel=kept&count=1"));
  CHECK(status_of(refused) == "503");
  CHECK(body_of(refused).find("one address may look into 8 channels at a time") != std::string::npos);
  const client tap(r.socket());
  REQUIRE(tap.send(get("/v1/tap?channel=ticks&count=1")));
  CHECK(status_of(tap.some()) == "200");
  taps.pop_back();
  CHECK(eventually([&] {
    const client again(port);
    return again.send(get("/v1/tap?channel=ticks&rate=1")) && status_of(again.some()) == "200";
  }));
}

TEST_CASE("a token that others can read, or that cannot be one, is refused at the start") {
  const scratch_folder folder;
  const std::string token = folder.file("token", "0123456789abcdef0123\n");
  SUBCASE("readable by all") { REQUIRE(::chmod(token.c_str(), 0644) == 0); }
  SUBCASE("short") {
    folder.file("token", "short\n");
    REQUIRE(::chmod(token.c_str(), 0600) == 0);
  }
  SUBCASE("not there") { std::filesystem::remove(token); }
  SUBCASE("a pipe that nobody writes to") {
    std::filesystem::remove(token);
    REQUIRE(::mkfifo(token.c_str(), 0600) == 0);
  }
  SUBCASE("a folder") {
    std::filesystem::remove(token);
    REQUIRE(::mkdir(token.c_str(), 0700) == 0);
  }
  SUBCASE("with a blank at its end") {
    folder.file("token", "0123456789abcdef0123 \n");
    REQUIRE(::chmod(token.c_str(), 0600) == 0);
  }
  SUBCASE("longer than a line of it may be") {
    folder.file("token", std::string(600, 'x'));
    REQUIRE(::chmod(token.c_str(), 0600) == 0);
  }
  SUBCASE("of another user") {
    REQUIRE(::chmod(token.c_str(), 0600) == 0);
    if (::geteuid() != 0 || ::chown(token.c_str(), 65534, 65534) != 0) std::filesystem::remove(token);
  }
  running r("[control]\nlisten = \"127.0.0.1:0\"\ntoken_file = \"" + token + "\"\n", &folder);
  CHECK(r.process().end() == 1);
  CHECK(r.process().said.find("token_file: " + token) != std::string::npos);
}

TEST_CASE("two hundred clients at once are all answered") {
  running r;
  REQUIRE(r.is_up());
  std::vector<client> all;
  for (int i = 0; i < 200; ++i) {
    all.emplace_back(r.socket());
    REQUIRE(all.back().connected());
    REQUIRE(all.back().send(get("/v1/state")));
  }
  std::size_t answered = 0;
  for (const client& c : all) answered += status_of(c.answer()) == "200";
  CHECK(answered == 200);
  CHECK(r.goes_on());
}

TEST_CASE("who asks for too much is told so, and the next one is served") {
  running r;
  REQUIRE(r.is_up());
  const client body(r.socket());
  REQUIRE(body.send("POST /v1/inject HTTP/1.1\r\nHost: leat\r\nContent-Length: 1048577\r\n\r\n"));
  const std::string large = body.answer();
  CHECK(status_of(large) == "413");
  CHECK(body_of(large).starts_with("{\"error\":"));
  const client head(r.socket());
  (void)head.send("GET / HTTP/1.1\r\nHost: leat\r\nX: " + std::string(20'000, 'x'));
  CHECK(status_of(head.answer()) == "431");
  CHECK(status_of(ask(r.socket(), "no HTTP at all\r\n\r\n")) == "400");
  CHECK(status_of(ask(r.socket(), get("/live"))) == "200");
}

TEST_CASE("clients that do not read, do not send, or go away hold up nobody, and are dropped in time") {
  running r;
  REQUIRE(r.is_up());
  // Never reads what it has asked for: pages of state, and a tap.
  const client never(r.socket());
  std::string many;
  for (int i = 0; i < 2000; ++i) many += get("/v1/state");
  std::thread sender([&] { (void)never.send(many); });
  const client tap(r.socket());
  CHECK(tap.send(get("/v1/tap?channel=ticks")));
  // Sends the head of a request for ever.
  const client loris(r.socket());
  CHECK(loris.send("GET /v1/state HTTP/1.1\r\n"));
  // Promises a body.
  const client half(r.socket());
  CHECK(half.send("POST /v1/log HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"));
  for (int i = 0; i < 50; ++i) {
    const client gone(r.socket());
    (void)gone.send(get(i % 2 ? "/v1/state" : "/v1/tap?channel=ticks"));
  }
  CHECK(r.goes_on());

  const auto begin = clock::now();
  while (clock::now() - begin < test::patience && !loris.is_dropped(std::chrono::milliseconds(500)))
    (void)loris.send("X: y\r\n");
  CHECK(status_of(loris.answer()) == "408");
  CHECK(half.is_dropped());
  CHECK(never.is_dropped());
  never.shut_down();
  sender.join();
  CHECK(r.goes_on());
}

TEST_CASE("taps take half of the places; who asks and goes finds one") {
  running r("[control]\nclients = 12\n");
  REQUIRE(r.is_up());
  std::vector<client> taps;
  for (int i = 0; i < 6; ++i) {
    taps.emplace_back(r.socket());
    REQUIRE(taps.back().send(get("/v1/tap?channel=ticks&rate=1")));
    REQUIRE(status_of(taps.back().some()) == "200");
  }
  const std::string refused = ask(r.socket(), get("/v1/tap?channel=ticks&count=1"));
  CHECK(status_of(refused) == "503");
  CHECK(body_of(refused).find("too many taps") != std::string::npos);
  CHECK(status_of(ask(r.socket(), get("/v1/state"))) == "200");
  // A tap that has gone leaves its place to the next.
  taps.clear();
  CHECK(
      eventually([&] { return status_of(ask(r.socket(), get("/v1/tap?channel=ticks&count=1"))) == "200"; }));
}

TEST_CASE("a tap whose reader sleeps is dropped, and nothing was held up meanwhile") {
  const scratch_folder folder;
  std::string fast = service;
  fast.replace(fast.find("1ms"), 3, "0");
  const std::string file = folder.file("fast.toml", fast);
  program p({leat::test::program_path("leat"), "run", file}, {"LEAT_SOCKETS=" + folder.path() + "/run"});
  const std::string socket = folder.path() + "/run/fast.sock";
  REQUIRE(eventually([&] { return client(socket).connected(); }));
  const client tap(socket);
  REQUIRE(tap.send(get("/v1/tap?channel=ticks")));
  CHECK(tap.is_dropped());
  CHECK(status_of(ask(socket, get("/live"))) == "200");
  p.signal(SIGTERM);
  CHECK(p.end() == 0);
}

// Requests as they should be, with bytes changed, lost, doubled and put in; whole ones among them are answered.
TEST_CASE("a hundred thousand random requests, and the service goes on" * leat::test::soak) {
  const std::vector<std::string> whole{
      get("/v1/state"),
      get("/v1/process?name=door/keep"),
      get("/v1/tap?channel=ticks&count=3&where=value%20%3E%200&rate=5"),
      get("/metrics", "Host: localhost\r\nAccept: application/openmetrics-text\r\n"),
      get("/live"),
      get("/ready"),
      get("/nothing"),
      post("/v1/inject", R"({"channel":"kept","wait":0,"value":{"sensor":"a","value":1.5}})"),
      post("/v1/set", R"({"process":"door/tick","set":{"period":"1ms"}})"),
      post("/v1/log", R"({"level":"notice"})"),
      post("/v1/log", R"({"level":"notice","process":"door/show"})"),
      post("/v1/restart", R"({"process":"door/nobody"})"),
  };
  running r;
  REQUIRE(r.is_up());
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) (void)r.process().says_more(std::chrono::milliseconds(100));
  });
  std::mt19937 chance(1);
  const auto below = [&](std::size_t n) { return chance() % n; };
  std::size_t answered = 0, wrong = 0;
  for (int i = 0; i < 100'000; ++i) {
    std::string text = whole[below(whole.size())];
    const bool is_whole = below(50) == 0 && text.find("/v1/tap") == std::string::npos;
    for (std::size_t n = is_whole ? 0 : 1 + below(6); n > 0; --n) {
      const std::size_t at = below(text.size()), size = below(8) + 1;
      switch (below(5)) {
        case 0: text[at] = static_cast<char>(chance()); break;
        case 1: text.erase(at, size); break;
        case 2: text.insert(at, text.substr(below(text.size()), size)); break;
        case 3: text.insert(at, 1, static_cast<char>(chance())); break;
        default: text[at] = "\r\n :/?&=%{}[]\"\\,0"[below(18)]; break;
      }
      if (text.empty()) text = "\n";
    }
    const client c(r.socket());
    if (!c.connected()) {
      ++wrong;
    } else if (c.send(text) && is_whole) {
      ++answered;
      wrong += status_of(c.answer()).empty();
    }
  }
  CHECK(wrong == 0);
  CHECK(answered > 100);
  CHECK(r.goes_on());
  over = true;
  reader.join();
  r.process().signal(SIGTERM);
  CHECK(r.process().end() == 0);
}

TEST_CASE("SIGTERM with clients of all kinds ends at once, and the socket is gone") {
  running r;
  REQUIRE(r.is_up());
  const client idle(r.socket()), asked(r.socket()), tap(r.socket()), half(r.socket());
  REQUIRE(asked.send(get("/live")));
  CHECK(status_of(asked.answer()) == "200");
  REQUIRE(tap.send(get("/v1/tap?channel=ticks")));
  REQUIRE(!tap.some().empty());
  REQUIRE(half.send("GET /v1/st"));
  const auto begin = clock::now();
  r.process().signal(SIGTERM);
  CHECK(r.process().end() == 0);
  CHECK(clock::now() - begin < std::chrono::seconds(8));  // less than any time limit of the door
  CHECK(::access(r.socket().c_str(), F_OK) != 0);
  CHECK(tap.until_end().find("\"end\":\"stopped\"") != std::string::npos);
}

TEST_CASE("a second deployment of the same name gets a number; what a killed one left is replaced") {
  const scratch_folder folder;
  running first({}, &folder);
  REQUIRE(first.is_up());
  {
    running second({}, &folder);
    CHECK(eventually([&] { return client(second.socket("door-2")).connected(); }));
    first.process().signal(SIGKILL);
    (void)first.process().end();
    CHECK(::access(first.socket().c_str(), F_OK) == 0);
    running third({}, &folder);
    CHECK(third.is_up());
    CHECK(third.goes_on());
  }
}

TEST_CASE("without a socket the service runs all the same") {
  running r("[control]\nsocket = false\nlisten = \"127.0.0.1:0\"\n");
  const std::string port = r.port();
  REQUIRE(!port.empty());
  CHECK(status_of(ask(port, get("/live"))) == "200");
  CHECK(::access(r.socket().c_str(), F_OK) != 0);
}

}  // namespace
}  // namespace leat::control
