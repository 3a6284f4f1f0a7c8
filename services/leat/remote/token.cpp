// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/token.hpp>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <leat/remote/deployments.hpp>
#include <leat/remote/secret_file.hpp>
#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

// What a header can carry: anything else could end it, and begin another.
void check_token(std::string_view token, const std::string& where) {
  if (token.empty()) throw failure(exit_usage, where + " has no token in its first line");
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    throw failure(exit_usage, where + " has a blank, or what is no ASCII, in its token");
}

}  // namespace

std::string read_client_token(const std::string& file) {
  if (file.empty()) {
    const char* const given = std::getenv("LEAT_TOKEN");
    if (!given || !*given) return {};
    check_token(given, "LEAT_TOKEN");
    return given;
  }
  const std::string where = "--token-file " + printable(file);
  secret_line line = read_secret_line(file);
  if (!line.why.empty()) throw failure(exit_usage, where + ": " + line.why);
  check_token(line.text, where);
  return std::move(line.text);
}

endpoint deployment_of(const request& r) {
  endpoint to = find_deployment(r.deployment);
  if (to.path.empty()) {
    to.token = read_client_token(r.token_file);
  } else if (!r.token_file.empty()) {
    throw failure(exit_usage, "'--token-file' is for -d HOST:PORT; a socket asks for none");
  }
  return to;
}

}  // namespace leat::remote
