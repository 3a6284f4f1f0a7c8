// What the state of the program means for the picture: replicas as one node, channels as nodes between processes,
// services that fold. And how numbers and states are said.

const ranks = ['failed', 'quarantined', 'restarting', 'blocking', 'computing', 'ready', 'waiting', 'ended'];
const rank = (state) => (ranks.includes(state) ? ranks.indexOf(state) : ranks.length);
const plural = (n, word) => n + ' ' + word + (n === 1 ? '' : /[sx]$/.test(word) ? 'es' : 's');
const local = (full) => full.slice(full.indexOf('/') + 1);
const serviceOf = (full) => full.slice(0, Math.max(0, full.indexOf('/')));

function number(v, digits = 3) {
  if (v === null || v === undefined || !Number.isFinite(v)) return '\u2013';
  if (v !== 0 && Math.abs(v) < 0.01) return v.toExponential(0);
  const units = [[1e9, 'G'], [1e6, 'M'], [1e4, 'k']];
  for (const [size, unit] of units)
    if (Math.abs(v) >= size) return Number((v / (unit === 'k' ? 1e3 : size)).toPrecision(digits)) + unit;
  return String(Math.abs(v) >= 100 ? Math.round(v) : Number(v.toPrecision(digits)));
}
const whole = (v) => (Number.isFinite(v) ? v.toLocaleString('en') : '\u2013');
const perSecond = (v) => number(v, 2) + '/s';
function percent(v) {
  if (!Number.isFinite(v)) return '\u2013';
  return (v < 0.0995 ? Number((v * 100).toFixed(1)) : Math.round(v * 100)) + ' %';
}
function seconds(v) {
  if (!Number.isFinite(v)) return '\u2013';
  if (v === 0) return '0 s';
  if (v < 1e-3) return number(v * 1e6, 2) + ' \u00b5s';
  if (v < 1) return number(v * 1e3, 2) + ' ms';
  if (v < 120) return number(v, 2) + ' s';
  if (v < 7200) return Math.round(v / 60) + ' min';
  return v < 172800 ? Number((v / 3600).toFixed(1)) + ' h' : Math.round(v / 86400) + ' d';
}
function bytes(v) {
  if (v >= 1e9) return (v / 1e9).toFixed(1) + ' GB';
  return v >= 1e6 ? (v / 1e6).toFixed(1) + ' MB' : Math.round((v ?? 0) / 1e3) + ' kB';
}

// What a process does now, in a few words; the channel without its service.
function doing(p) {
  if (p.state === 'blocking') return 'in a blocking call';
  const w = p.waits;
  if (p.state === 'computing') return 'computes';
  if (p.state !== 'waiting') return p.state;
  if (!w) return 'waits';
  const at = w.channel ? local(w.channel) : '';
  switch (w.for) {
    case 'receive': return at ? 'waits for ' + at : 'waits for a value';
    case 'send': return at ? 'blocked at ' + at : 'blocked';
    case 'select': return at ? 'waits for ' + at : 'waits for any of its channels';
    case 'sleep': return 'sleeps';
    case 'mutex': return 'waits for a lock';
    case 'condition': return 'waits for a condition';
    case 'semaphore': return 'waits for a semaphore';
    case 'join': return 'waits for its tasks';
    case 'I/O': return w.peer ? 'waits for ' + w.peer : 'waits for I/O';
    default: return w.for ? 'in a ' + w.for : 'waits';
  }
}

// busy, idle, held, bad or over: what the colour tells.
function mood(p) {
  if (p.state === 'failed' || p.state === 'quarantined') return 'bad';
  if (p.state === 'restarting') return 'held';
  if (p.state === 'ended') return 'over';
  if (p.state === 'waiting') return p.waits?.for === 'send' ? 'held' : 'idle';
  return 'busy';
}

const fullness = (c) => (c.capacity > 0 ? Math.min(1, c.length / c.capacity) : c.senders_blocked.length ? 1 : 0);

// A channel that copies keeps its values in the shares of its readers: as a whole it is as its fullest one.
function wholeOf(c, shares) {
  const fullest = shares.reduce((a, b) => (fullness(b) > fullness(a) ? b : a));
  const most = (name) => Math.max(...shares.map((s) => s[name]));
  const sum = (name) => shares.reduce((total, s) => total + s[name], 0);
  return { ...c, fullest: fullest.reader, capacity: fullest.capacity, length: fullest.length, wait: fullest.wait,
    rate_out: most('rate_out'), high_water: most('high_water'), full_for: most('full_for'),
    dropped: sum('dropped'), rate_dropped: sum('rate_dropped'),
    senders_blocked: [...new Set([c, ...shares].flatMap((s) => s.senders_blocked))] };
}

function modelOf(state) {
  const services = new Map(), processes = new Map(), channels = new Map(), links = [], byName = new Map();
  const service = (name) => {
    const id = 's:' + name;
    if (!services.has(id)) services.set(id, { id, kind: 'service', name, phase: '', processes: [], channels: [] });
    return services.get(id);
  };
  const link = (from, to, rate, blocked) => links.push({ id: from + '>' + to, from, to, rate, blocked });
  for (const s of state.services ?? []) Object.assign(service(s.name), { phase: s.phase, alive: s.alive });
  for (const p of state.processes ?? []) {
    const id = 'p:' + p.process;
    let node = processes.get(id);
    if (!node) {
      node = { id, kind: 'process', name: p.process, service: 's:' + p.service, all: [] };
      processes.set(id, node);
      service(p.service).processes.push(node);
    }
    node.all.push(p);
    byName.set(p.name, id);
    byName.set(p.process, id);
  }
  for (const node of processes.values()) {
    node.worst = node.all.reduce((a, b) => (rank(b.state) < rank(a.state) ? b : a));
    node.cpu = node.all.some((p) => p.cpu !== null) ? node.all.reduce((sum, p) => sum + (p.cpu ?? 0), 0) : null;
    node.restarts = node.all.reduce((sum, p) => sum + p.restarts, 0);
  }
  for (const c of state.channels ?? []) {
    const id = 'c:' + c.name;
    if (!channels.has(id)) {
      const node = { id, kind: 'channel', name: c.name, service: 's:' + serviceOf(c.name), data: c, shares: [] };
      channels.set(id, node);
      service(serviceOf(c.name)).channels.push(node);
    }
    if (c.reader) channels.get(id).shares.push(c);
    else channels.get(id).data = c;
  }
  for (const node of channels.values()) {
    const c = node.data = node.shares.length ? wholeOf(node.data, node.shares) : node.data;
    node.blocked = c.senders_blocked;
    node.full = fullness(c);
    const ids = new Set(node.blocked.map((name) => byName.get(name)));
    for (const from of new Set(c.writers.map((name) => byName.get(name))))
      if (from) link(from, node.id, c.rate_in / c.writers.length, ids.has(from));
    const seen = new Set();
    for (const name of c.readers) {
      const to = byName.get(name), share = node.shares.find((s) => s.reader === name);
      if (to && !seen.has(to)) link(node.id, to, share ? share.rate_out : c.rate_out / c.readers.length, false);
      seen.add(to);
    }
  }
  const culprits = new Map(), victims = new Set();
  for (const b of state.blame ?? []) {
    const id = byName.get(b.culprit);
    if (id && !culprits.has(id)) culprits.set(id, b);
    for (const v of b.victims) if (byName.has(v)) victims.add(byName.get(v));
  }
  for (const id of culprits.keys()) victims.delete(id);
  const node = (id) => processes.get(id) ?? channels.get(id) ?? services.get(id);
  const shape = [[...services.keys()], [...processes.keys()], [...channels.keys()], links.map((l) => l.id)].join('\n');
  return { state, services, processes, channels, links, byName, culprits, victims, node, shape };
}

// Where everything stands. A service is a box around its own layout, or one node if it is folded; the boxes are
// laid out by the same rules.
const sizes = { process: { w: 150, h: 46 }, channel: { w: 90, h: 46 }, service: { w: 210, h: 62 } };
const gaps = { along: 24, across: 14, part: 26 };
const frame = { side: 14, top: 36 };

function placesOf(model, { folded, down, room }) {
  const framed = model.services.size > 1;
  const boxes = [], insides = new Map();
  for (const s of model.services.values()) {
    if (framed && folded.has(s.id)) {
      boxes.push({ id: s.id, ...sizes.service });
      continue;
    }
    const nodes = [...s.processes, ...s.channels].map((n) => ({ id: n.id, ...sizes[n.kind] }));
    const inside = arrange(nodes, model.links, { down, room: room - (framed ? 2 * frame.side : 0), gap: gaps });
    insides.set(s.id, inside);
    boxes.push({ id: s.id, w: Math.max(framed ? sizes.service.w : 0, inside.w + (framed ? 2 * frame.side : 0)),
      h: inside.h + (framed ? frame.top + frame.side : 0) });
  }
  const home = (id) => model.node(id).service;
  const shown = (id) => (insides.has(home(id)) ? id : home(id));
  const across = model.links.filter((l) => home(l.from) !== home(l.to));
  const outer = arrange(boxes, across.map((l) => ({ id: l.id, from: home(l.from), to: home(l.to) })),
    { down, room, gap: { along: 60, across: 24, part: 24 } });
  const places = new Map(), ways = new Map();
  for (const b of boxes) {
    const at = outer.at.get(b.id), inside = insides.get(b.id);
    places.set(b.id, { ...at, w: b.w, h: b.h, open: Boolean(inside), framed });
    if (!inside) continue;
    const dx = at.x + (framed ? frame.side : 0), dy = at.y + (framed ? frame.top : 0);
    for (const [id, p] of inside.at) places.set(id, { x: p.x + dx, y: p.y + dy, ...sizes[model.node(id).kind] });
    for (const [id, way] of inside.ways) ways.set(id, way.map((p) => ({ x: p.x + dx, y: p.y + dy })));
  }
  for (const l of across) {
    const a = places.get(shown(l.from)), b = places.get(shown(l.to));
    ways.set(l.id, down ? [{ x: a.x + a.w / 2, y: a.y + a.h }, { x: b.x + b.w / 2, y: b.y }]
      : [{ x: a.x + a.w, y: a.y + a.h / 2 }, { x: b.x, y: b.y + b.h / 2 }]);
  }
  return { w: outer.w, h: outer.h, places, ways };
}
