// SPDX-License-Identifier: BSL-1.0
//
// The verbs for a deployment that runs. Each finds it, asks, prints, and returns an exit status: 0, or 1 when something
// failed. What cannot go on throws a leat::remote::failure, which has the status; run_verb prints it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat::remote {

struct request {
  std::string program = "leat";
  std::string deployment = {};  // -d
  std::string token_file = {};  // of a TCP door; empty: LEAT_TOKEN, if that is set
  std::vector<std::string> words = {};
  bool json = false;
  bool names = false, processes = false, channels = false;  // ps: what to list
  bool now = false;                                         // stop
  bool restart = false;                                     // set
  std::uint64_t count = 0;                                  // tap; 0: no end
  double rate = 0;                                          // tap; 0: the deployment's own
  std::string out = {};                                     // tap: a file
  std::string where = {};                                   // tap: an expression
  nanoseconds interval = std::chrono::seconds(1);           // top
};

int ps(const request& r);
int top(const request& r);
int tap(const request& r);
int inject(const request& r);
int set(const request& r);
int restart(const request& r);
int log(const request& r);
int dump(const request& r);
int stop(const request& r);
int metrics(const request& r);

// One of them; failures go to the standard error.
int run_verb(int (*verb)(const request&), const request& r);

}  // namespace leat::remote
