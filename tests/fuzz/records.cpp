// SPDX-License-Identifier: BSL-1.0
//
// Between records and messages: a record that fits a message comes back as it went in, a message survives
// being a record, and renaming fields never makes two of one name.
#include <cstdint>

#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

// Unsigned numbers that only a real tells, and so not exactly. They are refused on the way back.
bool is_told_roughly(const plant::reading& v) { return v.u64 > static_cast<std::uint64_t>(INT64_MAX); }
bool is_told_roughly(const times_and_sizes& v) {
  return v.size.bytes > static_cast<std::uint64_t>(INT64_MAX);
}
bool is_told_roughly(const plant::tree&) { return false; }
bool is_told_roughly(const test::outer&) { return false; }

template <class T>
void there_and_back(const T& v) {
  const record r = to_record(v);
  for (const record::field& f : r)
    require(r.find(f.name) == &f.value, "each field of a record has a name of its own");
  try {
    require(to_json(from_record<T>(r)) == to_json(v), "a message survives being a record");
    require(!is_told_roughly(v), "what is told roughly is not taken for exact");
  } catch (const message_error&) {
    require(is_told_roughly(v), "a record made of a message fits that message");
  }
}

template <class T>
void from_bytes(std::string_view input, bool as_record) {
  T v{};
  try {
    v = as_record ? from_record<T>(from_cbor<record>(bytes_of(input))) : from_cbor<T>(bytes_of(input));
  } catch (const message_error&) {
    return;
  }
  there_and_back(v);
}

void rename(std::string_view input) {
  record r;
  try {
    r = from_cbor<record>(bytes_of(input));
  } catch (const message_error&) {
    return;
  }
  const field_renames names{{"a", "b"}, {"b", "c"}, {"d", "d"}, {"e", "f"}};
  const auto check = [](const record& x) {
    for (const record::field& f : x) require(x.find(f.name) == &f.value, "no name is there twice");
  };
  record in = r, out = r;
  names.come_in(in);
  names.go_out(out);
  check(in);
  check(out);
  require(in.size() <= r.size() && out.size() <= r.size(), "renaming makes no fields");
}

void run(std::string_view input) {
  const unsigned how = choice(input, 9);
  if (how == 8) return rename(input);
  const bool as_record = how >= 4;
  switch (how % 4) {
    case 0: return from_bytes<plant::reading>(input, as_record);
    case 1: return from_bytes<times_and_sizes>(input, as_record);
    case 2: return from_bytes<plant::tree>(input, as_record);
    default: return from_bytes<test::outer>(input, as_record);
  }
}

inputs seeds() {
  const test::outer o{std::vector<test::inner>{{"i"}}, std::nullopt, "id"};
  const plant::tree t{1, {plant::tree{2, {}}}};
  const record texts{
      {"size", 5.0},           {"exact", "-250ms"}, {"rough", nanoseconds(0)}, {"at", "2026-11-15T08:00:00Z"},
      {"where.room", "attic"}, {"where.floor", 3},  {"singles", "[1,2.5]"}};
  return {
      chosen(0, text_of(to_cbor(plant::full_reading()))),
      chosen(1, text_of(to_cbor(some_times()))),
      chosen(2, text_of(to_cbor(t))),
      chosen(3, text_of(to_cbor(o))),
      chosen(4, text_of(to_cbor(to_record(plant::full_reading())))),
      chosen(5, text_of(to_cbor(to_record(some_times())))),
      chosen(5, text_of(to_cbor(texts))),
      chosen(6, text_of(to_cbor(to_record(t)))),
      chosen(7, text_of(to_cbor(to_record(o)))),
      chosen(8, text_of(to_cbor(record{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}, {"f", 6}}))),
      chosen(8, text_of(to_cbor(record{{"c", 1}, {"b", 2}}))),
  };
}

LEAT_FUZZ_TARGET("records", run, seeds);

}  // namespace
}  // namespace leat::fuzz
