// phpMyAdmin in Chromium. What is checked is listed in tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { copyOf, run, serve } = require('./application.js');

const database = 'client_phpmyadmin';

/** Opens a page, and waits until it has no more to load. Pages of errors are failures. */
async function open(page, url, route, query = '') {
  await page.goto(`${url}/index.php?route=${route}&server=1&lang=en${query}`);
  await settled(page);
}

async function settled(page) {
  await page.waitForFunction(() => window.jQuery?.active === 0 && !document.querySelector('.ajax_notification'));
  assert.deepEqual(await page.locator('.alert-danger:visible').allTextContents(), []);
}

const checks = {
  async 'log in'({ page, url, root }) {
    await root.query(`GRANT SELECT, PROCESS, SHOW VIEW ON *.* TO ${database}`);
    await root.query(`CREATE TABLE ${database}.items (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) COMMENT 'its name',
      price DECIMAL(10,2), made DATETIME, KEY by_name (name))`);
    await root.query(`INSERT INTO ${database}.items (name, price, made) VALUES ('Bücher 📚', 12.5, '2026-01-02 03:04:05'), ('<i>it''s</i>', NULL, NULL)`);
    await page.goto(`${url}/index.php?lang=en`);
    await page.fill('#input_username', database);
    await page.fill('#input_password', 'wrong');
    await page.click('#input_go');
    await page.getByText('Cannot log in to the MySQL server').first().waitFor();
    await page.fill('#input_username', database);
    await page.fill('#input_password', 'secret');
    await page.click('#input_go');
    await page.locator('#serverinfo, #server-breadcrumb, #pma_navigation').first().waitFor();
  },

  async 'a table is browsed'({ page, url }) {
    await open(page, url, '/sql', `&db=${database}&table=items&pos=0`);
    const cells = await page.locator('table.table_results tbody tr td.data').allTextContents();
    assert.deepEqual(cells.map(cell => cell.trim()),
      ['1', 'Bücher 📚', '12.50', '2026-01-02 03:04:05', '2', "<i>it's</i>", 'NULL', 'NULL']);
  },

  async 'a row is inserted by its form'({ page, url, root }) {
    await open(page, url, '/table/change', `&db=${database}&table=items`);
    await page.fill('#field_2_3', 'naïve "row"');
    await page.fill('#field_3_3', '7.25');
    await page.click('#buttonYes');
    await page.getByText('1 row inserted').waitFor();
    const [[row]] = await root.query(`SELECT id, name, price FROM ${database}.items ORDER BY id DESC LIMIT 1`);
    assert.deepEqual(row, { id: 3, name: 'naïve "row"', price: '7.25' });
  },

  async 'SQL is run'({ page, url }) {
    await open(page, url, '/database/sql', `&db=${database}`);
    await page.evaluate(sql => window.codeMirrorEditor.setValue(sql), 'SELECT COUNT(*) AS number, SUM(price) AS sum FROM items');
    await page.click('#button_submit_query');
    await page.locator('table.table_results').waitFor();
    const cells = await page.locator('table.table_results tbody tr td.data').allTextContents();
    assert.deepEqual(cells.map(cell => cell.trim()), ['3', '19.75']);
  },

  async 'an error of SQL is shown'({ page, url }) {
    await open(page, url, '/database/sql', `&db=${database}`);
    await page.evaluate(sql => window.codeMirrorEditor.setValue(sql), 'SELECT missing FROM items');
    await page.click('#button_submit_query');
    await page.getByText('#1054').first().waitFor();
  },

  async 'a table is exported'({ page, url, root }) {
    await open(page, url, '/table/export', `&db=${database}&table=items`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#buttonGo')]);
    const dump = fs.readFileSync(await download.path(), 'utf8');
    assert.ok(/CREATE TABLE (IF NOT EXISTS )?`items`/.test(dump), dump.slice(-1000));
    const [statement] = dump.match(/INSERT INTO `items`[^;]*;/);
    await root.query(`CREATE TABLE ${database}.copy LIKE ${database}.items`);
    await root.query(statement.replace('INSERT INTO `items`', `INSERT INTO ${database}.copy`));
    const [rows] = await root.query(`SELECT * FROM ${database}.items`);
    const [copied] = await root.query(`SELECT * FROM ${database}.copy`);
    assert.deepEqual(copied, rows);
  },

  async 'the structure, and a column is added'({ page, url, root }) {
    await open(page, url, '/table/structure', `&db=${database}&table=items`);
    const names = await page.locator('#tablestructure tbody tr th label').allTextContents();
    assert.deepEqual(names.map(name => name.trim()).slice(0, 4), ['id', 'name', 'price', 'made']);
    await open(page, url, '/table/add-field', `&db=${database}&table=items&num_fields=1&field_where=last&after_field=made`);
    await page.fill('#field_0_1', 'note');
    await page.locator('input[name=do_save_data]').last().click();
    await page.getByText('has been altered successfully').waitFor();
    const [[column]] = await root.query(`SELECT COUNT(*) number FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = '${database}' AND TABLE_NAME = 'items'`);
    assert.equal(column.number, 5);
  },

  async 'pages of the server, the database and the table'({ page, url }) {
    const server = ['databases', 'status', 'status/processes', 'status/queries', 'status/variables', 'variables', 'collations', 'engines', 'plugins', 'sql', 'export', 'import'];
    for (const name of server) await open(page, url, `/server/${name}`);
    for (const name of ['structure', 'search', 'export', 'operations', 'data-dictionary']) await open(page, url, `/database/${name}`, `&db=${database}`);
    for (const name of ['search', 'operations', 'relation', 'tracking', 'import']) await open(page, url, `/table/${name}`, `&db=${database}&table=items`);
  },

  async 'log out'({ page, url }) {
    await open(page, url, '/');
    await page.locator('a.logout, #pma_navigation a[href*="route=/logout"]').first().click();
    await page.locator('#input_username').waitFor();
  },
};

async function start(log) {
  const site = copyOf('/usr/share/phpmyadmin', 'libraries/vendor_config.php');
  const vendor = path.join(site, 'libraries/vendor_config.php');
  // The package's configuration is one of the whole machine, /etc/phpmyadmin.
  const settings = fs.readFileSync(vendor, 'utf8')
    .replace('/etc/phpmyadmin/config.inc.php', path.join(__dirname, 'phpmyadmin.php'))
    .replace('/var/lib/phpmyadmin/tmp/', `${site}/tmp/`);
  fs.writeFileSync(vendor, settings);
  fs.mkdirSync(path.join(site, 'tmp'), { recursive: true });
  return serve(site, { display_errors: 0, log_errors: 1 }, log);
}

run({
  name: database,
  databases: [database],
  start,
  complaint: line => /PHP (Fatal|Parse)/.test(line),
}, checks);
