// SPDX-License-Identifier: BSL-1.0
//
// Verbs at the TCP door of a deployment that runs, with its token and without.
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "services/program.hpp"
#include "support/free_port.hpp"
#include "support/paths.hpp"

using namespace leat::services::test;

namespace {

const std::string secret = "0123456789abcdef0123";

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

struct said {
  int status;
  std::string text;
};

struct running {
  running()
      : door("127.0.0.1:" + std::to_string(leat::test::free_port())),
        token(own_file("token", secret + "\nmore\n")),
        file(folder.file("clock.toml", R"(leat = 1
[process.tick]
use = "ticker"
config = { period = "20ms" }
out = { ticks = "a" }
[process.log]
use = "log"
in = { values = "a" }
[channel.a]
inject = true
[control]
listen = ")" + door + "\"\ntoken_file = \"" +
                                           token + "\"\n")),
        environment{"LEAT_SOCKETS=" + std::filesystem::path(file).parent_path().string()},
        service({leat::test::program_path("leat"), "run", file}, environment) {}

  std::string own_file(const std::string& name, const std::string& text, unsigned mode = 0600) const {
    std::string path = folder.file(name, text);
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    return path;
  }
  said order(std::vector<std::string> words, const std::string& variable = "LEAT_TOKEN=") const {
    words.insert(words.begin(), leat::test::program_path("leat"));
    std::vector<std::string> all = environment;
    all.push_back(variable);
    program p(words, all);
    const int status = p.end();
    CHECK_FALSE(has(p.said, secret));
    return {status, p.said};
  }

  scratch_folder folder;
  std::string door, token, file;
  std::vector<std::string> environment;
  program service;
};

}  // namespace

TEST_CASE("a verb by TCP may look without a token, and needs it to change something") {
  running r;
  REQUIRE(r.service.says("\"count\":"));  // on a busy machine the first tick may be left out
  CHECK(r.order({"ps", "-d", r.door}).status == 0);
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"log", "-d", r.door, "info"}, {"inject", "-d", r.door, "a", "{}"}}) {
    const said no = r.order(order);
    CHECK(no.status == 1);
    CHECK(has(no.text, "this door only shows"));
    CHECK(has(no.text, "; --token-file FILE or LEAT_TOKEN sends one"));
    const said wrong = r.order(order, "LEAT_TOKEN=0123456789abcdef0124");
    CHECK(wrong.status == 1);
    CHECK(has(wrong.text, "; the token that was sent is another"));
    CHECK_FALSE(has(wrong.text, "0124"));
  }
  CHECK(r.order({"log", "-d", r.door, "info"}, "LEAT_TOKEN=" + secret).status == 0);
  // The file comes before the variable.
  CHECK(r.order({"log", "-d", r.door, "--token-file", r.token, "info"}, "LEAT_TOKEN=another").status == 0);
  CHECK(r.order({"stop", "-d", r.door, "--token-file", r.token}).status == 0);
  CHECK(r.service.end() == 0);
  CHECK_FALSE(has(r.service.said, secret));
}

TEST_CASE("a token that cannot be one is refused before anything is sent") {
  const running r;
  const auto refused = [&](const std::string& file) {
    const said s = r.order({"stop", "-d", r.door, "--token-file", file});
    CHECK(s.status == 2);
    return s.text;
  };
  CHECK(has(refused(r.own_file("open", secret + "\n", 0644)), "open: others may read it: chmod 600"));
  CHECK(has(refused(r.own_file("empty", "")), "empty has no token in its first line"));
  CHECK(has(refused(r.own_file("blank", secret + " x\n")),
            "blank has a blank, or what is no ASCII, in its token"));
  CHECK(has(refused(r.own_file("long", std::string(600, 'x'))), "its first line is longer than 511 bytes"));
  CHECK(has(refused(std::filesystem::path(r.file).parent_path().string()), "it is not a regular file"));
  CHECK(has(refused("/there/is/none"), "/there/is/none: No such file or directory"));
  const said header = r.order({"stop", "-d", r.door}, "LEAT_TOKEN=x\r\nHost: y");
  CHECK(header.status == 2);
  CHECK(has(header.text, "LEAT_TOKEN has a blank, or what is no ASCII, in its token"));
  const said local = r.order({"ps", "--token-file", r.token});
  CHECK(local.status != 0);
}
