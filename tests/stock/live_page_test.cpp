// SPDX-License-Identifier: BSL-1.0
//
// The live page of http-json in a real browser.
#include <doctest/doctest.h>
#include <cstdio>

#include "fixture.hpp"
#include "support/browser.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using leat::test::browser;

// http-json, and two sensors whose values rise.
class moving {
 public:
  moving(const std::string& listen, int first) {
    const value boiler(value::table{
        {"sensor", {}, value("boiler")}, {"unit", {}, value("C")}, {"high", {}, value(1'000.0)}});
    r_.set("listen", listen)
        .set("title", "Test")
        .set("window", 2s)
        .set("scales", value::list{boiler})
        .start();
    if (!eventually([&] { return log_.has("on http://"); })) throw std::runtime_error("it does not listen");
    where = log_.after("on http://");
    where.pop_back();
    group_.go([this, first] {
      for (int i = first;; ++i) {
        for (const char* sensor : {"boiler", "<img src=x onerror=alert(1)>"})
          if (values_.send({{"sensor", sensor}, {"value", i}, {"min", i - 1}, {"max", i + 1}}) !=
              send_status::sent)
            return;
        if (values_.send({{"sensor", "odd"},
                          {"value", field_value()},
                          {"at.x", 1},
                          {"at.y", 2},
                          {"list", "[1,{\"a\":true}]"}}) != send_status::sent)
          return;
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
  const std::string program = leat::test::chromium();
  if (program.empty()) {
    std::printf("skipped: there is no chromium here (Debian: apt install chromium)\n");
    return;
  }
  leat::run(with_procs(2), [&] {
    const std::string status = "document.getElementById('status').textContent";
    const std::string value = "document.querySelector('.value span')?.textContent ?? ''";
    auto server = std::make_unique<moving>("127.0.0.1:0", 1);
    const std::string where = server->where;
    browser b(program);
    b.open("http://" + where + "/");
    CHECK(b.becomes(status, "live"));
    CHECK(b.becomes(value, [](const std::string& v) { return !v.empty(); }));
    const std::string first = b.value_of(value);
    CHECK(b.becomes(value, [&](const std::string& v) { return v != first; }));
    // However fast they come, a trend has as many points as columns.
    const std::string points =
        "document.querySelector('[data-name=boiler] .trend').getAttribute('d').split('L').length";
    CHECK(b.becomes("String(" + points + " > 50)", "true"));
    CHECK(b.value_of("String(" + points + " <= 242)") == "true");
    // The least and the greatest of min-max are a band, and no rows of their own.
    const std::string rows =
        "[...document.querySelectorAll('[data-name=boiler] dt')].map(e => e.textContent).join()";
    CHECK(b.value_of(rows) == "range");
    CHECK(b.value_of(
              "String(document.querySelector('[data-name=boiler] .band').getAttribute('d').length > 50)") ==
          "true");
    CHECK(b.value_of("document.querySelector('[data-name=boiler] .unit').textContent") == "C");
    // What is not a number is told as people would, and has no trend.
    CHECK(b.value_of(
              "[...document.querySelectorAll('[data-name=odd] dd')].map(e => e.textContent).join('; ')") ==
          "x 1, y 2; 1, a yes");
    CHECK(b.value_of("String(document.querySelector('[data-name=odd] .plot').hidden)") == "true");
    // One axis for all.
    CHECK(b.value_of(
              "String(new Set([...document.querySelectorAll('.times')].map(e => e.textContent)).size)") ==
          "1");
    // A name is a text, whatever is in it.
    CHECK(b.value_of("[...document.querySelectorAll('h2')].map(e => e.textContent).join()") ==
          "<img src=x onerror=alert(1)>,boiler,odd");
    CHECK(b.value_of("String(document.images.length)") == "0");

    server.reset();
    CHECK(b.becomes(status, "connection lost, trying again"));
    server = std::make_unique<moving>(where, 1'000'000);
    CHECK(b.becomes(status, "live"));
    CHECK(b.becomes(value, [](const std::string& v) { return v.size() == 7; }));
    CHECK(b.becomes("document.querySelector('.beyond .warning')?.textContent ?? ''", "above 1000 C"));

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
