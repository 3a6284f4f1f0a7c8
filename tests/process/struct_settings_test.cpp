// SPDX-License-Identifier: BSL-1.0
//
// Structures of settings whose fields have options: required, help and limits.
#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/leat.hpp>

using namespace std::chrono_literals;
using leat::value;

namespace {

std::string no_space(const std::string& text) {
  return text.find(' ') == std::string::npos ? "" : "has a space in it";
}

struct retry_rule {
  std::chrono::milliseconds pause = 250ms;
  int attempts = 3;
};
LEAT_SETTINGS(retry_rule, (pause, leat::between(1ms, 10s)), (attempts, leat::between(1, 9)));

struct account {
  std::string user;
  std::string realm = "home";
  std::vector<int> groups = {100};
  std::optional<double> quota;
  retry_rule again = {.pause = 1s, .attempts = 5};
};
LEAT_SETTINGS(account, (user, leat::help{"who logs in"}, leat::required, leat::validated_by(no_space)), realm,
              (groups, leat::at_least(1)), (quota, leat::between(0, 1)),
              (again, leat::help{"after a failure"}));

struct plain_rule {
  int depth = 7;
};
LEAT_SETTINGS(plain_rule, depth);

class logs_in : public leat::process {
 public:
  leat::setting<account> one{this, "one", leat::help{"the account"}};
  leat::setting<std::optional<account>> second{this, "second"};
  leat::setting<std::vector<account>> more{this, "more"};
  leat::setting<retry_rule> again{this, "again", {.pause = 2s}};
  leat::setting<plain_rule, leat::live> rule{this, "rule", leat::help{"a live one"}};
  void run() override {}
};
LEAT_PROCESS_AS("logs-in", logs_in, "has structures with options");

struct credentials {
  std::string user = "me";
  std::string password;
};
LEAT_SETTINGS(credentials, user, (password, leat::secret(leat::validated_by(no_space))));

class keeps_secrets : public leat::process {
 public:
  leat::setting<credentials> one{this, "one", leat::help{"the account"}};
  leat::setting<std::vector<credentials>> more{this, "more"};
  leat::setting<std::vector<std::string>> tokens{this, "tokens", {}, "", leat::secret()};
  leat::setting<int, leat::live> pin{this, "pin", 1234, "", leat::secret(leat::between(0, 9999))};
  void run() override {}
};
LEAT_PROCESS_AS("keeps-secrets", keeps_secrets, "has settings that nobody is shown");

class nothing_given : public leat::process {
 public:
  leat::setting<retry_rule> again{this, "again"};
  leat::setting<std::optional<account>> perhaps{this, "perhaps"};
  leat::setting<std::vector<account>> more{this, "more"};
  void run() override {}
};

class wrong_default : public leat::process {
 public:
  leat::setting<retry_rule> again{this, "again", {.attempts = 10}};
  void run() override {}
};
class wrong_limit : public leat::process {
 public:
  leat::setting<std::chrono::seconds> pause{this, "pause", 5s, "", leat::at_least(1)};
  void run() override {}
};
LEAT_PROCESS_AS("wrong-limit", wrong_limit, "has a limit of another kind");
LEAT_PROCESS_AS("wrong-default", wrong_default, "has a default out of range");

value table(std::initializer_list<leat::value_member> members) { return value(value::table(members)); }
leat::value_member entry(const char* key, value v) { return {key, {}, std::move(v)}; }
value user(const char* name) { return table({entry("user", value(name))}); }

template <class P>
std::string refusal(value settings) {
  try {
    (void)leat::make<P>({.name = "p", .settings = std::move(settings)});
  } catch (const leat::setting_error& e) {
    return e.what();
  }
  return "was made";
}
std::string refusal_of_one(value one) { return refusal<logs_in>(table({entry("one", std::move(one))})); }

const leat::setting_schema& find(const std::vector<leat::setting_schema>& among, const char* name) {
  const leat::setting_schema* const s = leat::find_setting(among, name);
  REQUIRE(s);
  return *s;
}

}  // namespace

TEST_CASE("a field that is left out has its member initialiser, wherever the structure is") {
  const auto p = leat::make<logs_in>({.settings = table({
                                          entry("one", user("a")),
                                          entry("second", user("b")),
                                          entry("more", value(value::list{user("c"), user("d")})),
                                          entry("again", table({entry("attempts", value(1))})),
                                      })});
  for (const account& a : {*p->one, **p->second, p->more->at(0), p->more->at(1)}) {
    CHECK(a.realm == "home");
    CHECK(a.groups == std::vector<int>{100});
    CHECK_FALSE(a.quota);
    CHECK(a.again.pause == 1s);
    CHECK(a.again.attempts == 5);
  }
  CHECK(p->one->user == "a");
  CHECK(p->more->at(1).user == "d");
  CHECK(p->again->pause == 2s);
  CHECK(p->again->attempts == 1);
  CHECK(p->rule.get().depth == 7);
}

TEST_CASE("a required field must be given with its structure, and the structure unless it is optional") {
  CHECK(refusal_of_one(table({})) == "'p': setting 'one': user: is required");
  CHECK(refusal<logs_in>(table({})) == "'p': setting 'one': is required: its field 'user' has no default");
  CHECK(refusal<logs_in>(table({entry("one", user("a")), entry("second", table({}))})) ==
        "'p': setting 'second': user: is required");
  CHECK(refusal<logs_in>(
            table({entry("one", user("a")), entry("more", value(value::list{user("b"), table({})}))})) ==
        "'p': setting 'more': [1]: user: is required");
  CHECK(refusal<nothing_given>(table({})) == "was made");
  CHECK_THROWS_WITH_AS(logs_in{}, "a process: setting 'one': is required: its field 'user' has no default",
                       leat::setting_error);
}

TEST_CASE("limits and validators of fields are kept, at any depth") {
  const auto with = [](const char* field, value v) {
    return refusal_of_one(table({entry("user", value("a")), entry(field, std::move(v))}));
  };
  CHECK(refusal_of_one(user("a b")) == "'p': setting 'one': user: has a space in it");
  CHECK(with("groups", value(value::list{value(1), value(0)})) == "'p': setting 'one': groups: 0 is below 1");
  CHECK(with("quota", value(2)) == "'p': setting 'one': quota: 2.0 is above 1.0");
  CHECK(with("quota", value(1)) == "was made");
  CHECK(with("again", table({entry("attempts", value(10))})) ==
        "'p': setting 'one': again: attempts: 10 is above 9");
  CHECK(with("again", table({entry("pause", value("1m"))})) ==
        "'p': setting 'one': again: pause: \"1m\" is above \"10s\"");
}

TEST_CASE("a default out of range, and a limit of another kind, are told of the class") {
  std::string all;
  for (const std::string& problem : leat::catalog_problems()) all += problem + '\n';
  CHECK(all.find("class 'wrong-default': setting 'again': its default attempts: 10 is above 9\n") !=
        std::string::npos);
  CHECK(
      all.find(
          "class 'wrong-limit': setting 'pause': its default \"5s\" cannot be compared with its limit 1\n") !=
      std::string::npos);
  CHECK(all.find("logs-in") == std::string::npos);
}

TEST_CASE("a class tells the fields of its structures: types, defaults, limits, help") {
  const leat::class_schema* const c = leat::program_catalog().find_class("logs-in");
  REQUIRE(c);
  const leat::setting_schema& one = find(c->settings, "one");
  CHECK(one.help == "the account");
  CHECK(one.required);
  CHECK_FALSE(find(c->settings, "second").required);
  CHECK_FALSE(find(c->settings, "more").required);
  CHECK_FALSE(find(c->settings, "again").required);
  for (const auto* fields : {&one.fields, &find(c->settings, "second").fields,
                             &find(c->settings, "more").element.front().fields}) {
    const leat::setting_schema& user = find(*fields, "user");
    CHECK(user.required);
    CHECK_FALSE(user.default_value);
    CHECK(user.help == "who logs in");
    CHECK((user.validate_text == &no_space));
    CHECK_FALSE(find(*fields, "realm").required);
    CHECK(find(*fields, "realm").default_value == value("home"));
    CHECK(leat::describe_type(find(*fields, "groups")) == "list of integer 1 to 2147483647");
    CHECK(leat::describe_type(find(*fields, "quota")) == "real 0.0 to 1.0");
    CHECK(find(*fields, "again").help == "after a failure");
    const leat::setting_schema& pause = find(find(*fields, "again").fields, "pause");
    CHECK(leat::describe_type(pause) == "duration \"1ms\" to \"10s\"");
    CHECK(pause.default_value == value(1s));
  }
  CHECK(find(find(c->settings, "again").fields, "pause").default_value == value(2s));
  CHECK(find(c->settings, "rule").live);
}

TEST_CASE("of a secret nobody is shown more than that there is one, at any depth") {
  const leat::class_schema* const c = leat::program_catalog().find_class("keeps-secrets");
  REQUIRE(c);
  const value login(value::table{{"user", {}, value("you")}, {"password", {}, value("open-sesame")}});
  const auto shown = [&](const char* name, const value& v) {
    return leat::to_text(leat::shown_value(find(c->settings, name), v));
  };
  const std::string hidden = "{ user = \"you\", password = \"(hidden)\" }";
  CHECK(shown("one", login) == hidden);
  CHECK(shown("more", value(value::list{login, login})) == '[' + hidden + ", " + hidden + ']');
  CHECK(shown("tokens", value(value::list{value("open-sesame")})) == "\"(hidden)\"");
  CHECK(shown("pin", value(4321)) == "\"(hidden)\"");
  // What is empty is none.
  CHECK(shown("tokens", value(value::list{})) == "[]");
  CHECK(shown("one", value(value::table{{"password", {}, value("")}})) == R"({ password = "" })");
  // Limits and validators count as ever.
  CHECK(find(c->settings, "pin").most == value(9999));
  CHECK((find(find(c->settings, "one").fields, "password").validate_text == &no_space));
}
