// SPDX-License-Identifier: BSL-1.0
//
// Any bytes in pieces of any size: the same lines as a plain reading of the whole gives, and the same
// records.
#include <algorithm>

#include <leat/stock/line_format.hpp>
#include <leat/stock/line_splitter.hpp>

#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

using namespace leat::stock;

struct taker {
  inputs all = {};
  bool line(std::string_view text) {
    all.emplace_back(text);
    return true;
  }
  bool too_long() {
    all.emplace_back("\n");  // which no line is
    return true;
  }
};

inputs plainly(std::string_view bytes, std::size_t limit) {
  inputs all;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    all.emplace_back(line.size() > limit ? "\n" : line);
  }
  return all;
}

// The first byte is the size of the pieces.
template <class Feed>
void in_pieces(std::string_view input, Feed feed) {
  const std::size_t step = choice(input, 16) + 1;
  for (; !input.empty(); input.remove_prefix(std::min(step, input.size()))) feed(input.substr(0, step));
}

void split(std::string_view input) {
  const std::size_t limit = choice(input, 32);
  line_splitter lines(limit);
  taker got;
  in_pieces(input, [&](std::string_view part) { require(lines.feed(part, got), "more is wanted"); });
  require(lines.finish(got), "more is wanted");
  if (!input.empty()) input.remove_prefix(1);
  require(got.all == plainly(input, limit), "lines in pieces are the lines of the whole");
}

inputs told(std::string_view input, bool whole, const line_options& o) {
  inputs all;
  line_parser lines(o, [&](line_event e) {
    require(e.bad.empty() || e.value.empty(), "there is a record or a reason");
    all.push_back(std::to_string(e.line) + ' ' + (e.bad.empty() ? to_json(e.value) : e.bad));
    return true;
  });
  if (whole)
    (void)lines.feed(input.empty() ? input : input.substr(1));
  else
    in_pieces(input, [&](std::string_view part) { (void)lines.feed(part); });
  (void)lines.finish();
  return all;
}

void run(std::string_view input) {
  const unsigned how = choice(input, 4);
  if (how == 0) return split(input);
  const line_options o{.form = how == 1   ? line_form::text
                               : how == 2 ? line_form::json
                                          : line_form::csv,
                       .longest = 64};
  require(told(input, true, o) == told(input, false, o), "records in pieces are the records of the whole");
}

inputs seeds() {
  inputs all;
  for (const std::string_view text : {"one\ntwo\r\n\n\r\nlast", "a\rb\n", "a\r",
                                      "12345\n123456\n12345\r\n123456\r\n1234567890123\nok\n12345678",
                                      "\xef\xbb\xbf{\"a\":1}\n{\"a\":2}\nno\n", "\xff\n",
                                      "a,b\n1,\"x\ny\"\n\"1\"\n2,3\n", "\"a\r\nb\"\n1\n"})
    for (unsigned how = 0; how < 4; ++how)
      all.push_back(how == 0 ? chosen(0, chosen(5, chosen(2, text))) : chosen(how, chosen(how, text)));
  return all;
}

LEAT_FUZZ_TARGET("lines", run, seeds);

}  // namespace
}  // namespace leat::fuzz
