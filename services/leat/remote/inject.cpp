// SPDX-License-Identifier: BSL-1.0
//
// `leat inject`: a value, or each of the standard input, into a channel. A mistake is shown with its place.
#include <algorithm>
#include <iostream>
#include <string>

#include <leat/base/value.hpp>
#include <leat/remote/asking.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/token.hpp>
#include <leat/remote/value_lines.hpp>
#include <leat/remote/verbs.hpp>

namespace leat::remote {
namespace {

constexpr int seconds_for_room = 5;

// The line of a value with a mark below the column.
std::string pointed_at(std::string_view value, std::size_t line, std::size_t column) {
  for (; line > 1; --line) value.remove_prefix(std::min(value.find('\n') + 1, value.size()));
  std::string shown = printable(value.substr(0, value.find('\n')));
  // A long line is shown around the place.
  constexpr std::size_t most = 70, before = 30;
  std::size_t at = column > 0 ? column - 1 : 0;
  if (columns(shown) > most && at > before && shown.size() == columns(shown)) {
    shown = "..." + shown.substr(std::min(at - before, shown.size()));
    at = before + 3;
  }
  return "\n  " + cut(shown, most) + "\n  " + std::string(std::min(at, most), ' ') + '^';
}

[[noreturn]] void refuse(const std::string& channel, const std::string& what, std::string_view value,
                         std::size_t line, std::size_t column) {
  std::string text = channel + ": " + what;
  if (line > 0 && column > 0)
    text += ", at line " + std::to_string(line) + ", column " + std::to_string(column) +
            pointed_at(value, line, column);
  throw failure(exit_failed, text);
}

void inject_one(const endpoint& to, const std::string& channel, const std::string& value) {
  if (const json_result r = read_json(value, {.kept_depth = 0}); !r.value)
    refuse(channel, "this is not JSON: " + r.error.text, value, r.error.line, r.error.column);
  const asked a = ask(to,
                      {.target = "/v1/inject",
                       .post = true,
                       .body = "{\"channel\":" + in_quotes(channel) +
                               ",\"wait\":" + std::to_string(seconds_for_room) + ",\"value\":" + value + '}'},
                      std::chrono::seconds(seconds_for_room + 5));
  if (!a.error.empty())
    throw failure(a.nobody ? exit_no_deployment : exit_failed, printable(to.name) + ": " + a.error);
  if (a.status >= 200 && a.status <= 299) return;
  const json_result r = read_json(a.body);
  refuse(channel, error_of(to, a.status, a.body), value, r.value ? r.value->count_of("line") : 0,
         r.value ? r.value->count_of("column") : 0);
}

}  // namespace

int inject(const request& r) {
  const endpoint to = deployment_of(r);
  const std::string channel = full_channel(r.words[0], ask_state(to).state);
  std::size_t sent = 0;
  const auto tell = [&] {
    print(r.json ? "{\"sent\":" + std::to_string(sent) + "}\n"
                 : std::to_string(sent) + (sent == 1 ? " value" : " values") + " sent to " + channel + '\n');
  };
  if (r.words.size() > 1 && r.words[1] != "-") {
    inject_one(to, channel, r.words[1]);
    ++sent;
    tell();
    return 0;
  }
  value_lines lines;
  try {
    for (std::string line; std::getline(std::cin, line);) {
      if (!lines.add(line)) continue;
      inject_one(to, channel, lines.text());
      lines.clear();
      ++sent;
    }
    if (!lines.empty())
      inject_one(to, channel, lines.text());  // which is not whole, and is told where it ends
  } catch (const failure&) {
    if (sent > 0) tell();
    throw;
  }
  tell();
  return 0;
}

}  // namespace leat::remote
