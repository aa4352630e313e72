// Checks of the status port's page in Chromium, as a person uses it. What is checked is listed in
// tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const mysql = require('mysql2/promise');
const { chromium } = require('playwright-core');

const browserPath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find(path => require('node:fs').existsSync(path));
const server = { host: process.env.STEMDB_HOST, port: Number(process.env.STEMDB_PORT), user: 'root', connectTimeout: 60000 };
const pageUrl = `http://127.0.0.1:${process.env.STEMDB_STATUS_PORT}/`;
const patience = { timeout: 60000 };

const checks = {
  async 'load and latencies are shown without a login, statements are not'(page) {
    await page.goto(pageUrl);
    await page.waitForFunction(() => document.querySelector('#server').textContent.includes('StemDB'), null, patience);
    await page.waitForFunction(() => document.querySelectorAll('#store tr').length > 5, null, patience);
    assert.equal(await page.isVisible('#private'), false);
    const answer = await page.evaluate(() => fetch('/window/query', {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"query":"connections"}',
    }).then(async r => [r.status, await r.text()]));
    assert.equal(answer[0], 401);
    assert.ok(!answer[1].includes('SELECT'));
  },

  async 'a wrong password is refused with the error of a login'(page) {
    await logIn(page, 'window_admin', 'wrong');
    await page.waitForFunction(() => document.querySelector('#login-error').textContent.includes('1045'), null, patience);
    assert.equal(await page.isVisible('#private'), false);
  },

  async 'slow statements with their plans'(page) {
    await logIn(page, 'window_admin', 'secret');
    await page.waitForSelector('#private', { state: 'visible', ...patience });
    // By the page's own means: its tables are replaced every two seconds.
    await page.waitForSelector('#statements tr.choice', { state: 'attached', ...patience });
    await page.evaluate(() => document.querySelector('#statements tr.choice').click());
    await page.waitForFunction(() => document.querySelector('#plan-text').textContent !== '', null, patience);
    assert.equal(await page.locator('#private b').count(), 0, 'text of a statement became a part of the page');
  },

  async 'KILL from the list of connections'(page) {
    const victim = await mysql.createConnection(server);
    const running = victim.query('SELECT SLEEP(300)').then(([rows]) => rows, error => error);
    const line = page.locator('#connections tr', { hasText: 'SLEEP(300)' }).first();
    await line.waitFor(patience);
    await line.locator('button', { hasText: 'KILL QUERY' }).click(patience);
    const ended = await running;
    assert.ok(Array.isArray(ended) || ended.errno === 1317, String(ended));
    victim.destroy();
  },

  async 'key ranges of a table'(page) {
    await page.fill('#ranges-table', 'client_browser.jobs');
    await page.click('#ranges-form button');
    await page.waitForFunction(() => document.querySelectorAll('#ranges tr').length > 0, null, patience);
  },

  async 'an account without privileges sees its own connections only, and cannot kill'(page) {
    await page.click('#logout button');
    await logIn(page, 'window_guest', 'guest');
    await page.waitForSelector('#private', { state: 'visible', ...patience });
    await page.waitForFunction(() => document.querySelector('#connections').textContent.includes('window_guest'), null, patience);
    assert.ok(!(await page.textContent('#connections')).includes('root'));
    await page.waitForFunction(() => /denied/.test(document.querySelector('#statements').textContent), null, patience);
  },

  async 'a dropped account is logged out'(page, admin) {
    await admin.query('DROP USER window_guest');
    await page.waitForSelector('#login', { state: 'visible', ...patience });
    assert.equal(await page.isVisible('#private'), false);
  },
};

async function logIn(page, user, password) {
  await page.fill('#user', user);
  await page.fill('#password', password);
  await page.click('#login button');
}

async function main() {
  const admin = await mysql.createConnection(server);
  for (const statement of [
    'DROP USER IF EXISTS window_admin, window_guest',
    "CREATE USER window_admin IDENTIFIED BY 'secret'",
    'GRANT ALL ON *.* TO window_admin',
    "CREATE USER window_guest IDENTIFIED BY 'guest'",
    'DROP DATABASE IF EXISTS client_browser',
    'CREATE DATABASE client_browser',
    'CREATE TABLE client_browser.jobs (id INT PRIMARY KEY, state VARCHAR(20), KEY (state))',
    'USE client_browser',
    // What other programs have run would fill the list.
    'TRUNCATE TABLE performance_schema.events_statements_summary_by_digest',
    "SELECT COUNT(*), 'literal ''<b>of the sample</b>''' FROM jobs WHERE state = 'new'",
  ]) await admin.query(statement);
  const browser = await chromium.launch({ executablePath: browserPath, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'] });
  let failed = false;
  try {
    const page = await browser.newPage();
    const complaints = [];
    page.on('pageerror', error => complaints.push(error.message));
    for (const [name, check] of Object.entries(checks)) {
      try {
        await check(page, admin);
        console.log(`ok ${name}`);
      } catch (error) {
        failed = true;
        console.log(`FAIL ${name}: ${String(error.message).split('\n')[0]}`);
      }
    }
    if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT, fullPage: true });
    if (complaints.length) console.log(`FAIL no errors in the page: ${complaints[0]}`);
    else console.log('ok no errors in the page');
    failed ||= complaints.length > 0;
  } finally {
    await browser.close();
    await admin.query('DROP USER IF EXISTS window_admin, window_guest');
    await admin.query('DROP DATABASE IF EXISTS client_browser');
    await admin.end();
  }
  process.exitCode = failed ? 1 : 0;
}

main().catch(error => {
  console.log(`FAIL the page: ${error.stack.split('\n').slice(0, 2).join(' ')}`);
  process.exitCode = 1;
});
