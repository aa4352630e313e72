// Ghost, used by the interfaces that its administration and its themes use. What is checked is listed in
// tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { freePort, launch, number, password, run, server } = require('./application.js');

const database = 'client_ghost';
const owner = { name: 'Mary Anning', email: 'mary@example.com', password: 'Lyme Regis 1811, ichthyosaur' };
/** Milliseconds for all migrations. */
const migrating = 200000;
const title = 'Ein Gruß an die Dinosaurier 🦕';
const text = `It's "quoted" & with ünïcödé 🦖`;

/** What the owner's browser keeps between two requests. */
const session = { cookie: '', post: null, key: '' };

/** A request of the administration. The answer has to have the status that is expected. */
async function admin(url, status, method, address, body) {
  const answer = await fetch(`${url}/ghost/api/admin/${address}`, {
    method,
    headers: { 'Content-Type': 'application/json', Origin: url, Cookie: session.cookie, 'Accept-Version': 'v5.0' },
    body: body && JSON.stringify(body),
  });
  const said = await answer.text();
  assert.equal(answer.status, status, `${method} ${address}: ${answer.status} ${said.slice(0, 500)}`);
  const cookie = answer.headers.getSetCookie().find(one => one.startsWith('ghost-admin-api-session='));
  if (cookie) session.cookie = cookie.split(';')[0];
  return said.startsWith('{') ? JSON.parse(said) : said;
}

async function page(url, status) {
  const answer = await fetch(url);
  assert.equal(answer.status, status, url);
  return answer.text();
}

/** A text as the editor keeps it. */
function paragraph(words) {
  const node = { direction: 'ltr', format: '', indent: 0, version: 1 };
  const written = { detail: 0, format: 0, mode: 'normal', style: '', text: words, type: 'extended-text', version: 1 };
  return JSON.stringify({ root: { ...node, type: 'root', children: [{ ...node, type: 'paragraph', children: [written] }] } });
}

const checks = {
  async 'its migrations have run'({ url, root }) {
    const { site } = await admin(url, 200, 'GET', 'site/');
    assert.match(site.version, /^5\.130/);
    const tables = await number(root, `information_schema.TABLES WHERE TABLE_SCHEMA = '${database}' AND TABLE_TYPE = 'BASE TABLE'`);
    const keys = await number(root, `information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA = '${database}'`);
    assert.deepEqual({ tables, keys }, { tables: 75, keys: 73 });
    assert.equal(await number(root, `${database}.migrations WHERE name LIKE '1-create-tables%'`), 1);
  },

  async 'it is set up'({ url, root }) {
    const blogTitle = 'Dinosaurs 🦴';
    await admin(url, 201, 'POST', 'authentication/setup/', { setup: [{ ...owner, blogTitle }] });
    const [[user]] = await root.query(`SELECT u.name, u.email, u.status, r.name role FROM ${database}.users u
      JOIN ${database}.roles_users ru ON ru.user_id = u.id JOIN ${database}.roles r ON r.id = ru.role_id WHERE u.email = ?`, [owner.email]);
    assert.deepEqual(user, { name: owner.name, email: owner.email, status: 'active', role: 'Owner' });
    const [[setting]] = await root.query(`SELECT value FROM ${database}.settings WHERE \`key\` = 'title'`);
    assert.equal(setting.value, blogTitle);
  },

  async 'log in, right and wrong'({ url, root }) {
    session.cookie = '';
    await admin(url, 401, 'GET', 'users/me/').catch(() => admin(url, 403, 'GET', 'users/me/'));
    await admin(url, 422, 'POST', 'session/', { username: owner.email, password: 'wrong' });
    await admin(url, 201, 'POST', 'session/', { username: owner.email, password: owner.password });
    const { users: [me] } = await admin(url, 200, 'GET', 'users/me/?include=roles');
    assert.deepEqual([me.email, me.roles[0].name], [owner.email, 'Owner']);
    assert.ok(await number(root, `${database}.sessions s JOIN ${database}.users u ON u.id = s.user_id WHERE u.email = '${owner.email}'`) >= 1);
  },

  async 'a post is written, and visitors read it'({ url, root }) {
    const post = { title, lexical: paragraph(text), status: 'published', tags: [{ name: 'Jurassic' }, { name: 'Kreide' }] };
    const { posts: [written] } = await admin(url, 201, 'POST', 'posts/', { posts: [post] });
    session.post = written;
    const [[row]] = await root.query(`SELECT title, plaintext, status, type FROM ${database}.posts WHERE id = ?`, [written.id]);
    assert.deepEqual(row, { title, plaintext: text, status: 'published', type: 'post' });
    const [tags] = await root.query(`SELECT t.name FROM ${database}.posts_tags pt JOIN ${database}.tags t ON t.id = pt.tag_id
      WHERE pt.post_id = ? ORDER BY pt.sort_order`, [written.id]);
    assert.deepEqual(tags.map(tag => tag.name), ['Jurassic', 'Kreide']);
    assert.ok((await page(`${url}/`, 200)).includes(title));
    assert.ok((await page(`${url}/${written.slug}/`, 200)).includes('ünïcödé 🦖'));
    assert.ok((await page(`${url}/tag/kreide/`, 200)).includes(title));
    assert.ok((await page(`${url}/rss/`, 200)).includes(title));
    await page(`${url}/tag/missing/`, 404);
  },

  async 'it is edited, and not by one who has an old version'({ url, root }) {
    const { id, updated_at } = session.post;
    await new Promise(resolve => setTimeout(resolve, 1100));
    const address = `posts/${id}/`;
    const { posts: [edited] } = await admin(url, 200, 'PUT', address, { posts: [{ title: 'Edited 🦕', featured: true, updated_at }] });
    await admin(url, 409, 'PUT', address, { posts: [{ title: 'Too late', updated_at }] });
    session.post = edited;
    const [[row]] = await root.query(`SELECT title, featured FROM ${database}.posts WHERE id = ?`, [id]);
    assert.deepEqual(row, { title: 'Edited 🦕', featured: 1 });
    assert.ok(await number(root, `${database}.post_revisions WHERE post_id = '${id}'`) >= 1);
  },

  async 'members are added, found and counted'({ url, root }) {
    for (const [name, label] of [['Ünal', 'fossil'], ['Zoë', 'fossil'], ['Bob', 'amber']]) {
      const email = `${label}.${Buffer.from(name).toString('hex')}@example.com`;
      await admin(url, 201, 'POST', 'members/', { members: [{ name, email, labels: [label] }] });
    }
    await admin(url, 422, 'POST', 'members/', { members: [{ email: `amber.${Buffer.from('Bob').toString('hex')}@example.com` }] });
    assert.equal(await number(root, `${database}.members`), 3);
    assert.equal(await number(root, `${database}.members_labels ml JOIN ${database}.labels l ON l.id = ml.label_id WHERE l.name = 'fossil'`), 2);
    const names = async query => (await admin(url, 200, 'GET', `members/?order=name%20asc&${query}`)).members.map(member => member.name);
    assert.deepEqual(await names('search=zo%C3%AB'), ['Zoë']);
    assert.deepEqual(await names('filter=label:fossil'), ['Ünal', 'Zoë']);
    assert.deepEqual(await names("filter=label:-fossil%2Bname:~'b'"), ['Bob']);
    const { meta } = await admin(url, 200, 'GET', 'members/?limit=2');
    assert.deepEqual([meta.pagination.total, meta.pagination.pages], [3, 2]);
  },

  async 'lists by filter, with counts'({ url, root }) {
    const draft = { title: 'A draft', lexical: paragraph('later'), tags: [{ name: 'Kreide' }] };
    await admin(url, 201, 'POST', 'posts/', { posts: [draft] });
    const titles = async filter => (await admin(url, 200, 'GET', `posts/?filter=${filter}&order=title%20asc`)).posts.map(post => post.title);
    assert.deepEqual(await titles('status:draft'), ['A draft']);
    assert.deepEqual(await titles('tag:kreide'), ['A draft', 'Edited 🦕']);
    assert.deepEqual(await titles('tag:kreide%2Bfeatured:true'), ['Edited 🦕']);
    const { tags } = await admin(url, 200, 'GET', 'tags/?include=count.posts&order=name%20asc&limit=all');
    const counts = Object.fromEntries(tags.map(tag => [tag.name, tag.count.posts]));
    assert.deepEqual([counts.Jurassic, counts.Kreide], [1, 2]);
    const [rows] = await root.query(`SELECT t.name, COUNT(*) posts FROM ${database}.posts_tags pt JOIN ${database}.tags t ON t.id = pt.tag_id
      WHERE t.name IN ('Jurassic', 'Kreide') GROUP BY t.name ORDER BY t.name`);
    assert.deepEqual(rows, [{ name: 'Jurassic', posts: 1 }, { name: 'Kreide', posts: 2 }]);
  },

  async 'a theme reads by a key of an integration'({ url, root }) {
    const { integrations: [made] } = await admin(url, 201, 'POST', 'integrations/?include=api_keys', { integrations: [{ name: 'Museum' }] });
    const key = made.api_keys.find(one => one.type === 'content').secret;
    assert.equal(await number(root, `${database}.api_keys WHERE secret = '${key}' AND type = 'content'`), 1);
    const { posts } = JSON.parse(await page(`${url}/ghost/api/content/posts/?key=${key}&filter=tag:kreide&include=tags,authors`, 200));
    assert.deepEqual(posts.map(post => [post.title, post.tags.length, post.primary_author.name]), [['Edited 🦕', 2, owner.name]]);
    await page(`${url}/ghost/api/content/posts/?key=${'0'.repeat(26)}`, 401);
  },

  async 'settings are changed, and all is exported'({ url, root }) {
    await admin(url, 200, 'PUT', 'settings/', { settings: [{ key: 'description', value: `It's "theirs" 🦴` }] });
    const [[setting]] = await root.query(`SELECT value FROM ${database}.settings WHERE \`key\` = 'description'`);
    assert.equal(setting.value, `It's "theirs" 🦴`);
    const { db: [{ data }] } = await admin(url, 200, 'GET', 'db/');
    assert.equal(data.posts.length, await number(root, `${database}.posts`));
    assert.equal(data.posts_tags.length, await number(root, `${database}.posts_tags`));
  },

  async 'the post is deleted with what belongs to it'({ url, root }) {
    const { id, slug } = session.post;
    await admin(url, 204, 'DELETE', `posts/${id}/`);
    for (const table of ['posts_tags', 'posts_authors', 'posts_meta', 'post_revisions']) {
      assert.equal(await number(root, `${database}.${table} WHERE post_id = '${id}'`), 0, table);
    }
    assert.equal(await number(root, `${database}.posts WHERE id = '${id}'`), 0);
    await page(`${url}/${slug}/`, 404);
  },
};

async function start(log) {
  const directory = path.join(process.env.OUT, 'ghost');
  const content = path.join(process.env.OUT, 'ghost-content');
  fs.rmSync(content, { recursive: true, force: true });
  fs.cpSync(path.join(directory, 'content'), content, { recursive: true });
  const port = await freePort();
  const settings = {
    url: `http://127.0.0.1:${port}`,
    server: { host: '127.0.0.1', port },
    database: { client: 'mysql', connection: { ...server, user: database, password, database } },
    paths: { contentPath: content },
    logging: { level: 'info', transports: ['stdout'] },
    mail: { transport: 'stub' },
    security: { staffDeviceVerification: false },
    privacy: { useUpdateCheck: false, useGravatar: false, useRpcPing: false, useStructuredData: false },
    spam: Object.fromEntries(['user_login', 'global_reset', 'content_api_key', 'private_block'].map(name => [name, { freeRetries: 100 }])),
  };
  fs.writeFileSync(path.join(directory, 'config.production.json'), JSON.stringify(settings));
  const env = { NODE_ENV: 'production', NODE_PATH: '' };
  const ghost = await launch('node', ['index.js'], { env, directory, port, log });
  await migrated(ghost, log);
  return ghost;
}

/** It answers from the beginning, that it will be there soon: first it makes its tables. */
async function migrated(ghost, log) {
  const end = Date.now() + migrating;
  const state = () => fetch(`${ghost.url}/ghost/api/admin/site/`).then(answer => answer.status, () => 0);
  for (let status = await state(); status !== 200; status = await state()) {
    if (Date.now() > end || !ghost.runs()) {
      await ghost.stop();
      throw new Error(`its migrations have not run (${status}): ${fs.readFileSync(log, 'utf8').slice(-1000)}`);
    }
    await new Promise(resolve => setTimeout(resolve, 200));
  }
}

run({
  name: database,
  databases: [database],
  start,
  complaint: line => /\bER_|errno|DatabaseError|SQL syntax/.test(line),
}, checks);
