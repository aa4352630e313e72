// The page of the status port. It reads /metrics every two seconds, and after a login sends the queries of
// queries.rs by their names. What the server sends is shown as text only.
'use strict';

const PERIOD_MS = 2000;
// Charts show five minutes, latencies are those of the last ten seconds.
const POINTS = 150;
const LATENCY_POINTS = 5;
const element = id => document.getElementById(id);
const history = [];
let token = '';

// Prometheus' text form to [name, labels, value].
function parseMetrics(text) {
  const samples = [];
  for (const line of text.split('\n')) {
    const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
    if (!match) continue;
    const labels = {};
    for (const [, name, value] of (match[2] || '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[name] = value;
    samples.push({ name: match[1], labels, value: Number(match[3]) });
  }
  return samples;
}

const sum = (samples, name) => samples.filter(s => s.name === name).reduce((total, s) => total + s.value, 0);
const value = (samples, name) => (samples.find(s => s.name === name) || { value: 0 }).value;

// By kind of statement: the counts of each bucket, cumulative, in the order of their bounds.
function buckets(samples) {
  const kinds = new Map();
  for (const s of samples) {
    if (s.name !== 'stemdb_statement_seconds_bucket') continue;
    if (!kinds.has(s.labels.kind)) kinds.set(s.labels.kind, []);
    kinds.get(s.labels.kind).push([s.labels.le === '+Inf' ? Infinity : Number(s.labels.le), s.value]);
  }
  return kinds;
}

// The difference of two states of the buckets of one kind.
const since = (now, before) => now.map(([bound, count], i) => [bound, count - (before && before[i] ? before[i][1] : 0)]);

// A quantile by the upper bound of its bucket, in seconds.
function quantile(counts, q) {
  const total = counts.length ? counts[counts.length - 1][1] : 0;
  if (!total) return null;
  const found = counts.find(([, count]) => count >= q * total);
  return found ? found[0] : null;
}

function added(kinds) {
  const total = [];
  for (const counts of kinds) counts.forEach(([bound, count], i) => { total[i] = [bound, (total[i] ? total[i][1] : 0) + count]; });
  return total;
}

const shortNumber = n => n >= 1e6 ? (n / 1e6).toFixed(2) + ' M' : n >= 1e4 ? (n / 1e3).toFixed(1) + ' k' : String(Math.round(n));
const bytes = n => n >= 2 ** 30 ? (n / 2 ** 30).toFixed(2) + ' GiB' : n >= 2 ** 20 ? (n / 2 ** 20).toFixed(1) + ' MiB' : (n / 1024).toFixed(0) + ' KiB';
const seconds = s => s === null ? '–' : s === Infinity ? 'more' : s >= 1 ? '≤ ' + s.toFixed(1) + ' s' : '≤ ' + (s * 1000).toPrecision(2) + ' ms';
const picoseconds = ps => { const s = Number(ps) / 1e12; return s >= 1 ? s.toFixed(2) + ' s' : (s * 1000).toFixed(3) + ' ms'; };

function fill(id, head, rows, empty) {
  const table = element(id);
  const cell = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text === null || text === undefined ? '' : text;
    if (kind) made.className = kind;
    if (kind === 'text') made.title = made.textContent;
    return made;
  };
  const first = document.createElement('tr');
  for (const [name, kind] of head) first.append(cell('th', name, kind === 'number' ? 'number' : ''));
  const lines = [first];
  for (const row of rows) {
    const line = document.createElement('tr');
    row.cells.forEach((text, i) => {
      if (text instanceof Node) { const td = document.createElement('td'); td.append(text); line.append(td); }
      else line.append(cell('td', text, head[i][1]));
    });
    if (row.choose) {
      line.className = 'choice';
      line.tabIndex = 0;
      line.addEventListener('click', row.choose);
      line.addEventListener('keydown', event => { if (event.key === 'Enter') row.choose(); });
    }
    lines.push(line);
  }
  if (!rows.length) {
    const line = document.createElement('tr');
    const td = cell('td', empty, 'empty');
    td.colSpan = head.length || 1;
    line.append(td);
    lines.push(line);
  }
  table.replaceChildren(...lines);
}

function chart(id, values) {
  const most = Math.max(...values, 1e-9);
  const points = values.map((v, i) => `${(i + POINTS - values.length) * 300 / (POINTS - 1)},${58 - 56 * v / most}`);
  const line = document.createElementNS('http://www.w3.org/2000/svg', 'polyline');
  line.setAttribute('points', points.join(' '));
  element(id).replaceChildren(line);
}

function showMetrics(samples) {
  const now = {
    at: performance.now(),
    statements: sum(samples, 'stemdb_statements_total'),
    connections: value(samples, 'stemdb_connections'),
    resident: value(samples, 'stemdb_memory_resident_bytes'),
    kinds: buckets(samples),
  };
  const last = history[history.length - 1];
  // A counter that has fallen: the server was restarted.
  if (last && now.statements < last.statements) history.length = 0;
  const before = history[history.length - 1];
  now.rate = before ? (now.statements - before.statements) * 1000 / (now.at - before.at) : 0;
  const base = history[Math.max(0, history.length - LATENCY_POINTS)];
  const recent = new Map([...now.kinds].map(([kind, counts]) => [kind, since(counts, base && base.kinds.get(kind))]));
  now.p99 = quantile(added(recent.values()), 0.99);
  history.push(now);
  if (history.length > POINTS) history.shift();
  element('rate').textContent = shortNumber(now.rate);
  element('p99').textContent = seconds(now.p99);
  element('connections-now').textContent = now.connections;
  element('memory-now').textContent = bytes(now.resident);
  chart('rate-chart', history.map(h => h.rate));
  chart('p99-chart', history.map(h => h.p99 === null || h.p99 === Infinity ? 0 : h.p99));
  chart('connections-chart', history.map(h => h.connections));
  chart('memory-chart', history.map(h => h.resident));
  const latencies = [...recent].map(([kind, counts]) => ({ kind, counts, count: counts.length ? counts[counts.length - 1][1] : 0 }));
  fill('latencies', [['kind'], ['statements', 'number'], ['P50', 'number'], ['P95', 'number'], ['P99', 'number']],
    latencies.filter(l => l.count).map(l => ({ cells: [l.kind, shortNumber(l.count), ...[0.5, 0.95, 0.99].map(q => seconds(quantile(l.counts, q)))] })),
    'no statement in the last ten seconds');
  const memory = samples.filter(s => s.name.startsWith('stemdb_memory_'));
  fill('memory', [['what'], ['', 'number']], memory.map(s => {
    const label = Object.values(s.labels)[0];
    const name = s.name.slice('stemdb_memory_'.length);
    return { cells: [label ? `${name.replace(/_bytes$/, '')}: ${label}` : name.replace(/_bytes$/, '').replaceAll('_', ' '), name.endsWith('_bytes') ? bytes(s.value) : shortNumber(s.value)] };
  }), '');
  fill('store', [['what'], ['', 'number']], samples.filter(s => s.name.startsWith('stemdb_store_')).map(s => {
    const name = s.name.slice('stemdb_store_'.length);
    return { cells: [name.replaceAll('_', ' '), name.endsWith('_bytes') ? bytes(s.value) : shortNumber(s.value)] };
  }), '');
}

async function post(path, body) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-StemDB-Login': token },
    body: JSON.stringify(body),
  });
  const result = await response.json().catch(() => ({ error: response.statusText }));
  if (response.status === 401 && token) showLogin('');
  if (!response.ok) throw new Error(result.error || response.statusText);
  return result;
}

const query = (name, more) => post('/window/query', { query: name, ...more });

function showLogin(who) {
  if (!who) token = '';
  element('login').hidden = Boolean(who);
  element('logout').hidden = !who;
  element('private').hidden = !who;
  element('hint').hidden = Boolean(who);
  element('who').textContent = who;
}

// The rows of a response as objects.
const objects = response => response.rows.map(row => Object.fromEntries(row.map((v, i) => [response.columns[i].toLowerCase(), v])));

function plain(id, response, empty) {
  fill(id, response.columns.map(name => [name.toLowerCase().replaceAll('_', ' '), 'text']), response.rows.map(cells => ({ cells })), empty);
}

async function showPlan(statement) {
  const response = await query('plan', { digest: statement.digest, schema: statement.schema_name || '' }).catch(error => ({ sample: '', plan: error.message }));
  element('sample').textContent = response.sample || '';
  element('plan-text').textContent = response.plan || '';
  element('plan').hidden = false;
}

function killButtons(id) {
  const both = document.createElement('span');
  for (const [text, connection] of [['KILL QUERY', false], ['KILL', true]]) {
    const button = document.createElement('button');
    button.textContent = text;
    button.addEventListener('click', async () => {
      element('kill-error').textContent = '';
      await query('kill', { id: Number(id), connection }).catch(error => { element('kill-error').textContent = error.message; });
      refreshPrivate();
    });
    both.append(button, ' ');
  }
  return both;
}

const PANELS = {
  statements: response => fill('statements',
    [['statement', 'text'], ['database'], ['times', 'number'], ['total', 'number'], ['mean', 'number'], ['P95', 'number'], ['P99', 'number'], ['rows read', 'number'], ['rows sent', 'number'], ['errors', 'number']],
    objects(response).map(s => ({
      cells: [s.digest_text, s.schema_name, shortNumber(Number(s.count_star)), picoseconds(s.sum_timer_wait), picoseconds(s.avg_timer_wait), picoseconds(s.quantile_95), picoseconds(s.quantile_99), shortNumber(Number(s.sum_rows_examined)), shortNumber(Number(s.sum_rows_sent)), s.sum_errors],
      choose: () => showPlan(s),
    })), 'no statement yet'),
  connections: response => fill('connections',
    [['id', 'number'], ['user'], ['host'], ['database'], ['command'], ['seconds', 'number'], ['state'], ['statement', 'text'], ['']],
    objects(response).map(c => ({ cells: [c.id, c.user, c.host, c.db, c.command, c.time, c.state, c.info, killButtons(c.id)] })), 'none'),
  waits: response => plain('waits', response, 'nothing waits'),
  locks: response => plain('locks', response, 'no locks'),
  jobs: response => plain('jobs', response, 'no jobs'),
};

async function refreshPrivate() {
  for (const [name, show] of Object.entries(PANELS)) {
    if (!token) return;
    await query(name).then(show, error => { if (token) fill(name, [['']], [], error.message); });
  }
}

async function refresh() {
  try {
    const [status, metrics] = await Promise.all([fetch('/status').then(r => r.json()), fetch('/metrics').then(r => r.text())]);
    element('server').textContent = `${status.version}, up ${Math.floor(status.uptime_seconds / 3600)} h ${Math.floor(status.uptime_seconds / 60) % 60} min`;
    element('state').textContent = status.state;
    showMetrics(parseMetrics(metrics));
    if (token) await refreshPrivate();
  } catch (error) {
    element('state').textContent = 'does not respond';
  }
  setTimeout(refresh, document.hidden ? 5 * PERIOD_MS : PERIOD_MS);
}

element('login').addEventListener('submit', async event => {
  event.preventDefault();
  element('login-error').textContent = '';
  try {
    const response = await post('/window/login', { user: element('user').value, password: element('password').value });
    token = response.token;
    element('password').value = '';
    showLogin(response.user);
    await refreshPrivate();
  } catch (error) {
    element('login-error').textContent = error.message;
  }
});

element('logout').addEventListener('submit', async event => {
  event.preventDefault();
  await post('/window/logout', {}).catch(() => {});
  showLogin('');
});

element('ranges-form').addEventListener('submit', async event => {
  event.preventDefault();
  const [schema, ...table] = element('ranges-table').value.split('.');
  await query('ranges', { schema, table: table.join('.') }).then(response => plain('ranges', response, 'none'), error => fill('ranges', [['']], [], error.message));
});

refresh();
