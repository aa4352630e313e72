// What the checks of applications share: the application's account and databases, its web server, a browser, and
// the output.
'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const mysql = require('mysql2/promise');
const { chromium } = require('playwright-core');

const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(file => fs.existsSync(file));
const server = { host: process.env.STEMDB_HOST, port: Number(process.env.STEMDB_PORT) };
const password = 'secret';
const patience = 60000;

/** Starts a server of the application and waits until it answers at `port`. Its output is added to the file `log`. */
async function launch(command, options, { env, directory, port, log }) {
  const output = fs.openSync(log, 'a');
  const child = spawn(command, options, {
    stdio: ['ignore', output, output],
    env: { ...process.env, ...env },
    cwd: directory,
    detached: true,
  });
  const ended = new Promise(resolve => child.on('exit', resolve));
  const stop = () => {
    try { process.kill(-child.pid); } catch { /* It has ended. */ }
    return ended;
  };
  // If this program is ended, nothing else ends them.
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => { stop(); process.exit(1); });
  const end = Date.now() + 2 * patience;
  while (!await connects(port)) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${fs.readFileSync(log, 'utf8').slice(-1000)}`);
    if (Date.now() > end) { stop(); throw new Error(`it does not listen: ${fs.readFileSync(log, 'utf8').slice(-1000)}`); }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  return { url: `http://127.0.0.1:${port}`, stop, runs: () => child.exitCode === null && child.signalCode === null };
}

function connects(port) {
  return new Promise(resolve => {
    const socket = net.connect(port, '127.0.0.1');
    socket.on('connect', () => { socket.destroy(); resolve(true); });
    socket.on('error', () => resolve(false));
  });
}

function freePort() {
  return new Promise((resolve, reject) => {
    const listener = net.createServer();
    listener.on('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      const { port } = listener.address();
      listener.close(() => resolve(port));
    });
  });
}

/** A new page of a visitor who is not logged in. What belongs to other machines fails at once. */
async function newPage(browser) {
  const context = await browser.newContext();
  await context.route(url => url.hostname !== '127.0.0.1', route => route.abort());
  const page = await context.newPage();
  page.setDefaultTimeout(patience);
  page.setDefaultNavigationTimeout(patience);
  page.on('dialog', dialog => dialog.accept().catch(() => {}));
  return page;
}

/**
 * Runs the checks one after the other; the first that fails ends it, because each needs what those before it did.
 * `application` has: its name, which is its account's, too; its databases; accounts that its checks make; start(log);
 * browser, whether the checks need one; complaint(line), whether a line of its log is one.
 */
async function run(application, checks) {
  const root = await mysql.createConnection({ ...server, user: 'root', connectTimeout: patience });
  const clear = statementsToClear(application);
  for (const statement of [...clear, ...statementsToPrepare(application)]) await root.query(statement);
  const log = path.join(process.env.OUT, `${application.name}.log`);
  fs.rmSync(log, { force: true });
  let web, browser, page;
  let current = 'start';
  try {
    web = await application.start(log);
    if (application.browser) {
      browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
      page = await newPage(browser);
    }
    for (const [title, check] of Object.entries(checks)) {
      current = title;
      const began = Date.now();
      await check({ page, browser, root, url: web.url });
      console.log(`ok ${title}`);
      if (process.env.TIMES) console.error(`${((Date.now() - began) / 1000).toFixed(1)} s ${title}`);
    }
    current = 'its log has no error of the database';
    const complaints = fs.readFileSync(log, 'utf8').split('\n').filter(application.complaint);
    if (complaints.length) throw new Error(complaints.slice(0, 8).join(' / '));
    console.log(`ok ${current}`);
  } catch (error) {
    console.log(`FAIL ${current}: ${String(error.message).split('\n').slice(0, 8).join(' ')}`);
    if (page && process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true }).catch(() => {});
    process.exitCode = 1;
  } finally {
    await browser?.close();
    await web?.stop();
    for (const statement of clear) await root.query(statement);
    await root.end();
  }
}

function statementsToClear({ name, accounts, databases }) {
  return [
    ...[name, ...(accounts ?? [])].map(account => `DROP USER IF EXISTS ${account}`),
    ...databases.map(database => `DROP DATABASE IF EXISTS ${database}`),
  ];
}

function statementsToPrepare({ name, databases }) {
  return [
    `CREATE USER ${name} IDENTIFIED WITH mysql_native_password BY '${password}'`,
    ...databases.flatMap(database => [`CREATE DATABASE ${database}`, `GRANT ALL ON ${database}.* TO ${name}`]),
  ];
}

/** How many rows `FROM source` has. */
async function number(root, source) {
  const [[row]] = await root.query(`SELECT COUNT(*) AS number FROM ${source}`);
  return row.number;
}

module.exports = { freePort, launch, newPage, number, password, run, server };
