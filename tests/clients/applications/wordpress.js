// WordPress, installed and used in Chromium. What is checked is listed in tests/clients/README.md.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { newPage, number, password, run, server } = require('./application.js');
const { copyOf, serve } = require('./php.js');

const title = 'Ein Gruß an die Dinosaurier 🦕';
const text = `It's "quoted" <b>text</b> with ünïcödé 🦖.`;
const database = 'client_wordpress';

/** WordPress' script puts pictures in the place of emoji, sooner or later. */
function keepEmoji(page) {
  return page.route('**/wp-emoji*', route => route.abort());
}

async function option(root, name) {
  const [[row]] = await root.query(`SELECT option_value value FROM ${database}.wp_options WHERE option_name = ?`, [name]);
  return row.value;
}

const checks = {
  async 'the database is set up by its form'({ page, url, root }) {
    await keepEmoji(page);
    await page.goto(`${url}/wp-admin/setup-config.php?step=1&language=en_US`);
    await page.fill('#dbname', database);
    await page.fill('#uname', 'client_wordpress');
    await page.fill('#pwd', password);
    await page.fill('#dbhost', `${server.host}:${server.port}`);
    await page.click('input[type=submit]');
    await page.getByText('All right, sparky!').waitFor();
    assert.equal(await number(root, `information_schema.TABLES WHERE TABLE_SCHEMA = '${database}'`), 0);
    await page.click('a[href^="install.php"]');
    // Its scripts empty the title's field when they have been loaded.
    await page.waitForURL('**/install.php*');
    await page.waitForLoadState('networkidle');
  },

  async 'it is installed by its form'({ page, root }) {
    await page.fill('#user_login', 'writer');
    await page.fill('#pass1', 'a long enough password 7');
    await page.fill('#admin_email', 'writer@example.com');
    await page.fill('#weblog_title', 'Dinosaurs');
    await page.click('#submit');
    await page.getByText('Success!').waitFor();
    assert.equal(await number(root, `information_schema.TABLES WHERE TABLE_SCHEMA = '${database}'`), 12);
    assert.equal(await option(root, 'blogname'), 'Dinosaurs');
    const [users] = await root.query(`SELECT ID id, user_login, user_email FROM ${database}.wp_users`);
    assert.deepEqual(users, [{ id: 1, user_login: 'writer', user_email: 'writer@example.com' }]);
  },

  async 'log in, right and wrong'({ page, url, root }) {
    await page.goto(`${url}/wp-login.php`);
    await page.fill('#user_login', 'writer');
    await page.fill('#user_pass', 'wrong');
    await page.click('#wp-submit');
    await page.getByText('is incorrect').waitFor();
    assert.equal(await number(root, `${database}.wp_usermeta WHERE meta_key = 'session_tokens'`), 0);
    // This page empties its password field after a while.
    await page.goto(`${url}/wp-login.php`);
    await page.fill('#user_login', 'writer');
    await page.fill('#user_pass', 'a long enough password 7');
    await page.click('#wp-submit');
    await page.locator('#dashboard_right_now').waitFor();
    assert.equal(await number(root, `${database}.wp_usermeta WHERE user_id = 1 AND meta_key = 'session_tokens'`), 1);
  },

  async 'a post is written in the editor'({ page, url, root }) {
    await page.goto(`${url}/wp-admin/post-new.php`);
    await page.waitForFunction(() => window.wp?.data?.select('core/editor')?.getCurrentPostId());
    // The guide lies over the editor.
    await page.evaluate(() => window.wp.data.dispatch('core/preferences').set('core/edit-post', 'welcomeGuide', false));
    await page.locator('.editor-post-title__input').fill(title);
    await page.locator('.block-editor-default-block-appender__content').click();
    await page.keyboard.insertText(text);
    await page.click('.editor-post-publish-panel__toggle');
    await page.click('.editor-post-publish-panel .editor-post-publish-button');
    await page.getByText('is now live').first().waitFor();
    const [[post]] = await root.query(`SELECT post_content content, post_author author, post_status status FROM ${database}.wp_posts
      WHERE post_title = ? AND post_type = 'post'`, [title]);
    // The editor's own marks are around it, and tags are escaped.
    assert.ok(post.content.includes(text.replaceAll('<', '&lt;')), post.content);
    assert.deepEqual([post.author, post.status], [1, 'publish']);
  },

  async 'a visitor reads it and comments'({ page, browser, url, root }) {
    const visitor = await newPage(browser);
    await keepEmoji(visitor);
    await visitor.goto(url);
    await visitor.getByRole('link', { name: title }).first().click();
    // It shows typographic quotes.
    const shown = await visitor.textContent('.entry-content p');
    const plain = shown.trim().replace(/[“”″]/g, '"').replace('’', "'");
    assert.equal(plain, text, JSON.stringify(shown));
    await visitor.fill('#comment', 'A comment: “naïve” 🥚');
    await visitor.fill('#author', 'A. Visitor');
    await visitor.fill('#email', 'visitor@example.com');
    await visitor.click('#submit');
    await visitor.getByText('awaiting moderation').first().waitFor();
    await visitor.context().close();
    const [[{ comment, approved }]] = await root.query(`SELECT comment_content comment, comment_approved approved
      FROM ${database}.wp_comments WHERE comment_author = 'A. Visitor'`);
    assert.deepEqual([comment, approved], ['A comment: “naïve” 🥚', '0']);
  },

  async 'the comment is approved'({ page, url, root }) {
    await page.goto(`${url}/wp-admin/edit-comments.php?comment_status=moderated`);
    const line = page.locator('#the-comment-list tr', { hasText: 'A. Visitor' });
    await line.hover();
    await line.locator('span.approve a').click();
    await line.waitFor({ state: 'hidden' });
    await page.goto(url);
    await page.getByRole('link', { name: title }).first().click();
    await page.locator('.comment-content', { hasText: 'naïve' }).waitFor();
    const [[{ approved, comments }]] = await root.query(`SELECT c.comment_approved approved, p.comment_count comments
      FROM ${database}.wp_comments c JOIN ${database}.wp_posts p ON p.ID = c.comment_post_ID WHERE c.comment_author = 'A. Visitor'`);
    assert.deepEqual([approved, comments], ['1', 1]);
  },

  async 'search finds it, and finds nothing else'({ page, url, root }) {
    for (const [words, found] of [['dinosaurier', 1], ['gruß ünïcödé', 1], ['mammoth', 0]]) {
      await page.goto(url);
      await page.locator('input[type=search]').first().fill(words);
      await page.locator('input[type=search]').first().press('Enter');
      await page.locator('h1', { hasText: `"${words}"` }).waitFor();
      assert.equal(await page.locator('main article').count(), found, words);
      const like = words.split(' ').map(word => `CONCAT(post_title, post_content) LIKE '%${word}%'`).join(' AND ');
      assert.equal(await number(root, `${database}.wp_posts WHERE post_status = 'publish' AND ${like}`), found, words);
    }
  },

  async 'pages of the administration show what is there'({ page, url, root }) {
    const [[{ version }]] = await root.query('SELECT VERSION() version');
    const pages = {
      'edit.php': title,
      'edit-comments.php': 'naïve',
      'users.php': 'writer@example.com',
      'edit-tags.php?taxonomy=category': 'Uncategorized',
      'edit.php?post_type=page': 'Sample Page',
      'upload.php?mode=list': 'No media files found',
      'options-permalink.php': 'Permalink structure',
      'themes.php': 'Twenty Twenty-One',
      'export.php': 'XML file',
      'index.php': 'At a Glance',
      'site-health.php': 'Site Health',
      'site-health.php?tab=debug': version,
    };
    for (const [name, expected] of Object.entries(pages)) {
      const answer = await page.goto(`${url}/wp-admin/${name}`);
      assert.equal(answer.status(), 200, name);
      const body = await page.textContent('#wpbody-content');
      assert.ok(body.includes(expected), `${name} lacks ${expected}`);
      assert.ok(!/database error/i.test(body), name);
    }
  },

  async 'a setting is changed'({ page, url, root }) {
    await page.goto(`${url}/wp-admin/options-general.php`);
    assert.equal(await page.inputValue('#blogname'), 'Dinosaurs');
    await page.fill('#blogdescription', `It's "theirs" 🦴`);
    await page.click('#submit');
    await page.getByText('Settings saved.').waitFor();
    assert.equal(await page.inputValue('#blogdescription'), `It's "theirs" 🦴`);
    assert.equal(await option(root, 'blogdescription'), 'It&#039;s &quot;theirs&quot; 🦴');
  },

  async 'the post is thrown away'({ page, url, root }) {
    await page.goto(`${url}/wp-admin/edit.php`);
    const line = page.locator('#the-list tr', { hasText: title });
    await line.hover();
    await line.locator('span.trash a').click();
    await page.getByText('moved to the Trash').waitFor();
    const [[{ status }]] = await root.query(`SELECT post_status status FROM ${database}.wp_posts WHERE post_title = ?`, [title]);
    assert.equal(status, 'trash');
  },
};

async function start(log) {
  const site = copyOf('/usr/share/wordpress', 'wp-includes/version.php');
  fs.rmSync(path.join(site, 'wp-config.php'), { force: true });
  const settings = { auto_prepend_file: path.join(__dirname, 'wordpress.php'), sendmail_path: '/bin/true' };
  return serve(site, settings, log);
}

run({
  name: 'client_wordpress',
  databases: [database],
  browser: true,
  start,
  complaint: line => /WordPress database error|PHP (Fatal|Parse)/.test(line),
}, checks);
