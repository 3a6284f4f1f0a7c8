// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as the file of a state, and any bytes as the value in it: a file that is believed is written back as it
// was; a value that is taken over is whole, and is taken over by itself without a word.
#include <leat/process/state_file.hpp>
#include <leat/process/state_migrate.hpp>

#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

template <class T>
void take_over(std::span<const std::uint8_t> cbor) {
  T v{}, trial{};
  std::vector<std::string> told;
  migrate_state(shape_of<T>(), &v, &trial, cbor, told);
  const std::vector<std::uint8_t> written = to_cbor(v);
  T again{}, other{};
  std::vector<std::string> more;
  migrate_state(shape_of<T>(), &again, &other, written, more);
  require(more.empty(), "what was taken over is taken over by itself");
  require(to_cbor(again) == written, "and stays as it is");
}

void run_state(std::string_view input) {
  const unsigned which = choice(input, type_count + 1);
  if (which < type_count) return with_type(which, [&]<class T>() { take_over<T>(bytes_of(input)); });
  try {
    const state_content c = unpack_state(bytes_of(input));
    require(text_of(pack_state(c)) == input, "a file that is believed is written back as it was");
  } catch (const state_file_error&) {
  }
}

inputs state_seeds() {
  inputs all;
  unsigned next = 0;
  for (const test::cbor_case& c : test::accepted_cbor)
    all.push_back(chosen(static_cast<unsigned>(c.type), text_of(test::from_hex(c.hex))));
  for (const std::string_view hex : test::malformed_cbor)
    all.push_back(chosen(next++ % type_count, text_of(test::from_hex(hex))));
  all.push_back(chosen(type_reading, text_of(to_cbor(plant::full_reading()))));
  all.push_back(chosen(type_tree, text_of(to_cbor(plant::tree{1, {plant::tree{2, {}}}}))));
  const state_content c{"s/p/0/x", "reading", to_cbor(plant::full_reading())};
  all.push_back(chosen(type_count, text_of(pack_state(c))));
  all.push_back(chosen(type_count, text_of(pack_state({}))));
  return all;
}

LEAT_FUZZ_TARGET("state", run_state, state_seeds);

}  // namespace
}  // namespace leat::fuzz
