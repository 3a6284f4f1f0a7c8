// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as CSV: the records that they give are written, and read back as they were. And records of
// any kind: what is written of them are as many rows.
#include <algorithm>

#include <leat/stock/line_format.hpp>

#include "fuzz/codec.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using namespace leat::stock;

struct what_came {
  std::vector<record> records = {};
  std::size_t bad = 0;
};
what_came read(std::string_view text, const line_options& o) {
  what_came all;
  line_parser lines(o, [&](line_event e) {
    if (e.bad.empty())
      all.records.push_back(std::move(e.value));
    else
      ++all.bad;
    return true;
  });
  (void)lines.feed(text);
  (void)lines.finish();
  return all;
}

// A name that is also a path is read as that.
bool is_lost(const record& r) {
  field_steps steps;
  for (const record::field& f : r)
    if (f.name.empty() || (parse_field_path(f.name, steps).why.empty() && steps.size() > 1)) return true;
  return r.empty();
}

// The text of `records`, with the line of names: of all that one of them has.
std::string written(const std::vector<record>& records, line_options o) {
  csv_columns columns;
  for (const record& r : records)
    if (std::vector<std::string> more = columns.missing_in(r, csv_columns::within::counts); !more.empty()) {
      more.insert(more.begin(), columns.names().begin(), columns.names().end());
      columns = csv_columns(std::move(more));
    }
  o.columns = columns.names();
  line_maker maker(o, "line");
  std::string text;
  for (const record& r : records)
    require(maker.add(r, text).empty() && maker.left_out() == 0, "a record with these columns is written");
  return maker.header() + text;
}

// Fields may come in another order, and a null be missing.
bool same_values(const record& a, const record& b);
bool same_value(const field_value& a, const field_value& b) {
  if (a.table() && b.table()) return same_values(*a.table(), *b.table());
  if (!a.list() || !b.list()) return a == b;
  return std::ranges::equal(*a.list(), *b.list(), same_value);
}
bool same_values(const record& a, const record& b) {
  const auto has_all = [](const record& some, const record& others) {
    return std::ranges::all_of(some, [&](const record::field& f) {
      const field_value* const v = others.find(f.name);
      return v ? same_value(*v, f.value) : f.value.is_null();
    });
  };
  return has_all(a, b) && has_all(b, a);
}

void from_text(std::string_view input, line_options o) {
  std::vector<record> records = read(input, o).records;
  std::erase_if(records, is_lost);
  if (records.empty()) return;
  const std::string text = written(records, o);
  o.longest = text.size();  // quotes may have made a row longer than it was
  const what_came again = read(text, o);
  require(again.bad == 0, "what is written is read without a fault");
  require(again.records.size() == records.size(), "each record that was read is a row");
  for (std::size_t i = 0; i < records.size(); ++i)
    require(same_values(again.records[i], records[i]), "what was read from CSV is written and read back");
}

// Records of any kind, by way of CBOR; all with the columns of the first.
void from_records(std::string_view input, const line_options& o) {
  std::vector<record> records;
  try {
    records = from_cbor<std::vector<record>>(bytes_of(input));
  } catch (const message_error&) {
    return;
  }
  line_maker maker(o, "line");
  std::string text;
  std::size_t rows = 0;
  for (const record& r : records) {
    std::string row;
    if (!maker.add(r, row).empty()) continue;
    text += row;
    ++rows;
  }
  line_options reading = o;
  reading.encoding = line_encoding::any;
  reading.longest = text.size() + maker.header().size();
  const what_came again = read(maker.header() + text, reading);
  require(again.bad == 0 && again.records.size() == rows, "each record is a row");
}

void run(std::string_view input) {
  const unsigned how = choice(input, 8);
  // None that a number has: such a number is put in quotes, and is a text then.
  const line_options o{.form = line_form::csv, .separator = ",;\t |:~/"[choice(input, 8)]};
  if (how < 6)
    from_text(input, o);
  else
    from_records(input, o);
}

inputs seeds() {
  inputs all;
  for (const std::string_view text :
       {"a,b\n1,x\n-2.5,\"3\"\n,\"\"\n", "a,b\n\"x, \"\"y\"\"\",\"one\ntwo\"\n", "a;b\r\n1;2\r\n",
        "a\n1e400\n007\n0\n-0\n1E5\n",
        "\xef\xbb\xbf"
        "a,b\n1,2\n",
        "a.b,a.c,d[0],d[1].e\n1,2,3,4\n,,5,\n1,null,{},[]\n", "a,a.b\n1,2\n,3\n",
        "a[5],[\"x\"],b[\"y.z\"]\n1,2,3\n", "a,b\n1\n1,2,3\n\"x\n", "a,a\n1,2\n", "a,\n",
        "a\n\"\r\"\n\"x\r\ny\"\n", "a,b\n\"1\"x,2\n3,4\n"}) {
    all.push_back(chosen(0, chosen(0, text)));
    all.push_back(chosen(1, chosen(1, text)));
  }
  const std::vector<record> records{{{"a", 1}, {"b", "x,\"y\"\n"}, {"c", true}},
                                    {{"a", 2.5}, {"b", nanoseconds(5)}, {"c", moment{}}},
                                    {{"c", {}}}};
  all.push_back(chosen(6, chosen(0, text_of(to_cbor(records)))));
  return all;
}

LEAT_FUZZ_TARGET("csv", run, seeds);

}  // namespace
}  // namespace leat::fuzz
