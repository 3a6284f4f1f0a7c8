// Places for nodes and ways for links, in layers from sources to sinks. Pure: sizes in, coordinates out.
//
// The steps are the usual ones (Sugiyama): links that close a cycle are turned; each node gets the layer behind its
// farthest source; links over several layers get a bend in each; the order in the layers is swept until few links
// cross; then everything moves as near to its neighbours as the sizes allow. Parts without a link between them are
// laid out each for itself and packed in rows.

// Centres as near to those wanted as sizes and gap allow, in the order given: least squares, by pooling neighbours
// that want the same place.
function spread(wanted, sizes, gap) {
  const offset = [0];
  for (let i = 1; i < sizes.length; ++i) offset[i] = offset[i - 1] + (sizes[i - 1] + sizes[i]) / 2 + gap;
  const pools = [];
  for (let i = 0; i < wanted.length; ++i) {
    let pool = { sum: wanted[i] - offset[i], n: 1 };
    for (let p; (p = pools.at(-1)) && p.sum / p.n > pool.sum / pool.n; pools.pop())
      pool = { sum: p.sum + pool.sum, n: p.n + pool.n };
    pools.push(pool);
  }
  const centres = [];
  for (const p of pools)
    for (let k = 0; k < p.n; ++k) centres.push(p.sum / p.n + offset[centres.length]);
  return centres;
}

const mean = (list, of) => list.reduce((sum, v) => sum + of(v), 0) / list.length;

// Marks the links that must be turned, and returns the nodes so that all others lead forward.
function breakCycles(count, links) {
  const out = Array.from({ length: count }, () => []);
  const entered = new Array(count).fill(0);
  for (const l of links) {
    out[l.from].push(l);
    ++entered[l.to];
  }
  const state = new Array(count).fill(0), order = [];
  const visit = (u) => {
    state[u] = 1;
    for (const l of out[u]) {
      l.turned = state[l.to] === 1;
      if (state[l.to] === 0) visit(l.to);
    }
    state[u] = 2;
    order.push(u);
  };
  for (let u = 0; u < count; ++u) if (entered[u] === 0) visit(u);
  for (let u = 0; u < count; ++u) if (state[u] === 0) visit(u);
  return order.reverse();
}

function assignLayers(count, links) {
  const order = breakCycles(count, links);
  const next = Array.from({ length: count }, () => []), entered = new Array(count).fill(0);
  for (const l of links) {
    const [from, to] = l.turned ? [l.to, l.from] : [l.from, l.to];
    next[from].push(to);
    ++entered[to];
  }
  const layer = new Array(count).fill(0);
  for (const u of order) for (const v of next[u]) layer[v] = Math.max(layer[v], layer[u] + 1);
  // A source stands right before who reads from it.
  for (const u of order)
    if (entered[u] === 0 && next[u].length) layer[u] = Math.min(...next[u].map((v) => layer[v])) - 1;
  return layer;
}

// Of links between neighbouring layers: those that end before one that began before them. Counted by a Fenwick tree,
// since everything may be linked with everything.
function crossings(layers, down, place) {
  let n = 0;
  layers.forEach((layer, at) => {
    const size = (layers[at + 1]?.length ?? 0) + 1, tree = new Array(size + 1).fill(0);
    const ends = layer.flatMap((v) => down[v].map((w) => place[w] + 1).sort((a, b) => a - b));
    ends.forEach((end, seen) => {
      let before = 0;
      for (let i = end; i > 0; i -= i & -i) before += tree[i];
      n += seen - before;
      for (let i = end; i <= size; i += i & -i) ++tree[i];
    });
  });
  return n;
}

function untangle(layers, up, down) {
  const place = [];
  const note = (layer) => layer.forEach((v, i) => { place[v] = i; });
  layers.forEach(note);
  let best = layers.map((l) => [...l]), least = crossings(layers, down, place);
  for (let round = 0; round < 10 && least > 0; ++round) {
    const near = round % 2 ? down : up;
    for (const layer of round % 2 ? [...layers].reverse() : layers) {
      const key = new Map(layer.map((v, i) => [v, near[v].length ? mean(near[v], (w) => place[w]) : i]));
      layer.sort((a, b) => key.get(a) - key.get(b));
      note(layer);
    }
    const now = crossings(layers, down, place);
    if (now < least) {
      least = now;
      best = layers.map((l) => [...l]);
    }
  }
  return best;
}

// nodes: [{along, across}], links: [{from, to}] by index, all connected. Along is the way the values flow.
function layOut(nodes, links, gap) {
  const layer = assignLayers(nodes.length, links);
  const sizes = nodes.map((n) => n.across);
  const layers = Array.from({ length: Math.max(...layer) + 1 }, () => []);
  layer.forEach((l, v) => layers[l].push(v));
  const up = nodes.map(() => []), down = nodes.map(() => []);
  for (const l of links) {
    const [from, to] = l.turned ? [l.to, l.from] : [l.from, l.to];
    l.chain = [from];
    for (let at = layer[from] + 1; at < layer[to]; ++at) {
      const bend = sizes.push(4) - 1;
      layers[at].push(bend);
      up.push([]);
      down.push([]);
      l.chain.push(bend);
    }
    l.chain.push(to);
    for (let i = 1; i < l.chain.length; ++i) {
      down[l.chain[i - 1]].push(l.chain[i]);
      up[l.chain[i]].push(l.chain[i - 1]);
    }
  }
  const ordered = untangle(layers, up, down);
  const centre = [];
  for (const l of ordered) {
    const at = spread(l.map(() => 0), l.map((v) => sizes[v]), gap.across);
    l.forEach((v, i) => { centre[v] = at[i]; });
  }
  for (let round = 0; round < 12; ++round) {
    const near = round >= 10 ? up.map((u, v) => [...u, ...down[v]]) : round % 2 ? down : up;
    for (const l of round % 2 ? [...ordered].reverse() : ordered) {
      const wanted = l.map((v) => (near[v].length ? mean(near[v], (w) => centre[w]) : centre[v]));
      const at = spread(wanted, l.map((v) => sizes[v]), gap.across);
      l.forEach((v, i) => { centre[v] = at[i]; });
    }
  }
  const first = Math.min(...centre.map((c, v) => c - sizes[v] / 2));
  const last = Math.max(...centre.map((c, v) => c + sizes[v] / 2));
  const begin = [], width = [];
  let end = 0;
  for (const l of ordered) {
    width.push(Math.max(0, ...l.map((v) => nodes[v]?.along ?? 0)));
    begin.push(end);
    end += width.at(-1) + gap.along;
  }
  const places = nodes.map((n, v) => ({
    along: begin[layer[v]] + (width[layer[v]] - n.along) / 2,
    across: centre[v] - first - n.across / 2,
  }));
  const ways = links.map((l) => {
    const points = [];
    l.chain.forEach((v, i) => {
      // Beside its counterpart that leads forward, if there is one.
      const at = layer[l.chain[0]] + i, y = centre[v] - first + (l.turned ? 7 : 0), n = nodes[v];
      const left = n ? places[v].along : begin[at], right = n ? left + n.along : begin[at] + width[at];
      if (i > 0) points.push({ along: left, across: y });
      if (i < l.chain.length - 1) points.push({ along: right, across: y });
    });
    return l.turned ? points.reverse() : points;
  });
  return { along: end - gap.along, across: last - first, places, ways };
}

// The parts of a graph that no link joins, each as lists of indices.
function components(count, links) {
  const root = Array.from({ length: count }, (_, i) => i);
  const find = (u) => {
    while (root[u] !== u) u = root[u] = root[root[u]];
    return u;
  };
  for (const l of links) root[Math.max(find(l.from), find(l.to))] = Math.min(find(l.from), find(l.to));
  const parts = new Map();
  for (let u = 0; u < count; ++u) {
    const at = find(u);
    if (!parts.has(at)) parts.set(at, []);
    parts.get(at).push(u);
  }
  return [...parts.values()];
}

// nodes: [{id, w, h}], links: [{id, from, to}] by id. down: values flow downwards, else to the right. room: how wide a
// row of parts may be. Returns {w, h, at: id -> {x, y}, ways: link id -> [{x, y}]}.
function arrange(nodes, links, { down, room, gap }) {
  const index = new Map(nodes.map((n, i) => [n.id, i]));
  const known = links.map((l) => ({ id: l.id, from: index.get(l.from), to: index.get(l.to) }))
    .filter((l) => l.from !== undefined && l.to !== undefined && l.from !== l.to);
  const turn = (p) => (down ? { x: p.across, y: p.along } : { x: p.along, y: p.across });
  const at = new Map(), ways = new Map();
  let x = 0, y = 0, high = 0, w = 0;
  for (const part of components(nodes.length, known)) {
    const local = new Map(part.map((u, i) => [u, i]));
    const inside = known.filter((l) => local.has(l.from))
      .map((l) => ({ id: l.id, from: local.get(l.from), to: local.get(l.to) }));
    const sized = part.map((u) => (down ? { along: nodes[u].h, across: nodes[u].w }
      : { along: nodes[u].w, across: nodes[u].h }));
    const made = layOut(sized, inside, gap);
    const size = turn(made);
    if (x > 0 && x + size.x > room) {
      x = 0;
      y += high + gap.part;
      high = 0;
    }
    const move = (p) => {
      const q = turn(p);
      return { x: q.x + x, y: q.y + y };
    };
    part.forEach((u, i) => at.set(nodes[u].id, move(made.places[i])));
    inside.forEach((l, i) => ways.set(l.id, made.ways[i].map(move)));
    x += size.x + gap.part;
    high = Math.max(high, size.y);
    w = Math.max(w, x - gap.part);
  }
  return { w, h: y + high, at, ways };
}
