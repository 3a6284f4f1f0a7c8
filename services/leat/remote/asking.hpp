// SPDX-License-Identifier: BSL-1.0
//
// What the verbs share: asking a deployment and failing in plain words, names that people shorten, printing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <leat/remote/deployments.hpp>
#include <leat/remote/state.hpp>

namespace leat::remote {

// The body of a good answer; anything else is a failure that names the deployment.
std::string ask_or_fail(const endpoint& to, const http_request& what,
                        nanoseconds patience = std::chrono::seconds(5));

struct told_state {
  std::string text;  // as it came
  json tree;
  deployment_state state;
};
// Throws a failure for what is not JSON, or of a version that this program does not read.
told_state read_told_state(const endpoint& from, std::string text);
told_state ask_state(const endpoint& to);

// The full name that a word stands for: itself, or the only one that ends in "/word". Throws a failure that tells the
// nearest, or all that it could be. `what`: "channel".
std::string full_name(std::string_view word, const std::vector<std::string>& among, std::string_view what,
                      const deployment_state& s);
std::string full_process(std::string_view word, const deployment_state& s);
// Without a share: "climate/raw".
std::string full_channel(std::string_view word, const deployment_state& s);

void print(std::string_view text);     // to stdout
void complain(std::string_view text);  // to stderr

}  // namespace leat::remote
