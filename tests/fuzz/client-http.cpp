// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as an answer over HTTP: in which pieces they come makes no difference. And any bytes read as keys, and
// as lines of values: nothing is kept for ever.
#include <leat/remote/http_response.hpp>
#include <leat/remote/keys.hpp>
#include <leat/remote/value_lines.hpp>

#include <algorithm>

#include "fuzz/fuzz.hpp"
#include "net/http_cases.hpp"

namespace leat::fuzz {
namespace {

struct read_answer {
  bool good = true, complete = false;
  int status = 0;
  std::string body;
  friend bool operator==(const read_answer&, const read_answer&) = default;
};

read_answer read_pieces(std::string_view bytes, std::size_t at_once) {
  remote::http_response a;
  read_answer r;
  for (; r.good && !bytes.empty(); bytes.remove_prefix(std::min(at_once, bytes.size())))
    r.good = a.feed(bytes.substr(0, at_once));
  if (r.good && !a.complete()) r.good = a.close();
  require(r.good == a.error().empty(), "a refusal has a reason");
  require(!r.good || a.complete(), "what is good is whole at its end");
  if (r.good) {
    r.complete = true;
    r.status = a.status();
    r.body = a.body();
  }
  return r;
}

void read_http(std::string_view bytes) {
  const read_answer whole = read_pieces(bytes, std::max<std::size_t>(bytes.size(), 1));
  require(!whole.good || (whole.status >= 200 && whole.status <= 599), "an answer has a status");
  for (const std::size_t at_once : {1u, 2u, 7u})
    require(read_pieces(bytes, at_once) == whole, "pieces make no difference");
}

void read_keys(std::string_view bytes) {
  remote::key_reader all_at_once, one_by_one;
  const auto expected = all_at_once.feed(bytes);
  std::vector<remote::key_press> keys;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const remote::key_press k : one_by_one.feed(bytes.substr(i, 1))) keys.push_back(k);
  require(keys == expected, "pieces make no difference to keys");
  require(all_at_once.flush() == one_by_one.flush() && !all_at_once.pending(), "nothing is kept");
}

void read_lines(std::string_view bytes) {
  remote::value_lines lines;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    if (lines.add(bytes.substr(0, end))) {
      require(!lines.empty(), "a value is not empty");
      lines.clear();
    }
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
}

void run(std::string_view input) {
  switch (choice(input, 4)) {
    case 2: return read_keys(input);
    case 3: return read_lines(input);
    default: return read_http(input);
  }
}

inputs seeds() {
  inputs all;
  for (const auto& c : net::http::test::response_cases) all.push_back(chosen(0, c.text));
  for (const char* const text :
       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\n\r\n",
        "HTTP/1.1 100 x\r\n\r\nHTTP/1.0 404 x\r\n\r\n{}", "HTTP/1.1 200 x\n\nx"})
    all.push_back(chosen(0, text));
  all.push_back(chosen(2, "jk\033[A\033OB\033[5~\r\t\x7f\033[1;5C\033\033[H/abc\033"));
  all.push_back(chosen(3, "{\"a\": [\n1, \"]}\\\"\",\n\n2]}\n12\n]\n"));
  return all;
}

LEAT_FUZZ_TARGET("client-http", run, seeds);

}  // namespace
}  // namespace leat::fuzz
