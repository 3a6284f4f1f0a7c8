// SPDX-License-Identifier: BSL-1.0
//
// The table of keys against all that says the same elsewhere.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include <leat/config/json_schema.hpp>
#include <leat/config/keys.hpp>
#include <leat/config/suggest.hpp>
#include <leat/sched/options.hpp>

#include "checking.hpp"
#include "json.hpp"
#include "support/paths.hpp"

using namespace leat::config;
using namespace leat::config::test;
using leat::setting_schema;
using leat::value;
using leat::value_kind;

namespace {

const setting_schema& runtime_key(const char* name) { return section_of("runtime").find(name)->type; }

// Whether the reader and the scheduler agree on a value of [runtime].
void same_verdict(const std::string& key, const std::string& toml, const leat::runtime_options& options) {
  CAPTURE(key);
  CAPTURE(toml);
  const checked c = check_this(small_service("s", "[runtime]\n" + key + " = " + toml + "\n"));
  CHECK((c.found.errors() == 0) == leat::check_options(options).empty());
}

template <class T, class Set>
void same_range(const char* key, const Set& set) {
  const setting_schema& s = runtime_key(key);
  const auto number = [](const value& v) {
    if (const auto* d = v.get_if<leat::nanoseconds>()) return static_cast<std::int64_t>(d->count());
    if (const auto* b = v.get_if<leat::byte_size>()) return static_cast<std::int64_t>(b->bytes);
    return v.get<std::int64_t>();
  };
  for (const std::int64_t n : {number(s.least) - 1, number(s.least), number(s.most), number(s.most) + 1}) {
    if (n < 0) continue;
    value v = s.kind == value_kind::duration ? value(leat::nanoseconds(n))
              : s.kind == value_kind::size   ? value(leat::byte_size{static_cast<std::uint64_t>(n)})
                                             : value(n);
    leat::runtime_options o;
    set(o, static_cast<T>(n));
    same_verdict(key, to_text(v), o);
  }
}

}  // namespace

TEST_CASE("docs/configuration.md has the tables of the reader") {
  const std::string document = read_all(leat::test::in_source("docs/configuration.md"));
  const std::string begin = "<!-- keys: begin -->\n", end = "<!-- keys: end -->";
  const std::size_t from = document.find(begin), to = document.find(end);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(document.substr(from + begin.size(), to - from - begin.size()) == keys_markdown());
}

TEST_CASE("the service that docs/configuration.md shows is right") {
  const std::string document = read_all(leat::test::in_source("docs/configuration.md"));
  const std::size_t from = document.find("```toml\n");
  REQUIRE(from != std::string::npos);
  const checked c = check_this(document.substr(from + 8, document.find("```", from + 8) - from - 8));
  CHECK(shown(c) == "");
  CHECK(c.plan);
}

TEST_CASE("every key has a meaning, and a default or a word for having none") {
  for (const key_section& s : all_sections())
    for (const key_info& k : s.keys) {
      CAPTURE(s.heading);
      CAPTURE(k.type.name);
      CHECK_FALSE(k.type.help.empty());
      if (k.shape == key_shape::word_or) CHECK_FALSE(k.word.empty());
      for (const setting_schema& f : k.type.fields) CHECK_FALSE(f.help.empty());
    }
}

TEST_CASE("the defaults of [runtime] are those of the scheduler") {
  const leat::runtime_options o;
  const checked c = check_this(small_service("s"));
  REQUIRE(c.plan);
  const runtime_plan& r = c.plan->runtime;
  CHECK(r.procs == o.procs);
  CHECK(r.run_queue == o.run_queue);
  CHECK(r.spinning == o.spinning);
  CHECK(r.max_threads == o.max_threads);
  CHECK(r.max_quarantined == o.max_quarantined);
  CHECK(r.slice == o.slice);
  CHECK(r.stack == o.stack);
  CHECK(r.cpus == o.cpus);
  CHECK(r.trace == o.trace);
  CHECK(r.grace == o.grace);
  CHECK(r.stack_census == o.stack_census);
}

TEST_CASE("the ranges of [runtime] are those of the scheduler") {
  using leat::runtime_options;
  same_range<unsigned>("procs", [](runtime_options& o, unsigned v) { o.procs = v; });
  same_range<unsigned>("run_queue", [](runtime_options& o, unsigned v) { o.run_queue = v; });
  same_range<unsigned>("spinning", [](runtime_options& o, unsigned v) { o.spinning = v; });
  same_range<unsigned>("max_threads", [](runtime_options& o, unsigned v) { o.max_threads = v; });
  same_range<unsigned>("max_quarantined", [](runtime_options& o, unsigned v) { o.max_quarantined = v; });
  same_range<std::int64_t>("slice",
                           [](runtime_options& o, std::int64_t v) { o.slice = leat::nanoseconds(v); });
  same_range<std::size_t>("stack", [](runtime_options& o, std::size_t v) { o.stack = v; });
}

TEST_CASE("every key of the grammar is accepted where the table has it") {
  // Each key with its default, or with the least that is allowed.
  for (const char* name : {"service", "process", "channel", "runtime", "supervisor", "control"}) {
    for (const key_info& k : section_of(name).keys) {
      const setting_schema& s = k.type;
      std::string given = to_text(s.default_value ? s.default_value : s.least);
      if (k.shape != key_shape::setting && k.shape != key_shape::word_or) continue;
      if (s.kind == value_kind::table) given = "{}";
      const bool needs_some =
          std::any_of(s.fields.begin(), s.fields.end(), [](const setting_schema& f) { return f.required; });
      if (needs_some) continue;
      if (s.kind == value_kind::list) given = "[]";
      if (given.empty()) continue;
      CAPTURE(name);
      CAPTURE(s.name);
      const std::string section(name);
      const std::string text =
          section == "service"
              ? "leat = 1\n[service]\n" + s.name + " = " + given + "\n" + small_service("s").substr(9 + 21)
          : section == "process" ? small_service("s", s.name + " = " + given + "\n")
          : section == "channel" ? "leat = 1\n[process.w]\nuse = \"ticker-sim\"\nout = { value = \"c\" "
                                   "}\n[process.r]\nuse = \"sink\"\nin = { samples "
                                   "= \"c\" }\n[channel.c]\n" +
                                       s.name + " = " + given + "\n"
                                 : small_service("s", '[' + section + "]\n" + s.name + " = " + given + "\n");
      const checked c = check_this(text);
      CHECK(shown(c).find("error") == std::string::npos);
    }
  }
}

TEST_CASE("the JSON Schema is JSON and has every key") {
  for (const bool with_classes : {false, true}) {
    const std::optional<json> schema = json_reader::read(json_schema(with_classes ? &classes() : nullptr));
    REQUIRE(schema);
    CHECK(schema->at("$schema")->text == "http://json-schema.org/draft-07/schema#");
    for (const key_section& s : all_sections()) {
      const json* properties = s.name.empty()
                                   ? schema->at("properties")
                                   : schema->at("definitions/" + std::string(s.name) + "/properties");
      REQUIRE(properties);
      CHECK(properties->members.size() == s.keys.size());
      for (const key_info& k : s.keys) {
        CAPTURE(s.heading);
        CAPTURE(k.type.name);
        CHECK(properties->find(k.type.name));
      }
    }
    CHECK(schema->at("definitions/process/required")->elements[0].text == "use");
    CHECK(schema->at("definitions/override/properties/process/additionalProperties/required") == nullptr);
    CHECK(schema->at("additionalProperties")->text == "false");
    const json* rules = schema->at("definitions/process/allOf");
    CHECK((rules != nullptr) == with_classes);
    if (rules) CHECK(rules->elements.size() == classes().classes().size());
  }
}

TEST_CASE("a suggestion is near, and the nearest") {
  CHECK(nearest("capasity", {"capacity", "type"}) == "capacity");
  CHECK(nearest("drian", {"drain", "train"}) == "drain");  // neighbours swapped count once
  CHECK(nearest("Drop_Oldest", {"drop-newest", "drop-oldest"}) == "drop-oldest");
  CHECK(nearest("xyz", {"capacity", "type"}) == "");
  CHECK(nearest("ab", {"cd"}) == "");
  CHECK(nearest("", {"a"}) == "");
  CHECK(nearest("a", {"b"}) == "");
  CHECK(edit_distance("kitten", "sitting", 5) == 3);
  CHECK(edit_distance("kitten", "sitting", 2) == 3);  // more than the limit
  CHECK(edit_distance("same", "same", 3) == 0);
}
