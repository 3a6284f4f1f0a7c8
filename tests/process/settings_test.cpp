// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/leat.hpp>

using namespace std::chrono_literals;
using leat::value;

namespace {

enum class missed { skip, burst };
LEAT_ENUM(missed, skip, burst);

struct tls {
  std::string certificate;
  int depth = 3;
  std::optional<bool> verify;
};
LEAT_SETTINGS(tls, certificate, depth, verify);

struct gains {
  double p = 1.5;
  std::optional<tls> secure = tls{.certificate = "own", .depth = 9, .verify = {}};
  missed late = missed::burst;
};
LEAT_SETTINGS(gains, p, secure, late);

class structures : public leat::process {
 public:
  leat::setting<gains> given{this, "given", {.p = 2.5}};
  leat::setting<gains> braces{this, "braces", {}, "a default of nothing is that of the type"};
  leat::setting<gains> needed{this, "needed", leat::required};
  leat::setting<std::vector<gains>> many{this, "many"};
  leat::setting<std::optional<gains>> perhaps{this, "perhaps"};
  void run() override {}
};
LEAT_PROCESS(structures, "has structures wherever one may be");

class endless : public leat::process {
 public:
  leat::setting<std::uint64_t> most{this, "most", ~std::uint64_t{0}};
  leat::setting<std::chrono::hours> longest{this, "longest", std::chrono::hours::max()};
  void run() override {}
};
LEAT_PROCESS(endless, "has defaults that no file can say");

// A text where the default stands may be meant as help: what could be either does not compile.
template <class T, class... Rest>
inline constexpr bool takes = std::is_constructible_v<leat::setting<T>, leat::process*, const char*, Rest...>;
using text = const char (&)[5];
static_assert(!takes<bool, text>);
static_assert(!takes<bool, text, text>);
static_assert(!takes<std::optional<bool>, text>);
static_assert(!takes<std::string, text>);
static_assert(!takes<std::optional<std::string>, text>);
static_assert(!takes<int, text>);
static_assert(takes<std::string, text, text>);
static_assert(takes<std::string, std::string>);
static_assert(takes<std::optional<std::string>, text, text, leat::limits>);
static_assert(takes<std::string, leat::required_t, text>);
static_assert(takes<bool, bool>);

class everything : public leat::process {
 public:
  leat::setting<int> window{this, "window", 8, "samples averaged", leat::between(1, 1024)};
  leat::setting<std::uint8_t> byte{this, "byte", std::uint8_t{1}};
  leat::setting<double> scale{this, "scale", 1.0, "", leat::between(0, 2)};
  leat::setting<bool> loud{this, "loud", false};
  leat::setting<std::string> listen{this, "listen", leat::required, "host:port"};
  leat::setting<std::chrono::milliseconds> period{this, "period", 250ms, "", leat::at_least(1ms)};
  leat::setting<leat::byte_size> buffer{this, "buffer", leat::byte_size{4096}, "",
                                        leat::at_most(leat::byte_size{65536})};
  leat::setting<std::vector<int>> ports{this, "ports", {80, 443}, "", leat::between(1, 65535)};
  leat::setting<missed> late{this, "late", missed::burst};
  leat::setting<tls> secure{this, "tls"};
  leat::setting<std::optional<double>> maybe{this, "maybe"};
  void run() override {}
};
LEAT_PROCESS(everything, "has one of each");

class simple : public leat::process {
 public:
  leat::setting<int> window{this, "window", 8, "", leat::between(1, 1024)};
  leat::setting<tls> secure{this, "tls"};
  int seen_in_constructor = window;
  void run() override {}
};

value::table table(std::initializer_list<leat::value_member> members) { return members; }
leat::value_member entry(const char* key, value v) { return {key, {}, std::move(v)}; }

template <class P>
std::string refusal(value::table settings) {
  try {
    (void)leat::make<P>({.name = "svc/p", .settings = value(std::move(settings))});
  } catch (const leat::setting_error& e) {
    return e.what();
  }
  return "was made";
}

}  // namespace

TEST_CASE("settings that are not given have their defaults") {
  const auto p = leat::make<everything>({.settings = value(table({entry("listen", value("here:1"))}))});
  CHECK(p->window == 8);
  CHECK(*p->listen == "here:1");
  CHECK(p->period.get() == 250ms);
  CHECK(p->buffer->bytes == 4096);
  CHECK(p->ports->size() == 2);
  CHECK(p->late == missed::burst);
  CHECK(p->secure->depth == 3);
  CHECK_FALSE(p->maybe->has_value());
}

TEST_CASE("settings are read from a table of values, checked or as they were written") {
  for (const bool checked : {true, false}) {
    CAPTURE(checked);
    const auto p = leat::make<everything>(
        {.settings = value(table({
             entry("window", value(1024)),
             entry("byte", value(255)),
             entry("scale", value(2)),
             entry("loud", value(true)),
             entry("listen", value("x")),
             entry("period", checked ? value(1s) : value("1s")),
             entry("buffer", checked ? value(leat::byte_size{65536}) : value("64K")),
             entry("ports", value(value::list{value(1), value(65535)})),
             entry("late", value("skip")),
             entry("tls", value(table({entry("certificate", value("c")), entry("verify", value(false))}))),
             entry("maybe", value(0.5)),
         }))});
    CHECK(p->window == 1024);
    CHECK(p->byte == 255);
    CHECK(p->scale == 2.0);
    CHECK(p->loud);
    CHECK(*p->period == 1s);
    CHECK(p->buffer->bytes == 65536);
    CHECK(*p->ports == std::vector<int>{1, 65535});
    CHECK(p->late == missed::skip);
    CHECK(p->secure->certificate == "c");
    CHECK(p->secure->depth == 3);
    CHECK(p->secure->verify == false);
    CHECK(*p->maybe == 0.5);
  }
}

TEST_CASE("what a structure's table leaves out has its member initialiser, wherever the structure is") {
  const leat::class_schema* const c = leat::program_catalog().find_class("structures");
  REQUIRE(c);
  const value one_late = value(table({entry("late", value("skip"))}));
  const value secure = value(table({entry("secure", value(table({entry("depth", value(1))})))}));
  const auto p = leat::make<structures>(
      {.settings =
           value(table({entry("given", one_late), entry("braces", one_late), entry("needed", one_late),
                        entry("many", value(value::list{one_late, secure})), entry("perhaps", secure)}))});
  CHECK(p->given->p == 2.5);
  CHECK(p->braces->p == 1.5);
  CHECK(p->needed->p == 1.5);
  CHECK(p->needed->secure->depth == 9);
  REQUIRE(p->many->size() == 2);
  CHECK(p->many->at(0).p == 1.5);
  CHECK(p->many->at(0).late == missed::skip);
  for (const gains& g : {p->many->at(1), **p->perhaps}) {
    CHECK(g.p == 1.5);
    CHECK(g.late == missed::burst);
    CHECK(g.secure->certificate == "own");
    CHECK(g.secure->depth == 1);
  }
  // The check of a file fills in the same.
  for (const char* const name : {"many", "perhaps"}) {
    CAPTURE(name);
    const leat::setting_schema* s = leat::find_setting(c->settings, name);
    REQUIRE(s);
    if (s->kind == leat::value_kind::list) s = &s->element.front();
    REQUIRE(s->fields.size() == 3);
    CHECK(s->fields[0].default_value == value(1.5));
    CHECK(s->fields[1].fields[1].default_value == value(9));
    CHECK(s->fields[2].default_value == value("burst"));
  }
}

TEST_CASE("a default that no file can say stays as it is") {
  const leat::class_schema* const c = leat::program_catalog().find_class("endless");
  REQUIRE(c);
  value::table all;  // as the check of a file makes it
  for (const leat::setting_schema& s : c->settings)
    if (s.default_value) all.push_back(entry(s.name.c_str(), s.default_value));
  const auto p = leat::make<endless>({.settings = value(std::move(all))});
  CHECK(p->most == ~std::uint64_t{0});
  CHECK(*p->longest == std::chrono::hours::max());
}

TEST_CASE("a setting has its value when the constructor of its class runs") {
  const auto p = leat::make<simple>({.settings = value(table({entry("window", value(5))}))});
  CHECK(p->seen_in_constructor == 5);
}

TEST_CASE("all wrong settings are told at once") {
  CHECK(refusal<everything>(
            table({entry("window", value(0)), entry("scale", value(3)), entry("period", value("soon")),
                   entry("late", value("never")), entry("windwo", value(1))})) ==
        "'svc/p': setting 'window': 0 is below 1\n"
        "'svc/p': setting 'scale': 3.0 is above 2.0\n"
        "'svc/p': setting 'listen': is required\n"
        "'svc/p': setting 'period': expected a duration like \"250ms\", got \"soon\"\n"
        "'svc/p': setting 'late': expected one of \"skip\", \"burst\", got \"never\"\n"
        "'svc/p' has no setting 'windwo'");
}

TEST_CASE("each kind of wrong value has its words") {
  CHECK(refusal<simple>(table({entry("window", value("8"))})) ==
        "'svc/p': setting 'window': expected an integer, got \"8\"");
  CHECK(refusal<simple>(table({entry("window", value(std::int64_t{1} << 40))})) ==
        "'svc/p': setting 'window': 1099511627776 is not in the range -2147483648 to 2147483647");
  CHECK(refusal<simple>(table({entry("tls", value(1))})) ==
        "'svc/p': setting 'tls': expected a table, got 1");
  CHECK(refusal<simple>(table({entry("tls", value(table({entry("dept", value(1))})))})) ==
        "'svc/p': setting 'tls': unknown key 'dept'");
  CHECK(refusal<simple>(table({entry("tls", value(table({entry("depth", value(true))})))})) ==
        "'svc/p': setting 'tls': depth: expected an integer, got true");
  CHECK(refusal<everything>(
            table({entry("listen", value("x")), entry("ports", value(value::list{value(1), value(0)}))})) ==
        "'svc/p': setting 'ports': 0 is below 1");
  CHECK(refusal<everything>(table({entry("listen", value("x")), entry("scale", value(std::nan("")))})) ==
        "'svc/p': setting 'scale': nan is below 0.0");
  CHECK(refusal<everything>(table({entry("listen", value("x")), entry("period", value("1500us"))})) ==
        "'svc/p': setting 'period': \"1500us\" is not a whole number of milliseconds");
}

TEST_CASE("in plain code a process has its defaults, and one with a required setting cannot be made") {
  const simple s;
  CHECK(s.window == 8);
  CHECK_THROWS_WITH_AS(everything{}, "a process: setting 'listen': is required", leat::setting_error);
}

TEST_CASE("a class tells what its settings are") {
  const leat::class_schema* const c = leat::program_catalog().find_class("everything");
  REQUIRE(c);
  using leat::describe_type;
  const auto find = [&](const char* name) -> const leat::setting_schema& {
    const leat::setting_schema* const s = leat::find_setting(c->settings, name);
    REQUIRE(s);
    return *s;
  };
  CHECK(c->settings.size() == 11);
  CHECK(describe_type(find("window")) == "integer 1 to 1024");
  CHECK(find("window").default_value == value(8));
  CHECK(find("window").help == "samples averaged");
  CHECK(describe_type(find("byte")) == "integer 0 to 255");
  CHECK(describe_type(find("scale")) == "real 0.0 to 2.0");
  CHECK(find("listen").required);
  CHECK_FALSE(find("listen").default_value);
  CHECK(describe_type(find("period")) == "duration of at least \"1ms\"");
  CHECK(find("period").default_value == value(250ms));
  CHECK(describe_type(find("buffer")) == "size of at most \"64K\"");
  CHECK(describe_type(find("ports")) == "list of integer 1 to 65535");
  CHECK(leat::to_text(find("ports").default_value) == "[80, 443]");
  CHECK(describe_type(find("late")) == "one of \"skip\" \"burst\"");
  CHECK(find("late").default_value == value("burst"));
  CHECK(describe_type(find("tls")) == "{ certificate, depth, verify }");
  CHECK(find("tls").fields[1].default_value == value(3));
  CHECK(find("maybe").kind == leat::value_kind::real);
  CHECK_FALSE(find("maybe").required);
  CHECK_FALSE(find("maybe").default_value);
}
