// SPDX-License-Identifier: BSL-1.0
//
// A page in a real browser: Chromium without a window, told what to do through a pipe (its DevTools protocol: JSON
// texts with a zero behind each). Used by one G.
#pragma once
#include <stdlib.h>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include <leat/leat.hpp>
#include <leat/net/child.hpp>

namespace leat::test {

inline constexpr auto browser_patience = std::chrono::seconds(90);

// The name of a program that can be run; "": there is none here.
inline std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) return name;
  return {};
}

// Its profile is a folder that goes with it.
class browser {
 public:
  explicit browser(const std::string& program)
      : child_({"sh", "-c",
                "exec " + program +
                    " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                    "--disable-background-networking --disable-component-update --disable-sync "
                    "--user-data-dir=" +
                    profile_.path + " --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null 2>&1"},
               {.in = net::stdio::pipe, .out = net::stdio::pipe}) {
    child_.out().line_limit(64 << 20);
    const std::string target = text_in(call("Target.createTarget", R"({"url":"about:blank"})"), "targetId");
    session_ = text_in(call("Target.attachToTarget", R"({"flatten":true,"targetId":")" + target + "\"}"),
                       "sessionId");
    (void)call("Network.enable");
  }
  // Orderly, since its own children would outlive a kill and write to the profile.
  ~browser() {
    try {
      session_.clear();
      (void)call("Browser.close");
      (void)child_.wait(browser_patience);
    } catch (const std::exception&) {
      // It is killed.
    }
  }
  browser(const browser&) = delete;
  browser& operator=(const browser&) = delete;

  void open(const std::string& url) { (void)call("Page.navigate", R"({"url":")" + url + "\"}"); }
  // As on a screen, or a phone, of this size in points.
  void show_at(int width, int height, bool phone = false) {
    (void)call("Emulation.setDeviceMetricsOverride",
               R"({"width":)" + std::to_string(width) + R"(,"height":)" + std::to_string(height) +
                   R"(,"deviceScaleFactor":1,"mobile":)" + (phone ? "true}" : "false}"));
  }
  // As for people who have asked their system for dark colours.
  void show_dark() {
    (void)call("Emulation.setEmulatedMedia",
               R"({"features":[{"name":"prefers-color-scheme","value":"dark"}]})");
  }
  // What is seen now: a PNG, in base64.
  std::string picture() { return text_in(call("Page.captureScreenshot"), "data"); }
  pid_t pid() const noexcept { return child_.pid(); }
  // The text that a script of one line returns; the text must need no escapes.
  std::string value_of(const std::string& script) {
    std::string quoted;
    for (const char c : script) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return text_in(call("Runtime.evaluate",
                        R"({"returnByValue":true,"awaitPromise":true,"expression":")" + quoted + "\"}"),
                   "value");
  }
  template <class F>
  bool becomes(const std::string& script, F condition) {
    const auto until = now() + browser_patience;
    while (!condition(value_of(script))) {
      if (now() > until) return false;
      (void)sleep_for(std::chrono::milliseconds(20));
    }
    return true;
  }
  bool becomes(const std::string& script, const char* text) {
    return becomes(script, [&](const std::string& v) { return v == text; });
  }
  // All that was asked for so far.
  const std::set<std::string>& asked_for() const noexcept { return urls_; }

 private:
  static std::string text_in(const std::string& answer, const std::string& name) {
    const std::size_t at = answer.find('"' + name + "\":\"");
    if (at == std::string::npos) return {};
    const std::size_t begin = at + name.size() + 4;
    return answer.substr(begin, answer.find('"', begin) - begin);
  }

  std::string call(const std::string& method, const std::string& parameters = "{}") {
    const std::string id = std::to_string(++calls_);
    std::string text = R"({"id":)" + id + R"(,"method":")" + method + R"(","params":)" + parameters;
    if (!session_.empty()) text += R"(,"sessionId":")" + session_ + '"';
    text += '}';
    text += '\0';
    child_.in().write(text, browser_patience);
    std::string answer;
    do {
      if (!child_.out().read_until(answer, std::string_view("\0", 1), browser_patience))
        throw std::runtime_error("the browser has ended");
      if (answer.find("\"Network.requestWillBeSent\"") != std::string::npos)
        urls_.insert(text_in(answer.substr(answer.find("\"request\":")), "url"));
    } while (!answer.starts_with("{\"id\":" + id + ','));
    return answer;
  }

  struct folder {
    folder() {
      if (!::mkdtemp(path.data())) throw std::runtime_error("mkdtemp");
    }
    ~folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    std::string path = (std::filesystem::temp_directory_path() / "leat-browser-XXXXXX").string();
  };

  folder profile_;
  net::child child_;
  std::string session_;
  int calls_ = 0;
  std::set<std::string> urls_;
};

}  // namespace leat::test
