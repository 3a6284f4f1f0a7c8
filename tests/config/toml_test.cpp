// SPDX-License-Identifier: BSL-1.0
//
// How texts are taken apart, up to what hostile ones can do.
#include <doctest/doctest.h>

#include <string>

#include "checking.hpp"

using namespace leat::config;
using namespace leat::config::test;

namespace {

std::string repeated(const std::string& what, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += what;
  return out;
}

}  // namespace

TEST_CASE("nesting without end is refused before anybody walks it") {
  for (const std::string& text :
       {"a = " + repeated("[", 100000), "a = " + repeated("{a=", 100000),
        "[" + repeated("a.", 100000) + "a]\n", repeated("a.", 100000) + "a = 1\n",
        repeated("\"=\".", 100000) + "a = 1\n", "a = {" + repeated("a . ", 100000) + "a = 1}\n",
        repeated("'''x'''.", 100000) + "a = 1\n", repeated("[", 100000)}) {
    const checked c = check_this("leat = 1\n" + text);
    CHECK(c.found.errors() == 1);
    CHECK(c.found.all()[0].rule == "toml");
  }
}

TEST_CASE("many dots in a text or in numbers are no nesting") {
  const checked c = check_this(small_service(
      "s", "# " + repeated("a.", 100) +
               "\n[process.panel]\nuse = \"http-json\"\nin = { live = \"probe.value\" }\nconfig = { "
               "listen = \"" +
               repeated("a.", 100) + "\", paths = [\"\"\"\n" + repeated("a.", 100) + "\"\"\", '''" +
               repeated("b.", 50) + "''', \"[[[\\\"{{{\"] }\n"));
  CHECK(c.found.errors() == 0);
  CHECK(c.plan);
}

TEST_CASE("several names that are there twice are all shown, and the rest is still checked") {
  const checked c = check_this(
      "leat = 1\n[process.a]\nuse = \"ticker-sim\"\nreplicas = 0\n[process.a]\nuse = \"x\"\n[process.a]\nuse "
      "= \"y\"\n"
      "[process.t]\nuse = \"sink\"\nuse = \"sink\"\nin = { samples = \"a.value\" }\nstack = \"1\"\n");
  CHECK(shown(c) ==
        "t.toml:4:12: error: 'replicas' is 0; allowed: 1 to 65536\n"
        "    4 | replicas = 0\n"
        "      |            ^\n"
        "t.toml:5:1: error: table [process.a] is there twice\n"
        "    5 | [process.a]\n"
        "      | ^^^^^^^^^^^\n"
        "    2 | [process.a]\n"
        "      | ^^^^^^^^^^^ first here\n"
        "t.toml:7:1: error: table [process.a] is there twice\n"
        "    7 | [process.a]\n"
        "      | ^^^^^^^^^^^\n"
        "    2 | [process.a]\n"
        "      | ^^^^^^^^^^^ first here\n"
        "t.toml:11:1: error: key 'process.t.use' is there twice\n"
        "   11 | use = \"sink\"\n"
        "      | ^^^\n"
        "   10 | use = \"sink\"\n"
        "      | ^^^ first here\n"
        "t.toml:13:9: error: 'stack' is \"1\"; allowed: \"16K\" to \"8M\"\n"
        "   13 | stack = \"1\"\n"
        "      |         ^^^\n");
}

TEST_CASE("what stands behind a repaired line is looked at as closely") {
  const checked c = check_this("leat = 1\nleat = x y\nä = 1\n");
  REQUIRE(c.found.errors() == 2);
  CHECK(c.found.all()[0].rule == "duplicate");
  CHECK(c.found.all()[1].at.line == 3);
}

TEST_CASE("a byte order mark does not shift the first line") {
  const checked c = check_this("\xef\xbb\xbfleat = 7\n");
  CHECK(shown(c) ==
        "t.toml:1:8: error: grammar 7 is unknown; this program reads grammar 1\n"
        "    1 | leat = 7\n"
        "      |        ^\n");
}

TEST_CASE("a letter outside of ASCII needs quotes, wherever it stands") {
  for (const char* text :
       {"größe = 1\n", "leat = é\n", "[größe]\n", "[a] é\n", "leat = 1 é\n", "a = [1, é]\n", "é",
        "leat = 1\n\xc2\xa0\n", "a = \"\"\"\\é\"\"\"\n", "a.é = 1\n", "leat é\n"}) {
    CAPTURE(text);
    const checked c = check_this(text);
    REQUIRE(c.found.errors() == 1);
    CHECK(c.found.all()[0].text ==
          "bad TOML: a character outside of ASCII; names with such characters need quotes");
  }
  CHECK(shown(check_this("leat = 1\n[service]\n größe = 1\n")) ==
        "t.toml:3:4: error: bad TOML: a character outside of ASCII; names with such characters need quotes\n"
        "    3 |  größe = 1\n"
        "      |    ^\n");
  // Here it is only that the '=' is missing.
  CHECK(check_this("leat \"größe\"\n").found.all()[0].text ==
        "bad TOML: key-value pair: expected '=', saw '\"'");
}

TEST_CASE("any letter may follow a line that ends in a backslash") {
  const checked c = check_this(small_service("s",
                                             "[process.panel]\nuse = \"http-json\"\nin = { live = "
                                             "\"probe.value\" }\nconfig = { listen = \"\"\"\\\n  "
                                             "\n\té=\\\n度\\\n😀\"\"\" } # größe\n"));
  CHECK(c.found.errors() == 0);
  REQUIRE(c.plan);
  CHECK(c.plan->processes[2].settings.find("listen")->get<std::string>() == "é=度😀");
}

TEST_CASE("an empty text and a text of zeros end in a diagnostic") {
  CHECK(check_this("").found.errors() == 1);
  CHECK(check_this(std::string(100, '\0')).found.errors() == 1);
  CHECK(check_this("\n\n\n").found.errors() == 1);
}

TEST_CASE("tables may be written in any way that TOML has") {
  const checked c = check_this(
      "leat = 1\nprocess.p.use = \"ticker-sim\"\nprocess.t = { use = \"sink\", in.samples = \"p.value\" }\n"
      "[runtime]\nmemory.max = \"1M\"\n");
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->runtime.max_memory == std::uint64_t{1} << 20);
  CHECK(c.plan->processes.size() == 2);
}
