// What was: steady rates, and numbers of the last minutes for each node, by the program's own clock; a chart of them.

const kept = 600, minutes = 5;

class Past {
  constructor(lines) {
    this.at = new Float64Array(kept);
    this.lines = lines.map(() => new Float32Array(kept));
    this.n = 0;
  }
  add(at, values) {
    const i = this.n++ % kept;
    this.at[i] = at;
    values.forEach((v, k) => { this.lines[k][i] = v; });
  }
  // Calls f(time, value) in order.
  each(line, f) {
    for (let k = Math.max(0, this.n - kept); k < this.n; ++k) f(this.at[k % kept], this.lines[line][k % kept]);
  }
}

// The program tells rates of the last second, in which a slow channel jumps between nothing and much. So rates are
// taken from its counters over some seconds, as soon as so many are known.
const steadily = 3;
const counters = new Map();
function steady(state) {
  const names = [['rate_in', 'sent'], ['rate_out', 'received'], ['rate_dropped', 'dropped']];
  for (const c of state.channels ?? []) {
    const id = c.name + '@' + c.reader;
    if (!counters.has(id)) counters.set(id, []);
    const past = counters.get(id);
    while (past.length > 1 && past[1].at <= state.at - steadily) past.shift();
    const from = past[0], passed = from ? state.at - from.at : 0;
    if (passed > 1.5) {
      for (const [rate, count] of names) c[rate] = Math.max(0, (c[count] - from[count]) / passed);
      c.wait = c.length === 0 ? 0 : c.rate_out > 0 ? c.length / c.rate_out : null;
    }
    past.push({ at: state.at, sent: c.sent, received: c.received, dropped: c.dropped });
  }
  if (counters.size > 2 * (state.channels ?? []).length) counters.clear();
}

const pasts = new Map();
function remember(model) {
  const at = model.state.at;
  const note = (id, values) => {
    if (!pasts.has(id)) pasts.set(id, new Past(values));
    pasts.get(id).add(at, values);
  };
  for (const n of model.channels.values()) note(n.id, [n.data.rate_in, n.data.rate_out]);
  for (const n of model.processes.values()) note(n.id, [n.cpu ?? 0]);
  if (pasts.size > model.channels.size + model.processes.size)
    for (const id of pasts.keys()) if (!model.node(id)) pasts.delete(id);
}

function newChart(parent, names, label) {
  const box = make('figure', parent, 'chart');
  const most = make('figcaption', box, 'most');
  const ns = 'http://www.w3.org/2000/svg', w = 300, h = 70;
  const svg = box.appendChild(document.createElementNS(ns, 'svg'));
  svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  svg.setAttribute('role', 'img');
  svg.setAttribute('aria-label', label);
  const paths = names.map((_, i) => {
    const p = svg.appendChild(document.createElementNS(ns, 'path'));
    p.setAttribute('class', 'line' + i);
    return p;
  });
  const scale = make('div', box, 'scale'), since = make('span', scale);
  if (names.length > 1) {
    const legend = make('span', scale, 'legend');
    names.forEach((name, i) => make('span', legend, 'name' + i, name));
  }
  make('span', scale, '', 'now');
  return (past, now, say) => {
    if (!past) return;
    let top = 0, first = now;
    past.each(0, (t) => { first = Math.min(first, t); });
    const span = now - first < 55 ? 60 : 60 * minutes;
    put(since, 'text', span / 60 + ' min ago');
    names.forEach((_, i) => past.each(i, (t, v) => { if (t > now - span && v > top) top = v; }));
    put(most, 'text', 'most: ' + say(top));
    paths.forEach((p, i) => {
      let d = '', last = -Infinity;
      past.each(i, (t, v) => {
        if (t < now - span) return;
        const x = w * (1 - (now - t) / span), y = h - 2 - (h - 4) * (top > 0 ? v / top : 0);
        d += (t - last > 5 ? 'M' : 'L') + x.toFixed(1) + ' ' + y.toFixed(1);
        last = t;
      });
      put(p, 'd', d);
    });
  };
}
