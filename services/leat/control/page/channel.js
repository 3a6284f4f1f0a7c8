// What is known of one channel: its ledger, its rates of the last minutes, and a tap.

const tapLines = 200, tapLine = 2000;

// Not shown while they are 0.
const seldom = ['dropped', 'refused', 'lost', 'rejected', 'injected'];
function ledgerOf(c) {
  const wait = c.wait === null ? 'nobody takes them' : seconds(c.wait);
  return [
    ['holds' + (c.fullest ? ' for ' + local(c.fullest) : ''),
      whole(c.length) + (c.capacity ? ' of ' + whole(c.capacity) : ''), c.senders_blocked.length ? 'bad' : ''],
    ['most ever', whole(c.high_water)],
    ['a value waits', wait, c.wait === null ? 'bad' : ''],
    ['in', perSecond(c.rate_in)], ['out', perSecond(c.rate_out)],
    ['sent', whole(c.sent)],
    ...(c.fullest ? [] : [['received', whole(c.received)]]),
    ['dropped', whole(c.dropped) + (c.rate_dropped > 0 ? ', ' + perSecond(c.rate_dropped) : ''), c.dropped ? 'held' : ''],
    ...['refused', 'lost', 'rejected'].map((k) => [k, whole(c[k]), c[k] ? 'held' : '']),
    ['injected', whole(c.injected)],
  ].filter(([name, text]) => text !== '0' || !seldom.includes(name));
}

const shareText = (s) => whole(s.length) + ' of ' + whole(s.capacity) + ', ' + perSecond(s.rate_out) + ', ' +
  whole(s.received) + ' received' + (s.dropped ? ', ' + whole(s.dropped) + ' dropped' : '');

function channelPanel(n) {
  const c = n.data;
  const about = [c.message, c.kind, c.capacity ? 'when full: ' + c.full : 'no buffer', c.copy && 'copies', c.at];
  make('p', panel, 'sub', about.filter(Boolean).join(' \u00b7 '));
  const blocked = make('p', panel, 'blamed');
  const chart = newChart(panel, ['in', 'out'], 'Rates of the last minutes');
  const ledger = make('table', panel, 'facts');
  const shares = make('table', panel, 'replicas');
  const from = make('p', panel, 'leads'), to = make('p', panel, 'leads');
  const tap = tapSection(n);
  return {
    close: tap.stop,
    update(node) {
      const d = node.data, held = node.blocked.map(local).join(', ');
      put(blocked, 'text', held ? 'Full for ' + seconds(d.full_for) + '; held up here: ' + held : '');
      chart(pasts.get(node.id), graph.model.state.at, perSecond);
      fillTable(ledger, ledgerOf(d));
      fillTable(shares, node.shares.map((s) => [local(s.reader), shareText(s), s.senders_blocked.length ? 'bad' : '']));
      fillLinks(from, 'from', d.writers, 'process');
      fillLinks(to, 'to', d.readers, 'process');
    },
  };
}

function tapSection(n) {
  const place = section('Values'), bar = make('p', place, 'actions');
  const start = make('button', bar, '', 'Watch'), stop = make('button', bar, '', 'Stop');
  const state = make('span', bar, 'sub'), list = make('ol', place, 'tap');
  let running = null, waiting = [], drawn = 0, shown = 0, hidden = 0;
  list.setAttribute('aria-label', 'Values as they pass');
  list.tabIndex = 0;
  stop.hidden = true;
  const counted = () => shown + ' shown' + (hidden ? ', ' + hidden + ' not shown' : '');
  function draw() {
    drawn = 0;
    const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 30;
    list.append(...waiting.map(([seq, text]) => {
      const line = make('li');
      make('span', line, 'seq', seq);
      line.append(text);
      return line;
    }));
    waiting = [];
    while (list.children.length > tapLines) list.firstChild.remove();
    if (atEnd) list.scrollTop = list.scrollHeight;
    if (running) state.textContent = shown || hidden ? counted() : 'nothing has passed yet';
  }
  function note(line) {
    if (line === '') return;
    let told;
    try {
      told = JSON.parse(line);
    } catch {
      return;
    }
    if ('end' in told) return told.end;
    if ('not_shown' in told) {
      hidden += told.not_shown;
    } else {
      const text = typeof told.value === 'string' ? told.value : JSON.stringify(told.value) ?? '';
      ++shown;
      waiting.push(['#' + told.seq, text.length > tapLine ? text.slice(0, tapLine) + '\u2026' : text]);
      if (waiting.length > tapLines) waiting.shift();
    }
    drawn ||= requestAnimationFrame(draw);
  }
  async function read(signal) {
    const which = new URLSearchParams({ channel: n.name, rate: 20 });
    const response = await fetch('v1/tap?' + which, { headers: headers(), cache: 'no-store', signal });
    if (!response.ok) throw new Error(await fault(response));
    const from = response.body.getReader(), decoder = new TextDecoder();
    for (let rest = '';;) {
      const { done, value } = await from.read();
      if (done) return 'the program closed the stream';
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) if (note(line) === 'stopped') return 'the program stops';
      if (rest.length > 4e6) throw new Error('a value is too large to be shown here');
    }
  }
  start.addEventListener('click', async () => {
    const mine = running = new AbortController();
    shown = hidden = 0;
    list.replaceChildren();
    start.hidden = true;
    stop.hidden = false;
    state.textContent = 'nothing has passed yet';
    let why;
    try {
      why = await read(mine.signal);
    } catch (e) {
      why = mine.signal.aborted ? 'stopped' : e instanceof TypeError ? 'the connection is lost' : e.message;
    }
    if (running !== mine) return;
    running = null;
    draw();
    mine.abort();
    start.hidden = false;
    stop.hidden = true;
    state.textContent = why + '; ' + counted();
  });
  stop.addEventListener('click', () => running?.abort());
  return { stop() { running?.abort(); } };
}
