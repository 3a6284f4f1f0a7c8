// SPDX-License-Identifier: BSL-1.0
//
// The verbs as their users meet them, against a deployment that says what the test wants. Each names the deployment:
// others may run on this machine.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <iterator>

#include "config/json.hpp"
#include "remote/fake_deployment.hpp"
#include "support/child.hpp"
#include "support/paths.hpp"

namespace leat::remote {
namespace {

using namespace test;
using leat::config::test::json_reader;
using leat::test::child_result;
using leat::test::run_program;
using words = std::vector<std::string>;

struct scene {
  runtime_folder folder;
  fake_deployment deployment;
  explicit scene(fake_deployment::handler h = {}) : deployment(folder.socket("climate"), std::move(h)) {}

  child_result leat(words w) const {
    w.insert(w.end(), {"-d", "climate"});
    return run_program(leat::test::program_path("leat"), w, {.environment = folder.environment()});
  }
  // With an input.
  child_result shell(const std::string& line) const {
    return run_program("/bin/sh", {"-c", line}, {.environment = folder.environment()});
  }
};

// The state, and this for everything else.
fake_deployment::handler answering(const std::string& bytes) {
  return [bytes](const fake_request& r) {
    return fake_deployment::answer{r.target == "/v1/state" ? http_text(200, sample_state()) : bytes};
  };
}

std::string ndjson(const std::string& lines) {
  return "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n" + lines;
}

}  // namespace

TEST_CASE("ps tells what runs, from which files, and names alone") {
  const scene s;
  child_result r = s.leat({"ps"});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(
      r.said("DEPLOYMENT  PID PHASE       UP PROCESSES HEALTH  FILES\n"
             "climate    4711 running 13m32s         5 healthy /nowhere/climate.toml (not there now)\n"));
  r = s.leat({"ps", "--json"});
  CHECK(r.exited(0));
  const auto list = json_reader::read(r.output);
  REQUIRE(list);
  REQUIRE(list->elements.size() == 1);
  CHECK(list->elements[0].at("name")->text == "climate");
  CHECK(list->elements[0].at("files")->elements.size() == 1);
  CHECK(s.leat({"ps", "--names"}).said("climate\n"));
  CHECK(s.leat({"ps", "--channels"}).output == "climate/raw\nclimate/smoothed\n");
  CHECK(s.leat({"ps", "--processes"}).said("climate/smooth/1\nclimate/post\n"));
}

TEST_CASE("ps compares files with what was read from them") {
  const runtime_folder folder;
  const std::string file = folder.path() + "/climate.toml";
  // The digest of nothing at all is where FNV-1a begins; "a" has the one below.
  std::ofstream(file) << "a";
  std::string digest = "af63dc4c8601ec8c";
  const auto state = [&](const std::string& d) {
    return R"({"api":1,"deployment":"climate","phase":"running","files":[{"path":")" + file +
           R"(","digest":")" + d + R"("}]})";
  };
  const std::string texts[] = {state(digest), state("0"), state("sha256:x")};
  std::atomic<std::size_t> next = 0;
  const fake_deployment d(folder.socket("climate"), [&](const fake_request&) {
    return fake_deployment::answer{http_text(200, texts[next++])};
  });
  const auto ps = [&] {
    return run_program(leat::test::program_path("leat"), {"ps", "-d", "climate"},
                       {.environment = folder.environment()});
  };
  CHECK(ps().said(file + "\n"));
  CHECK(ps().said(file + " (changed since)\n"));
  CHECK(ps().said(file + "\n"));  // a digest that is not known is not compared
}

TEST_CASE("ps opens no pipe and no device, whatever a deployment says that its files are") {
  const runtime_folder folder;
  const std::string pipe = folder.path() + "/pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const fake_deployment d(folder.socket("climate"), [&](const fake_request&) {
    std::string files;
    for (const std::string& path : {pipe, std::string("/dev/zero"), folder.path(), std::string("/no/such")})
      files += (files.empty() ? "" : ",") + (R"({"path":")" + path + R"(","digest":"0000000000000001"})");
    return fake_deployment::answer{http_text(
        200, R"({"api":1,"deployment":"climate","phase":"running","healthy":true,"files":[)" + files + "]}")};
  });
  const child_result r = run_program(leat::test::program_path("leat"), {"ps", "-d", "climate"},
                                     {.environment = folder.environment()});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said(pipe + " (not a file now), /dev/zero (not a file now), " + folder.path() +
               " (not a file now), /no/such (not there now)\n"));
}

TEST_CASE("no deployment is exit status 3, with what to do") {
  const runtime_folder folder;
  for (const char* const verb : {"ps", "top", "dump", "stop", "metrics"}) {
    const child_result r = run_program(leat::test::program_path("leat"), {verb, "-d", "nobody-here"},
                                       {.environment = folder.environment()});
    CAPTURE(r.output);
    CHECK(r.exited(3));
    CHECK((r.said("no deployment 'nobody-here' runs here") || r.said("start one with `leat run FILE...`")));
  }
  const child_result r = run_program(leat::test::program_path("leat"), {"dump", "-d", folder.socket("gone")},
                                     {.environment = folder.environment()});
  CHECK(r.exited(3));
  CHECK(r.said("leat: gone: cannot connect to "));
  CHECK(r.said("`leat ps` shows what runs here"));
}

TEST_CASE("several deployments are named, and one is chosen") {
  const runtime_folder folder;
  const fake_deployment one(folder.socket("one")), two(folder.socket("two"));
  const child_result r =
      run_program(leat::test::program_path("leat"), {"dump"}, {.environment = folder.environment()});
  CAPTURE(r.output);
  CHECK(r.exited(3));
  CHECK(r.said("several deployments run here: one, two"));
  CHECK(r.said("; choose one with -d NAME\n"));
}

TEST_CASE("one that does not answer is told by ps, and does not hold up the others") {
  const runtime_folder folder;
  const fake_deployment hung(folder.socket("a-hung"),
                             [](const fake_request&) { return fake_deployment::answer{"", true}; });
  const fake_deployment well(folder.socket("b-well"));
  const child_result r =
      run_program(leat::test::program_path("leat"), {"ps"}, {.environment = folder.environment()});
  CAPTURE(r.output);
  CHECK(r.exited(1));
  CHECK(r.said("\na-hung "));
  CHECK(r.said("\nb-well "));
  CHECK(r.said("a-hung: it does not answer within 2s"));
}

TEST_CASE("top without a terminal prints one table") {
  const scene s;
  const child_result r = s.leat({"top", "--interval", "100ms"});
  CAPTURE(r.output);
  CHECK(r.exited(0));
  CHECK(r.said(blame_text + "\n"));
  CHECK(r.said("smoothed@log"));
  CHECK_FALSE(r.said("\033"));
  const child_result as_json = s.leat({"top", "--json", "--interval=100ms"});
  CHECK(as_json.output == sample_state() + "\n");
}

TEST_CASE("tap prints values with channel and number, and what was not shown") {
  const scene s(answering(ndjson(R"({"channel":"climate/raw","seq":41,"value":{"celsius": 21.5}}

{"channel":"climate/raw","not_shown":312}
{"channel":"climate/raw","seq":354,"value":"a\u001b[2J"}
{"channel":"climate/raw","end":"stopped","shown":2,"not_shown":312}
)")));
  const child_result r = s.leat({"tap", "raw", "--rate", "2.5", "--count=10"});
  CHECK(r.exited(0));
  CHECK(r.output ==
        "climate/raw #41 {\"celsius\": 21.5}\nclimate/raw ... 312 not shown\n"
        "climate/raw #354 \"a\\u001b[2J\"\n2 shown, 312 not shown: climate has ended\n");
  CHECK(s.deployment.requests().back().target == "/v1/tap?channel=climate/raw&rate=2.5&count=10");
  const child_result raw = s.leat({"tap", "--json", "raw"});
  CHECK(
      raw.said("{\"channel\":\"climate/raw\",\"seq\":41,\"value\":{\"celsius\": "
               "21.5}}\n{\"channel\":\"climate/raw\",\"not_"));
  const std::string file = s.folder.path() + "/out.ndjson";
  CHECK(s.leat({"tap", "climate/raw", "--out", file}).output ==
        "2 shown, 312 not shown: climate has ended\n");
  std::ifstream in(file);
  CHECK(std::string(std::istreambuf_iterator<char>(in), {}).find("\"seq\":354") != std::string::npos);
  CHECK(s.leat({"tap", "climate/raw", "--out", "/does/not/exist"}).exited(1));
  CHECK(s.leat({"tap", "climate/raw", "--out", "/dev/full"}).exited(1));
}

TEST_CASE("tap takes several channels at once, and shows no reader's share") {
  const scene s(
      answering(ndjson("{\"channel\":\"climate/smoothed\",\"seq\":1,\"value\":1}\n"
                       "{\"channel\":\"climate/raw\",\"seq\":1,\"value\":1}\n"
                       "{\"channel\":\"climate/smoothed\",\"end\":\"stopped\",\"not_shown\":1}\n"
                       "{\"channel\":\"climate/raw\",\"end\":\"stopped\",\"not_shown\":2}\n")));
  const child_result r = s.leat({"tap", "smoothed", "raw", "climate/raw"});
  CHECK(r.exited(0));
  CHECK(r.said("climate/smoothed #1 1\n"));
  CHECK(r.said("climate/raw #1 1\n"));
  CHECK(r.said("2 shown, 3 not shown: climate has ended\n"));
  CHECK(s.deployment.requests().back().target == "/v1/tap?channel=climate/smoothed&channel=climate/raw");
  const child_result share = s.leat({"tap", "smoothed@log"});
  CHECK(share.exited(1));
  CHECK(share.output ==
        "leat: climate/smoothed: a tap shows what is sent to all readers; name the channel without '@log'. "
        "`leat top` shows what each reader has taken and lost\n");
}

TEST_CASE("a tap that has shown enough reads on until it knows what was not shown") {
  const std::string values =
      "{\"channel\":\"climate/raw\",\"seq\":4,\"value\":1}\n{\"channel\":\"climate/"
      "raw\",\"seq\":9,\"value\":2}\n";
  const std::string end =
      R"({"channel":"climate/raw","end":"count","shown":2,"not_shown":7,"not_matching":5})";
  child_result r = scene(answering(ndjson(values + end + '\n'))).leat({"tap", "raw", "--count", "2"});
  CHECK(r.exited(0));
  CHECK(r.output == "climate/raw #4 1\nclimate/raw #9 2\n2 shown, 7 not shown\n");
  r = scene(answering(ndjson(values + end + '\n')))
          .leat({"tap", "raw", "--count", "2", "--where", "value > 0"});
  CHECK(r.said("2 shown, 7 not shown, 5 not matching\n"));
  // Values too many are none that were shown; a deployment that does not come to its end is not believed.
  r = scene(answering(ndjson(values + values))).leat({"tap", "raw", "--count", "2"});
  CHECK(r.exited(0));
  CHECK(r.output == "climate/raw #4 1\nclimate/raw #9 2\n2 shown, at least 2 not shown\n");
}

TEST_CASE("tap tells when the deployment goes away, breaks its word, or refuses") {
  const std::string one = "{\"channel\":\"climate/raw\",\"seq\":1,\"value\":1}\n";
  child_result r = scene(answering(ndjson(one))).leat({"tap", "raw"});
  CHECK(r.exited(1));
  CHECK(r.output == "climate/raw #1 1\n1 shown, 0 not shown\nleat: climate/raw: the deployment went away\n");
  r = scene(answering(ndjson(one + "{oops\n"))).leat({"tap", "raw"});
  CHECK(r.exited(1));
  CHECK(r.said("a line that is not JSON came"));
  r = scene(answering(http_text(403, R"({"error":"this door lets nobody tap"})"))).leat({"tap", "raw"});
  CHECK(r.exited(1));
  CHECK(r.output == "leat: climate/raw: this door lets nobody tap\n");
}

TEST_CASE("a tap that is interrupted tells what was not shown") {
  const scene s([](const fake_request& r) {
    if (r.target == "/v1/state") return fake_deployment::answer{http_text(200, sample_state())};
    return fake_deployment::answer{ndjson("{\"channel\":\"climate/raw\",\"seq\":1,\"value\":1}\n"
                                          "{\"channel\":\"climate/raw\",\"not_shown\":7}\n"),
                                   true};
  });
  // The signal comes when the first value is there; the end is that of `leat`.
  const child_result r =
      s.shell("mkfifo " + s.folder.path() + "/f; " + leat::test::program_path("leat") +
              " tap raw -d climate >" + s.folder.path() + "/f & pid=$!; read line <" + s.folder.path() +
              "/f; echo \"$line\"; kill -TERM $pid; wait $pid; echo ended $?");
  CAPTURE(r.output);
  CHECK(r.said("climate/raw #1 1\n"));
  CHECK(r.said("1 shown, 7 not shown\n"));
  CHECK(r.said("ended 0\n"));
}

TEST_CASE("inject sends a value, or each of its input") {
  const scene s(answering(http_text(200, R"({"sent":true})")));
  child_result r = s.leat({"inject", "raw", R"({"celsius":21.5})"});
  CHECK(r.exited(0));
  CHECK(r.output == "1 value sent to climate/raw\n");
  CHECK(s.deployment.body_of("/v1/inject") ==
        R"({"channel":"climate/raw","wait":5,"value":{"celsius":21.5}})");
  CHECK(s.leat({"inject", "raw", "-5"}).exited(0));
  CHECK(s.deployment.requests().back().body == R"({"channel":"climate/raw","wait":5,"value":-5})");
  r = s.shell("printf '1\\n\\n{\\n\"a\":2}\\n3' | " + leat::test::program_path("leat") +
              " inject climate/raw - --json -d climate");
  CHECK(r.output == "{\"sent\":3}\n");
  r = s.shell("printf '1\\n{\"a\" 2}\\n3' | " + leat::test::program_path("leat") + " inject raw -d climate");
  CHECK(r.exited(1));
  CHECK(
      r.output ==
      "1 value sent to climate/raw\n"
      "leat: climate/raw: this is not JSON: a ':' is missing, at line 1, column 6\n  {\"a\" 2}\n       ^\n");
  CHECK(s.leat({"inject", "rwa", "1"}).said("did you mean 'raw'?"));
}

TEST_CASE("a mistake in a value is shown at its place") {
  const scene s(answering(http_text(400, R"({"error":"'celsius' must be a number","line":1,"column":12})")));
  const child_result r = s.leat({"inject", "raw", R"({"celsius":"x"})"});
  CHECK(r.exited(1));
  CHECK(r.output ==
        "leat: climate/raw: 'celsius' must be a number, at line 1, column 12\n"
        "  {\"celsius\":\"x\"}\n"
        "             ^\n");
}

TEST_CASE("set sends numbers as they are and texts in quotes, and says what was restarted") {
  const scene s(answering(http_text(200, R"({"set":["window","period"],"restarted":["climate/smooth/0"]})")));
  const child_result r =
      s.leat({"set", "smooth", "window=16", "period=250ms", "name=\"16\"", "on=true", "--restart"});
  CHECK(r.exited(0));
  CHECK(r.output == "climate/smooth: set window, period\nrestarted climate/smooth/0\n");
  CHECK(
      s.deployment.body_of("/v1/set") ==
      R"({"process":"climate/smooth","set":{"window":16,"period":"250ms","name":"16","on":true},"restart":true})");
  CHECK(s.leat({"set", "smooth", "window"}).exited(2));
  const scene refused(
      answering(http_text(409, R"({"error":"'window' needs a restart: --restart does it"})")));
  const child_result no = refused.leat({"set", "smooth", "window=16"});
  CHECK(no.exited(1));
  CHECK(no.output == "leat: climate: 'window' needs a restart: --restart does it\n");
}

TEST_CASE("restart, log, dump, stop and metrics say what was done") {
  const scene s([](const fake_request& r) -> fake_deployment::answer {
    if (r.target == "/v1/restart")
      return {http_text(200, R"({"restarted":["climate/smooth/0","climate/smooth/1"]})")};
    if (r.target == "/v1/log" && r.body.find("process") != std::string::npos)
      return {http_text(200, R"({"level":"debug","process":"climate/smooth"})")};
    if (r.target == "/v1/log") return {http_text(200, R"({"level":"debug"})")};
    if (r.target == "/v1/dump") return {http_text(200, "G 1\twaiting\n  at \033x\n", "text/plain")};
    if (r.target == "/v1/stop") return {http_text(200, R"({"stopping":true})")};
    if (r.target == "/metrics") return {http_text(200, "leat_up 1\n# EOF\n", "text/plain")};
    return {fake_deployment::default_answer(r)};
  });
  CHECK(s.leat({"restart", "smooth"}).output == "restarted climate/smooth/0, climate/smooth/1\n");
  CHECK(s.deployment.body_of("/v1/restart") == R"({"process":"climate/smooth"})");
  CHECK(s.leat({"restart", "smooth/7"}).exited(1));
  CHECK(s.leat({"log", "debug"}).output == "climate logs from debug on\n");
  CHECK(s.deployment.body_of("/v1/log") == R"({"level":"debug"})");
  CHECK(s.leat({"log", "debug", "smooth"}).output == "climate/smooth logs from debug on\n");
  bool named = false;
  for (const fake_request& r : s.deployment.requests())
    named = named || (r.target == "/v1/log" && r.body == R"({"level":"debug","process":"climate/smooth"})");
  CHECK(named);
  CHECK(s.leat({"log", "debug", "smoth"}).exited(1));
  CHECK(s.leat({"log", "debug", "--json"}).output == "{\"level\":\"debug\"}\n");
  CHECK(s.leat({"dump"}).output == "G 1\twaiting\n  at ?x\n");
  CHECK(s.leat({"dump", "--json"}).output == "{\"text\":\"G 1\\twaiting\\n  at \\u001bx\\n\"}\n");
  CHECK(s.leat({"stop"}).output == "climate stops: its channels drain first\n");
  CHECK(s.deployment.body_of("/v1/stop") == R"({"now":false})");
  CHECK(s.leat({"stop", "--now"}).output == "climate stops now\n");
  CHECK(s.leat({"metrics"}).output == "leat_up 1\n# EOF\n");
  for (const char* const verb : {"dump", "stop"}) {
    bool posted = false;
    for (const fake_request& r : s.deployment.requests())
      if (r.target == std::string("/v1/") + verb) posted = r.method == "POST";
    CHECK(posted);
  }
}

TEST_CASE("what the verbs are given is checked before anything is asked") {
  const runtime_folder folder;
  for (const auto& [given, said] : std::vector<std::pair<words, std::string>>{
           {{"tap"}, "'tap' needs CHANNEL..."},
           {{"tap", "x", "--count", "0"}, "'--count' needs a whole number above 0, not '0'"},
           {{"tap", "x", "--rate=fast"}, "'--rate' needs a number above 0"},
           {{"tap", "x", "--out="}, "'--out' needs a file"},
           {{"top", "--interval", "1"}, "'--interval' needs a time from 100ms to 1h"},
           {{"top", "--interval"}, "'--interval' needs a time"},
           {{"set", "x"}, "'set' needs PROCESS NAME=VALUE..."},
           {{"stop", "-d"}, "'-d' needs the name of a deployment"},
           {{"inject", "a", "b", "c"}, "'inject' takes CHANNEL [JSON|-], but there is 'c'"}}) {
    const child_result r =
        run_program(leat::test::program_path("leat"), given, {.environment = folder.environment()});
    CAPTURE(r.output);
    CHECK(r.exited(2));
    CHECK(r.said(said));
  }
}

TEST_CASE("options may come before the verb") {
  const scene s;
  const auto leat = [&](const words& w) {
    return run_program(leat::test::program_path("leat"), w, {.environment = s.folder.environment()});
  };
  CHECK(leat({"-d", "climate", "ps"}).said("\nclimate "));
  CHECK(leat({"-d", "climate", "--json", "ps"}).output == s.leat({"ps", "--json"}).output);
  CHECK(leat({"-d", "nobody-here", "ps"}).exited(3));
  const child_result none = leat({"-d", "climate"});
  CHECK(none.exited(2));
  CHECK(none.said("leat: a verb is missing\n"));
  CHECK(leat({"-d", "climate", "sp"}).said("there is no verb 'sp'"));
}

TEST_CASE("the completion knows the names of what runs") {
  // A name that no other deployment of this machine has.
  const runtime_folder folder;
  const fake_deployment d(folder.socket("zq-climate"));
  const std::string script = folder.path() + "/complete";
  std::ofstream(script) << run_program(leat::test::program_path("leat"), {"completion", "bash"}).output;
  const auto complete = [&](const std::string& line, int at) {
    return run_program("/bin/bash",
                       {"-c", ". " + script + " && COMP_WORDS=(" + leat::test::program_path("leat") + " " +
                                  line + ") COMP_CWORD=" + std::to_string(at) +
                                  " && _leat_words && printf '%s\\n' \"${COMPREPLY[@]}\""},
                       {.environment = folder.environment()})
        .output;
  };
  CHECK(complete("tap -d zq-climate climate/r", 4) == "climate/raw\n");
  CHECK(complete("restart -d zq-climate climate/smooth/", 4) == "climate/smooth/0\nclimate/smooth/1\n");
  CHECK(complete("dump -d zq-c", 3) == "zq-climate\n");
  CHECK(complete("log de", 2) == "debug\n");
  CHECK(complete("stop --n", 2) == "--now\n");
}

}  // namespace leat::remote
