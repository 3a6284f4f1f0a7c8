// The values of each sensor, live, over the same span of time in every card. However fast they come, a card keeps
// one column for each step of the span: the least, the greatest and the mean of what came in it. What comes from
// sensors goes into the page as text and numbers only, never as HTML.
'use strict';
const { key, field } = document.body.dataset;
const span = Number(document.body.dataset.window), scales = JSON.parse(document.body.dataset.scales);
const place = document.getElementById('sensors'), state = document.getElementById('status');
const columns = 240, step = span / columns, mostSensors = 500, width = 300, height = 60;
const sensors = new Map();
let last = '', source, everOpen = false;

const make = (name, parent, className, text) => {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return parent.appendChild(e);
};
const draws = (name, parent, className) => {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  e.setAttribute('class', className);
  return parent.appendChild(e);
};
const put = (e, text) => { if (e.textContent !== text) e.textContent = text; };

// The clock of the program, which says when each record came: the record that took the shortest way tells how far
// this one's is off. Only the last seconds count, since clocks are set.
const clock = {
  now: -Infinity, before: -Infinity, since: 0,
  hear(at) {
    const here = Date.now();
    if (here - this.since > 10000) Object.assign(this, { before: this.now, now: -Infinity, since: here });
    this.now = Math.max(this.now, at - here);
  },
  read() {
    const off = Math.max(this.now, this.before);
    return Date.now() + (Number.isFinite(off) ? off : 0);
  },
};

class Columns {
  constructor() {
    const many = () => new Float64Array(columns + 2);
    Object.assign(this, { at: many().fill(-1), least: many(), most: many(), sum: many(), n: many() });
  }
  add(time, value, least, most) {
    const c = Math.floor(time / step), i = c % this.at.length;
    if (this.at[i] > c) return;
    if (this.at[i] < c) {
      this.at[i] = c;
      this.least[i] = Infinity;
      this.most[i] = -Infinity;
      this.sum[i] = this.n[i] = 0;
    }
    this.least[i] = Math.min(this.least[i], least);
    this.most[i] = Math.max(this.most[i], most);
    this.sum[i] += value;
    ++this.n[i];
  }
  // {x, least, most, mean} of each step that has something, the oldest first; x from 0 to 1.
  points(now) {
    const all = [], end = Math.floor(now / step);
    for (let c = end - columns; c <= end; ++c) {
      const i = c % this.at.length;
      if (this.at[i] === c)
        all.push({ x: 1 - (now / step - c - 0.5) / columns, least: this.least[i], most: this.most[i],
          mean: this.sum[i] / this.n[i] });
    }
    return all;
  }
}

// Numbers of one width, moments as the clock on the wall shows them, and the rest as people would say it.
function say(v) {
  if (v === null || v === undefined) return '\u2013';
  if (typeof v === 'boolean') return v ? 'yes' : 'no';
  if (typeof v === 'number' && !Number.isInteger(v)) {
    const size = Math.abs(v);
    return size >= 0.001 && size < 100000 ? v.toPrecision(5) : String(Number(v.toPrecision(5)));
  }
  if (typeof v === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(v)) return new Date(v).toLocaleTimeString();
  if (typeof v === 'string' && /^[[{]/.test(v)) {  // a list, or a structure in one
    try {
      return say(JSON.parse(v));
    } catch {
      return v;
    }
  }
  if (Array.isArray(v)) return v.slice(0, 8).map(say).join(', ') + (v.length > 8 ? ', \u2026 (' + v.length + ')' : '');
  if (typeof v === 'object') return Object.entries(v).map(([name, part]) => name + ' ' + say(part)).join(', ');
  return String(v);
}
function sayTime(ms) {
  for (const [size, unit] of [[86400000, 'd'], [3600000, 'h'], [60000, 'min']])
    if (ms >= size) return Number((ms / size).toFixed(1)) + ' ' + unit;
  return Number((ms / 1000).toFixed(1)) + ' s';
}
const isNumber = (v) => typeof v === 'number' && Number.isFinite(v);
// Whether it tells the range of a window, as min-max does.
const hasRange = (r) => isNumber(r.min) && isNumber(r.max) && field !== 'min' && field !== 'max';

// Values within tables and lists by their paths: "position.lat", "raw[0]".
const mostElements = 16;
function flat(record) {
  const out = Object.create(null);
  const walk = (v, path) => {
    if (Array.isArray(v)) {
      v.slice(0, mostElements).forEach((x, i) => walk(x, path + '[' + i + ']'));
    } else if (v !== null && typeof v === 'object') {
      for (const [name, x] of Object.entries(v)) walk(x, path ? path + '.' + name : name);
    } else {
      out[path] = v;
    }
  };
  walk(record, '');
  return out;
}

// The other fields as rows; parts of one structure ("position.lat", "position.lon") share one.
function rowsOf(record) {
  const rows = new Map();
  const range = hasRange(record);
  if (range) rows.set('range', [say(record.min) + ' \u2026 ' + say(record.max)]);
  for (const [name, v] of Object.entries(record)) {
    if (name === key || name === field || (range && (name === 'min' || name === 'max'))) continue;
    const dot = name.search(/[.[]/), whole = dot > 0 ? name.slice(0, dot) : name;
    if (!rows.has(whole)) rows.set(whole, []);
    rows.get(whole).push((dot > 0 && name[dot] === '.' ? name.slice(dot + 1) + ' ' : '') + say(v));
  }
  return [...rows].slice(0, 24).map(([name, parts]) => [name, parts.join(', ')]);
}

const watched = new IntersectionObserver((entries) => {
  for (const e of entries) {
    const s = sensors.get(e.target.dataset.name);
    if (!s) continue;
    s.visible = e.isIntersecting;
    if (s.visible) draw(s, clock.read());
  }
});

function newSensor(name) {
  document.getElementById('none')?.remove();
  const card = document.createElement('section');
  card.dataset.name = name;
  place.insertBefore(card, [...place.children].find((c) => c.dataset.name > name) ?? null);
  const s = { card, past: new Columns(), record: {}, changed: true, numbers: false, visible: true, seen: 0,
    scale: scales.find((x) => x.sensor === name) ?? scales.find((x) => x.sensor === null) ?? {} };
  make('h2', card, '', name === '' ? 'value' : name);
  s.value = make('div', card, 'value');
  s.number = make('span', s.value);
  s.unit = make('span', s.value, 'unit', s.scale.unit ?? '');
  s.warning = make('div', card, 'warning');
  s.plot = make('div', card, 'plot');
  s.plot.hidden = true;
  const svg = draws('svg', s.plot, '');
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('aria-hidden', 'true');
  for (let i = 0; i <= 4; ++i) draws('path', svg, 'grid').setAttribute('d', `M${(i * width) / 4} 0V${height}`);
  s.limits = draws('path', svg, 'limit');
  s.band = draws('path', svg, 'band');
  s.line = draws('path', svg, 'trend');
  const levels = make('div', s.plot, 'levels');
  s.most = make('span', levels);
  s.least = make('span', levels);
  const times = make('div', s.plot, 'times');
  for (const part of [1, 0.5]) make('span', times, '', '\u2212' + sayTime(part * span));
  make('span', times, '', 'now');
  s.rest = make('dl', card);
  sensors.set(name, s);
  watched.observe(card);
  requestAnimationFrame(() => draw(s, clock.read()));
  return s;
}

function take(given, at) {
  const record = flat(given);
  const name = String(record[key] ?? '');
  let s = sensors.get(name);
  if (!s) {
    if (sensors.size >= mostSensors) return;
    s = newSensor(name);
  }
  s.record = record;
  s.changed = true;
  s.seen = Date.now();
  const v = typeof record[field] === 'boolean' ? Number(record[field]) : record[field];
  if (!isNumber(v)) return;
  s.numbers = true;
  const range = hasRange(record);
  const mean = range && isNumber(record.mean) ? record.mean : v;
  s.past.add(at, mean, range ? Math.min(v, record.min) : v, range ? Math.max(v, record.max) : v);
}

function drawTrend(s, now) {
  const points = s.past.points(now), flag = typeof s.record[field] === 'boolean';
  const limits = flag ? [] : [s.scale.low, s.scale.high].filter(isNumber);
  const shown = [...limits, ...(flag ? [0, 1] : points.flatMap((p) => [p.least, p.most]))];
  const least = Math.min(...shown), most = Math.max(...shown);
  const level = (v) => (shown.length ? say(flag ? v > 0 : v) : '');
  put(s.least, level(least));
  put(s.most, level(most));
  const y = (v) => (height - 3 - (height - 6) * (most > least ? (v - least) / (most - least) : 0.5)).toFixed(1);
  // A long silence is no line.
  const runs = [];
  points.forEach((p, i) => {
    if (i === 0 || p.x - points[i - 1].x > 0.34) runs.push([]);
    runs.at(-1).push(p);
  });
  const at = (p, v) => (p.x * width).toFixed(1) + ' ' + y(v);
  const lineOf = (run) => 'M' + run.map((p) => at(p, p.mean)).join('L') + (run.length === 1 ? 'h.1' : '');
  s.line.setAttribute('d', runs.map(lineOf).join(''));
  s.band.setAttribute('d', runs.map((run) => 'M' + run.map((p) => at(p, p.most)).join('L') + 'L' +
    [...run].reverse().map((p) => at(p, p.least)).join('L') + 'Z').join(''));
  s.limits.setAttribute('d', limits.map((v) => `M0 ${y(v)}H${width}`).join(''));
}

function draw(s, now) {
  if (s.numbers) {
    s.plot.hidden = false;
    drawTrend(s, now);
  }
  if (!s.changed) return;
  s.changed = false;
  const v = s.record[field], { low, high, unit } = s.scale, text = say(v);
  put(s.number, text);
  s.unit.hidden = !isNumber(v);
  s.value.classList.toggle('text', text.length > 14);
  let limit = '';
  if (isNumber(v) && isNumber(high) && v > high) limit = 'above ' + say(high);
  if (isNumber(v) && isNumber(low) && v < low) limit = 'below ' + say(low);
  put(s.warning, limit + (limit && unit ? ' ' + unit : ''));
  s.card.classList.toggle('beyond', limit !== '');
  const rows = rowsOf(s.record).flat();
  while (s.rest.children.length > rows.length) s.rest.lastChild.remove();
  rows.forEach((t, i) => put(s.rest.children[i] ?? make(i % 2 ? 'dd' : 'dt', s.rest), t));
}

// Four times a second is as fast as eyes read; the time goes on without values, too.
setInterval(() => {
  if (document.hidden) return;
  const now = clock.read();
  for (const s of sensors.values()) {
    if (s.visible) draw(s, now);
    s.card.classList.toggle('stale', Date.now() - s.seen > 30000);
  }
}, 250);

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
    const at = Number(last.split('-')[2]);
    clock.hear(at);
    take(JSON.parse(e.data), at);
  };
  source.onerror = () => {
    show(everOpen ? 'connection lost, trying again' : 'connecting', 'waiting');
    // After an answer that is no stream of events the browser does not try again by itself.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, 2000);
  };
}
connect();
