// What is known of one process: state, settings, restarts, where it stands. The skeleton is made when it opens;
// updates fill it.

const panel = byId('panel');
const opened = { id: null, update: null, close: null };

function openPanel(id, byKeyboard) {
  const n = graph.model.node(id);
  if (!n || n.kind === 'service') return;
  shutPanel();
  opened.id = graph.selected = id;
  panel.replaceChildren();
  panel.hidden = false;
  const head = make('div', panel, 'head');
  make('h2', head, '', n.name);
  const close = make('button', head, 'close', '\u00d7');
  close.setAttribute('aria-label', 'Close');
  close.addEventListener('click', () => closePanel(true));
  Object.assign(opened, n.kind === 'process' ? processPanel(n) : channelPanel(n));
  panel.scrollTop = 0;
  showGraph(graph.model);
  opened.update(n);
  // The panel takes room from the graph, which stays as it is.
  graph.views.get(id)?.e.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  if (byKeyboard) panel.focus();
}
function shutPanel() {
  opened.close?.();
  opened.id = opened.update = opened.close = graph.selected = null;
}
function closePanel(back) {
  const id = opened.id;
  if (!id) return;
  shutPanel();
  panel.hidden = true;
  showGraph(graph.model);
  if (back) graph.views.get(id)?.e.focus();
}
function updatePanel() {
  const n = opened.id && graph.model.node(opened.id);
  if (opened.id && !n) closePanel(false);
  else if (n) opened.update(n);
}

// A table of names and texts; rows are used again.
function fillTable(table, rows) {
  while (table.rows.length > rows.length) table.deleteRow(-1);
  rows.forEach(([name, text, className], i) => {
    const row = table.rows[i] ?? table.insertRow();
    if (!row.cells.length) {
      make('th', row).scope = 'row';
      make('td', row);
    }
    put(row.cells[0], 'text', name);
    put(row.cells[1], 'text', text);
    put(row, 'class', className ?? '');
  });
}
// Buttons that lead to other nodes; made anew when the names change.
function fillLinks(place, title, names, kind) {
  const key = names.join('\n');
  if (place.dataset.names === key) return;
  place.dataset.names = key;
  place.replaceChildren();
  if (!names.length) return;
  make('span', place, 'title', title);
  for (const name of names) {
    const id = kind === 'channel' ? 'c:' + name : graph.model.byName.get(name);
    const b = make('button', place, 'go', local(name));
    b.addEventListener('click', (e) => {
      reveal(id, false);
      openPanel(id, e.detail === 0);
    });
  }
}
function said(place, text, good) {
  place.textContent = text;
  place.className = 'said ' + (good ? 'good' : 'bad');
}
// Runs an action of a button: not twice at a time, and its end is told.
async function act(button, place, action) {
  button.disabled = true;
  said(place, '\u2026', true);
  try {
    said(place, await action(), true);
  } catch (e) {
    said(place, e.message, false);
  }
  place.scrollIntoView({ block: 'nearest' });
  button.disabled = false;
}
function section(title) {
  const s = make('section', panel);
  make('h3', s, '', title);
  return s;
}

function stateSentence(p) {
  const w = p.waits;
  const channel = w?.channel && !doing(p).includes(local(w.channel)) ? ' at ' + local(w.channel) : '';
  return doing(p) + channel + (w ? ', for ' + seconds(w.since) : '');
}

const countsOf = (p) => [
  ['CPU', p.cpu === null ? '\u2013' : percent(p.cpu) + ' of a core'],
  ['restarts', whole(p.restarts), p.restarts ? 'held' : ''],
  ['failures', whole(p.failures), 'held'],
  ['overruns', whole(p.overruns), 'held'],
  ['quarantined', whole(p.quarantined), 'bad'],
  ['redelivered', whole(p.redelivered)],
  ['dead letters', whole(p.dead_letters), 'bad'],
].filter(([name, text]) => text !== '0' || name === 'restarts');

function processPanel(n) {
  const first = n.all[0], alone = n.all.length === 1;
  make('p', panel, 'sub', first.class + ' \u00b7 ' + first.at + (first.critical ? ' \u00b7 critical' : ''));
  const blame = make('p', panel, 'blamed');
  const now = make('p', panel, 'now');
  const chart = newChart(panel, ['cpu'], 'CPU of the last minutes');
  const counts = make('table', panel, 'facts');
  const failure = make('p', panel, 'failure');
  const replicas = make('table', panel, 'replicas');
  const ins = make('p', panel, 'leads'), outs = make('p', panel, 'leads');
  const acts = make('p', panel, 'actions');
  const restart = make('button', acts, '', alone ? 'Restart' : 'Restart all ' + n.all.length);
  const token = make('button', acts, '', 'Enter a token');
  const told = make('p', panel, 'said');
  restart.addEventListener('click', () => act(restart, told, async () =>
    'restarted: ' + (await post('v1/restart', { process: n.name })).restarted.map(local).join(', ')));
  token.addEventListener('click', askToken);
  const settings = settingsSection(n);
  return {
    close: settings.close,
    update(node) {
      const p = node.worst, b = graph.model.culprits.get(node.id), may = graph.model.state.may_change;
      put(blame, 'text', b ? b.text : '');
      put(now, 'text', alone ? stateSentence(p) : plural(node.all.length, 'replica'));
      put(now, 'data-mood', mood(p));
      chart(pasts.get(node.id), graph.model.state.at, percent);
      fillTable(counts, alone ? [['incarnation', whole(p.incarnation)], ...countsOf(p)]
        : [['CPU', percent(node.cpu ?? NaN)], ['restarts', whole(node.restarts)]]);
      const failed = node.all.filter((r) => r.last_failure).sort((x, y) => x.last_failure.ago - y.last_failure.ago)[0];
      const last = failed?.last_failure;
      put(failure, 'text', last ? 'Last failure, ' + seconds(last.ago) + ' ago: ' + last.text : '');
      const about = (r) => [stateSentence(r), percent(r.cpu ?? NaN), plural(r.restarts, 'restart')].join(', ');
      fillTable(replicas, alone ? [] : node.all.map((r) => ['/' + r.replica, about(r), mood(r)]));
      fillLinks(ins, 'reads', p.in, 'channel');
      fillLinks(outs, 'writes', p.out, 'channel');
      put(restart, 'hidden', !may);
      put(token, 'hidden', may);
      settings.update(node, may);
    },
  };
}
