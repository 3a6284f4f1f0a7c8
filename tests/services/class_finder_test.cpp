// SPDX-License-Identifier: BSL-1.0
//
// A class that this program does not have: who has it is found without running anybody.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <leat/services/class_finder.hpp>

#include "services/program.hpp"
#include "support/paths.hpp"

using namespace leat::services;
using namespace leat::services::test;

namespace {

namespace fs = std::filesystem;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool names(const std::vector<noted_class>& all, const char* name, const char* library) {
  return std::any_of(all.begin(), all.end(),
                     [&](const noted_class& c) { return c.name == name && c.library == library; });
}

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("a file says which classes it has") {
  CHECK(names(classes_in_file(leat::test::program_path("hello")), "greeter", ""));
  CHECK(names(classes_in_file(leat::test::program_path("hello")), "printer", ""));
  CHECK(names(classes_in_file(leat::test::program_path("leat")), "ticker", "stock"));
  CHECK_FALSE(names(classes_in_file(leat::test::program_path("leat")), "greeter", ""));
  CHECK(classes_in_file("/bin/sh").empty());
  CHECK(classes_in_file("/dev/null").empty());
  CHECK(classes_in_file("/").empty());
  CHECK(classes_in_file("/there/is/no/such/file").empty());
}

TEST_CASE("a file that is broken anywhere in its tables has no classes, or fewer") {
  const scratch_folder folder;
  const std::string whole = bytes_of(leat::test::program_path("hello"));
  REQUIRE(whole.size() > 4096);
  for (const std::size_t left :
       {std::size_t{0}, std::size_t{3}, std::size_t{40}, std::size_t{63}, whole.size() / 2, whole.size() - 1})
    (void)classes_in_file(folder.file("cut", whole.substr(0, left)));
  const std::string path = folder.file("wrong", whole);
  std::fstream in_place(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto put = [&](std::size_t at, char with) {
    in_place.seekp(static_cast<std::streamoff>(at));
    in_place.put(with);
    in_place.flush();
  };
  for (std::size_t at = 4; at < 64; ++at) {
    for (const char with : {'\0', '\x7f', '\xff'}) {
      put(at, with);
      (void)classes_in_file(path);
    }
    put(at, whole[at]);
  }
  CHECK(classes_in_file(path).size() == classes_in_file(leat::test::program_path("hello")).size());
  CHECK(classes_in_file(folder.file("text", "#!/bin/sh\n")).empty());
}

TEST_CASE("the hint says what to do: another program, the ready-made ones, a plug-in") {
  const scratch_folder folder;
  const std::string at = fs::path(folder.file("note.txt", "greeter")).parent_path().string();
  fs::copy_file(leat::test::program_path("hello"), at + "/salute");
  fs::copy_file(leat::test::program_path("hello"), at + "/not-to-be-run");
  fs::permissions(at + "/not-to-be-run", fs::perms::owner_read);
  class_finder here({"/there/is/no/such/folder", at});
  CHECK(here.hint("greeter") == "it is in another program, '" + at + "/salute': use that for this file");
  CHECK(here.hint("ticker").empty());
  CHECK(here.hint("").empty());

  fs::copy_file(leat::test::program_path("leat"), at + "/leat");
  CHECK(class_finder({at}).hint("ticker") ==
        "it is ready-made: a program has it that says leat::stock::use() in main(), as '" + at +
            "/leat' does");
  fs::copy_file(leat::test::program_path("hello"), at + "/libsalute.so");
  CHECK(class_finder({at}).hint("greeter") == "it is in a plug-in: plugins = [\"" + at + "/libsalute.so\"]");
}

TEST_CASE("check and describe tell it") {
  const scratch_folder folder;
  const std::string file =
      folder.file("a.toml", "leat = 1\n[process.a]\nuse = \"greeter\"\n[process.b]\nuse = \"tickr\"\n");
  const std::string at = fs::path(leat::test::program_path("hello")).parent_path().string();
  program check({leat::test::program_path("leat"), "check", file}, {"PATH=" + at});
  CHECK(check.end() == 78);
  CHECK(has(check.said, "a.toml:3:7: error: unknown process class 'greeter'; it is in another program, '"));
  CHECK(has(check.said, "unknown process class 'tickr'; did you mean 'ticker'?"));
  program describe({leat::test::program_path("leat"), "describe", "greeter"}, {"PATH=" + at});
  CHECK(describe.end() == 2);
  CHECK(has(describe.said, "there is no process class 'greeter'; it is in another program, '"));
}
