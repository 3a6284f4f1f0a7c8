// SPDX-License-Identifier: BSL-1.0
//
// The inspector page in a real browser, before a door that answers what the test wants.
#include <doctest/doctest.h>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "fake_door.hpp"
#include "sched/fixture.hpp"
#include "support/browser.hpp"

namespace leat::control::test {
namespace {

using leat::test::browser;

// How many pairs of nodes overlap on the page.
const char* const overlaps =
    "(() => { const all = [...document.querySelectorAll('.node:not(.open)')].map(e => "
    "e.getBoundingClientRect()); "
    "return String(all.filter((a, i) => all.some((b, k) => k < i && a.left < b.right && b.left < a.right && "
    "a.top < b.bottom && b.top < a.bottom)).length); })()";
// How the text of the page stands out from what is behind it, as WCAG counts: "12 light", "15 dark".
const char* const contrast =
    "(() => { const light = c => { const v = c.match(/[0-9.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= "
    "0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * "
    "v[2]; "
    "}; const s = getComputedStyle(document.body), a = light(s.color), b = light(s.backgroundColor); return "
    "Math.floor((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)) + (b < a ? ' dark' : ' light'); })()";
// The places that the layout gives to this graph of nodes of 10 by 10, in their order: "0,0 30,0".
std::string laid_out(const std::string& nodes, const std::string& links) {
  return "(() => { const made = arrange('" + nodes + "'.split(' ').map(id => ({id, w: 10, h: 10})), '" +
         links +
         "'.split(' ').map(id => ({id, from: id[0], to: id[2]})), "
         "{down: false, room: 100, gap: {along: 20, across: 10, part: 10}}); "
         "return [...made.at.values()].map(p => Math.round(p.x) + ',' + Math.round(p.y)).join(' '); })()";
}

// Text of the first element that fits; "-": there is none.
std::string text(const std::string& selector) {
  return "(document.querySelector('" + selector + "')?.textContent ?? '-')";
}
std::string count(const std::string& selector) {
  return "String(document.querySelectorAll('" + selector + "').length)";
}
std::string node(const std::string& id) { return "[data-id=\"" + id + "\"]"; }
std::string click(const std::string& selector) {
  return "document.querySelector('" + selector + "').click(), 'done'";
}
std::string press(const std::string& key) {
  return "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '" + key +
         "', bubbles: true, cancelable: true})), 'done'";
}
}  // namespace

TEST_CASE("the page is one text that needs nothing from elsewhere") {
  const std::string_view page = inspector_page(), policy = inspector_page_policy();
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.find("<style></style>") == std::string_view::npos);
  CHECK(page.find("<script></script>") == std::string_view::npos);
  CHECK(page.find("://") == page.find("://www.w3.org/2000/svg"));
  CHECK(page.find("innerHTML") == std::string_view::npos);
  CHECK(policy.find("default-src 'none'") != std::string_view::npos);
  CHECK(policy.find("unsafe") == std::string_view::npos);
}

TEST_CASE("in a browser, the graph is live, finds the culprit, opens, taps, restarts and comes back" *
          doctest::timeout(280)) {
  const std::string program = leat::test::chromium();
  if (program.empty()) {
    std::printf("skipped: there is no chromium here (Debian: apt install chromium)\n");
    return;
  }
  leat::run(sched::test::with_procs(2), [&] {
    auto door = std::make_unique<fake_door>("127.0.0.1:0", 101, 0);
    const std::string where = door->where;
    browser b(program);
    b.open("http://" + where + "/");
    CHECK(b.becomes(text("#status"), "live"));
    CHECK(b.value_of(text("#deployment")) == "plant");

    // Replicas are one node; links lead from process to channel to process.
    CHECK(b.value_of(count(".process")) == "4");
    CHECK(b.value_of(count(".channel")) == "2");
    CHECK(b.value_of(count(".link")) == "4");
    CHECK(b.value_of(text(node("p:plant/filter") + " .more") + ".slice(1)") == "2");
    const auto left = [&](const std::string& id) {
      return "parseFloat(document.querySelector('" + node(id) + "').style.left)";
    };
    CHECK(b.value_of("String(" + left("p:plant/probe") + " < " + left("c:plant/raw") + " && " +
                     left("c:plant/raw") + " < " + left("p:plant/filter") + " && " + left("p:plant/filter") +
                     " < " + left("p:plant/post") + ")") == "true");
    CHECK(b.value_of("String(document.images.length)") == "0");
    CHECK(b.value_of(count(".culprit, .blocked")) == "0");

    // Layers: a diamond, a cycle, and parts that have nothing to do with each other.
    CHECK(b.value_of(laid_out("a b c d", "a>b a>c b>d c>d")) == "0,10 30,0 30,20 60,10");
    CHECK(b.value_of(laid_out("a b c", "a>b b>c c>b")) == "0,0 30,0 60,0");
    CHECK(b.value_of(laid_out("a b c", "a>b b>a c>c")) == "0,0 30,0 50,0");
    CHECK(b.value_of(overlaps) == "0");

    // A channel that copies is as full as its fullest share; rates are those of some seconds.
    const std::string share =
        "full_for: 0, high_water: 0, dropped: 0, rate_dropped: 0, rate_out: 1, "
        "senders_blocked: [], wait: 0, capacity: 4";
    CHECK(b.value_of("String(wholeOf({length: 0, senders_blocked: []}, [{reader: 'a', length: 1, " + share +
                     "}, {reader: 'b', length: 3, " + share + "}]).length)") == "3");
    CHECK(b.value_of("counters.clear(); [0, 1, 2, 3, 4].map(at => { const c = {name: 'x', reader: '', "
                     "length: 6, sent: 10 * at, "
                     "received: 2 * at, dropped: 0, rate_in: 7, rate_out: 7, wait: 7}; "
                     "steady({at, channels: [c]}); return c.rate_in + '/' + c.wait; }).join()") ==
          "7/7,7/7,10/3,10/3,10/3");

    // Somebody is to blame.
    door->held_up = true;
    CHECK(b.becomes(text("#blame button"), "post holds up filter, probe"));
    CHECK(b.value_of(count(".process.culprit")) == "1");
    CHECK(b.value_of(count(".process.victim")) == "2");
    CHECK(b.value_of(count(".channel.blocked")) == "2");
    CHECK(b.value_of(count(".link.blocked")) == "2");
    CHECK(b.value_of(click("#blame button")) == "done");
    CHECK(b.value_of(text("#panel h2")) == "plant/post");
    CHECK(b.becomes(text("#panel .now"), "waits for 10.0.0.7:443, for 3 s"));
    door->held_up = false;
    CHECK(b.becomes(count(".culprit, .blocked"), "0"));

    // Nobody looks: nobody asks.
    const auto hide = [&](const std::string& hidden) {
      return b.value_of(
          "Object.defineProperty(document, 'hidden', {value: " + hidden +
          ", configurable: true}); document.dispatchEvent(new Event('visibilitychange')); 'done'");
    };
    CHECK(hide("true") == "done");
    CHECK(b.becomes("String(life.asking)", "null"));
    const int asked = door->asked;
    CHECK(b.value_of("new Promise(r => setTimeout(() => r('waited'), 1500))") == "waited");
    CHECK(door->asked == asked);
    CHECK(hide("false") == "done");
    CHECK(sched::test::eventually([&] { return door->asked > asked; }));
    CHECK(b.value_of(text("#status")) == "live");

    // By keyboard: from the probe to its channel, and into it.
    CHECK(b.value_of("document.querySelector('" + node("p:plant/probe") + "').focus(), 'done'") == "done");
    (void)b.value_of(press("ArrowRight"));
    CHECK(b.value_of("document.activeElement.dataset.id") == "c:plant/raw");
    CHECK(b.value_of(click(node("c:plant/raw"))) == "done");  // as Enter does
    CHECK(b.value_of(text("#panel h2")) == "plant/raw");
    CHECK(b.becomes(count("#panel .facts tr"), "7"));
    // A tap: bounded, as text, and what is not shown is told.
    CHECK(b.value_of("[...document.querySelectorAll('#panel button')].find(b => b.textContent == "
                     "'Watch').click(), 'done'") == "done");
    CHECK(b.becomes(count(".tap li"), "200"));
    CHECK(b.value_of(count(".tap b")) == "0");
    CHECK(b.becomes(text("#panel .actions .sub"),
                    [](const std::string& t) { return t.find(" not shown") != std::string::npos; }));
    CHECK(b.value_of("[...document.querySelectorAll('#panel button')].find(b => b.textContent == "
                     "'Stop').click(), 'done'") == "done");
    CHECK(b.becomes(text("#panel .actions .sub"),
                    [](const std::string& t) { return t.starts_with("stopped; "); }));
    (void)b.value_of(press("Escape"));
    CHECK(b.value_of("String(document.getElementById('panel').hidden)") == "true");

    // A restart; the token is asked for once.
    door->needs_token = true;
    const std::string restart =
        "[...document.querySelectorAll('#panel button')].find(b => b.textContent == 'Restart all "
        "2').click(), 'done'";
    CHECK(b.value_of(click(node("p:plant/filter"))) == "done");
    CHECK(b.becomes(text("#panel .setting label"), "window"));
    CHECK(b.becomes(text("#panel .frames li"), "filter::run() at f.cpp:12"));
    CHECK(b.value_of(restart) == "done");
    CHECK(b.becomes("String(document.getElementById('ask').open)", "true"));
    CHECK(b.value_of("document.getElementById('token').value = 'secret'") == "secret");
    CHECK(b.value_of(click("#token-yes")) == "done");
    CHECK(b.becomes(text("#panel .said"), "restarted: filter/0, filter/1"));
    CHECK(door->restarts == 1);
    CHECK(b.value_of(restart) == "done");
    CHECK(sched::test::eventually([&] { return door->restarts == 2; }));
    CHECK(b.value_of("String(document.getElementById('ask').open)") == "false");

    // The program goes, and another one comes: with many services, which fold.
    door.reset();
    CHECK(b.becomes(text("#status"), "connection lost"));
    door = std::make_unique<fake_door>(where, 102, 30);
    CHECK(b.becomes(text("#status"), "live"));
    CHECK(b.becomes(text("#note"), [](const std::string& t) { return t.find("102") != std::string::npos; }));
    CHECK(b.becomes(count(".process"), "94"));
    CHECK(b.value_of(overlaps) == "0");
    CHECK(b.value_of(click("#fold")) == "done");
    CHECK(b.value_of(count(".process")) == "0");
    CHECK(b.value_of(count(".service")) == "31");
    CHECK(b.value_of(click(node("s:plant"))) == "done");
    CHECK(b.value_of(count(".process")) == "4");

    for (const std::string& url : b.asked_for())
      CHECK_MESSAGE((url.starts_with("http://" + where + "/") || url.starts_with("data:")), url);
    // Nor could it ask elsewhere, or run what is not its own.
    CHECK(b.value_of("new Promise(r => { document.addEventListener('securitypolicyviolation', e => "
                     "r(e.effectiveDirective)); new Image().src = 'http://127.0.0.1:9/x.png'; })") ==
          "img-src");
    CHECK(b.value_of("try { document.body.innerHTML = 'x'; 'taken' } catch (e) { e.name }") == "TypeError");
  });
}

TEST_CASE("in a browser, 200 processes fit on a phone, and in the dark" * doctest::timeout(280)) {
  const std::string program = leat::test::chromium();
  if (program.empty()) {
    std::printf("skipped: there is no chromium here (Debian: apt install chromium)\n");
    return;
  }
  leat::run(sched::test::with_procs(2), [&] {
    fake_door door("127.0.0.1:0", 103, 66);
    browser b(program);
    b.show_at(390, 844, true);
    b.open("http://" + door.where + "/");
    CHECK(b.becomes(text("#status"), "live"));
    // As many begin folded.
    CHECK(b.becomes(count(".service"), "67"));
    CHECK(b.value_of(click("#fold")) == "done");
    CHECK(b.value_of(count(".process")) == "202");
    CHECK(b.value_of(overlaps) == "0");
    const std::string scrolls_sideways = "String(document.documentElement.scrollWidth > innerWidth)";
    CHECK(b.value_of(scrolls_sideways) == "false");
    // The panel has the width of the screen and can be left.
    CHECK(b.value_of(click(node("p:plant/post"))) == "done");
    CHECK(b.value_of(scrolls_sideways) == "false");
    CHECK(b.value_of("(r => String(r.left >= 0 && r.right <= innerWidth))(document.getElementById('panel')."
                     "getBoundingClientRect())") == "true");
    (void)b.value_of(press("Escape"));
    CHECK(b.value_of("String(document.getElementById('panel').hidden)") == "true");

    const auto stands_out = [&](const char* how) {
      const std::string now = b.value_of(contrast);
      CAPTURE(now);
      CHECK(now.ends_with(how));
      CHECK(std::atoi(now.c_str()) >= 7);
    };
    stands_out(" light");
    b.show_dark();
    CHECK(b.becomes(contrast, [](const std::string& c) { return c.ends_with(" dark"); }));
    stands_out(" dark");
    // At a desk.
    b.show_at(1600, 900);
    CHECK(b.becomes(scrolls_sideways, "false"));
    CHECK(b.becomes(overlaps, "0"));
  });
}

}  // namespace leat::control::test
