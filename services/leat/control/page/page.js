// The page lives by asking for the state twice a second while somebody looks. When nobody answers it says so, shows
// what it knew as old, and goes on asking.

const period = 500, patience = 6000, version = 1;
const note = byId('note');
const life = { pid: 0, lostSince: 0, ever: false, timer: 0, asking: null, restarted: 0 };

function tell(text, className) {
  put(note, 'text', text);
  put(note, 'class', className ?? '');
  put(note, 'hidden', !text);
}
function showStatus(text, className) {
  put(byId('status'), 'text', text);
  put(byId('status'), 'class', className);
}

function apply(state) {
  if (state.api !== version) {
    tell('The program speaks another version of the interface (' + state.api + '). Load this page again.', 'bad');
    return;
  }
  const anew = life.pid && life.pid !== state.pid;
  if (anew) {
    pasts.clear();
    counters.clear();
    life.restarted = Date.now();
  }
  life.pid = state.pid;
  steady(state);
  const model = modelOf(state);
  remember(model);
  const fresh = Date.now() - life.restarted < 10000;
  tell(fresh ? 'The program was started anew; it is process ' + state.pid + ' now.' : '', 'good');
  const running = state.phase === 'running', well = state.healthy ? 'live' : 'live, not healthy';
  showStatus(running ? well : state.phase, running && state.healthy ? 'live' : 'unwell');
  put(document.body, '.lost', false);
  document.title = (state.healthy ? '' : '! ') + state.deployment + ' \u2013 Leat';
  put(byId('deployment'), 'text', state.deployment);
  const r = state.runtime;
  const facts = [plural(model.processes.size, 'process'), 'up ' + seconds(state.uptime), 'CPU ' + percent(r.cpu),
    bytes(r.rss), plural(r.procs, 'P') + ', ' + plural(r.threads, 'thread') + ', ' + plural(r.gs, 'G'),
    r.fenced && r.fenced + ' fenced', r.frozen && r.frozen + ' frozen', r.delay && 'delay p99 ' + seconds(r.delay.p99), 'pid ' + state.pid];
  put(byId('facts'), 'text', facts.filter(Boolean).join(' \u00b7 '));
  showBlame(state, model);
  showGraph(model);
  updatePanel();
}

function showBlame(state, model) {
  const place = byId('blame'), most = 3;
  const lines = state.blame.map((b) => ({ text: b.text, id: model.byName.get(b.culprit) }));
  if (!state.healthy && state.why) lines.push({ text: state.why });
  const more = lines.length - most;
  if (more > 0) lines.splice(most, more, { text: 'and ' + more + ' more' });
  put(place, 'hidden', lines.length === 0);
  while (place.children.length > lines.length) place.lastChild.remove();
  lines.forEach((line, i) => {
    const item = place.children[i] ?? make('li', place);
    const b = item.firstChild ?? make('button', item);
    put(b, 'text', line.text);
    b.disabled = !line.id;
    b.onclick = (e) => {
      reveal(line.id, false);
      openPanel(line.id, e.detail === 0);
    };
  });
}

function lost() {
  const now = Date.now();
  life.lostSince ||= now;
  showStatus(life.ever ? 'connection lost' : 'connecting', 'waiting');
  put(document.body, '.lost', life.ever);
  const since = seconds(Math.round((now - life.lostSince) / 1000));
  const old = 'for ' + since + '. What is shown is old; trying again.';
  tell('No answer ' + (life.ever ? old : 'yet; trying again.'), 'bad');
}

async function ask() {
  clearTimeout(life.timer);
  if (document.hidden || life.asking) return;
  const mine = life.asking = new AbortController();
  const limit = setTimeout(() => mine.abort(), patience);
  let next = period, state = null;
  try {
    state = await get('v1/state', mine.signal);
    life.ever = true;
    life.lostSince = 0;
  } catch {
    if (!document.hidden) lost();
    next = Math.min(3000, period + (life.lostSince ? (Date.now() - life.lostSince) / 4 : 0));
  }
  clearTimeout(limit);
  life.asking = null;
  if (!document.hidden) life.timer = setTimeout(ask, next);
  if (!state) return;
  try {
    apply(state);
  } catch (e) {
    tell('This page cannot show what the program says (' + e.message + '). Load it again.', 'bad');
    throw e;
  }
}
document.addEventListener('visibilitychange', () => {
  if (document.hidden) life.asking?.abort();
  else ask();
});

// Search: what does not match fades; Enter goes to the next that does.
const search = byId('search');
let hit = -1;
function find() {
  const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean), model = graph.model;
  if (!model) return;
  hit = -1;
  graph.matches = null;
  if (words.length) {
    const more = (n) => (n.kind === 'process' ? n.worst.class + ' ' + n.worst.state : n.data.message);
    const text = (n) => (n.name + ' ' + more(n)).toLowerCase();
    const all = [...model.processes.values(), ...model.channels.values()];
    graph.matches = new Set(all.filter((n) => words.every((w) => text(n).includes(w))).map((n) => n.id));
  }
  byId('found').textContent = graph.matches ? graph.matches.size + ' found' : '';
  showGraph(model);
}
search.addEventListener('input', find);
search.addEventListener('keydown', (e) => {
  if (e.key === 'Enter' && graph.matches?.size) {
    const all = [...graph.matches];
    hit = (hit + (e.shiftKey ? all.length - 1 : 1)) % all.length;
    reveal(all[hit], false);
    openPanel(all[hit], false);
  } else if (e.key === 'Escape') {
    e.stopPropagation();
    search.value = '';
    find();
    graph.views.get(graph.current)?.e.focus();
  }
});

document.addEventListener('keydown', (e) => {
  if (byId('ask').open || e.ctrlKey || e.altKey || e.metaKey) return;
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName);
  if (e.key === 'Escape') closePanel(true);
  else if (e.key === '/' && !typing) {
    e.preventDefault();
    search.focus();
    search.select();
  }
});

byId('fit').addEventListener('click', () => zoomBy(0));
byId('larger').addEventListener('click', () => zoomBy(1.25));
byId('smaller').addEventListener('click', () => zoomBy(0.8));
byId('fold').addEventListener('click', () => {
  const all = [...graph.model.services.keys()];
  graph.folded = new Set(graph.folded.size < all.length ? all : []);
  relayout();
  showGraph(graph.model);
});
graph.onOpen = openPanel;

let waiting = 0;
function relayoutSoon() {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    relayout();
    if (graph.model) showGraph(graph.model);
  });
}
addEventListener('resize', relayoutSoon);

ask();
