// Questions to the control door, relative to this page. A change that is refused for want of the token asks for it
// once; it is kept for this tab alone.

const tokenKey = 'leat-token';
const door = { token: sessionStorage.getItem(tokenKey) ?? '' };

function headers() {
  return door.token ? { Authorization: 'Bearer ' + door.token } : {};
}

async function fault(response) {
  try {
    const told = await response.json();
    const place = told.line ? ' (line ' + told.line + ', column ' + told.column + ')' : '';
    return String(told.error) + place;
  } catch {
    return 'the program answered ' + response.status + ' ' + response.statusText;
  }
}

async function get(path, signal) {
  const response = await fetch(path, { headers: headers(), cache: 'no-store', signal });
  if (!response.ok) throw new Error(await fault(response));
  return response.json();
}

async function post(path, body) {
  for (let asked = false;; asked = true) {
    const response = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers() },
      body: JSON.stringify(body) });
    if (response.ok) return response.json();
    const why = await fault(response);
    if (response.status !== 403) throw new Error(why);
    forgetToken();
    if (asked || !await askToken()) throw new Error(why);
  }
}

function forgetToken() {
  door.token = '';
  sessionStorage.removeItem(tokenKey);
}

// Whether there is one now.
function askToken() {
  const dialog = byId('ask'), input = byId('token');
  if (dialog.open) return Promise.resolve(false);
  input.value = '';
  return new Promise((resolve) => {
    const end = (token) => {
      byId('token-yes').onclick = byId('token-no').onclick = input.onkeydown = dialog.oncancel = null;
      dialog.close();
      input.value = '';
      if (token) {
        door.token = token;
        sessionStorage.setItem(tokenKey, token);
      }
      resolve(Boolean(token));
    };
    byId('token-yes').onclick = () => end(input.value.trim());
    byId('token-no').onclick = () => end('');
    input.onkeydown = (e) => { if (e.key === 'Enter') end(input.value.trim()); };
    dialog.oncancel = (e) => {
      e.preventDefault();
      end('');
    };
    dialog.showModal();
    input.focus();
  });
}
