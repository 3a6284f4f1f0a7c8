// SPDX-License-Identifier: BSL-1.0
//
// Any text read as JSON: what is accepted is written and read back as it was, and CBOR carries the same.
#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

template <class T>
void read_and_write(std::string_view text) {
  T v{};
  try {
    v = from_json<T>(text);
  } catch (const message_error& e) {
    require(e.at() <= text.size(), "a fault lies within the text");
    return;
  }
  const std::string written = to_json(v);
  require(to_json(from_json<T>(written)) == written, "what was read from JSON is written and read back");
  require(to_json(from_cbor<T>(to_cbor(v))) == written, "CBOR carries what JSON says");
}

void run(std::string_view input) {
  with_type(choice(input, type_count), [&]<class T>() { read_and_write<T>(input); });
}

inputs seeds() {
  inputs all;
  for (const test::json_case& c : test::accepted_json)
    all.push_back(chosen(static_cast<unsigned>(c.type), c.text));
  unsigned next = 0;
  for (const std::string_view text : test::refused_json) all.push_back(chosen(next++ % type_count, text));
  all.push_back(chosen(type_reading, to_json(plant::full_reading())));
  all.push_back(chosen(type_times, to_json(some_times())));
  all.push_back(chosen(type_tree, R"({"leaf":1,"branches":[{"leaf":2,"branches":[]}]})"));
  all.push_back(chosen(type_records, R"([{"a":{"b":1,"c":{"d":2.5}},"e":null},{}])"));
  all.push_back(chosen(type_singles, R"([3.4028235e+38,"NaN","-Infinity",1e-45])"));
  return all;
}

LEAT_FUZZ_TARGET("json", run, seeds);

}  // namespace
}  // namespace leat::fuzz
