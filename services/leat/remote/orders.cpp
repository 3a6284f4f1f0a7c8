// SPDX-License-Identifier: BSL-1.0
//
// The verbs that ask for one thing and print the answer: restart, set, log, dump, stop, metrics.
#include <leat/base/value.hpp>
#include <leat/remote/asking.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/token.hpp>
#include <leat/remote/verbs.hpp>

#include <algorithm>

namespace leat::remote {
namespace {

json answer_tree(const endpoint& from, const std::string& text) {
  json_result r = read_json(text);
  if (!r.value)
    throw failure(exit_failed, printable(from.name) + ": its answer is not JSON: " + r.error.text);
  return std::move(*r.value);
}

// A line that is there, for --json.
std::string with_end(std::string text) {
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::string shown_list(const json& from, std::string_view key) {
  std::vector<std::string> all = from.texts_of(key);
  for (std::string& t : all) t = printable(t);
  return joined(all, ", ");
}

void print_restarts(const json& told) {
  if (const std::string done = shown_list(told, "restarted"); !done.empty())
    print("restarted " + done + '\n');
  if (const std::string not_done = shown_list(told, "not_restarted"); !not_done.empty())
    print("not restarted, for they have ended, or their service ends: " + not_done + '\n');
}

std::string post(const endpoint& to, std::string target, std::string body,
                 nanoseconds patience = std::chrono::seconds(10)) {
  return ask_or_fail(to, {.target = std::move(target), .post = true, .body = std::move(body)}, patience);
}

// Lines of a text that others wrote.
void print_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line;
    for (std::string_view rest = text.substr(0, end); !rest.empty();) {
      const std::size_t tab = std::min(rest.find('\t'), rest.size());
      line += printable(rest.substr(0, tab));
      if (tab < rest.size()) line += '\t';
      rest.remove_prefix(std::min(tab + 1, rest.size()));
    }
    print(line + '\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

int print_text(const request& r, const std::string& text) {
  if (r.json) {
    print("{\"text\":" + in_quotes(text) + "}\n");
  } else {
    print_lines(text);
  }
  return 0;
}

// "16", "true", "[1, 2]" and "\"x\"" are JSON already; anything else is a text.
std::string as_json(const std::string& word) { return read_json(word).value ? word : in_quotes(word); }

}  // namespace

int restart(const request& r) {
  const endpoint to = deployment_of(r);
  const std::string process = full_process(r.words[0], ask_state(to).state);
  const std::string text =
      post(to, "/v1/restart", "{\"process\":" + in_quotes(process) + '}', std::chrono::seconds(30));
  if (r.json) {
    print(with_end(text));
    return 0;
  }
  print_restarts(answer_tree(to, text));
  return 0;
}

int set(const request& r) {
  std::string settings;
  for (std::size_t i = 1; i < r.words.size(); ++i) {
    const std::size_t equals = r.words[i].find('=');
    if (equals == 0 || equals == std::string::npos)
      throw failure(exit_usage, "'" + printable(r.words[i]) + "' is not of the form NAME=VALUE");
    settings += (settings.empty() ? "" : ",") + in_quotes(r.words[i].substr(0, equals)) + ':' +
                as_json(r.words[i].substr(equals + 1));
  }
  const endpoint to = deployment_of(r);
  const std::string process = full_process(r.words[0], ask_state(to).state);
  const std::string text = post(to, "/v1/set",
                                "{\"process\":" + in_quotes(process) + ",\"set\":{" + settings +
                                    "},\"restart\":" + (r.restart ? "true" : "false") + '}',
                                std::chrono::seconds(30));
  if (r.json) {
    print(with_end(text));
    return 0;
  }
  const json told = answer_tree(to, text);
  print(process + ": set " + shown_list(told, "set") + '\n');
  print_restarts(told);
  return 0;
}

int log(const request& r) {
  const endpoint to = deployment_of(r);
  const std::string process =
      r.words.size() > 1 ? full_process(r.words[1], ask_state(to).state) : std::string();
  const std::string text =
      post(to, "/v1/log",
           "{\"level\":" + in_quotes(r.words[0]) +
               (process.empty() ? std::string() : ",\"process\":" + in_quotes(process)) + '}');
  if (r.json) {
    print(with_end(text));
    return 0;
  }
  const json told = answer_tree(to, text);
  const std::string_view named = told.text_of("process");
  print(printable(named.empty() ? std::string_view(to.name) : named) + " logs from " +
        printable(told.text_of("level")) + " on\n");
  return 0;
}

int dump(const request& r) {
  return print_text(r, post(deployment_of(r), "/v1/dump", "{}", std::chrono::seconds(30)));
}

int stop(const request& r) {
  const endpoint to = deployment_of(r);
  const std::string text = post(to, "/v1/stop", r.now ? "{\"now\":true}" : "{\"now\":false}");
  print(r.json ? with_end(text)
               : printable(to.name) + (r.now ? " stops now\n" : " stops: its channels drain first\n"));
  return 0;
}

int metrics(const request& r) {
  return print_text(
      r, ask_or_fail(deployment_of(r), {.target = "/metrics", .accept = "application/openmetrics-text"}));
}

}  // namespace leat::remote
