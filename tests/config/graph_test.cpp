// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <leat/config/graph.hpp>

#include "checking.hpp"

using namespace leat::config;
using leat::flavour;
using namespace leat::config::test;

namespace {

using indices = std::vector<leat::config::index>;  // not the index() of <strings.h>

// One channel `c`, by the keys of its writer, its reader and itself.
std::string joined(const std::string& writer, const std::string& reader, const std::string& channel,
                   const std::string& more = "") {
  return "leat = 1\n[process.w]\nuse = \"ticker-sim\"\nout = { value = \"c\" }\n" + writer +
         "[process.r]\nuse = \"sink\"\nin = { samples = \"c\" }\n" + reader + "[channel.c]\n" + channel +
         more;
}

flavour flavour_of(const std::string& text) {
  const checked c = check_this(text);
  CAPTURE(shown(c));
  REQUIRE(c.plan);
  return choose_flavour(*c.plan, c.plan->channels.front());
}

constexpr const char* second_reader = "[process.r2]\nuse = \"sink\"\nin = { samples = \"c\" }\n";

// A chain of relays: 0 makes, the last takes.
std::vector<std::string> names_of(const plan& p, const indices& order) {
  std::vector<std::string> out;
  for (const leat::config::index i : order) out.push_back(p.processes[i].name);
  return out;
}

}  // namespace

TEST_CASE("one writer and one reader get the ring without locks") {
  CHECK(flavour_of(joined("", "", "")) == flavour::single);
  CHECK(flavour_of(joined("", "", "full = \"drop-newest\"\n")) == flavour::single);
  CHECK(flavour_of(joined("", "", "full = \"fail\"\n")) == flavour::single);
  CHECK(flavour_of(small_service("s")) == flavour::single);
}

TEST_CASE("replicas, further ends and a sender that takes from the ring need the one with a lock") {
  CHECK(flavour_of(joined("replicas = 2\n", "", "")) == flavour::many);
  CHECK(flavour_of(joined("", "replicas = 2\n", "")) == flavour::many);
  CHECK(flavour_of(joined("", "", "", second_reader)) == flavour::many);
  CHECK(flavour_of(joined("", "", "full = \"drop-oldest\"\n")) == flavour::many);
}

TEST_CASE("the other flavours follow from the policy, the capacity and the fan-out") {
  CHECK(flavour_of(joined("", "", "full = \"latest\"\n")) == flavour::latest);
  CHECK(flavour_of(joined("", "", "capacity = 0\n")) == flavour::rendezvous);
  CHECK(flavour_of(joined("", "", "fanout = \"copy\"\n", second_reader)) == flavour::broadcast);
}

TEST_CASE("a channel that copies to one process alone is as one that does not, with that reader's policy") {
  CHECK(flavour_of(joined("", "", "fanout = \"copy\"\n")) == flavour::single);
  CHECK(flavour_of(joined("", "replicas = 3\n", "fanout = \"copy\"\n")) == flavour::many);
  CHECK(flavour_of(joined("", "", "fanout = \"copy\"\nreader = { r = \"latest\" }\n")) == flavour::latest);
  // Readers of other services may come.
  CHECK(flavour_of(joined("", "", "fanout = \"copy\"\nexport = true\n")) == flavour::broadcast);
}

TEST_CASE("a channel that dead letters go to has more writers than its ports") {
  const std::string text =
      joined("", "delivery = \"at-least-once\"\ndead_letter = \"lost\"\n", "",
             "[process.m]\nuse = \"sink\"\nin = { samples = \"lost\" }\n[channel.lost]\n");
  const checked c = check_this(text);
  REQUIRE(c.plan);
  CHECK(c.plan->channels[1].name == "lost");
  CHECK(choose_flavour(*c.plan, c.plan->channels[1]) == flavour::many);
  CHECK(c.plan->processes[1].dead_letter == 1u);
}

TEST_CASE("those who use a channel are counted with their replicas") {
  const checked c = check_this(joined("replicas = 2\n", "replicas = 3\n", "", second_reader));
  REQUIRE(c.plan);
  const user_count n = count_users(*c.plan, c.plan->channels[0]);
  CHECK(n.writers == 2);
  CHECK(n.readers == 4);
  CHECK(n.reading_processes == 2);
}

TEST_CASE("sinks come before those that feed them") {
  const checked c = check_this(
      "leat = 1\n[process.source]\nuse = \"ticker-sim\"\n[process.middle]\nuse = \"smooth\"\nin = { raw = "
      "\"source.value\" }\n"
      "[process.end]\nuse = \"sink\"\nin = { samples = \"middle.clean\" }\n");
  REQUIRE(c.plan);
  CHECK(names_of(*c.plan, sinks_first(*c.plan)) == std::vector<std::string>{"end", "middle", "source"});
}

TEST_CASE("a cycle breaks no order: each process is there once") {
  const checked c = check_this(
      "leat = 1\n[process.a]\nuse = \"relay\"\nin = { left = [\"b.right\", \"p.value\"] }\n[process.b]\nuse "
      "= \"relay\"\n"
      "in = { left = \"a.right\" }\n[process.p]\nuse = \"ticker-sim\"\n");
  REQUIRE(c.plan);
  indices order = sinks_first(*c.plan);
  REQUIRE(order.size() == 3);
  CHECK(c.plan->processes[order.back()].name == "p");
  std::sort(order.begin(), order.end());
  CHECK(order == indices{0, 1, 2});
}

TEST_CASE("a cycle is named only if each of its channels blocks") {
  const auto ring = [](const std::string& keys) {
    return "leat = 1\n[process.a]\nuse = \"relay\"\nin = { left = \"y\" }\nout = { right = \"x\" "
           "}\n[process.b]\nuse = "
           "\"relay\"\nin = { left = \"x\" }\nout = { right = \"y\" }\n[channel.x]\n[channel.y]\n" +
           keys;
  };
  CHECK(check_this(ring("")).found.warnings() == 1);
  for (const char* full : {"drop-oldest", "drop-newest", "fail", "latest"})
    CHECK(check_this(ring("full = \"" + std::string(full) + "\"\n")).found.warnings() == 0);
  CHECK(check_this(ring("fanout = \"copy\"\nreader = { a = \"drop-oldest\" }\n")).found.warnings() == 0);
  CHECK(check_this(ring("fanout = \"copy\"\n")).found.warnings() == 1);
}

TEST_CASE("each set of processes that reach one another is one warning, with its shortest way round") {
  // a <-> b, and a -> b -> c -> a; apart from them d -> d.
  const checked c = check_this(
      "leat = 1\n[process.a]\nuse = \"relay\"\nin = { left = [\"b.right\", \"c.right\"] }\n[process.b]\nuse "
      "= \"relay\"\n"
      "in = { left = \"a.right\" }\n[process.c]\nuse = \"relay\"\nin = { left = \"b.spare\" "
      "}\n[process.d]\nuse = "
      "\"relay\"\nin = { left = \"d.right\" }\n");
  REQUIRE(c.plan);
  const std::vector<blocking_cycle> found = blocking_cycles(*c.plan);
  REQUIRE(found.size() == 2);
  CHECK(names_of(*c.plan, found[0].processes) == std::vector<std::string>{"a", "b"});
  CHECK(found[0].channels.size() == 2);
  CHECK(names_of(*c.plan, found[1].processes) == std::vector<std::string>{"d"});
}

TEST_CASE("memory is stacks and rings and pools, replicas counted") {
  const checked c =
      check_this(joined("replicas = 4\nstack = \"32K\"\n", "", "capacity = 100\n", second_reader));
  REQUIRE(c.plan);
  CHECK(c.plan->memory.stacks == 4 * 32 * 1024 + 2 * 64 * 1024);
  CHECK(c.plan->memory.rings == 100 * 16);
  CHECK(c.plan->memory.pools == 4 * 128);
  CHECK(c.plan->memory.total() == c.plan->memory.stacks + c.plan->memory.rings + c.plan->memory.pools);
  const checked copied = check_this(
      joined("", "", "capacity = 100\nfanout = \"copy\"\nreader = { r = \"latest\" }\n", second_reader));
  REQUIRE(copied.plan);
  CHECK(copied.plan->memory.rings == 100 * 16 + (1 + 100) * sizeof(void*));
}
