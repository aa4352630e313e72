// phpMyAdmin in Chromium. What is checked is listed in tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { number, password, run } = require('./application.js');
const { copyOf, serve } = require('./php.js');

const database = 'client_phpmyadmin';
const copy = 'client_phpmyadmin_copy';
const guest = 'client_phpmyadmin_guest';
const exported = path.join(process.env.OUT, 'client_phpmyadmin.sql');

/** Opens a page, and waits until it has no more to load. Pages of errors are failures. */
async function open(page, url, route, query = '') {
  await page.goto(`${url}/index.php?route=${route}&server=1&lang=en${query}`);
  await settled(page);
}

async function settled(page) {
  await page.waitForFunction(() => window.jQuery?.active === 0 && !document.querySelector('.ajax_notification'));
  assert.deepEqual(await page.locator('.alert-danger:visible').allTextContents(), []);
}

async function row(root, id) {
  const [[found]] = await root.query(`SELECT name, price FROM ${database}.items WHERE id = ?`, [id]);
  return found;
}

const checks = {
  async 'log in, right and wrong'({ page, url, root }) {
    await root.query(`GRANT ALL ON *.* TO ${database} WITH GRANT OPTION`);
    await root.query(`CREATE TABLE ${database}.items (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(40) COMMENT 'its name',
      price DECIMAL(10,2), made DATETIME, KEY by_name (name))`);
    await root.query(`INSERT INTO ${database}.items (name, price, made) VALUES ('Bücher 📚', 12.5, '2026-01-02 03:04:05'), ('<i>it''s</i>', NULL, NULL)`);
    await page.goto(`${url}/index.php?lang=en`);
    await page.fill('#input_username', database);
    await page.fill('#input_password', 'wrong');
    await page.click('#input_go');
    await page.getByText('Access denied for user').first().waitFor();
    await page.fill('#input_username', database);
    await page.fill('#input_password', password);
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
    assert.deepEqual(await row(root, 3), { name: 'naïve "row"', price: '7.25' });
  },

  async 'a row is edited from the list'({ page, url, root }) {
    await open(page, url, '/sql', `&db=${database}&table=items&pos=0`);
    await page.locator('table.table_results tbody tr', { hasText: 'naïve' }).locator('.edit_row_anchor a').first().click();
    await page.locator('#field_2_3').waitFor();
    await settled(page);
    assert.equal(await page.inputValue('#field_2_3'), 'naïve "row"');
    await page.fill('#field_2_3', "it's \\ edited");
    await page.click('#buttonYes');
    await page.getByText('1 row affected').first().waitFor();
    assert.deepEqual(await row(root, 3), { name: "it's \\ edited", price: '7.25' });
  },

  async 'SQL is run'({ page, url, root }) {
    await open(page, url, '/database/sql', `&db=${database}`);
    await page.evaluate(sql => window.codeMirrorEditor.setValue(sql), 'SELECT COUNT(*) AS number, SUM(price) AS sum FROM items');
    await page.click('#button_submit_query');
    await page.locator('table.table_results').waitFor();
    const cells = await page.locator('table.table_results tbody tr td.data').allTextContents();
    assert.deepEqual(cells.map(cell => cell.trim()), ['3', '19.75']);
    await open(page, url, '/database/sql', `&db=${database}`);
    await page.evaluate(sql => window.codeMirrorEditor.setValue(sql), "UPDATE items SET made = '2026-05-06' WHERE made IS NULL");
    await page.click('#button_submit_query');
    await page.getByText('2 rows affected').first().waitFor();
    assert.equal(await number(root, `${database}.items WHERE made = '2026-05-06'`), 2);
  },

  async 'an error of SQL is shown'({ page, url }) {
    await open(page, url, '/database/sql', `&db=${database}`);
    await page.evaluate(sql => window.codeMirrorEditor.setValue(sql), 'SELECT missing FROM items');
    await page.click('#button_submit_query');
    await page.getByText('#1054').first().waitFor();
  },

  async 'a table is exported'({ page, url }) {
    // As the table's tab says it: without single_table there is no export as SQL.
    await open(page, url, '/table/export', `&db=${database}&table=items&single_table=true`);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#buttonGo')]);
    await download.saveAs(exported);
    const dump = fs.readFileSync(exported, 'utf8');
    assert.ok(/CREATE TABLE (IF NOT EXISTS )?`items`/.test(dump), dump.slice(-1000));
    assert.ok(dump.includes('Bücher 📚') && dump.includes('COMMIT;'), dump.slice(-1000));
  },

  async 'the export is imported into another database'({ page, url, root }) {
    await open(page, url, '/database/import', `&db=${copy}`);
    await page.setInputFiles('#input_import_file', exported);
    await page.click('#buttonGo');
    await page.getByText('Import has been successfully finished').first().waitFor();
    await open(page, url, '/sql', `&db=${copy}&table=items&pos=0`);
    assert.equal(await page.locator('table.table_results tbody tr').count(), 3);
    const [rows] = await root.query(`SELECT * FROM ${database}.items`);
    const [copied] = await root.query(`SELECT * FROM ${copy}.items`);
    assert.equal(rows.length, 3);
    assert.deepEqual(copied, rows);
    const [definition, other] = await Promise.all([database, copy].map(async name => {
      const [[table]] = await root.query(`SHOW CREATE TABLE ${name}.items`);
      return table['Create Table'];
    }));
    assert.equal(other, definition);
  },

  async 'the structure, and a column is added'({ page, url, root }) {
    await open(page, url, '/table/structure', `&db=${database}&table=items`);
    const names = await page.locator('#tablestructure tbody tr th label').allTextContents();
    assert.deepEqual(names.map(name => name.trim()).slice(0, 4), ['id', 'name', 'price', 'made']);
    await open(page, url, '/table/add-field', `&db=${database}&table=items&num_fields=1&field_where=last&after_field=made`);
    await page.fill('#field_0_1', 'note');
    await page.locator('input[name=do_save_data]').last().click();
    await page.getByText('has been altered successfully').waitFor();
    assert.equal(await number(root, `information_schema.COLUMNS WHERE TABLE_SCHEMA = '${database}' AND TABLE_NAME = 'items'`), 5);
  },

  async 'an account is made on the page of privileges'({ page, url, root }) {
    await open(page, url, '/server/privileges', '&adduser=1');
    await page.fill('#pma_username', guest);
    await page.fill('#text_pma_pw', 'a Secret 1');
    await page.fill('#text_pma_pw2', 'a Secret 1');
    await page.locator('#checkbox_Select_priv').check();
    await page.click('#adduser_submit');
    await page.getByText('You have added a new user').first().waitFor();
    const [[account]] = await root.query('SELECT Host host, Select_priv granted, Insert_priv other FROM mysql.user WHERE User = ?', [guest]);
    assert.deepEqual(account, { host: '%', granted: 'Y', other: 'N' });
    await open(page, url, '/server/privileges', `&initial=${guest[0]}`);
    await page.locator('#usersForm tr, #tableuserrights tr', { hasText: guest }).first().waitFor();
  },

  async 'pages of the server, the database and the table'({ page, url, root }) {
    const [[{ version }]] = await root.query('SELECT VERSION() version');
    const pages = {
      server: {
        databases: database, status: 'Network traffic since startup', 'status/processes': database, 'status/queries': 'select', 'status/variables': 'Uptime',
        'status/advisor': 'Advisor', variables: version, collations: 'utf8mb4_0900_ai_ci', engines: 'InnoDB',
        plugins: 'caching_sha2_password', sql: 'Run SQL', export: 'Exporting databases', import: 'Importing into',
      },
      database: {
        structure: 'items', search: 'Search in database', export: 'Exporting tables', operations: 'Rename database', 'data-dictionary': 'its name',
      },
      table: { search: 'Table search', operations: 'Table options', relation: 'Foreign key constraints', import: 'Importing into', structure: 'by_name' },
    };
    const missing = [];
    for (const [level, names] of Object.entries(pages)) {
      for (const [name, expected] of Object.entries(names)) {
        const place = { server: '', database: `&db=${database}`, table: `&db=${database}&table=items` };
        await open(page, url, `/${level}/${name}`, place[level]);
        const text = await page.textContent('#page_content');
        if (!text.includes(expected)) missing.push(`${level}/${name} lacks ${expected}: ${text.replace(/\s+/g, ' ').slice(0, 200)}`);
      }
    }
    assert.deepEqual(missing, []);
  },

  async 'log out'({ page, url }) {
    await open(page, url, '/');
    await page.locator('a.logout, #pma_navigation a[href*="route=/logout"]').first().click();
    await page.locator('#input_username').waitFor();
  },
};

async function start(log) {
  const directory = '/usr/share/phpmyadmin';
  const paths = 'libraries/vendor_config.php';
  const site = copyOf(directory, paths);
  // The package's configuration is one of the whole machine, /etc/phpmyadmin.
  const settings = fs.readFileSync(path.join(directory, paths), 'utf8')
    .replace('/etc/phpmyadmin/config.inc.php', path.join(__dirname, 'phpmyadmin.php'))
    .replace('/var/lib/phpmyadmin/tmp/', `${site}/tmp/`);
  fs.writeFileSync(path.join(site, paths), settings);
  fs.mkdirSync(path.join(site, 'tmp'), { recursive: true });
  return serve(site, {}, log);
}

run({
  name: database,
  databases: [database, copy],
  accounts: [guest],
  browser: true,
  start,
  complaint: line => /PHP (Fatal|Parse)|mysqli|#[0-9]{4}/.test(line),
}, checks);
