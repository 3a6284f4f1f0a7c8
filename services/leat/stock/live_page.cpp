// SPDX-License-Identifier: BSL-1.0
//
// The script puts what comes from sensors into the page as text and numbers only, never as HTML.
#include <leat/stock/live_page.hpp>

namespace leat::stock {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace

std::string live_page(std::string_view title, std::string_view key, std::string_view field) {
  const std::string name = escaped(title);
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
         name +
         "</title>\n<link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"page.css\">\n"
         "<script src=\"page.js\" defer></script>\n</head>\n<body data-key=\"" +
         escaped(key) + "\" data-field=\"" + escaped(field) + "\">\n<header><h1>" + name +
         "</h1><p id=\"status\" role=\"status\" class=\"waiting\">connecting</p></header>\n"
         "<main id=\"sensors\"><p id=\"none\">No values yet.</p></main>\n"
         "<footer><a href=\"latest\">latest</a> <a href=\"history?n=100\">history</a> "
         "<a href=\"health\">health</a></footer>\n</body>\n</html>\n";
}

const std::string_view live_page_style = R"css(:root {
  color-scheme: light dark;
  --ground: #f4f5f3; --card: #fff; --ink: #1c2321; --soft: #64706b; --line: #dde2de;
  --trend: #17785f; --good: #17785f; --bad: #b3541e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ground: #141816; --card: #1d2320; --ink: #e7ece9; --soft: #93a09a; --line: #2d3531;
    --trend: #58c6a5; --good: #58c6a5; --bad: #e8935c;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 72rem; padding: 1.5rem 1rem; background: var(--ground); color: var(--ink);
  font: 1rem/1.45 system-ui, sans-serif;
}
header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: .25rem 1rem; }
h1 { font-size: 1.3rem; margin: 0; overflow-wrap: anywhere; }
#status { margin: 0; color: var(--soft); }
#status::before { content: ""; display: inline-block; width: .6em; height: .6em; border-radius: 50%;
  margin-right: .45em; background: var(--bad); }
#status.live::before { background: var(--good); }
main { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(16rem, 100%), 1fr)); gap: .9rem;
  margin: 1.25rem 0; }
#none { color: var(--soft); }
section { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .8rem 1rem; min-width: 0; }
h2 { font-size: .95rem; font-weight: 600; margin: 0; overflow-wrap: anywhere; color: var(--soft); }
.value { font-size: 1.9rem; line-height: 1.3; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: 3rem; margin: .35rem 0; }
polyline { fill: none; stroke: var(--trend); stroke-width: 1.6; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.range, .rest { font-size: .8rem; color: var(--soft); font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.range { display: flex; justify-content: space-between; }
footer { font-size: .85rem; }
footer a { color: var(--soft); margin-right: .8rem; }
.stale .value { color: var(--soft); }
)css";

const std::string_view live_page_script = R"js('use strict';
const { key, field } = document.body.dataset;
const place = document.getElementById('sensors');
const state = document.getElementById('status');
const points = 120, mostSensors = 500;
const sensors = new Map();
let last = '', source, due = false, everOpen = false;

const make = (name, parent, className) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  return parent.appendChild(e);
};

function newSensor(name) {
  document.getElementById('none')?.remove();
  const card = document.createElement('section');
  card.dataset.name = name;
  place.insertBefore(card, [...place.children].find((c) => c.dataset.name > name) ?? null);
  const s = { card, trend: [], record: {}, changed: true, seen: 0 };
  make('h2', card).textContent = name === '' ? 'value' : name;
  s.value = make('div', card, 'value');
  const svg = card.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'svg'));
  svg.setAttribute('viewBox', '0 0 ' + (points - 1) + ' 40');
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  s.line = svg.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'polyline'));
  const range = make('div', card, 'range');
  s.least = make('span', range);
  s.most = make('span', range);
  s.rest = make('div', card, 'rest');
  sensors.set(name, s);
  return s;
}

function take(record) {
  const name = String(record[key] ?? '');
  let s = sensors.get(name);
  if (!s) {
    if (sensors.size >= mostSensors) return;
    s = newSensor(name);
  }
  s.record = record;
  s.changed = true;
  s.seen = Date.now();
  const number = record[field];
  if (typeof number === 'number') {
    s.trend.push(number);
    if (s.trend.length > points) s.trend.shift();
  }
  if (!due) {
    due = true;
    requestAnimationFrame(draw);
  }
}

// Numbers of one width, and moments as the clock on the wall shows them.
function short(v) {
  if (typeof v === 'number' && !Number.isInteger(v)) {
    const size = Math.abs(v);
    return size >= 0.001 && size < 100000 ? v.toPrecision(5) : String(Number(v.toPrecision(5)));
  }
  if (typeof v === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(v)) return new Date(v).toLocaleTimeString();
  return String(v ?? '');
}

function draw() {
  due = false;
  for (const s of sensors.values()) {
    if (!s.changed) continue;
    s.changed = false;
    s.value.textContent = short(s.record[field]);
    s.rest.textContent = Object.entries(s.record).filter(([name]) => name !== key && name !== field)
      .map(([name, value]) => name + ' ' + short(value)).join(', ');
    if (s.trend.length === 0) continue;
    const least = Math.min(...s.trend), most = Math.max(...s.trend), high = most - least || 1;
    const from = points - s.trend.length;
    s.line.setAttribute('points',
      s.trend.map((v, i) => (from + i) + ',' + (38 - 36 * (v - least) / high).toFixed(2)).join(' '));
    s.least.textContent = '\u2193 ' + short(least);
    s.most.textContent = '\u2191 ' + short(most);
  }
}

setInterval(() => {
  for (const s of sensors.values()) s.card.classList.toggle('stale', Date.now() - s.seen > 30000);
}, 1000);

function show(text, className) {
  state.textContent = text;
  state.className = className;
}

function connect() {
  source = new EventSource('events' + (last ? '?after=' + encodeURIComponent(last) : ''));
  source.onopen = () => {
    everOpen = true;
    show('live', 'live');
  };
  source.onmessage = (e) => {
    last = e.lastEventId;
    take(JSON.parse(e.data));
  };
  source.onerror = () => {
    show(everOpen ? 'connection lost, trying again' : 'connecting', 'waiting');
    // After an answer that is no stream of events the browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}
connect();
)js";

}  // namespace leat::stock
