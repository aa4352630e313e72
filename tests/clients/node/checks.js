// Checks of a MySQL server through mysql2. What is checked is listed in tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const seqQueue = require('seq-queue');
const mysql = require('mysql2/promise');

// mysql2 compresses packets in a queue that starts the next one after 3 seconds even if the last is not done, and then sends
// them in the wrong order: on a busy machine, 16 MiB take longer.
const { createQueue } = seqQueue;
seqQueue.createQueue = () => createQueue(600000);

const database = 'client_node';
const where = { host: process.env.STEMDB_HOST, port: Number(process.env.STEMDB_PORT), connectTimeout: 60000 };

const connect = (options = {}) => mysql.createConnection({ ...where, user: 'root', database, ...options });

async function withConnection(options, use) {
  const connection = await connect(options);
  try {
    return await use(connection);
  } finally {
    connection.destroy();
  }
}

async function run(connection, ...statements) {
  for (const statement of statements) await connection.query(statement);
}

async function one(connection, sql, values) {
  const [rows] = values ? await connection.execute(sql, values) : await connection.query(sql);
  return Object.values(rows[0])[0];
}

async function refused(promise, errno, sqlState) {
  const error = await promise.then(() => null, (e) => e);
  assert.ok(error, `no error where ${errno} was expected`);
  assert.deepEqual([error.errno, error.sqlState], [errno, sqlState], error.message);
}

async function setUp() {
  await withConnection({ database: undefined }, async (connection) => {
    await run(connection, `DROP DATABASE IF EXISTS ${database}`, `CREATE DATABASE ${database}`);
    const users = { node_tls: 'caching_sha2_password', node_rsa: 'caching_sha2_password', node_native: 'mysql_native_password' };
    for (const [user, plugin] of Object.entries(users)) {
      await run(
        connection,
        `DROP USER IF EXISTS '${user}'@'%'`,
        `CREATE USER '${user}'@'%' IDENTIFIED WITH ${plugin} BY 'sesame'`,
        `GRANT ALL ON ${database}.* TO '${user}'@'%'`,
      );
    }
  });
}

function login(user, options = {}) {
  return withConnection({ user, password: 'sesame', ...options }, async (connection) => {
    assert.equal(await one(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), user);
    const [rows] = await connection.query("SHOW STATUS LIKE 'Ssl_cipher'");
    assert.equal(rows[0].Value !== '', Boolean(options.ssl), 'encrypted');
  });
}

async function wrongPassword() {
  for (const user of ['node_rsa', 'node_native', 'nobody_here']) {
    await refused(connect({ user, password: 'wrong' }), 1045, '28000');
  }
}

function changeUser() {
  return withConnection({}, async (connection) => {
    await connection.changeUser({ user: 'node_native', password: 'sesame', database });
    assert.equal(await one(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), 'node_native');
    await run(connection, 'SET @kept = 1');
    await connection.changeUser({ user: 'node_rsa', password: 'sesame', database });
    assert.equal(await one(connection, "SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1)"), 'node_rsa');
    assert.equal(await one(connection, 'SELECT @kept'), null, 'a variable survived');
  });
}

function statements(method) {
  return () => withConnection({}, async (connection) => {
    await run(connection, 'DROP TABLE IF EXISTS s', 'CREATE TABLE s (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(50))');
    const [inserted] = await connection[method]('INSERT INTO s (v) VALUES (?), (?)', ['it\'s \\ "x"', null]);
    assert.deepEqual([inserted.affectedRows, inserted.insertId, inserted.info], [2, 1, 'Records: 2  Duplicates: 0  Warnings: 0']);
    const [updated] = await connection[method]('UPDATE s SET v = ? WHERE id <= ?', ['it\'s \\ "x"', 2]);
    assert.deepEqual([updated.affectedRows, updated.changedRows], [2, 1]);
    const [rows, fields] = await connection[method]('SELECT id, v FROM s WHERE id >= ? ORDER BY id', [1]);
    assert.deepEqual(rows.map((row) => ({ ...row })), [{ id: 1, v: 'it\'s \\ "x"' }, { id: 2, v: 'it\'s \\ "x"' }]);
    assert.deepEqual(fields.map((f) => f.name), ['id', 'v']);
    for (let i = 0; i < 20; i++) {
      const [again] = await connection[method]('SELECT ? AS n', [String(i)]);
      assert.equal(again[0].n, String(i));
    }
    await connection.ping();
  });
}

// What knex and TypeORM take for the row's key.
function upserts(method) {
  return () => withConnection({}, async (connection) => {
    await run(connection, 'DROP TABLE IF EXISTS up', 'CREATE TABLE up (id INT AUTO_INCREMENT PRIMARY KEY, k INT UNIQUE, v INT)');
    const upsert = 'INSERT INTO up (k, v) VALUES (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)';
    await connection[method](upsert, [7, 1]);
    const id = await one(connection, 'SELECT id FROM up WHERE k = 7');
    const [updated] = await connection[method](upsert, [7, 2]);
    assert.deepEqual([updated.affectedRows, updated.insertId], [2, id]);
  });
}

// Type, value written, value read when it is another.
const typed = [
  ['TINYINT', -128],
  ['TINYINT UNSIGNED', 255],
  ['SMALLINT', -32768],
  ['MEDIUMINT', 8388607],
  ['INT', -2147483648],
  ['INT UNSIGNED', 4294967295],
  ['BIGINT', '-9223372036854775808'],
  ['BIGINT UNSIGNED', '18446744073709551615'],
  ['BOOL', true, 1],
  ['DECIMAL(65,30)', '12345678901234567890123456789012345.123456789012345678901234567890'],
  ['DECIMAL(10,2)', '-0.05'],
  ['FLOAT', 1.5],
  // mysql2 reads large exponents of the text protocol with an error in the last digit.
  ['DOUBLE', -2.5],
  ['CHAR(5)', 'äöü'],
  ['VARCHAR(100)', '😀 it\'s \\ "text"\n\0 '],
  ['BINARY(4)', Buffer.from([0, 255]), Buffer.from([0, 255, 0, 0])],
  ['VARBINARY(10)', Buffer.from([0, 255, 10])],
  ['TINYTEXT', 'tiny'],
  ['TEXT', 't'.repeat(60000)],
  ['MEDIUMTEXT', 'm'.repeat(70000)],
  ['LONGTEXT', ''],
  ['BLOB', Buffer.from([0xde, 0xad])],
  ['LONGBLOB', Buffer.alloc(0)],
  ['DATE', '2024-02-29'],
  ['DATETIME', '2024-02-29 23:59:59'],
  ['DATETIME(6)', '2024-02-29 23:59:59.123456'],
  ['TIMESTAMP NULL', '2024-02-29 12:00:00'],
  ['TIME', '-838:59:59'],
  ['TIME(3)', '12:34:56.789'],
  ['YEAR', 2155],
  ['JSON', '{"a": [1, null]}', { a: [1, null] }],
  ['INT', null],
  ['VARCHAR(10)', null],
  ['DATETIME', null],
];

function types(method) {
  const options = { dateStrings: true, supportBigNumbers: true, bigNumberStrings: true };
  return () => withConnection(options, async (connection) => {
    const columns = typed.map(([type], i) => `c${i} ${type}`).join(', ');
    await run(connection, 'DROP TABLE IF EXISTS ty', `CREATE TABLE ty (${columns})`);
    await connection[method](`INSERT INTO ty VALUES (${typed.map(() => '?').join(', ')})`, typed.map((t) => t[1]));
    const [[row]] = await connection[method]('SELECT * FROM ty');
    for (const [i, [type, written, read]] of typed.entries()) {
      let got = row[`c${i}`];
      if (typeof written === 'number' && typeof got === 'string') got = Number(got);
      assert.deepEqual(got, read === undefined ? written : read, type);
    }
  });
}

function dates() {
  return withConnection({ timezone: 'Z' }, async (connection) => {
    await run(connection, "SET time_zone = '+00:00'", 'DROP TABLE IF EXISTS tv', 'CREATE TABLE tv (a DATETIME(3), b TIMESTAMP(3) NULL)');
    const now = new Date(Date.UTC(2024, 1, 29, 12, 34, 56, 789));
    await connection.execute('INSERT INTO tv VALUES (?, ?)', [now, now]);
    const [[row]] = await connection.execute('SELECT a, b FROM tv WHERE a = ?', [now]);
    assert.deepEqual([row.a, row.b], [now, now]);
  });
}

async function transactions() {
  await withConnection({}, (other) => withConnection({}, async (connection) => {
    await run(other, 'DROP TABLE IF EXISTS tr', 'CREATE TABLE tr (id INT PRIMARY KEY)');
    await connection.beginTransaction();
    await connection.execute('INSERT INTO tr VALUES (?)', [1]);
    assert.equal(await one(other, 'SELECT COUNT(*) FROM tr'), 0);
    await connection.rollback();
    await connection.beginTransaction();
    await connection.execute('INSERT INTO tr VALUES (?), (?)', [1, 2]);
    await connection.commit();
    assert.equal(await one(other, 'SELECT COUNT(*) FROM tr'), 2);
    await run(connection, 'START TRANSACTION READ ONLY');
    await refused(connection.query('DELETE FROM tr'), 1792, '25006');
  }));
}

function errors() {
  return withConnection({}, async (connection) => {
    await run(connection, 'DROP TABLE IF EXISTS er', 'CREATE TABLE er (id INT PRIMARY KEY, v VARCHAR(2) NOT NULL)', "INSERT INTO er VALUES (1, 'a')");
    for (const [sql, errno, state] of [
      ["INSERT INTO er VALUES (1, 'b')", 1062, '23000'],
      ["INSERT INTO er VALUES (2, 'long')", 1406, '22001'],
      ['INSERT INTO er VALUES (2, NULL)', 1048, '23000'],
      ['SELECT * FROM nowhere', 1146, '42S02'],
      ['SELECT nope FROM er', 1054, '42S22'],
      ['SELEC 1', 1064, '42000'],
      ['CREATE TABLE er (id INT)', 1050, '42S01'],
    ]) {
      await refused(connection.query(sql), errno, state);
      await refused(connection.execute(sql), errno, state);
    }
    assert.equal(await one(connection, 'SELECT 1'), 1);
  });
}

function severalStatements() {
  return withConnection({ multipleStatements: true }, async (connection) => {
    const [results] = await connection.query("SELECT 1 AS a; DO 1; SELECT 'two' AS b, 3 AS c");
    assert.deepEqual([{ ...results[0][0] }, results[1].affectedRows, { ...results[2][0] }], [{ a: 1 }, 0, { b: 'two', c: 3 }]);
    await refused(connection.query('SELECT 1; SELEC 2; SELECT 3'), 1064, '42000');
  });
}

function bigPackets(options) {
  return () => withConnection(options, async (connection) => {
    await run(connection, 'DROP TABLE IF EXISTS big', 'CREATE TABLE big (id INT PRIMARY KEY, v LONGTEXT)');
    // Around the 16 MiB - 1 that one packet holds, and beyond it.
    for (const [i, size] of [100, 70000, 2 ** 24 - 60, 2 ** 24 - 1, 17 << 20].entries()) {
      const value = '0123456789abcdef'.repeat(size / 16 + 1).slice(0, size);
      await connection.query('INSERT INTO big VALUES (?, ?)', [i, value]);
      assert.ok((await one(connection, `SELECT v FROM big WHERE id = ${i}`)) === value, `${size} bytes, text`);
      assert.ok((await one(connection, 'SELECT v FROM big WHERE id = ?', [i])) === value, `${size} bytes, binary`);
    }
    await run(connection, 'DROP TABLE big');
  });
}

async function kill() {
  await withConnection({}, async (connection) => {
    const victim = await connect();
    victim.connection.on('error', () => {});
    const holder = await connect();
    await run(connection, 'DROP TABLE IF EXISTS ki', 'CREATE TABLE ki (id INT PRIMARY KEY)', 'INSERT INTO ki VALUES (1)');
    await holder.beginTransaction();
    await run(holder, 'SELECT * FROM ki WHERE id = 1 FOR UPDATE');
    let running = true;
    const waiting = refused(victim.query('DELETE FROM ki WHERE id = 1'), 1317, '70100').finally(() => { running = false; });
    waiting.catch(() => {});
    while (running) { // a KILL that comes before the statement is forgotten
      await sleep(300);
      if (running) await run(connection, `KILL QUERY ${victim.threadId}`);
    }
    await waiting;
    assert.equal(await one(victim, 'SELECT 1'), 1);
    await run(connection, `KILL ${victim.threadId}`);
    await sleep(200);
    await assert.rejects(victim.query('SELECT 1'), 'the connection survived KILL');
    holder.destroy();
  });
}

async function timeouts() {
  await withConnection({}, (holder) => withConnection({}, async (connection) => {
    await run(connection, 'DROP TABLE IF EXISTS ti', 'CREATE TABLE ti (id INT PRIMARY KEY)', 'INSERT INTO ti VALUES (1)');
    await holder.beginTransaction();
    await run(holder, 'UPDATE ti SET id = 2');
    await run(connection, 'SET innodb_lock_wait_timeout = 1');
    await refused(connection.query('UPDATE ti SET id = 3'), 1205, 'HY000');
    // A client that vanishes lets go of its locks.
    holder.destroy();
    await run(connection, 'SET innodb_lock_wait_timeout = 20', 'UPDATE ti SET id = 4');
    assert.equal(await one(connection, 'SELECT id FROM ti'), 4);
  }));
}

const encrypted = { ssl: { rejectUnauthorized: false } };
const checks = [
  ['set up', setUp],
  ['connect over the socket', () => withConnection({ host: undefined, port: undefined, socketPath: process.env.STEMDB_SOCKET }, (c) => c.ping())],
  ['caching_sha2_password over TLS', () => login('node_tls', encrypted)],
  ['caching_sha2_password by RSA', () => login('node_rsa')],
  ['caching_sha2_password, the fast way', () => login('node_rsa')],
  ['mysql_native_password', () => login('node_native')],
  ['wrong password', wrongPassword],
  ['unknown database', () => refused(connect({ database: 'no_such_database' }), 1049, '42000')],
  ['change user', changeUser],
  ['text statements', statements('query')],
  ['prepared statements', statements('execute')],
  ['upserts, text', upserts('query')],
  ['upserts, prepared', upserts('execute')],
  ['types, text protocol', types('query')],
  ['types, binary protocol', types('execute')],
  ['dates', dates],
  ['transactions', transactions],
  ['errors', errors],
  ['several statements', severalStatements],
  ['big packets', bigPackets({})],
  ['compression', bigPackets({ compress: true })],
  ['kill', kill],
  ['timeouts', timeouts],
];

(async () => {
  for (const [name, check] of checks) {
    try {
      await check();
      console.log(`ok ${name}`);
    } catch (e) {
      process.exitCode = 1;
      console.log(`FAIL ${name}: ${String(e.message).replace(/\s+/g, ' ').slice(0, 300)}`);
    }
  }
  process.exit();
})();
