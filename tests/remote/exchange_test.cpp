// SPDX-License-Identifier: BSL-1.0
//
// Deployments that answer badly, slowly or not at all.
#include <doctest/doctest.h>

#include <leat/remote/asking.hpp>
#include <leat/remote/exchange.hpp>

#include "remote/fake_deployment.hpp"

namespace leat::remote {
namespace {

using namespace test;
using namespace std::chrono_literals;

struct setting {
  runtime_folder folder;
  fake_deployment deployment;
  endpoint at;
  explicit setting(fake_deployment::handler h = {})
      : deployment(folder.socket("climate"), std::move(h)),
        at{.name = "climate", .path = folder.socket("climate")} {}
};

std::string said_by(const endpoint& at) {
  try {
    return ask_state(at).state.name;
  } catch (const failure& f) {
    return f.what();
  }
}

}  // namespace

TEST_CASE("a state is asked for and read") {
  const setting s;
  const told_state t = ask_state(s.at);
  CHECK(t.state.name == "climate");
  CHECK(t.state.processes.size() == 5);
  CHECK(t.text == sample_state());
  REQUIRE(s.deployment.requests().size() == 1);
  CHECK(s.deployment.requests()[0].method == "GET");
}

TEST_CASE("a body that is posted arrives whole, however long it is") {
  const setting s([](const fake_request& r) {
    return fake_deployment::answer{http_text(200, std::to_string(r.body.size()))};
  });
  const std::string body(3'000'000, 'x');
  const asked a = ask(s.at, {.target = "/v1/x", .post = true, .body = body}, 45s);
  CHECK(a.status == 200);
  CHECK(a.body == "3000000");
}

TEST_CASE("an error is told in the words of the deployment, without what could harm a terminal") {
  const setting s([](const fake_request&) {
    return fake_deployment::answer{http_text(503, R"({"error":"it stops\u001b[2J; try again"})")};
  });
  CHECK(said_by(s.at) == "climate: it stops?[2J; try again");
}

TEST_CASE("an answer that is not JSON, or of another version, is told") {
  const std::string bodies[] = {"<html>", "[]", R"({"api":2,"leat":"9.0"})"};
  std::atomic<std::size_t> next = 0;
  const setting s(
      [&](const fake_request&) { return fake_deployment::answer{http_text(200, bodies[next++])}; });
  CHECK(said_by(s.at) == "climate: its answer is not JSON: a value is missing");
  CHECK(said_by(s.at) == "climate: its answer is not JSON");
  CHECK(said_by(s.at).starts_with("climate: it speaks version 2 of the interface"));
}

TEST_CASE("an answer that ends half-way is told") {
  const std::string bytes[] = {"", http_text(200, sample_state()).substr(0, 500),
                               "220 mail.example.org ESMTP\r\n\r\n"};
  std::atomic<std::size_t> next = 0;
  const setting s([&](const fake_request&) { return fake_deployment::answer{bytes[next++]}; });
  CHECK(said_by(s.at) == "climate: it closed the connection without a response");
  CHECK(said_by(s.at) == "climate: the response ends too early");
  CHECK(said_by(s.at) == "climate: what answers there does not speak HTTP/1.1");
}

TEST_CASE("who does not answer is waited for no longer than was said") {
  const setting s([](const fake_request&) { return fake_deployment::answer{"HTTP/1.1 200 OK\r\n", true}; });
  const time_point begin = now();
  const asked a = ask(s.at, {.target = "/v1/state"}, 50ms);
  CHECK(a.error.starts_with("it does not answer within 50ms"));
  CHECK(now() - begin >= 50ms);
}

TEST_CASE("nobody there is told apart from one that fails") {
  const runtime_folder folder;
  const asked a = ask({.name = "x", .path = folder.socket("x")}, {.target = "/"}, 45s);
  CHECK(a.nobody);
  CHECK(a.error.find("No such file") != std::string::npos);
  const asked b = ask({.name = "x", .path = '/' + std::string(200, 'x')}, {.target = "/"}, 45s);
  CHECK_FALSE(b.nobody);
  CHECK(b.error.find("too long") != std::string::npos);
}

TEST_CASE("a query holds any name") {
  CHECK(escaped_for_query("climate/raw-1_x.y") == "climate/raw-1_x.y");
  CHECK(escaped_for_query("a b&c=\n\xc3\xa9") == "a%20b%26c%3D%0A%C3%A9");
}

}  // namespace leat::remote
