// SPDX-License-Identifier: BSL-1.0
//
// A deployment that does nothing and notes what it was asked, for tests of what stands before it.
#pragma once
#include <string>
#include <vector>

#include <leat/control/deployment.hpp>

namespace leat::control::test {

class fake_deployment final : public deployment {
 public:
  deployment_view view = {};
  std::vector<std::string> asked = {};
  bool out_of_memory = false;

  deployment_view look() override {
    if (out_of_memory) throw std::bad_alloc();
    asked.emplace_back("look");
    return view;
  }
  health_view health() override {
    asked.emplace_back("health");
    return {view.live, view.healthy && view.phase == "running", view.why.empty() ? view.phase : view.why};
  }
  outcome process(std::string_view name) override { return note("process", name); }
  std::string dump() override {
    asked.emplace_back("dump");
    return "G 1 main\n";
  }
  std::unique_ptr<csp::tap_view> tap(std::string& channel, double most_per_second, outcome& why) override {
    asked.push_back("tap " + channel + ' ' + std::to_string(most_per_second));
    why = refused("404 Not Found", "there is no channel '" + channel + "'");
    return nullptr;
  }
  tap_filter filter(std::string_view expression, std::size_t, outcome& why) override {
    asked.push_back("filter " + std::string(expression));
    why = refused("400 Bad Request", "there is no such expression");
    return {};
  }
  outcome inject(std::string_view channel, std::string_view value, double wait) override {
    return note("inject", std::string(channel) + ' ' + std::string(value) + ' ' + std::to_string(wait));
  }
  outcome restart(std::string_view process) override { return note("restart", process); }
  outcome set(std::string_view process, const json& changes, bool may_restart) override {
    std::string text(process);
    for (const json& m : changes.members) text += ' ' + m.key + '=' + m.text;
    return note("set", text + (may_restart ? " restart" : ""));
  }
  outcome log(std::string_view level, std::string_view process) override {
    return note("log",
                process.empty() ? std::string(level) : std::string(level) + ' ' + std::string(process));
  }
  outcome stop(bool now) override { return note("stop", now ? "now" : "later"); }

 private:
  outcome note(std::string_view what, std::string_view of) {
    asked.push_back(std::string(what) + ' ' + std::string(of));
    return {};
  }
};

}  // namespace leat::control::test
