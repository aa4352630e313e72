// What the applications of this directory share. Each prints a line for each step, `NAME: RESULT`.
'use strict';

const mysql = require('mysql2/promise');

const where = { host: process.env.STEMDB_HOST, port: Number(process.env.STEMDB_PORT), user: 'root' };

async function step(name, run) {
  let result;
  try {
    result = (await run()) ?? 'done';
    result = typeof result === 'string' ? result : JSON.stringify(result);
  } catch (e) {
    result = `error ${(e.cause ?? e).message}`;
  }
  console.log(`${name}: ${result.replaceAll('\n', ' ')}`);
}

async function emptyDatabase(database) {
  const connection = await mysql.createConnection(where);
  await connection.query(`DROP DATABASE IF EXISTS ${database}`);
  await connection.query(`CREATE DATABASE ${database}`);
  await connection.end();
}

module.exports = { emptyDatabase, step, where };
