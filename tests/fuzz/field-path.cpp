// SPDX-License-Identifier: BSL-1.0
//
// Any text as a path into a record: it is refused with a place in it, or its text is read as the same path; what is
// made at a path is found there, and is gone when it is removed.
#include <leat/process/field_path.hpp>

#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

#include <algorithm>

namespace leat::fuzz {
namespace {

void run(std::string_view input) {
  const std::size_t end = std::min(input.find('\n'), input.size());
  field_path path;
  try {
    path = field_path::parse(input.substr(0, end));
  } catch (const message_error& e) {
    require(e.at() <= end, "a fault is within the text");
    require(field_path::named(input.substr(0, end)).steps().size() <= 1, "what is no path is a name");
    return;
  }
  require(field_path::parse(field_path_text(path.steps())) == path, "a path is written as it is read");
  record r;
  try {
    r = from_json<record>(input.substr(end));
  } catch (const message_error&) {
  }
  record changed = r;
  path.put(changed, 12345);
  const field_value* const after = path.find(changed);
  require(after && *after == field_value(12345), "what is put at a path is found there");
  require(path.erase(changed), "what is at a path can be removed");
}

inputs seeds() {
  inputs all;
  for (const char* const path : {"a", "a.b", "a[0]", "a[2].b", "[\"x.y\"].z", "a[\"q\\\"\"]", "a..b", "a[",
                                 "a[x]", "[0]", "a[70000]", "a.b[0][1].c"})
    for (const char* const json : {"{}", R"({"a":{"b":1}})", R"({"a":[1,[2],{"b":3}]})", R"({"a.b":1,"a":5})",
                                   R"({"x.y":{"z":null}})"})
      all.push_back(std::string(path) + '\n' + json);
  return all;
}

LEAT_FUZZ_TARGET("field-path", run, seeds);

}  // namespace
}  // namespace leat::fuzz
