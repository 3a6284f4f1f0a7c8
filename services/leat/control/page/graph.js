// The graph on the page: nodes are buttons, links are paths below them. A relayout makes and moves elements; an
// update touches only what has changed since the last one.

const byId = (id) => document.getElementById(id);
const split = byId('split'), view = byId('view'), stage = byId('stage');
const links = byId('links'), nodes = byId('nodes'), boxes = byId('boxes');

function make(tag, parent, className, text) {
  const e = document.createElement(tag);
  if (tag === 'button') e.type = 'button';
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  parent?.append(e);
  return e;
}
// Sets what differs from last time; the DOM is slow to ask.
const shownAs = new WeakMap();
function put(e, key, value) {
  let was = shownAs.get(e);
  if (!was) shownAs.set(e, was = {});
  if (was[key] === value) return;
  was[key] = value;
  if (key === 'text') e.textContent = value;
  else if (key === 'hidden') e.hidden = value;
  else if (key.startsWith('.')) e.classList.toggle(key.slice(1), value);
  else if (key.startsWith('style:')) e.style[key.slice(6)] = value;
  else e.setAttribute(key, value);
}

const graph = {
  model: null, places: null, shape: '', views: new Map(), paths: new Map(), folded: new Set(), zoom: 0, scale: 1,
  current: null, selected: null, matches: null, onOpen: () => {}, down: false,
};

const makers = {
  process(e) {
    return { name: make('span', e, 'name'), more: make('span', e, 'more'), what: make('span', e, 'what'),
      cpu: make('span', e, 'cpu'), load: make('span', e, 'load') };
  },
  channel(e) {
    const name = make('span', e, 'name'), gauge = make('span', e, 'gauge');
    return { name, fill: make('span', gauge, 'fill'), amount: make('span', gauge, 'amount'),
      rate: make('span', e, 'rate') };
  },
  service(e) {
    return { name: make('span', e, 'name'), what: make('span', e, 'what'), note: make('span', e, 'note') };
  },
};

const updaters = {
  process(v, n) {
    const p = n.worst, blame = graph.model.culprits.get(n.id);
    const what = blame ? 'holds up ' + blame.victims.length : doing(p);
    put(v.name, 'text', local(n.name));
    put(v.more, 'text', (n.all.length > 1 ? '\u00d7' + n.all.length : '') + (n.restarts ? ' \u21bb' + n.restarts : ''));
    put(v.what, 'text', what);
    put(v.cpu, 'text', n.cpu === null || n.cpu < 0.005 ? '' : percent(n.cpu));
    put(v.load, 'style:transform', 'scaleX(' + Math.min(1, (n.cpu ?? 0) / n.all.length).toFixed(2) + ')');
    put(v.e, 'data-mood', mood(p));
    put(v.e, '.culprit', Boolean(blame));
    put(v.e, '.victim', graph.model.victims.has(n.id));
    put(v.e, '.several', n.all.length > 1);
    put(v.e, 'aria-label', 'process ' + n.name + ', ' + what);
    put(v.e, 'title', n.name + ' (' + p.class + '): ' + doing(p));
  },
  channel(v, n) {
    const c = n.data, drops = c.rate_dropped > 0;
    put(v.name, 'text', local(n.name));
    put(v.fill, 'style:transform', 'scaleX(' + n.full.toFixed(2) + ')');
    const direct = n.blocked.length ? 'waits' : 'direct';
    put(v.amount, 'text', c.capacity > 0 ? number(c.length) + ' / ' + number(c.capacity) : direct);
    put(v.rate, 'text', drops ? '\u2212' + perSecond(c.rate_dropped) : perSecond(c.rate_out));
    put(v.e, '.blocked', n.blocked.length > 0);
    put(v.e, '.drops', drops);
    const full = c.capacity > 0 ? ', ' + Math.round(n.full * 100) + ' % full' : '';
    put(v.e, 'aria-label', 'channel ' + n.name + full + (n.blocked.length ? ', senders blocked' : ''));
    put(v.e, 'title', n.name + ' (' + c.message + ')' + full);
  },
  service(v, n) {
    const bad = n.processes.filter((p) => mood(p.worst) === 'bad').length;
    const culprit = n.processes.find((p) => graph.model.culprits.has(p.id));
    const held = n.channels.filter((c) => c.blocked.length).length;
    const cpu = n.processes.reduce((sum, p) => sum + (p.cpu ?? 0), 0);
    const note = [culprit && local(culprit.name) + ' holds up ' + graph.model.culprits.get(culprit.id).victims.length,
      bad && bad + ' failed', !culprit && held && plural(held, 'channel') + ' full'].filter(Boolean).join(', ');
    const inside = v.open ? [] : [...n.processes, ...n.channels];
    const hits = graph.matches ? inside.filter((m) => graph.matches.has(m.id)).length : 0;
    put(v.name, 'text', (v.open ? '\u25be ' : '\u25b8 ') + n.name);
    const phase = n.phase && n.phase !== 'running' ? ', ' + n.phase : '';
    put(v.what, 'text', plural(n.processes.length, 'process') + ', ' + percent(cpu) + ' CPU' + phase);
    put(v.note, 'text', hits ? hits + ' found inside' : note);
    put(v.e, 'data-mood', culprit || bad ? 'bad' : held ? 'held' : 'idle');
    put(v.e, '.culprit', Boolean(culprit) && !v.open);
    put(v.e, 'aria-expanded', String(v.open));
    put(v.e, 'title', n.name);
  },
};

function makeView(id, kind, place) {
  const open = kind === 'service' && place.open;
  const e = make('button', nodes, 'node ' + kind + (open ? ' open' : ''));
  e.tabIndex = -1;
  e.dataset.id = id;
  e.addEventListener('click', (event) => choose(id, event.detail === 0));
  e.addEventListener('focus', () => setCurrent(id));
  return { e, kind, open, box: open && place.framed ? make('div', boxes, 'box') : null, ...makers[kind](e) };
}

function dropView(id) {
  const v = graph.views.get(id);
  v.e.remove();
  v.box?.remove();
  graph.views.delete(id);
  if (graph.current === id) graph.current = null;
}

function pathOf(points, down) {
  const at = (x, y) => x.toFixed(1) + ' ' + y.toFixed(1) + ' ';
  let d = 'M' + at(points[0].x, points[0].y);
  for (let i = 1; i < points.length; ++i) {
    const a = points[i - 1], b = points[i], x = (a.x + b.x) / 2, y = (a.y + b.y) / 2;
    d += 'C' + (down ? at(a.x, y) + at(b.x, y) : at(x, a.y) + at(x, b.y)) + at(b.x, b.y);
  }
  return d;
}

function move(e, p) {
  put(e, 'style:left', p.x + 'px');
  put(e, 'style:top', p.y + 'px');
  put(e, 'style:width', p.w + 'px');
  put(e, 'style:height', p.h + 'px');
}

function relayout() {
  if (!graph.model) return;
  const margin = 16, room = Math.max(280, split.clientWidth - 2 * margin);
  graph.down = room < 620;
  const placed = (wide) => placesOf(graph.model, { folded: graph.folded, down: graph.down, room: wide });
  let made = placed(room);
  // What does not fit is shown smaller; then there is more room for all.
  if (made.w > room) made = placed(Math.min(made.w, room / smallest()));
  graph.places = made.places;
  const focused = document.activeElement?.dataset?.id;
  for (const [id, v] of graph.views) {
    const p = made.places.get(id);
    if (!p || (v.kind === 'service' && (v.open !== p.open || !p.framed))) dropView(id);
  }
  for (const [id, p] of made.places) {
    const n = graph.model.node(id);
    if (n.kind === 'service' && !p.framed) continue;
    if (!graph.views.has(id)) graph.views.set(id, makeView(id, n.kind, p));
    const v = graph.views.get(id), at = { ...p, x: p.x + margin, y: p.y + margin };
    if (v.box) move(v.box, at);
    move(v.e, v.box ? { ...at, h: frame.top - 8 } : at);
  }
  for (const [id, path] of graph.paths) {
    if (made.ways.has(id)) continue;
    path.remove();
    graph.paths.delete(id);
  }
  for (const [id, way] of made.ways) {
    let path = graph.paths.get(id);
    if (!path) {
      path = links.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'path'));
      graph.paths.set(id, path);
    }
    // Values flow one way; only a link that leads back needs a tip.
    const a = way[0], b = way.at(-1), back = graph.down ? b.y < a.y : b.x < a.x;
    put(path, 'marker-end', back ? 'url(#tip)' : 'none');
    put(path, 'd', pathOf(way.map((p) => ({ x: p.x + margin, y: p.y + margin })), graph.down));
  }
  graph.w = made.w + 2 * margin;
  graph.h = made.h + 2 * margin;
  put(links, 'width', graph.w);
  put(links, 'height', graph.h);
  rescale();
  byId('fold').hidden = graph.model.services.size < 2;
  byId('fold').textContent = graph.folded.size < graph.model.services.size ? 'Fold all' : 'Unfold all';
  if (!graph.current || !graph.views.has(graph.current)) setCurrent([...graph.views.keys()][0] ?? null);
  if (focused && !graph.views.get(focused)?.e.isConnected) return;
  if (focused && document.activeElement?.dataset?.id !== focused) graph.views.get(focused).e.focus();
}

// How small the graph gets to fit: it must still be read.
const smallest = () => (graph.down ? 0.7 : 0.75);
function rescale() {
  const fits = Math.min(1, (split.clientWidth - 2) / graph.w);
  graph.scale = graph.zoom || Math.max(smallest(), fits);
  stage.style.transform = 'scale(' + graph.scale + ')';
  stage.style.width = graph.w + 'px';
  stage.style.height = graph.h + 'px';
  byId('sizer').style.width = Math.floor(graph.w * graph.scale) + 'px';
  byId('sizer').style.height = Math.floor(graph.h * graph.scale) + 'px';
}
function zoomBy(factor) {
  graph.zoom = factor ? Math.min(2, Math.max(0.3, graph.scale * factor)) : 0;
  if (!graph.model) return;
  rescale();
  showGraph(graph.model);
}

function showGraph(model) {
  const first = !graph.model;
  graph.model = model;
  if (first) foldMany();
  if (model.shape !== graph.shape) {
    graph.shape = model.shape;
    relayout();
  }
  // What is out of sight waits until it is scrolled to.
  const seen = sight();
  for (const [id, v] of graph.views) {
    const n = model.node(id), p = graph.places.get(id);
    const out = p.x > seen.right || p.x + p.w < seen.left || p.y > seen.bottom || p.y + p.h < seen.top;
    if (out && v.filled) continue;
    v.filled = true;
    updaters[v.kind](v, n);
    put(v.e, '.selected', graph.selected === id);
    put(v.e, '.dim', Boolean(graph.matches) && v.kind !== 'service' && !graph.matches.has(id));
  }
  for (const l of model.links) {
    const path = graph.paths.get(l.id);
    if (!path) continue;
    // A pixel more for each factor of four.
    const width = l.rate > 0 ? Math.min(9, 1.5 + Math.max(0, Math.log10(l.rate) + 1) * 1.6) : 1;
    put(path, 'stroke-width', Math.round(width));
    const chosen = graph.selected === l.from || graph.selected === l.to;
    put(path, 'class', 'link' + (l.blocked ? ' blocked' : '') + (l.rate > 0 ? '' : ' still') +
      (graph.matches ? ' dim' : '') + (chosen ? ' chosen' : ''));
  }
}

// The part of the graph that can be seen, and some around it.
function sight() {
  const around = 200, at = (v) => v / graph.scale;
  return { left: at(view.scrollLeft) - around, top: at(view.scrollTop) - around,
    right: at(view.scrollLeft + view.clientWidth) + around, bottom: at(view.scrollTop + view.clientHeight) + around };
}
let scrolled = 0;
view.addEventListener('scroll', () => {
  scrolled ||= requestAnimationFrame(() => {
    scrolled = 0;
    if (graph.model) showGraph(graph.model);
  });
}, { passive: true });

// Many processes: only services in which something is wrong begin unfolded.
function foldMany() {
  const { services, processes, culprits } = graph.model;
  if (services.size < 2 || processes.size <= (split.clientWidth < 652 ? 12 : 60)) return;
  for (const s of services.values())
    if (!s.processes.some((p) => culprits.has(p.id) || mood(p.worst) === 'bad')) graph.folded.add(s.id);
}
function toggleFold(id) {
  if (!graph.folded.delete(id)) graph.folded.add(id);
  const top = graph.places.get(id).y * graph.scale - view.scrollTop;
  relayout();
  showGraph(graph.model);
  view.scrollTop = graph.places.get(id).y * graph.scale - top;
}

function setCurrent(id) {
  if (graph.current === id) return;
  const was = graph.views.get(graph.current);
  if (was) was.e.tabIndex = -1;
  graph.current = id;
  if (graph.views.has(id)) graph.views.get(id).e.tabIndex = 0;
}

function choose(id, byKeyboard) {
  if (graph.views.get(id)?.kind === 'service') {
    toggleFold(id);
    graph.views.get(id).e.focus();
  } else {
    graph.onOpen(id, byKeyboard);
  }
}

// Brings a node into view, also out of a folded service.
function reveal(id, focus) {
  const n = graph.model?.node(id);
  if (!n) return;
  if (!graph.views.has(id) && graph.folded.has(n.service)) toggleFold(n.service);
  const v = graph.views.get(id);
  if (!v) return;
  setCurrent(id);
  v.e.scrollIntoView({ block: 'center', inline: 'center' });
  showGraph(graph.model);
  if (focus) v.e.focus();
}

// The next node in the direction of an arrow key: near counts, off the line counts twice.
function neighbour(key) {
  const centre = (p) => ({ x: p.x + p.w / 2, y: p.y + (p.open ? 14 : p.h / 2) });
  const here = graph.places.get(graph.current);
  if (!here) return null;
  const from = centre(here);
  let best = null, least = Infinity;
  for (const id of graph.views.keys()) {
    if (id === graph.current) continue;
    const to = centre(graph.places.get(id)), dx = to.x - from.x, dy = to.y - from.y;
    const [ahead, off] = { ArrowRight: [dx, dy], ArrowLeft: [-dx, dy], ArrowDown: [dy, dx], ArrowUp: [-dy, dx] }[key];
    const cost = ahead + 2 * Math.abs(off);
    if (ahead > 4 && cost < least) {
      least = cost;
      best = id;
    }
  }
  return best;
}

view.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key.startsWith('Arrow')) {
    const next = neighbour(event.key);
    event.preventDefault();
    if (next) reveal(next, true);
  } else if (event.key === '+' || event.key === '-' || event.key === '0') {
    zoomBy({ '+': 1.25, '-': 0.8, 0: 0 }[event.key]);
  }
});

// The ground can be dragged with the mouse; a finger scrolls anyway.
view.addEventListener('pointerdown', (event) => {
  if (event.pointerType !== 'mouse' || event.button !== 0 || event.target.closest('button')) return;
  if (event.offsetX > view.clientWidth && event.target === view) return;
  const from = { x: event.clientX + view.scrollLeft, y: event.clientY + view.scrollTop };
  const drag = (e) => view.scrollTo(from.x - e.clientX, from.y - e.clientY);
  const done = () => {
    view.removeEventListener('pointermove', drag);
    view.classList.remove('dragged');
  };
  view.setPointerCapture(event.pointerId);
  view.classList.add('dragged');
  view.addEventListener('pointermove', drag);
  view.addEventListener('pointerup', done, { once: true });
  view.addEventListener('pointercancel', done, { once: true });
});
