// Applications in PHP, as Debian packages them, on PHP's own web server.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { freePort, launch } = require('./application.js');

/** A copy of a package's files: the package's own have a configuration of the whole machine. `stamp` has its version. */
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

/** Starts a web server for a directory of scripts. */
async function serve(directory, settings, log) {
  const port = await freePort();
  // Without a cache of compiled scripts nearly all the time would go into compiling them.
  const all = { 'opcache.enable_cli': 1, display_errors: 0, log_errors: 1, ...settings };
  const options = Object.entries(all).flatMap(([name, value]) => ['-d', `${name}=${value}`]);
  const env = { PHP_CLI_SERVER_WORKERS: '4' };
  return launch('php', [...options, '-S', `127.0.0.1:${port}`, '-t', directory], { env, port, log });
}

module.exports = { copyOf, serve };
