// SPDX-License-Identifier: BSL-1.0
//
// The live page of http-json in a real browser: Chromium without a window, told what to do through a pipe
// (its DevTools protocol: JSON texts with a zero behind each).
#include <doctest/doctest.h>
#include <cstdio>
#include <cstdlib>
#include <set>

#include <leat/net/child.hpp>

#include "fixture.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;

constexpr auto browser_patience = 90s;

std::string chromium() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"})
    if (std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0) return name;
  return {};
}

class browser {
 public:
  explicit browser(const std::string& program)
      : child_({"sh", "-c",
                "exec " + program +
                    " --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run "
                    "--disable-background-networking --disable-component-update --disable-sync "
                    "--user-data-dir=" +
                    profile_.path() + " --remote-debugging-pipe 3<&0 4>&1 </dev/null >/dev/null 2>&1"},
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
  // The text that a script returns; it must need no escapes.
  std::string value_of(const std::string& script) {
    return text_in(call("Runtime.evaluate",
                        R"({"returnByValue":true,"awaitPromise":true,"expression":")" + script + "\"}"),
                   "value");
  }
  template <class F>
  bool becomes(const std::string& script, F condition) {
    const auto until = now() + browser_patience;
    while (!condition(value_of(script))) {
      if (now() > until) return false;
      (void)sleep_for(20ms);
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

  temp_folder profile_;
  net::child child_;
  std::string session_;
  int calls_ = 0;
  std::set<std::string> urls_;
};

// http-json, and two sensors whose values rise.
class moving {
 public:
  moving(const std::string& listen, int first) {
    r_.set("listen", listen).set("title", "Test").start();
    if (!eventually([&] { return log_.has("on http://"); })) throw std::runtime_error("it does not listen");
    where = log_.after("on http://");
    where.pop_back();
    group_.go([this, first] {
      for (int i = first;; ++i) {
        for (const char* sensor : {"boiler", "<img src=x onerror=alert(1)>"})
          if (values_.send({{"sensor", sensor}, {"value", i}}) != send_status::sent) return;
        if (sleep_for(20ms) == sleep_result::stopped) return;
      }
    });
  }
  ~moving() { (void)r_.stop(); }
  moving(const moving&) = delete;
  moving& operator=(const moving&) = delete;

  std::string where;

 private:
  log_reader log_;
  rig r_{"http-json"};
  leat::channel<record> values_ = r_.channel("values");
  task_group group_;
};

TEST_CASE("in a browser, values move, a lost connection comes back, and nothing comes from outside" *
          doctest::timeout(280)) {
  const std::string program = chromium();
  if (program.empty()) {
    std::printf("skipped: there is no chromium here (Debian: apt install chromium)\n");
    return;
  }
  leat::run(with_procs(2), [&] {
    const std::string status = "document.getElementById('status').textContent";
    const std::string value = "document.querySelector('.value')?.textContent ?? ''";
    auto server = std::make_unique<moving>("127.0.0.1:0", 1);
    const std::string where = server->where;
    browser b(program);
    b.open("http://" + where + "/");
    CHECK(b.becomes(status, "live"));
    CHECK(b.becomes(value, [](const std::string& v) { return !v.empty(); }));
    const std::string first = b.value_of(value);
    CHECK(b.becomes(value, [&](const std::string& v) { return v != first; }));
    CHECK(b.becomes("String(document.querySelector('polyline').points.numberOfItems > 10)", "true"));
    // A name is a text, whatever is in it.
    CHECK(b.value_of("[...document.querySelectorAll('h2')].map(e => e.textContent).join()") ==
          "<img src=x onerror=alert(1)>,boiler");
    CHECK(b.value_of("String(document.images.length)") == "0");

    server.reset();
    CHECK(b.becomes(status, "connection lost, trying again"));
    server = std::make_unique<moving>(where, 1'000'000);
    CHECK(b.becomes(status, "live"));
    CHECK(b.becomes(value, [](const std::string& v) { return v.size() == 7; }));

    for (const std::string& url : b.asked_for())
      CHECK_MESSAGE((url.starts_with("http://" + where + "/") || url.starts_with("data:")), url);
    CHECK(b.asked_for().size() >= 4);  // page, script, style, events
    // Nor could it: the page's own policy stands before it.
    CHECK(b.value_of("new Promise(r => { document.addEventListener('securitypolicyviolation', e => "
                     "r(e.effectiveDirective)); new Image().src = 'http://127.0.0.1:9/x.png'; })") ==
          "img-src");
  });
}

}  // namespace
}  // namespace leat::stock::test
