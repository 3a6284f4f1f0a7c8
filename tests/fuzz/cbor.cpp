// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as CBOR: what is accepted is written and read back as it was, also by way of JSON.
#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

template <class T>
void read_and_write(std::span<const std::uint8_t> bytes) {
  T v{};
  try {
    v = from_cbor<T>(bytes);
  } catch (const message_error& e) {
    require(e.at() <= bytes.size(), "a fault lies within the data");
    return;
  }
  const std::vector<std::uint8_t> written = to_cbor(v);
  require(to_cbor(from_cbor<T>(written)) == written, "what was read from CBOR is written and read back");
  const std::string json = to_json(v);
  // A record may have texts and names that JSON can not or does not carry: bytes, times, long names.
  if constexpr (!std::is_same_v<T, record> && !std::is_same_v<T, std::vector<record>>)
    require(to_json(from_json<T>(json)) == json, "JSON carries what CBOR says");
}

void run(std::string_view input) {
  with_type(choice(input, type_count), [&]<class T>() { read_and_write<T>(bytes_of(input)); });
}

inputs seeds() {
  inputs all;
  const auto add = [&](unsigned type, const std::vector<std::uint8_t>& bytes) {
    all.push_back(chosen(type, text_of(bytes)));
  };
  for (const test::cbor_case& c : test::accepted_cbor)
    add(static_cast<unsigned>(c.type), test::from_hex(c.hex));
  unsigned next = 0;
  for (const std::string_view hex : test::unwanted_cbor) add(next++ % type_count, test::from_hex(hex));
  for (const std::string_view hex : test::malformed_cbor) add(next++ % type_count, test::from_hex(hex));
  add(type_reading, to_cbor(plant::full_reading()));
  add(type_times, to_cbor(some_times()));
  add(type_records, to_cbor(std::vector<record>{{{"t", moment{}}, {"d", nanoseconds(-5)}, {"n", {}}}, {}}));
  add(type_singles, to_cbor(std::vector<float>{1.5f, -0.0f}));
  add(type_tree, to_cbor(plant::tree{1, {plant::tree{2, {}}}}));
  return all;
}

LEAT_FUZZ_TARGET("cbor", run, seeds);

}  // namespace
}  // namespace leat::fuzz
