// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "checking.hpp"
#include "support/paths.hpp"

using namespace leat::config;
using namespace leat::config::test;
using namespace std::chrono_literals;

namespace {

const process_plan* process_of(const plan& p, const std::string& full_name) {
  for (const process_plan& x : p.processes)
    if (p.full_name(x) == full_name) return &x;
  return nullptr;
}

std::string names_of_processes(const plan& p) {
  std::string out;
  for (const process_plan& x : p.processes) out += (out.empty() ? "" : " ") + p.full_name(x);
  return out;
}

const char* const pump =
    "[template.pump]\nparam = { period = \"duration\", number = { type = \"integer\", default = 1 }, to = "
    "{ type = \"channel\", default = \"all\" } }\n"
    "[template.pump.process.probe]\nuse = \"ticker-sim\"\nreplicas = \"${number}\"\nconfig = { period = "
    "\"${period}\" }\nout = { value = [\"raw\", \"${to}\"] }\n"
    "[template.pump.process.taker]\nuse = \"sink\"\nin = { samples = \"raw\" }\n"
    "[template.pump.channel.raw]\n"
    "[process.all]\nuse = \"sink\"\nin = { samples = \"all\" }\n[channel.all]\n";

}  // namespace

TEST_CASE("what a template declares has the name of the use, and is joined within it") {
  const checked c =
      check_this("leat = 1\n" + std::string(pump) +
                     "[use.pump.north]\nperiod = \"2s\"\n[use.pump.south]\nperiod = \"${P}\"\nnumber = "
                     "\"${N}\"\n",
                 {{"P", "3s"}, {"N", "4"}});
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(names_of_processes(*c.plan) == "t/all t/north-probe t/north-taker t/south-probe t/south-taker");
  const process_plan* south = process_of(*c.plan, "t/south-probe");
  REQUIRE(south);
  CHECK(south->replicas == 4);
  CHECK(south->settings.find("period")->get<leat::nanoseconds>() == 3s);
  REQUIRE(south->ports[0].channels.size() == 2);
  CHECK(c.plan->channels[south->ports[0].channels[0]].name == "south-raw");
  CHECK(c.plan->channels[south->ports[0].channels[1]].name == "all");
  // Reports while it runs point at the template.
  CHECK(c.plan->where(south->at) == "t.toml:4");
}

TEST_CASE("for_each makes a use for each element, whose parameters come before those of all") {
  const checked c =
      check_this("leat = 1\n" + std::string(pump) +
                 "[use.pump.every]\nperiod = \"2s\"\nnumber = 2\nfor_each = [\"a\", { name = \"b\", "
                 "number = 3 }]\n");
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(names_of_processes(*c.plan) == "t/all t/a-probe t/a-taker t/b-probe t/b-taker");
  CHECK(process_of(*c.plan, "t/a-probe")->replicas == 2);
  CHECK(process_of(*c.plan, "t/b-probe")->replicas == 3);
  const checked none = check_this(
      "leat = 1\n[template.p.process.x]\nuse = \"sink\"\n[use.p.every]\nfor_each = "
      "[]\n[process.a]\nuse = \"slow\"\n");
  CHECK(shown(none) == "");
}

TEST_CASE("a parameter comes before a variable of the same name, and is not expanded again") {
  const checked c = check_this(
      "leat = 1\n[template.p]\nparam = { HOST = \"text\" }\n[template.p.process.panel]\nuse = \"http-json\"\n"
      "config = { listen = \"${HOST}|${OTHER}|${name}|$${HOST}\" }\nin = { live = \"probe.value\" }\n"
      "[template.p.process.probe]\nuse = \"ticker-sim\"\n[use.p.x]\nHOST = \"$${OTHER}\"\n",
      {{"HOST", "environment"}, {"OTHER", "other"}});
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(process_of(*c.plan, "t/x-panel")->settings.find("listen")->get<std::string>() ==
        "${OTHER}|other|x|${HOST}");
}

TEST_CASE("a whole number that a parameter gives is one, also where an integer is wanted") {
  const std::string text =
      "leat = 1\n[template.p]\nparam = { n = \"number\" }\n[template.p.process.a]\nuse = "
      "\"ticker-sim\"\nreplicas = "
      "\"${n}\"\n[template.p.process.b]\nuse = \"http-json\"\nconfig = { listen = \"a:${n}\", scale = "
      "\"${n}\" }\nin = "
      "{ live = \"a.value\" }\n[use.p.x]\nn = ";
  for (const char* given : {"2", "\"${N}\""}) {
    const checked c = check_this(text + given + "\n", {{"N", "2"}});
    CHECK(shown(c) == "");
    REQUIRE(c.plan);
    CHECK(process_of(*c.plan, "t/x-a")->replicas == 2);
    CHECK(process_of(*c.plan, "t/x-b")->settings.find("scale")->get<double>() == 2);
    CHECK(process_of(*c.plan, "t/x-b")->settings.find("listen")->get<std::string>() == "a:2");
  }
}

TEST_CASE("one override changes a process in all uses, with the names that the template has") {
  const checked c =
      check_this("leat = 1\n" + std::string(pump) +
                 "[use.pump.every]\nperiod = \"2s\"\nfor_each = [\"a\", \"b\"]\n"
                 "[override.t.process.\"*-probe\"]\nuse = \"relay\"\nin = { left = \"extra.value\" }\nout "
                 "= { right = [\"raw\", \"all\"], spare = \"b-raw\" }\n[process.extra]\nuse = "
                 "\"ticker-sim\"\n[override.t.channel.a-raw]\nfanout = \"copy\"\nreader = { taker = "
                 "\"latest\" }\n");
  REQUIRE(c.plan);
  for (const char* name : {"a", "b"}) {
    const process_plan* probe = process_of(*c.plan, "t/" + std::string(name) + "-probe");
    REQUIRE(probe);
    CHECK(probe->type->name == "relay");
    REQUIRE(probe->ports[1].channels.size() == 2);
    CHECK(c.plan->channels[probe->ports[1].channels[0]].name == std::string(name) + "-raw");
    CHECK(c.plan->channels[probe->ports[1].channels[1]].name == "all");
    CHECK(c.plan->channels[probe->ports[2].channels[0]].name == "b-raw");
  }
}

TEST_CASE("a fault of many uses is told once, with the first of them") {
  const checked c = check_this(
      "leat = 1\n[template.p.process.s]\nuse = \"sink\"\nstak = \"64K\"\nin = { samples = \"t.value\" }\n"
      "[template.p.process.t]\nuse = \"ticker-sim\"\n[use.p.all]\nfor_each = [\"a\", \"b\", \"c\", \"d\", "
      "\"e\"]\n");
  REQUIRE(c.found.errors() == 1);
  CHECK(c.found.all()[0].text ==
        "unknown key 'stak' in [process.a-s]; did you mean 'stack'? (in 5 uses, of which 4 are shown)");
  CHECK(c.found.all()[0].notes.size() == 4);
}

TEST_CASE("templates cannot make too much of a small file") {
  std::string uses;
  for (int i = 0; i < 200; ++i) uses += (i > 0 ? ",\"u" : "\"u") + std::to_string(i) + '"';
  std::string list;
  for (int i = 0; i < 20'000; ++i) list += "1,";
  const checked c = check_this(
      "leat = 1\n[template.p]\nparam = { l = \"list\" }\n[template.p.process.s]\nuse = \"slow\"\nconfig = "
      "{ a = \"${l}\", b = \"${l}\" }\n[use.p.all]\nl = [" +
      list + "]\nfor_each = [" + uses + "]\n");
  std::size_t limits = 0;
  for (const diagnostic& f : c.found.all()) limits += f.rule == "limit" ? 1 : 0;
  CHECK(limits == 1);
}

TEST_CASE("templates cannot make too much of a long text") {
  std::string uses;
  for (int i = 0; i < 2000; ++i) uses += (i > 0 ? ",\"u" : "\"u") + std::to_string(i) + '"';
  const std::string text(1'000'000, 'x');
  const auto made_of = [&](const std::string& config) {
    const checked c = check_this(
        "leat = 1\n[template.p]\nparam = { t = { type = \"text\", default = \"\" } "
        "}\n[template.p.process.s]\n"
        "use = \"slow\"\nconfig = { " +
        config + " }\n[use.p.all]\nt = \"" + text + "\"\nfor_each = [" + uses + "]\n");
    std::size_t limits = 0;
    for (const diagnostic& f : c.found.all()) limits += f.rule == "limit" ? 1 : 0;
    return limits;
  };
  CHECK(made_of("a = \"${t}\"") == 1);
  CHECK(made_of("a = \"<${t}>\"") == 1);
  CHECK(made_of("a = \"" + text + "\"") == 1);
  CHECK(made_of('"' + text + "\" = 1") == 1);
}

TEST_CASE("a service file is used several times, with other parameters") {
  scratch_folder f;
  f.file("plant.toml",
         "leat = 1\n[service]\nname = \"plant\"\nparam = { period = \"duration\", folder = { type = "
         "\"text\", default "
         "= \"/tmp\" } }\n[process.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"${period}\" }\n"
         "[process.panel]\nuse = \"http-json\"\nconfig = { listen = \"${folder}/${name}\" }\nin = { live = "
         "\"probe.value\" }\n[runtime]\nprocs = 2\n");
  f.file("board.toml",
         "leat = 1\nservices = [{ file = \"plant.toml\", name = \"north\", with = { period = \"1s\" } },\n"
         "  { file = \"plant.toml\", name = \"south\", with = { period = \"${P}\", folder = \"/x\" } },\n"
         "  { file = \"plant.toml\", with = { period = \"3s\" } }]\n[override.\"*\".process.probe]\nreplicas "
         "= 2\n");
  const options how{.environment = [](std::string_view) { return std::optional<std::string>("2s"); }};
  for (const char* path : {"board.toml", "."}) {
    CAPTURE(path);
    const checked c = check({path}, classes(), how);
    CHECK(shown(c) == "");
    REQUIRE(c.plan);
    CHECK(names_of_processes(*c.plan) ==
          "north/probe north/panel south/probe south/panel plant/probe plant/panel");
    CHECK(process_of(*c.plan, "south/probe")->settings.find("period")->get<leat::nanoseconds>() == 2s);
    CHECK(process_of(*c.plan, "south/probe")->replicas == 2);
    CHECK(process_of(*c.plan, "south/panel")->settings.find("listen")->get<std::string>() == "/x/south");
    CHECK(process_of(*c.plan, "plant/panel")->settings.find("listen")->get<std::string>() == "/tmp/plant");
    CHECK(c.plan->runtime.procs == 2u);
    CHECK(c.plan->where(process_of(*c.plan, "south/probe")->at).ends_with("plant.toml:5"));
    // One file, however often it is used.
    std::size_t files = 0;
    for (std::uint32_t i = 0; i < c.sources.size(); ++i) files += c.sources.is_file(i) ? 1 : 0;
    CHECK(files == 2);
  }
}

TEST_CASE("a fault in a service file that is used shows the use") {
  scratch_folder f;
  f.file("plant.toml",
         "leat = 1\n[service]\nparam = { period = \"duration\" }\n[process.probe]\nuse = "
         "\"ticker-sim\"\nconfig = { "
         "period = \"${period}\" }\n[process.taker]\nuse = \"sink\"\nin = { samples = \"probe.valu\" }\n");
  f.file("board.toml",
         "leat = 1\nservices = [{ file = \"plant.toml\", name = \"north\", with = { perid = \"1s\" } }]\n");
  CHECK(shown(check({"board.toml"}, classes())) ==
        "board.toml:2:61: error: service 'north' has no parameter 'perid'; did you mean 'period'?\n"
        "    2 | services = [{ file = \"plant.toml\", name = \"north\", with = { perid = \"1s\" } }]\n"
        "      |                                                             ^^^^^\n"
        "plant.toml:9:18: error: unknown out port 'valu' of 'ticker-sim'; did you mean 'value'?\n"
        "    9 | in = { samples = \"probe.valu\" }\n"
        "      |                  ^^^^^^^^^^^^\n"
        "      in board.toml:2:13:\n"
        "    2 | services = [{ file = \"plant.toml\", name = \"north\", with = { perid = \"1s\" } }]\n"
        "      |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ the file is "
        "used here as "
        "service 'north'\n");
  f.file(
      "board.toml",
      "leat = 1\nservices = [\"plant.toml\", { file = \"plant.toml\", with = { period = \"1s\" } }, { file = "
      "\"plant.toml\", name = \"b c\", with = { period = \"1s\" } }]\n");
  const checked c = check({"board.toml"}, classes());
  std::string texts;
  for (const diagnostic& d : c.found.all()) texts += d.text + '\n';
  CHECK(texts ==
        "parameter 'period' of service 'plant' is not given and has no default; a deployment gives it: "
        "services = "
        "[{ file = ..., with = { ... } }]\n"
        "'b c' is not a name for a service: letters, digits, - and _\n"
        "service 'plant' is there twice\n"
        "unknown out port 'valu' of 'ticker-sim'; did you mean 'value'?\n");
}

TEST_CASE("a deployment that uses itself ends") {
  scratch_folder f;
  f.file("a.toml", small_service("a").insert(9, "services = [{ file = \"a.toml\", name = \"b\" }]\n"));
  const checked c = check({"a.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->services.size() == 2);
}

TEST_CASE("the template that docs/templates.md shows is right, and so is the fault") {
  const std::string document = read_all(leat::test::in_source("docs/templates.md"));
  const std::size_t from = document.find("```toml\n");
  REQUIRE(from != std::string::npos);
  std::string text = document.substr(from + 8, document.find("```", from + 8) - from - 8);
  const checked c = check_this(text);
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(process_of(*c.plan, "t/east-filter"));
  const std::string given = "port = 8081\n";
  text.replace(text.find(given), given.size(), "port   = 8081\nperiod = \"0\"\n");
  const std::string fault = shown(check_text("pumps.toml", text, classes()));
  CHECK(document.find("```\n" + fault + "```") != std::string::npos);
}
