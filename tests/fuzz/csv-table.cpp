// SPDX-License-Identifier: BSL-1.0
//
// Any bytes as a CSV file with declared columns: pieces make no difference, each record has all columns with what they
// are declared to hold, and what is bad has the number of a line that is there.
#include <algorithm>

#include <leat/stock/csv_table.hpp>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using namespace leat::stock;

bool fits(const field_value& v, cell_type type) {
  if (v.is_null()) return true;
  switch (type) {
    case cell_type::text: return v.kind() == value_kind::text;
    case cell_type::integer: return v.kind() == value_kind::integer;
    case cell_type::number: return v.kind() == value_kind::real;
    case cell_type::flag: return v.kind() == value_kind::boolean;
    case cell_type::moment: return v.kind() == value_kind::moment;
    case cell_type::duration: return v.kind() == value_kind::duration;
    case cell_type::guess: break;
  }
  return true;
}

inputs read_table(std::string_view bytes, const table_options& o, std::size_t step) {
  inputs all;
  const auto lines = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), '\n')) + 1;
  csv_table t(o, [&](line_event e) {
    require(e.line >= 1 && e.line <= lines, "a row begins in a line of the file");
    for (const csv_column& c : o.columns)
      if (e.bad.empty())
        require(e.value.find(c.name) && fits(*e.value.find(c.name), c.type), "a cell is of its type");
    all.push_back(e.bad.empty() ? to_json(e.value) : e.told());
    return true;
  });
  bool more = true;
  for (; more && !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size())))
    more = t.feed(bytes.substr(0, step));
  if (more) (void)t.finish();
  all.push_back(t.unfit());
  return all;
}

void run(std::string_view input) {
  table_options o;
  o.header = choice(input, 2) == 0;
  o.separator = ",;\t|"[choice(input, 4)];
  o.decimal = choice(input, 2) == 1 && o.separator != ',' ? ',' : '.';
  o.longest = 100;
  o.comment = "#";
  o.none = {"NA"};
  const std::size_t step = choice(input, 16) + 1;
  for (const auto& [name, type] : {std::pair{"a", cell_type::moment},
                                   {"b", cell_type::number},
                                   {"c", cell_type::integer},
                                   {"d", cell_type::flag},
                                   {"e", cell_type::duration},
                                   {"f", cell_type::text},
                                   {"g", cell_type::guess}}) {
    csv_column c;
    c.name = name;
    c.type = type;
    o.columns.push_back(c);
  }
  require(read_table(input, o, input.size() + 1) == read_table(input, o, step), "pieces make no difference");
}

inputs seeds() {
  inputs all;
  for (const std::string_view text :
       {"a,b,c,d,e,f,g\n2026-11-15T08:00:00Z,1.5,7,true,250ms,x,y\n,,,,,,\nNA,-1e3,+7,off,-2s,\"\",\"1\"\n",
        "a,b,c,d,e,f,g\r\n1.5,.5,007,1,1h,\"x, \"\"y\"\"\r\nz\",3\r\n# no\r\n1,2\n\"x\n",
        "a;b;c;d;e;f;g\n1;1,5;2;no;1us;;\n"})
    for (const unsigned how : {0u, 1u})
      all.push_back(chosen(how, chosen(text[1] == ';' ? 1 : 0, chosen(how, chosen(3, text)))));
  return all;
}

LEAT_FUZZ_TARGET("csv-table", run, seeds);

}  // namespace
}  // namespace leat::fuzz
