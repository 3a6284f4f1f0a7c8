// SPDX-License-Identifier: BSL-1.0
//
// Who is to blame, of deployments with one planted cause each; and silence where all is well.
#include "services/blame_fixture.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

namespace leat::services::test {
namespace {

// Sanitizers take their time: what is named counts, not when.
constexpr bool slowed = fiber::under_asan || fiber::under_tsan;

// Small pieces of TOML.
std::string source(const std::string& name, const std::string& to, const std::string& more = {}) {
  return "[process." + name + "]\nuse = \"blame-source\"\nconfig = { " + more + " }\nout = { values = \"" +
         to + "\" }\n";
}
std::string sink(const std::string& name, const std::string& from, const std::string& how,
                 const std::string& more = {}) {
  return "[process." + name + "]\nuse = \"blame-sink\"\nconfig = { how = \"" + how + "\"" + more +
         " }\nin = { values = " + (from.starts_with('[') ? from : '"' + from + '"') + " }\n";
}
std::string relay(const std::string& name, const std::string& from, const std::string& to,
                  const std::string& how = "nothing", const std::string& more = {}) {
  return "[process." + name + "]\nuse = \"blame-relay\"\nconfig = { how = \"" + how + "\"" + more +
         " }\nin = { values = \"" + from + "\" }\nout = { to = \"" + to + "\" }\n";
}
std::string queue(const std::string& name, const std::string& more = {}, int capacity = 8) {
  return "[channel." + name + "]\ncapacity = " + std::to_string(capacity) + "\n" + more;
}

struct planted {
  std::string name;                            // of the service
  std::string text;                            // of its file
  std::set<std::string> culprits;              // "process kind"; a kind of * is any
  std::set<std::string> victims = {"source"};  // of the first culprit
  std::string beside = {}, text_beside = {};   // another service
};

planted simple(const std::string& name, const std::string& how, const std::string& kind) {
  return {name, source("source", "q") + sink("slow", "q", how) + queue("q"), {"slow " + kind}};
}

std::vector<planted> all_planted() {
  std::vector<planted> all;
  all.push_back(simple("cpu", "compute", "computes"));
  all.push_back(simple("sleeper", "sleep", "timer"));
  all.push_back(simple("declared", "declared", "blocking call"));
  all.push_back(simple("undeclared", "undeclared", "blocking call"));
  all.push_back(simple("peer", "peer", "network"));
  all.push_back(simple("lock", "lock", "lock"));
  all.push_back(simple("disk", "pipe", "blocking call"));
  all.push_back({"joiner",
                 source("source", "many") + source("seldom", "few", "burst = 1, every = \"250ms\"") +
                     "[process.slow]\nuse = \"blame-join\"\nin = { left = \"many\", right = \"few\" }\n" +
                     queue("many") + queue("few"),
                 {"slow channel"}});
  all.push_back({"replicas",
                 source("source", "q") +
                     "[process.slow]\nuse = \"blame-uneven\"\nreplicas = 3\nin = { values = \"q\" }\n" +
                     queue("q"),
                 {"slow/1 timer"}});
  all.push_back({"front",
                 source("source", "first") + relay("middle", "first", "made") + queue("first") +
                     queue("made", "export = true\n"),
                 {},
                 {"front/source", "front/middle"},
                 "behind",
                 sink("slow", "front/made", "sleep")});
  all.push_back(
      {"diamond",
       source("source", "q") +
           "[process.fork]\nuse = \"blame-fork\"\nin = { values = \"q\" }\nout = { left = \"l\", right = "
           "\"r\" }\n" +
           relay("slow", "l", "ll", "sleep") + relay("quick", "r", "rr") +
           "[process.join]\nuse = \"blame-join\"\nin = { left = \"ll\", right = \"rr\" }\n" + queue("q") +
           queue("l") + queue("r") + queue("ll") + queue("rr"),
       {"slow timer"},
       {"source", "fork", "quick", "join"}});
  all.push_back({"oldest",
                 source("source", "q") + sink("slow", "q", "sleep") + queue("q", "full = \"drop-oldest\"\n"),
                 {"slow drops"},
                 {}});
  all.push_back({"newest",
                 source("source", "q") + sink("slow", "q", "sleep") + queue("q", "full = \"drop-newest\"\n"),
                 {"slow drops"},
                 {}});
  all.push_back({"copies",
                 source("source", "q") + sink("quick", "q", "nothing") + sink("slow", "q", "sleep") +
                     sink("lossy", "q", "nothing") +
                     queue("q", "fanout = \"copy\"\nreader = { lossy = \"drop-oldest\" }\n"),
                 {"slow timer"}});
  all.push_back({"fan-in",
                 source("source", "a") + source("other", "b") + sink("slow", "[\"a\", \"b\"]", "sleep") +
                     queue("a") + queue("b"),
                 {"slow timer"},
                 {"source", "other"}});
  all.push_back(
      {"meeting", source("source", "q") + sink("slow", "q", "sleep") + queue("q", {}, 0), {"slow timer"}});
  all.push_back(
      {"ring", source("source", "q") + sink("slow", "q", "sleep") + queue("q", {}, 64), {"slow timer"}});
  all.push_back({"many",
                 source("source", "q") + source("second", "q") + source("third", "q") +
                     sink("slow", "q", "sleep") + queue("q"),
                 {"slow timer"},
                 {"source", "second", "third"}});
  all.push_back({"chain",
                 source("source", "a") + relay("one", "a", "b") + relay("two", "b", "c") +
                     relay("three", "c", "d") + relay("four", "d", "e") + sink("slow", "e", "sleep") +
                     queue("a") + queue("b") + queue("c") + queue("d") + queue("e"),
                 {"slow timer"},
                 {"source", "one", "two", "three", "four"}});
  all.push_back({"two",
                 source("source", "a") + source("other", "b") + sink("slow", "a", "sleep") +
                     sink("lazy", "b", "declared") + queue("a") + queue("b"),
                 {"slow timer", "lazy blocking call"}});
  return all;
}

config::plan plan_of_services(const std::vector<std::pair<std::string, std::string>>& services) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, text] : services)
    files.emplace_back(name + ".toml", "[service]\nname = \"" + name + "\"\ndrain = \"100ms\"\n" + text);
  return plan_of_files(files);
}

std::set<std::string> in_service(const std::string& service, const std::set<std::string>& names) {
  std::set<std::string> all;
  for (const std::string& n : names)
    all.insert(n.find('/') != std::string::npos && !n.starts_with("slow/") ? n : service + '/' + n);
  return all;
}
std::string joined(const std::set<std::string>& all) {
  std::string text;
  for (const std::string& s : all) text += (text.empty() ? "" : ", ") + s;
  return text.empty() ? "nobody" : text;
}

// How many of these are right: the one at fault is named, and its victims are. When somebody is named at first, and how
// soon, is what a loaded machine can change.
std::size_t right_of(const std::vector<planted>& all, bool at_once_and_soon) {
  std::size_t right = 0;
  constexpr std::size_t at_once = 7;
  for (std::size_t from = 0; from < all.size(); from += at_once) {
    const std::size_t to = std::min(from + at_once, all.size());
    std::vector<std::pair<std::string, std::string>> services;
    for (std::size_t i = from; i < to; ++i) {
      services.emplace_back(all[i].name, all[i].text);
      if (!all[i].beside.empty()) services.emplace_back(all[i].beside, all[i].text_beside);
    }
    const config::plan p = plan_of_services(services);
    // With any number of Ps: what is seen must not depend on who looks from where.
    constexpr unsigned procs[] = {4, 1, 2};
    log_catcher quiet;
    const auto seen = watch(p, slowed ? 15s : 5s, procs[from / at_once]);
    for (std::size_t i = from; i < to; ++i) {
      const planted& x = all[i];
      const std::string where = x.beside.empty() ? x.name : x.beside;
      const seen_service& at = seen.at(where);
      const seen_service& upstream = seen.at(x.name);
      const std::set<std::string> culprits =
          in_service(where, x.culprits.empty() ? std::set<std::string>{"slow timer"} : x.culprits);
      const std::int64_t late = at.named_at && upstream.blocked_at ? *at.named_at - *upstream.blocked_at : -1;
      const bool named = at.last == culprits && (at.first == culprits || !at_once_and_soon);
      const bool in_time = !at_once_and_soon || (late >= 0 && (slowed || late <= 2'000'000'000));
      std::set<std::string> victims;
      if (!at.victims.empty() && x.culprits.size() < 2) victims = at.victims.begin()->second;
      const bool all_victims = x.culprits.size() > 1 || victims == in_service(x.name, x.victims);
      const bool upstream_silent = x.beside.empty() || upstream.last.empty();
      right += named && in_time && all_victims && upstream_silent;
      MESSAGE(x.name << ": " << joined(at.first) << " after " << late / 1'000'000 << " ms, at the end "
                     << joined(at.last) << "; victims " << joined(victims) << " | " << at.text);
      if (!(named && in_time && all_victims && upstream_silent))
        MESSAGE("    WRONG; expected " << joined(culprits) << " and victims "
                                       << joined(in_service(x.name, x.victims)));
    }
  }
  return right;
}

TEST_CASE("of deployments with a planted cause, the one at fault is named") {
  const std::set<std::string> names{"sleeper", "declared", "lock", "chain", "front"};
  std::vector<planted> some;
  for (planted& x : all_planted())
    if (names.contains(x.name)) some.push_back(std::move(x));
  CHECK(right_of(some, false) == names.size());
}

TEST_CASE("of twenty deployments with a planted cause, the one at fault is named within two seconds" *
          doctest::timeout(600) * leat::test::soak) {
  const std::vector<planted> all = all_planted();
  REQUIRE(all.size() == 20);
  CHECK(leat::test::at_least("blame: of twenty deployments are right",
                             static_cast<double>(right_of(all, true)), "", 19));
}

TEST_CASE("a process whose own Gs do its work is seen by what they do") {
  const config::plan p = plan_of_services(
      {{"helped",
        source("source", "a") +
            "[process.middle]\nuse = \"blame-helped\"\nin = { values = \"a\" }\nout = { to = \"b\" }\n" +
            sink("slow", "b", "sleep") + queue("a") + queue("b")}});
  log_catcher quiet;
  const auto seen = watch(p, slowed ? 8s : 4s);
  CHECK(joined(seen.at("helped").last) == "helped/slow timer");
  REQUIRE(seen.at("helped").victims.size() == 1);
  CHECK(joined(seen.at("helped").victims.begin()->second) == "helped/middle, helped/source");
}

TEST_CASE("of twenty deployments with bursts below their capacity, nobody is named and nothing is logged" *
          doctest::timeout(600) * leat::test::soak) {
  std::vector<std::pair<std::string, std::string>> services;
  for (int i = 0; i < 20; ++i) {
    // Up to thirty values at once, which take up to 0.3 s of each second and fill the queue for as long.
    const std::string bursts =
        "burst = " + std::to_string(10 + i) + ", every = \"" + std::to_string(500 + 40 * i) + "ms\"";
    const char* const how = i % 4 == 0   ? "compute"
                            : i % 4 == 1 ? "sleep"
                            : i % 4 == 2 ? "declared"
                                         : "undeclared";
    std::string text = source("source", "a", bursts) + relay("middle", "a", "b") +
                       sink("sink", "b", how, ", time = \"2ms\"") + queue("a", {}, 4) + queue("b", {}, 4);
    if (i % 5 == 4) text += source("second", "a", bursts);
    services.emplace_back("healthy" + std::to_string(i), text);
  }
  std::string log;
  const config::plan p = plan_of_services(services);
  std::map<std::string, seen_service> seen;
  {
    log_catcher caught;
    seen = watch(p, slowed ? 20s : 8s);
    log = caught.text();
  }
  CHECK(seen.size() == 20);
  std::size_t were_full = 0;
  for (const auto& one : seen) {
    const seen_service& s = one.second;
    CAPTURE(one.first);
    CAPTURE(s.text);
    CHECK(!s.named_at);
    were_full += s.blocked_at.has_value();
  }
  CHECK(were_full >= 5);  // for moments; else this shows nothing
  CAPTURE(log);
  CHECK(log.find("holds up") == std::string::npos);
  CHECK(log.find("keep up") == std::string::npos);
}

// Each takes less than a slice at a time, and its next turn comes when all others have had theirs.
TEST_CASE("who is ready while others run is told to wait for a CPU" * leat::test::soak) {
  std::vector<std::pair<std::string, std::string>> services;
  for (int i = 0; i < 6; ++i)
    services.emplace_back(
        "s" + std::to_string(i),
        source("source", "q") + sink("busy", "q", "turns", ", time = \"2ms\"") + queue("q"));
  const auto seen = watch(plan_of_services(services), 5s, 1);
  std::size_t told = 0;
  for (const auto& [name, s] : seen) told += s.last.contains(name + "/busy CPU");
  CHECK(leat::test::at_least("blame: of six that share a CPU, told to wait for it", static_cast<double>(told),
                             "services", 5));
}

TEST_CASE("the log names the culprit once when it lasts") {
  std::string log;
  {
    log_catcher caught;
    const config::plan p =
        plan_of_services({{"lasting", source("source", "q") + sink("slow", "q", "sleep") + queue("q") +
                                          "[control]\nblame_after = \"2s\"\n"}});
    (void)watch(p, 5s);
    log = caught.text();
  }
  const std::string line = "lasting: 'slow' (blame-sink, ";
  const std::size_t at = log.find(line);
  REQUIRE(at != std::string::npos);
  CHECK(log.find(line, at + 1) == std::string::npos);
  CHECK(log.find("holds up source: ", at) != std::string::npos);
  CHECK(log.find("its channel 'q' has been full for ", at) != std::string::npos);
}

}  // namespace
}  // namespace leat::services::test
