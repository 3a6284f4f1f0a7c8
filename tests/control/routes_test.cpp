// SPDX-License-Identifier: BSL-1.0
#include <leat/control/routes.hpp>

#include <doctest/doctest.h>

#include "control/fake_deployment.hpp"

namespace leat::control {
namespace {

namespace http = net::http;
using remote::json;
using remote::json_result;
using remote::read_json;
using test::fake_deployment;

struct asked {
  fake_deployment d = {};
  rights may = rights::change;
  bool by_tcp = false;

  http::response operator()(const std::string& line, const std::string& body = {},
                            const std::string& fields = {}) {
    const std::string text = line + " HTTP/1.1\r\nHost: leat\r\n" + fields +
                             "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    http::request_parser p;
    REQUIRE(p.parse(text) == http::progress::complete);
    http::request r = p.get();
    r.body = body;
    return answer_to(d, r, may, by_tcp);
  }
};

bool begins(std::string_view text, std::string_view with) { return text.starts_with(with); }

// Every error has a body that a program can read: an object with "error", a sentence.
void check_error(const http::response& a, std::string_view status, std::string_view says = {}) {
  CHECK(a.status == status);
  CHECK(a.type == "application/json");
  const json_result r = read_json(a.body);
  REQUIRE(r.value.has_value());
  CHECK(r.value->text_of("error").size() > 5);
  CHECK(r.value->text_of("error").find(says) != std::string_view::npos);
}

TEST_CASE("the state is JSON that says whether this door may change anything") {
  asked ask;
  ask.d.view.name = "climate \"1\"\n";
  ask.d.view.version = "0.1.0";
  const http::response a = ask("GET /v1/state");
  CHECK(a.status == "200 OK");
  CHECK(a.type == "application/json");
  CHECK(a.fields.find("no-store") != std::string::npos);
  json_result r = read_json(a.body);
  REQUIRE(r.value.has_value());
  CHECK(r.value->text_of("deployment") == "climate \"1\"\n");
  CHECK(r.value->flag_of("may_change"));
  CHECK(r.value->number_of("api") == 1);
  for (const char* key : {"files", "services", "processes", "channels", "blame"}) {
    CAPTURE(key);
    REQUIRE(r.value->find(key));
    CHECK(r.value->find(key)->what == json::kind::list);
  }

  ask.may = rights::look;
  r = read_json(ask("GET /v1/state").body);
  REQUIRE(r.value.has_value());
  CHECK(!r.value->flag_of("may_change", true));
}

TEST_CASE("a process and a channel are told with all that the contract names") {
  asked ask;
  process_view p;
  p.name = "climate/filter/1";
  p.replica = 1u;
  p.waits = wait_view{"receive", "climate/raw", "", 1.25};
  p.cpu = 0.07;
  ask.d.view.processes = {p, {}};
  channel_view c;
  c.length = 3;
  c.rate_out = 50;
  channel_view stuck;
  stuck.length = 3;
  ask.d.view.channels = {c, stuck, {}};
  const http::response a = ask("GET /v1/state");
  const json_result r = read_json(a.body);
  REQUIRE(r.value.has_value());
  const std::vector<json>& processes = r.value->list_of("processes");
  REQUIRE(processes.size() == 2);
  CHECK(processes[0].number_of("replica", -1) == 1);
  CHECK(processes[1].find("replica")->what == json::kind::null);
  CHECK(processes[0].find("waits")->text_of("for") == "receive");
  CHECK(processes[0].find("waits")->number_of("since") == 1.25);
  CHECK(processes[1].find("waits")->what == json::kind::null);
  CHECK(processes[1].find("cpu")->what == json::kind::null);
  CHECK(processes[1].find("last_failure")->what == json::kind::null);
  const std::vector<json>& channels = r.value->list_of("channels");
  REQUIRE(channels.size() == 3);
  CHECK(channels[0].number_of("wait") == doctest::Approx(0.06));
  CHECK(channels[1].find("wait")->what == json::kind::null);
  CHECK(channels[2].number_of("wait", -1) == 0);
}

TEST_CASE("what a path takes is all that it takes") {
  asked ask;
  for (const char* path : {"/v1/state", "/metrics", "/live", "/ready", "/v1/process?name=a", "/v1/tap"})
    for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "get"}) {
      CAPTURE(path);
      CAPTURE(method);
      const http::response a = ask(std::string(method) + ' ' + path);
      check_error(a, "405 Method Not Allowed", "GET");
      CHECK(a.fields.find("Allow: GET, HEAD\r\n") != std::string::npos);
    }
  for (const char* path : {"/v1/inject", "/v1/restart", "/v1/set", "/v1/log", "/v1/dump", "/v1/stop"})
    for (const char* method : {"GET", "HEAD", "PUT"}) {
      CAPTURE(path);
      CAPTURE(method);
      const http::response a = ask(std::string(method) + ' ' + path);
      check_error(a, "405 Method Not Allowed", "POST");
      CHECK(a.fields.find("Allow: POST\r\n") != std::string::npos);
    }
  CHECK(ask.d.asked.empty());
}

TEST_CASE("a path that is not there is not found, whatever the method") {
  asked ask;
  for (const char* line : {"GET /v1/stat", "POST /v1/injec", "GET /v2/state", "GET /v1/state/", "GET //",
                           "DELETE /x", "GET /v1/%73tate"}) {
    CAPTURE(line);
    check_error(ask(line), "404 Not Found", "docs/operating.md");
    check_error(ask(line), "404 Not Found", "POST /v1/inject, /v1/restart");
  }
  check_error(ask("GET /"), "404 Not Found", "the page is at the TCP door");
  CHECK(ask.d.asked.empty());
}

TEST_CASE("HEAD is answered as GET is") {
  asked ask;
  const http::response get = ask("GET /live"), head = ask("HEAD /live");
  CHECK(head.status == get.status);
  CHECK(head.type == get.type);
  CHECK(head.body == get.body);  // the server leaves it out
}

TEST_CASE("who may only look changes nothing, and is told how he could") {
  asked ask;
  ask.may = rights::look;
  for (const char* path : {"/v1/inject", "/v1/restart", "/v1/set", "/v1/log", "/v1/dump", "/v1/stop"}) {
    CAPTURE(path);
    check_error(ask(std::string("POST ") + path, "{}"), "403 Forbidden", "token_file");
    check_error(ask(std::string("POST ") + path, "no JSON"), "403 Forbidden");
  }
  CHECK(ask.d.asked.empty());
  CHECK(ask("GET /v1/state").status == "200 OK");
}

TEST_CASE("a body that is not JSON object is refused with its place") {
  asked ask;
  struct wrong {
    const char* body;
    double line, column;
  };
  for (const wrong& w : {wrong{"{\n  \"process\": }", 2, 14}, wrong{"[1]", 1, 1}, wrong{"{\"a\":1} x", 1, 9},
                         wrong{"{\"\xc3\xa4\": tru}", 1, 7}, wrong{" ", 1, 2}, wrong{"nil", 1, 1}}) {
    CAPTURE(w.body);
    const http::response a = ask("POST /v1/restart", w.body);
    check_error(a, "400 Bad Request", "JSON");
    const json_result r = read_json(a.body);
    REQUIRE(r.value.has_value());
    CHECK(r.value->number_of("line") == w.line);
    CHECK(r.value->number_of("column") == w.column);
  }
  CHECK(ask.d.asked.empty());
}

TEST_CASE("a body is read into a tree of bounded size; a value to be injected is not, and may be long") {
  asked ask;
  std::string list = "[0";
  for (int i = 0; i < 100'000; ++i) list += ",0";
  list += ']';
  check_error(ask("POST /v1/set", R"({"process":"a","set":{"steps":)" + list + "}}"), "400 Bad Request",
              "more values than are read at a time");
  CHECK(ask.d.asked.empty());
  CHECK(ask("POST /v1/inject", R"({"channel":"a","value":)" + list + "}").status == "200 OK");
  REQUIRE(ask.d.asked.size() == 1);
  CHECK(ask.d.asked[0] == "inject a " + list + " 5.000000");
  std::string members = "{\"value\":1";
  for (int i = 0; i < 20'000; ++i) members += ",\"a\":1";
  check_error(ask("POST /v1/inject", members + "}"), "400 Bad Request", "more values");
}

TEST_CASE("wishes come to the deployment as they were written") {
  asked ask;
  CHECK(ask("POST /v1/inject", R"({"channel":"a/b","value": {"n" : [1, 2e3]} ,"wait":1.5})").status ==
        "200 OK");
  CHECK(ask("POST /v1/inject", R"({"value":null,"channel":"a/b"})").status == "200 OK");
  CHECK(ask("POST /v1/restart", R"({"process":"a/b/1"})").status == "200 OK");
  CHECK(ask("POST /v1/set", R"({"process":"a/b","set":{"window":"16"},"restart":true})").status == "200 OK");
  CHECK(ask("POST /v1/log", R"({"level":"debug"})").status == "200 OK");
  CHECK(ask("POST /v1/log", R"({"level":"error","process":"a/b"})").status == "200 OK");
  CHECK(ask("POST /v1/stop").status == "200 OK");
  CHECK(ask("POST /v1/stop", R"({"now":true})").status == "200 OK");
  const http::response dump = ask("POST /v1/dump", "{}");
  CHECK(begins(dump.type, "text/plain"));
  CHECK(dump.body == "G 1 main\n");
  CHECK(ask.d.asked == std::vector<std::string>{"inject a/b {\"n\" : [1, 2e3]} 1.500000",
                                                "inject a/b null 5.000000", "restart a/b/1",
                                                "set a/b window=16 restart", "log debug", "log error a/b",
                                                "stop later", "stop now", "dump"});
}

TEST_CASE("a wish that lacks something is refused before anybody is asked") {
  asked ask;
  check_error(ask("POST /v1/inject", R"({"value":1})"), "400 Bad Request", "channel");
  check_error(ask("POST /v1/inject", R"({"channel":"a"})"), "400 Bad Request", "value");
  check_error(ask("POST /v1/inject", R"({"channel":7,"value":1})"), "400 Bad Request");
  check_error(ask("POST /v1/inject"), "400 Bad Request");
  check_error(ask("POST /v1/set", R"({"process":"a","set":[1]})"), "400 Bad Request", "set");
  check_error(ask("POST /v1/set", R"({"process":"a"})"), "400 Bad Request");
  check_error(ask("POST /v1/set", R"({"set":{}})"), "400 Bad Request", "process");
  check_error(ask("POST /v1/restart", "{}"), "400 Bad Request", "process");
  check_error(ask("POST /v1/log"), "400 Bad Request", "level");
  check_error(ask("GET /v1/process"), "400 Bad Request", "name=");
  check_error(ask("GET /v1/process?name="), "400 Bad Request");
  CHECK(ask.d.asked.empty());
}

TEST_CASE("names in a query are decoded") {
  asked ask;
  CHECK(ask("GET /v1/process?name=climate%2Ffilter%2F1&x=y").status == "200 OK");
  CHECK(ask.d.asked == std::vector<std::string>{"process climate/filter/1"});
}

TEST_CASE("a tap wants channels, and numbers that are numbers") {
  asked ask;
  check_error(ask("GET /v1/tap"), "400 Bad Request", "channel");
  check_error(ask("GET /v1/tap?channels=a"), "400 Bad Request");
  check_error(ask("GET /v1/tap?channel=a&reader=b"), "400 Bad Request", "@READER");
  check_error(ask("GET /v1/tap?channel=a%40b"), "400 Bad Request", "@READER");
  for (const char* wrong : {"rate=x", "rate=-1", "count=1e999", "count=nan", "count=1x", "rate=inf",
                            "count=0.5", "count=1.5", "count=-1"}) {
    CAPTURE(wrong);
    check_error(ask("GET /v1/tap?channel=a&" + std::string(wrong)), "400 Bad Request", "number");
  }
  std::string many = "GET /v1/tap?channel=a0";
  for (int i = 1; i < 17; ++i) many += "&channel=a" + std::to_string(i);
  check_error(ask(many), "400 Bad Request", "16");
  CHECK(ask.d.asked.empty());

  check_error(ask("GET /v1/tap?channel=climate%2Fraw&rate=2.5&count=3"), "404 Not Found", "climate/raw");
  CHECK(ask.d.asked == std::vector<std::string>{"tap climate/raw 2.500000"});
}

TEST_CASE("live and ready tell with their status, and why not in words") {
  asked ask;
  CHECK(ask("GET /live").status == "200 OK");
  CHECK(ask("GET /ready").status == "200 OK");
  SUBCASE("not healthy is not ready, but lives") {
    ask.d.view.healthy = false;
    ask.d.view.why = "process 'a/b' has failed and stays ended";
    CHECK(ask("GET /live").status == "200 OK");
    const http::response a = ask("GET /ready");
    CHECK(begins(a.status, "503"));
    CHECK(a.body == "process 'a/b' has failed and stays ended\n");
  }
  SUBCASE("while it drains it is not ready") {
    ask.d.view.phase = "draining";
    const http::response a = ask("GET /ready");
    CHECK(begins(a.status, "503"));
    CHECK(a.body == "draining\n");
  }
  SUBCASE("what does not live says so") {
    ask.d.view.live = false;
    ask.d.view.why = "a process runs for too long";
    CHECK(begins(ask("GET /live").status, "503"));
  }
}

TEST_CASE("metrics come in the format that is asked for") {
  asked ask;
  CHECK(begins(ask("GET /metrics").type, "text/plain; version=0.0.4"));
  const http::response a =
      ask("GET /metrics", "", "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
  CHECK(begins(a.type, "application/openmetrics-text"));
  CHECK(a.body.ends_with("# EOF\n"));
}

TEST_CASE("without memory the answer is 503, and the next one may be right") {
  asked ask;
  ask.d.out_of_memory = true;
  check_error(ask("GET /v1/state"), "503 Service Unavailable");
  ask.d.out_of_memory = false;
  CHECK(ask("GET /v1/state").status == "200 OK");
}

TEST_CASE("what the server refuses by itself is told as JSON too") {
  for (const char* status : {"400 Bad Request", "408 Request Timeout", "413 Content Too Large",
                             "431 Request Header Fields Too Large", "501 Not Implemented"}) {
    CAPTURE(status);
    check_error(refusal_of(status), status);
  }
  check_error(refusal_of("505 HTTP Version Not Supported"), "505 HTTP Version Not Supported", "HTTP/1.1");
  check_error(refusal_of("501 Not Implemented"), "501 Not Implemented", "Content-Length");
  check_error(wrong_host("evil.example"), "403 Forbidden",
              "'evil.example', which is not a name of this machine");
  check_error(wrong_host(""), "403 Forbidden", "[control] hosts");
  check_error(foreign_page(), "403 Forbidden", "a page of another site");
}

}  // namespace
}  // namespace leat::control
