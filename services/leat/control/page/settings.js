// The settings of a process, its ports and its stack, as GET /v1/process tells them: asked for when the panel opens,
// when another incarnation runs, and on demand.

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;  // a duration, a size
  }
}
// What was typed, as JSON: texts stay texts where there was one, so that "250ms" and "8" mean what they mean in TOML.
const typed = (text, before) => (typeof before === 'string' ? text : parsed(text));
// A frame without its address and file, which say nothing to people.
const frameName = (text) => text.replace(/^0x[0-9a-f]+ /, '').replace(/ \([^()]*\+0x[0-9a-f]+\)$/, '');

function settingsSection(n) {
  const place = section('Settings'), told = make('p', place, 'said'), list = make('div', place, 'settings');
  const stack = section('Stack'), again = make('button', stack, '', 'Look now'), frames = make('ol', stack, 'frames');
  let shown = '', life = null, gone = false, may = false, looks = 0;

  function row(s) {
    const line = make('div', list, 'setting');
    const label = make('label', line, '', s.name);
    label.title = s.help ?? '';
    // Nobody is told a secret: it is typed anew, as JSON or a text.
    const before = s.secret ? null : s.value ?? parsed(s.text);
    const was = s.secret ? '' : typeof before === 'string' ? before : s.text ?? JSON.stringify(before);
    if (!may) {
      make('code', line, 'value', s.secret ? s.value ?? '' : was);
    } else {
      const input = make('input', line, 'value');
      input.value = was;
      if (s.secret) {
        input.type = 'password';
        input.autocomplete = 'off';
        input.placeholder = s.value ?? '';
      }
      input.spellcheck = false;
      input.setAttribute('aria-label', s.name);
      const button = make('button', line, '', s.live ? 'Set' : 'Set, restart');
      button.hidden = true;
      input.addEventListener('input', () => { button.hidden = input.value === was; });
      input.addEventListener('keydown', (e) => {
        if (e.key === 'Enter' && !button.hidden) button.click();
        if (e.key !== 'Escape' || button.hidden) return;
        e.stopPropagation();
        input.value = was;
        button.hidden = true;
      });
      button.addEventListener('click', () => act(button, told, async () => {
        const change = { [s.name]: typed(input.value, before) };
        const a = await post('v1/set', { process: n.name, set: change, restart: !s.live });
        await look();
        const again = a.restarted.map(local).join(', ');
        return 'set: ' + a.set.join(', ') + (again ? '; restarted: ' + again : '');
      }));
    }
    if (s.help) make('small', line, '', s.help + (s.live ? '' : ' (needs a restart)'));
  }

  async function look() {
    const mine = ++looks;
    let about;
    try {
      about = await get('v1/process?name=' + encodeURIComponent(graph.model.node(n.id)?.all[0].name ?? n.name));
    } catch (e) {
      if (!gone && mine === looks) said(told, e.message, false);
      return;
    }
    if (gone || mine !== looks) return;
    frames.replaceChildren(...(about.trace ?? []).map((f) => make('li', null, '', frameName(f))));
    [...frames.children].forEach((e, i) => { e.title = about.trace[i]; });
    const key = JSON.stringify([about.settings, may]);
    if (key === shown) return;
    shown = key;
    list.replaceChildren();
    for (const s of about.settings ?? []) row(s);
    if (!about.settings?.length) make('p', list, 'none', 'It has none.');
  }
  again.addEventListener('click', () => act(again, told, async () => {
    await look();
    return '';
  }));
  return {
    close() { gone = true; },
    update(node, allowed) {
      const now = graph.model.state.pid + ' ' + node.all.map((p) => p.incarnation).join() + ' ' + allowed;
      may = allowed;
      if (now === life) return;
      life = now;
      look();
    },
  };
}
