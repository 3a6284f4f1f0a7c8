// SPDX-License-Identifier: BSL-1.0
//
// Processes that misbehave on command, and what tests of supervision look at.
#pragma once
#include <algorithm>
#include <functional>
#include <mutex>
#include <string>

#include "fixture.hpp"

namespace leat::services::test {

// What the next incarnation of `acts` does, by its number from 1 on; set before a run.
inline std::function<void(int run, const in<number>&)> act;
inline std::atomic<int> act_runs{0};

class acts : public process {
  in<number> values{this, "values", optional_port};
  out<number> to{this, "to", optional_port};
  void run() override { act(++act_runs, values); }
};

// Notes starts and stops with its name.
class diary {
 public:
  void note(const std::string& what) {
    std::lock_guard hold(lock_);
    text_ += (text_.empty() ? "" : " ") + what;
  }
  std::string text() {
    std::lock_guard hold(lock_);
    return text_;
  }
  void clear() {
    std::lock_guard hold(lock_);
    text_.clear();
  }

 private:
  std::mutex lock_;
  std::string text_;
};
inline diary events;

class bystander : public process {
  in<number> values{this, "values", optional_port};
  out<number> to{this, "to", optional_port};
  void run() override {
    const std::string me = name().substr(name().find('/') + 1);
    events.note("+" + me);
    while (sleep_for(1h) != sleep_result::stopped) {
    }
    events.note("-" + me);
  }
};

// The two that were started first, in whichever order their Gs came to run, are noted.
inline bool both_started() {
  const std::string text = events.text();
  return text == "+last +first" || text == "+first +last";
}
// What happened after that.
inline std::string what_followed() {
  const std::string text = events.text();
  return text.size() > 13 ? text.substr(13) : std::string();
}

inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

}  // namespace leat::services::test

LEAT_PROCESS_AS("acts", leat::services::test::acts, "does what the test says");
LEAT_PROCESS_AS("bystander", leat::services::test::bystander, "waits to be stopped");
