// What the checks of PHP applications share: the application's copy and web server, a browser, and the output.
'use strict';

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const mysql = require('mysql2/promise');
const { chromium } = require('playwright-core');

const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(file => fs.existsSync(file));
const server = { host: process.env.STEMDB_HOST, port: Number(process.env.STEMDB_PORT) };
const patience = 60000;

/** A copy of a Debian package's files: the package's own have a configuration of the whole machine. */
function copyOf(directory, stamp) {
  const copy = path.join(process.env.OUT, path.basename(directory));
  const [ours, theirs] = [path.join(copy, 'complete'), fs.readFileSync(path.join(directory, stamp))];
  if (!fs.existsSync(ours) || !theirs.equals(fs.readFileSync(ours))) {
    fs.rmSync(copy, { recursive: true, force: true });
    execFileSync('cp', ['-rL', '--no-preserve=mode', directory, copy]);
    fs.writeFileSync(ours, theirs);
  }
  return copy;
}

/** PHP's own web server on a free port, with an address `url`. */
async function serve(directory, settings, log) {
  const port = await freePort();
  const options = Object.entries(settings).flatMap(([name, value]) => ['-d', `${name}=${value}`]);
  const output = fs.openSync(log, 'w');
  const child = spawn('php', [...options, '-S', `127.0.0.1:${port}`, '-t', directory], {
    stdio: ['ignore', output, output],
    env: { ...process.env, PHP_CLI_SERVER_WORKERS: '4' },
    detached: true,
  });
  const ended = new Promise(resolve => child.on('exit', resolve));
  for (let connected = false; !connected && child.exitCode === null;) {
    connected = await new Promise(resolve => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true));
      socket.on('error', () => setTimeout(resolve, 50, false));
      socket.on('connect', () => socket.destroy());
    });
  }
  const stop = () => {
    try { process.kill(-child.pid); } catch { /* It has ended. */ }
    return ended;
  };
  return { url: `http://127.0.0.1:${port}`, stop };
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

/**
 * Runs the checks one after the other in one browser. `application`: name, account, databases, start().
 * The first that fails ends it, because each needs what those before it did.
 */
async function run(application, checks) {
  const root = await mysql.createConnection({ ...server, user: 'root', connectTimeout: patience });
  const { name, databases } = application;
  const clear = [`DROP USER IF EXISTS ${name}`, ...databases.map(database => `DROP DATABASE IF EXISTS ${database}`)];
  const account = [`CREATE USER ${name} IDENTIFIED WITH mysql_native_password BY 'secret'`];
  const grants = databases.flatMap(database => [`CREATE DATABASE ${database}`, `GRANT ALL ON ${database}.* TO ${name}`]);
  for (const statement of [...clear, ...account, ...grants]) await root.query(statement);
  const log = path.join(process.env.OUT, `${name}.log`);
  let web, browser;
  let current = 'start';
  try {
    web = await application.start(log);
    browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
    const page = await browser.newPage();
    page.setDefaultTimeout(patience);
    page.setDefaultNavigationTimeout(patience);
    page.on('dialog', dialog => dialog.accept().catch(() => {}));
    for (const [title, check] of Object.entries(checks)) {
      current = title;
      try {
        await check({ page, browser, root, url: web.url });
      } catch (error) {
        if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
        throw error;
      }
      console.log(`ok ${title}`);
    }
    current = 'PHP and the database have no complaints';
    const complaints = fs.readFileSync(log, 'utf8').split('\n').filter(application.complaint);
    if (complaints.length) throw new Error(complaints.slice(0, 8).join(' / '));
    console.log(`ok ${current}`);
  } catch (error) {
    console.log(`FAIL ${current}: ${String(error.message).split('\n').slice(0, 8).join(' ')}`);
    process.exitCode = 1;
  } finally {
    await browser?.close();
    await web?.stop();
    for (const statement of clear) await root.query(statement);
    await root.end();
  }
}

module.exports = { copyOf, patience, run, serve, server };
