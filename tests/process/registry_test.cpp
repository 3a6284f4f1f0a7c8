// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <leat/base/mutex.hpp>
#include <leat/base/schema.hpp>
#include <leat/leat.hpp>

#include "support/child.hpp"

namespace app {

struct reading {
  double value = 0;
  std::vector<std::string> notes;
};
LEAT_MESSAGE(reading, value, notes);
struct question {};
LEAT_MESSAGE(question);
struct answer {
  std::optional<int> n;
};
LEAT_MESSAGE(answer, n);

std::atomic<int> constructed{0};
std::atomic<int> locks_then{0};

class node : public leat::process {
 public:
  node() {
    if (++constructed == 1) locks_then = leat::detail::mutexes_held();
  }
  leat::in<reading> from{this, "from", "readings"};
  leat::out<double> to{this, "to", leat::optional_port};
  leat::in<int> alone{this, "alone", leat::exclusive_port};
  leat::inbox<reading, ask<question, answer>> inbox{this, "inbox"};
  leat::client<question, answer> other{this, "other", "whom it asks", leat::optional_port};
  leat::setting<int> size{this, "size", 3};
  leat::errors told{this, {{"nothing comes", "it waits"}, {"too much comes", "it fails"}}};
  void run() override {}
};

std::atomic<std::size_t> seen_inside{99};

class waits : public leat::process {
 public:
  waits() {
    (void)leat::sleep_for(std::chrono::milliseconds(20));
    seen_inside = leat::program_catalog().classes().size();
  }
  void run() override {}
};

class other_node : public leat::process {
  void run() override {}
};

class throws : public leat::process {
 public:
  throws() { throw std::runtime_error("no such device"); }
  void run() override {}
};

class careless : public leat::process {
  leat::in<int> a{this, "a"};
  leat::out<int> b{this, "a"};
  leat::setting<int> n{this, "n", 0, "", leat::at_least(1)};
  leat::setting<int> m{this, "n"};
  void run() override {}
};

namespace inner {
struct reading {
  int n = 0;
};
LEAT_MESSAGE(reading, n);
}  // namespace inner

}  // namespace app

LEAT_PROCESS(app::node, "has all sorts of ports");
LEAT_PROCESS_AS("node", app::other_node, "has the name of another");
LEAT_PROCESS(app::throws, "");
LEAT_PROCESS(app::careless, "");
LEAT_PROCESS(app::waits, "");

TEST_CASE("a class is found by its name, and tells its ports") {
  const leat::class_schema* const c = leat::program_catalog().find_class("node");
  REQUIRE(c);
  CHECK(c->help == "has all sorts of ports");
  CHECK(c->object_size == sizeof(app::node));
  REQUIRE(c->ports.size() == 6);
  const auto& p = c->ports;
  CHECK(p[0].name == "from");
  CHECK(p[0].direction == leat::port_direction::in);
  CHECK(p[0].message == "reading");
  CHECK(p[0].help == "readings");
  CHECK_FALSE(p[0].optional);
  CHECK(p[0].shareable);
  CHECK(p[0].value_size == sizeof(app::reading));
  CHECK(p[1].direction == leat::port_direction::out);
  CHECK(p[1].message == "double");
  CHECK(p[1].optional);
  CHECK_FALSE(p[2].shareable);
  CHECK(p[3].name == "inbox.reading");
  CHECK(p[3].inbox == "inbox");
  CHECK(p[3].reply.empty());
  CHECK(p[4].name == "inbox.question");
  CHECK(p[4].message == "question");
  CHECK(p[4].reply == "answer");
  CHECK(p[5].name == "other");
  CHECK(p[5].direction == leat::port_direction::out);
  CHECK(p[5].message == "question");
  CHECK(p[5].reply == "answer");
  CHECK(p[5].optional);
  CHECK(p[5].inbox.empty());
  CHECK(leat::find_process_class("node")->schema().settings.size() == 1);
}

TEST_CASE("a class tells what may go wrong") {
  const std::vector<leat::error_schema>& told = leat::find_process_class("node")->schema().errors;
  REQUIRE(told.size() == 2);
  CHECK(told[0].what == "nothing comes");
  CHECK(told[1].answer == "it fails");
  CHECK(leat::find_process_class("careless")->schema().errors.empty());
}

TEST_CASE("one object is made to describe a class, however often it is asked") {
  (void)leat::program_catalog().find_class("node");
  (void)leat::program_catalog().classes();
  (void)leat::find_process_class("node")->find_port_type("from");
  CHECK(app::constructed == 1);
}

TEST_CASE("what is not there is not found") {
  CHECK(leat::program_catalog().find_class("nodes") == nullptr);
  CHECK(leat::program_catalog().find_message("writing") == nullptr);
  CHECK(leat::find_process_class("") == nullptr);
}

TEST_CASE("messages tell their fields, and plain types that travel are listed") {
  const leat::message_schema* const m = leat::program_catalog().find_message("answer");
  REQUIRE(m);
  CHECK(m->size == sizeof(app::answer));
  REQUIRE(m->fields.size() == 1);
  CHECK(m->fields[0].name == "n");
  CHECK(m->fields[0].type == "optional int32");
  const leat::message_schema* const plain = leat::program_catalog().find_message("double");
  REQUIRE(plain);
  CHECK(plain->fields.empty());
}

TEST_CASE("lists are sorted by name") {
  std::vector<std::string> names;
  for (const auto* c : leat::program_catalog().classes()) names.push_back(c->name);
  CHECK(names == std::vector<std::string>{"careless", "node", "throws", "waits"});
  const auto all = leat::program_catalog().messages();
  CHECK(
      std::is_sorted(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->name < b->name; }));
}

TEST_CASE("faults of the classes themselves are told, and end nothing") {
  std::vector<std::string> expected{
      "two messages are called 'reading': name one of them with LEAT_MESSAGE_AS",
      "two process classes are called 'node': name one of them with LEAT_PROCESS_AS",
      "process class 'throws' cannot be constructed: no such device; one object is made just to see its "
      "ports and settings: "
      "open files, devices and sockets in run()",
      "process class 'careless': setting 'n': its default 0 is below 1",
      "process class 'careless' has two ports called 'a'",
      "process class 'careless' has two settings called 'n'",
  };
  std::vector<std::string> told = leat::catalog_problems();
  std::sort(told.begin(), told.end());
  std::sort(expected.begin(), expected.end());
  CHECK(told == expected);
}

TEST_CASE("a constructor may wait while its class is described, and ask for the classes itself") {
  REQUIRE(leat::program_catalog().find_class("node"));
  CHECK(app::locks_then == 0);
  CHECK(leat::detail::mutexes_held() == 0);
  REQUIRE(leat::program_catalog().find_class("waits"));
  CHECK(app::seen_inside == 0);
}

// In a program of its own, which describes its classes in Gs that come at the same time.
LEAT_CHILD(described_by_many) {
  const int status = leat::run([] {
    leat::task_group all;
    std::atomic<int> found{0};
    for (int i = 0; i < 8; ++i) all.go([&] { found += leat::program_catalog().classes().size() == 4; });
    all.wait();
    return found == 8 && leat::detail::mutexes_held() == 0 ? 0 : 1;
  });
  std::exit(status);
}

TEST_CASE("those who come meanwhile see all classes, too") {
  const auto done = leat::test::run_self("described_by_many");
  INFO(done.output);
  CHECK(done.exited(0));
}
